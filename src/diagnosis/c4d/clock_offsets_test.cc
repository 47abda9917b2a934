#include "diagnosis/c4d/clock_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::JobLayout;
using model::RankId;

// All-reduces over the communicators that cross hosts, ten a second; all leave within 0.5 ms. Host clocks are off by
// `offsets` [host] at the start and drift by `drifts` [host] seconds per second.
void SimulateOperations(const JobLayout& layout, const std::vector<double>& offsets, const std::vector<double>& drifts,
                        uint32_t first_communicator, int count, Random& random, ClockOffsets& clocks) {
  for (int i = 0; i < count; ++i) {
    const double end = 0.1 * i;
    for (size_t c = first_communicator; c < layout.communicators.size(); ++c) {
      std::vector<RankInstants> instants;
      for (const RankId rank : layout.communicators[c].ranks) {
        const size_t host = layout.ranks[rank.index()].host.index();
        double shown = end + offsets[host] + drifts[host] * end + random.Uniform(0, 0.5e-3);
        // Now and then a rank leaves late.
        if (random.Below(40) == 0) shown += random.Uniform(0, 0.2);
        const SimTime at = SimTime::FromSeconds(Seconds(1000 + shown));
        instants.push_back({rank, at, at, at});
      }
      clocks.Add({.communicator = model::CommunicatorId(c),
                  .kind = model::OperationKind::kAllReduce,
                  .sequence = static_cast<uint64_t>(i),
                  .bytes = 1,
                  .ranks = instants});
    }
  }
}

TEST(ClockOffsetsTest, FindsPlantedOffsetsAndFollowsDrift) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const JobLayout layout = MakeExampleLayout({.hosts = 6, .gpus = 2});
    std::vector<double> offsets;
    std::vector<double> drifts;
    for (int host = 0; host < 6; ++host) {
      offsets.push_back(random.Uniform(-3, 3));
      drifts.push_back(random.Uniform(-100e-6, 100e-6));
    }
    ClockOffsets clocks(layout);
    SimulateOperations(layout, offsets, drifts, 6, 300, random, clocks);
    const double end = 29.9;
    for (uint32_t rank = 0; rank < 12; ++rank) {
      const size_t host = rank / 2;
      const double planted = offsets[host] + drifts[host] * end - offsets[0] - drifts[0] * end;
      const double found = clocks.OffsetOf(RankId(rank)).value() - clocks.OffsetOf(RankId(0u)).value();
      // Ends spread over 0.5 ms on either host; 9 estimates, two each 0.1 s, are half a second: 0.05 ms of drift.
      EXPECT_NEAR(found, planted, 0.7e-3) << "seed " << seed << ", rank " << rank;
      EXPECT_TRUE(std::isfinite(clocks.ErrorBoundOf(RankId(rank)).value()));
    }
  }
}

TEST(ClockOffsetsTest, HostsThatMeetOnlyThroughOthersAreComparable) {
  // Host 0 meets host 1, host 1 meets host 2.
  JobLayout layout = MakeExampleLayout({.hosts = 3, .gpus = 1});
  layout.communicators = {{.name = "", .ranks = {RankId(0u), RankId(1u)}},
                          {.name = "", .ranks = {RankId(1u), RankId(2u)}}};
  Random random(1);
  ClockOffsets clocks(layout);
  SimulateOperations(layout, {0, 1, -2}, {0, 0, 0}, 0, 100, random, clocks);
  EXPECT_NEAR(clocks.OffsetOf(RankId(2u)).value() - clocks.OffsetOf(RankId(0u)).value(), -2, 2e-3);
}

TEST(ClockOffsetsTest, OneHostTellsNothing) {
  const JobLayout layout = MakeExampleLayout({.hosts = 1, .gpus = 4});
  ClockOffsets clocks(layout);
  Random random(1);
  SimulateOperations(layout, {5}, {0}, 0, 10, random, clocks);
  EXPECT_EQ(clocks.OffsetOf(RankId(0u)).value(), 0);
  EXPECT_TRUE(std::isinf(clocks.ErrorBoundOf(RankId(0u)).value()));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
