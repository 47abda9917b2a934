#include "traffic/link_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using topology::LinkTier;

constexpr LinkId NthLink(uint32_t i) { return LinkId(i); }

OwnLinks MakeTieredLinks(const std::vector<std::pair<double, LinkTier>>& links) {
  OwnLinks made;
  for (const auto& [capacity, tier] : links) made.Add(capacity, tier);
  return made;
}

// Phases of flows of the given sizes.
model::Iteration MakeIteration(const std::vector<std::vector<double>>& phases) {
  model::Iteration iteration;
  for (const std::vector<double>& flows : phases) {
    model::CommunicationPhase phase;
    phase.first_flow = static_cast<uint32_t>(iteration.flows.size());
    phase.num_flows = static_cast<uint32_t>(flows.size());
    iteration.phases.push_back(phase);
    for (const double bytes : flows) iteration.flows.push_back({GpuId(0u), GpuId(1u), Bytes(bytes), 0});
  }
  return iteration;
}

double BytesOn(const JobTraffic& traffic, LinkId link) {
  for (const LinkBytes& use : traffic.links) {
    if (use.link == link) return use.bytes.value();
  }
  return 0;
}

TEST(LinkTrafficTest, BytesAddUpPerLinkAndTheWorstLinkBounds) {
  // PCIe at 10 B/s carries 3 + 5 = 8 B: 0.8 s. Uplink 1 at 4 B/s carries 3 B: 0.75 s. Uplink 2 at 4 B/s carries 5
  // B: 1.25 s.
  const OwnLinks links = MakeTieredLinks({{10, LinkTier::kPcie}, {4, LinkTier::kLeafSpine}, {4, LinkTier::kHostLeaf}});
  const std::vector<model::Path> paths = {{NthLink(0), NthLink(1)}, {NthLink(0), NthLink(2)}};
  const JobTraffic traffic = LinkTrafficMeter(links).Measure(MakeIteration({{3}, {5}}), paths);
  EXPECT_EQ(BytesOn(traffic, NthLink(0)), 8);
  EXPECT_EQ(BytesOn(traffic, NthLink(1)), 3);
  EXPECT_EQ(BytesOn(traffic, NthLink(2)), 5);
  EXPECT_DOUBLE_EQ(traffic.communication_time.value(), 1.25);
  EXPECT_EQ(traffic.bounding_link, NthLink(2));
  EXPECT_EQ(traffic.network_bytes.value(), 8);
  ASSERT_EQ(traffic.phases.size(), 2u);
  EXPECT_DOUBLE_EQ(traffic.phases[0].time.value(), 0.75);
  EXPECT_DOUBLE_EQ(traffic.phases[1].time.value(), 1.25);
}

TEST(LinkTrafficTest, TheBoundingLinkMayBeInsideTheHost) {
  const OwnLinks links = MakeTieredLinks({{1, LinkTier::kPcie}, {4, LinkTier::kHostLeaf}});
  const JobTraffic traffic =
      LinkTrafficMeter(links).Measure(MakeIteration({{3}}), std::vector<model::Path>{{NthLink(0), NthLink(1)}});
  EXPECT_EQ(traffic.communication_time.value(), 3);
  EXPECT_EQ(traffic.bounding_link, NthLink(0));
}

TEST(LinkTrafficTest, PhasesOnNvlinkArePrivate) {
  const OwnLinks links = MakeTieredLinks({{1, LinkTier::kNvlink}, {4, LinkTier::kHostLeaf}});
  // The first phase stays on NVLink. The second crosses NVLink and the network: its 2 B count on both links.
  const std::vector<model::Path> paths = {{NthLink(0)}, {NthLink(0), NthLink(1)}};
  const JobTraffic traffic = LinkTrafficMeter(links).Measure(MakeIteration({{100}, {2}}), paths);
  EXPECT_TRUE(traffic.phases[0].is_private);
  EXPECT_EQ(traffic.phases[0].time.value(), 100);
  EXPECT_FALSE(traffic.phases[1].is_private);
  EXPECT_EQ(BytesOn(traffic, NthLink(0)), 2);
  EXPECT_EQ(traffic.communication_time.value(), 2);
}

