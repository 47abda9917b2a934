#include "traffic/cassini/affinity_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::cassini {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> ShiftsOn(const AffinityLink& link, const Alignment& alignment) {
  std::vector<uint32_t> shifts;
  for (const uint32_t job : link.jobs) shifts.push_back(alignment.shifts[job]);
  return shifts;
}

TEST(AffinityGraphTest, AChainOfLinksAddsUpShifts) {
  // Bursts of 30 in 100. Link 0 wants job 1 at 30 after job 0, link 1 wants job 2 at 30 after job 1.
  const Burst burst{1, 0, 30, 1};
  const std::vector<AffinityLink> links = {{{0, 1}, {burst, burst}}, {{1, 2}, {burst, burst}}};
  const Alignment alignment = AlignJobs(100, 3, links);
  EXPECT_THAT(alignment.shifts, ElementsAre(0, 30, 60));
  EXPECT_EQ(alignment.num_edges, 4u);
  EXPECT_EQ(alignment.num_dropped_edges, 0u);
}

TEST(AffinityGraphTest, ALinkMayBeEnteredAtAnyOfItsJobs) {
  // Link 0 wants job 2 at 30 after job 0. Link 1 wants job 2 at 30 after job 1, so job 1 is where job 0 is.
  const Burst burst{1, 0, 30, 1};
  const std::vector<AffinityLink> links = {{{0, 2}, {burst, burst}}, {{1, 2}, {burst, burst}}};
  EXPECT_THAT(AlignJobs(100, 3, links).shifts, ElementsAre(0, 0, 30));
}

TEST(AffinityGraphTest, ACycleLosesTheLeastContendedLink) {
  // A triangle of three pairs; the pair (0, 2) meets for 10 only, so its last edge is dropped: jobs 0-1 and 1-2 are
  // interleaved (half of 100 each), and 2 is where 0 is.
  const Burst half{1, 0, 50, 1};
  const Burst brief{1, 0, 10, 1};
  const std::vector<AffinityLink> links = {{{0, 2}, {brief, brief}}, {{0, 1}, {half, half}}, {{1, 2}, {half, half}}};
  const Alignment alignment = AlignJobs(100, 3, links);
  EXPECT_THAT(alignment.shifts, ElementsAre(0, 50, 0));
  EXPECT_EQ(alignment.num_edges, 6u);
  EXPECT_EQ(alignment.num_dropped_edges, 1u);
}

TEST(AffinityGraphTest, ParallelLinksAreCycles) {
  const Burst half{1, 0, 50, 1};
  const std::vector<AffinityLink> links(4, {{0, 1}, {half, half}});
  const Alignment alignment = AlignJobs(100, 2, links);
  EXPECT_THAT(alignment.shifts, ElementsAre(0, 50));
  EXPECT_EQ(alignment.num_edges, 8u);
  EXPECT_EQ(alignment.num_dropped_edges, 3u);
}

TEST(AffinityGraphTest, JobsOffTheLinksStayAtZero) {
  const Burst half{1, 0, 50, 1};
  const std::vector<AffinityLink> links = {{{1, 3}, {half, half}}};
  EXPECT_THAT(AlignJobs(100, 5, links).shifts, ElementsAre(0, 0, 0, 50, 0));
}

// On a tree every link must get the score that it gets when it is asked alone, whatever the periods.
TEST(AffinityGraphTest, OnATreeEveryLinkGetsWhatItWants) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    constexpr uint32_t kPerimeter = 60;
    constexpr uint32_t kNumJobs = 5;
    std::vector<Burst> bursts(kNumJobs);
    for (Burst& burst : bursts) {
      burst.repeats = static_cast<uint32_t>(1 + random.Below(4));  // periods 60, 30, 20, 15
      burst.begin = static_cast<uint32_t>(random.Below(60));
      burst.length = static_cast<uint32_t>(1 + random.Below(10));
      burst.demand = random.Uniform(0.6, 1);
    }
    std::vector<uint32_t> names = {0, 1, 2, 3, 4};
    random.Shuffle(std::span(names));
    std::vector<AffinityLink> links;
    for (uint32_t job = 1; job < kNumJobs; ++job) {
      // The tree is rooted at a random job, so that links are entered at either end.
      const uint32_t a = names[random.Below(job)];
      const uint32_t b = names[job];
      const auto [low, high] = std::minmax(a, b);
      links.push_back({{low, high}, {bursts[low], bursts[high]}});
    }
    const Alignment alignment = AlignJobs(kPerimeter, kNumJobs, links);
    EXPECT_EQ(alignment.num_dropped_edges, 0u);
    for (const AffinityLink& link : links) {
      EXPECT_NEAR(Score(kPerimeter, link.bursts, ShiftsOn(link, alignment)),
                  Score(kPerimeter, link.bursts, FindShifts(kPerimeter, link.bursts)), 1e-9)
          << "seed " << seed;
    }
    for (uint32_t job = 0; job < kNumJobs; ++job) EXPECT_LT(alignment.shifts[job], kPerimeter / bursts[job].repeats);
  }
}

}  // namespace
}  // namespace fairlead::traffic::cassini