TEST(LinkTrafficTest, ReusedScratchForgetsTheJobBefore) {
  const OwnLinks links = MakeTieredLinks({{1, LinkTier::kHostLeaf}, {1, LinkTier::kNvlink}});
  LinkTrafficMeter meter(links);
  const model::Iteration iteration = MakeIteration({{5}, {7}});
  const std::vector<model::Path> paths = {{NthLink(0)}, {NthLink(1)}};
  EXPECT_EQ(BytesOn(meter.Measure(iteration, paths), NthLink(0)), 5);
  EXPECT_EQ(BytesOn(meter.Measure(iteration, paths), NthLink(0)), 5);
}

TEST(LinkTrafficTest, WithoutPathsThereIsNoTraffic) {
  const OwnLinks links = MakeTieredLinks({{1, LinkTier::kHostLeaf}});
  const JobTraffic traffic = LinkTrafficMeter(links).Measure(MakeIteration({{5}}), std::vector<model::Path>(1));
  EXPECT_THAT(traffic.links, IsEmpty());
  EXPECT_EQ(traffic.communication_time.value(), 0);
  EXPECT_FALSE(traffic.bounding_link.valid());
}

TEST(LinkTrafficTest, ADeadLinkTakesForever) {
  const OwnLinks links = MakeTieredLinks({{0, LinkTier::kHostLeaf}});
  const JobTraffic traffic =
      LinkTrafficMeter(links).Measure(MakeIteration({{5}}), std::vector<model::Path>{{NthLink(0)}});
  EXPECT_TRUE(std::isinf(traffic.communication_time.value()));
}

std::vector<std::span<const model::Path>> AsSpans(const std::vector<std::vector<model::Path>>& jobs) {
  return {jobs.begin(), jobs.end()};
}

TEST(ContentionTest, AllLinksButNvlinkCount) {
  const OwnLinks links = MakeTieredLinks(
      {{1, LinkTier::kPcie}, {1, LinkTier::kHostLeaf}, {1, LinkTier::kSpineCore}, {1, LinkTier::kNvlink}});
  const std::vector<std::vector<model::Path>> jobs = {{{NthLink(0), NthLink(3)}},
                                                      {{NthLink(0), NthLink(2)}},
                                                      {},
                                                      {{NthLink(1)}, {}, {NthLink(1), NthLink(2)}},
                                                      {{NthLink(1), NthLink(3)}}};
  // The first two share the PCIe link only; the third has no path; the fourth uses a link twice; the first and the last
  // would share the NVLink only.
  EXPECT_THAT(FindContention(AsSpans(jobs), links),
              ElementsAre(ElementsAre(1), ElementsAre(0, 3), IsEmpty(), ElementsAre(1, 4), ElementsAre(3)));
}

TEST(ContentionTest, AgreesWithComparingEveryPair) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const OwnLinks links = MakeTieredLinks(std::vector<std::pair<double, LinkTier>>(200, {1, LinkTier::kLeafSpine}));
    const size_t num_jobs = 1 + random.Below(150);  // more than one machine word of bits
    std::vector<std::vector<bool>> uses(num_jobs, std::vector<bool>(200, false));
    std::vector<std::vector<model::Path>> jobs(num_jobs);
    for (size_t j = 0; j < num_jobs; ++j) {
      for (uint32_t link = 0; link < 200; ++link) {
        if (random.Uniform() > 0.03) continue;
        uses[j][link] = true;
        jobs[j].push_back({NthLink(link)});
      }
    }
    const std::vector<std::vector<uint32_t>> contention = FindContention(AsSpans(jobs), links);
    for (size_t a = 0; a < num_jobs; ++a) {
      std::vector<uint32_t> expected;
      for (uint32_t b = 0; b < num_jobs; ++b) {
        bool shared = false;
        for (size_t link = 0; link < 200; ++link) shared = shared || (uses[a][link] && uses[b][link]);
        if (shared && a != b) expected.push_back(b);
      }
      ASSERT_EQ(contention[a], expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic
