#include "traffic/cassini/placement_score.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "traffic/cassini/cassini_policy.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic::cassini {
namespace {

// One second on a port, and on a cable between switches.
constexpr double kSecond = 25e9;
// GPU, PCIe switch, NIC, leaf, spine, leaf, NIC, PCIe switch, GPU.
constexpr uint32_t kLinksOfFlow = 8;

struct HostPair {
  uint32_t from = 0;
  uint32_t to = 0;
};

// Running jobs, and an arriving one at several places. Leaves have four hosts.
class PlacementScoreTest : public testing::Test {
 protected:
  explicit PlacementScoreTest(uint32_t leaves = 9, uint32_t spines = 1) : cluster_(MakeSmallClos(leaves, 4, spines)) {}

  // Jobs that send at full rate between these hosts, after `compute` seconds.
  std::vector<model::FlowDemand> Flows(const std::vector<HostPair>& pairs, double sending) const {
    std::vector<model::FlowDemand> flows;
    for (const HostPair& pair : pairs) {
      flows.push_back({cluster_.gpu(pair.from), cluster_.gpu(pair.to), Bytes(sending * kSecond), 0});
    }
    return flows;
  }
  void Run(uint32_t id, const std::vector<HostPair>& pairs, double compute, double sending) {
    cluster_.AddJob(id, 1e15, Flows(pairs, sending), Seconds(compute));
  }
  void Offer(const std::vector<HostPair>& pairs, double compute, double sending) {
    model::Iteration& iteration = iterations_.emplace_back();
    iteration.compute_time = Seconds(compute);
    iteration.work = Flop(1e15);
    iteration.flows = Flows(pairs, sending);
    iteration.num_groups = static_cast<uint32_t>(iteration.flows.size());
    if (!iteration.flows.empty()) {
      iteration.phases.push_back({});
      iteration.phases.back().num_flows = static_cast<uint32_t>(iteration.flows.size());
    }
    JobView& view = candidates_.emplace_back();
    view.id = JobId(99);
    view.num_gpus = 2;
    view.arrival_order = 99;
    view.iteration = &iteration;
  }
  PlacementChoice Choose() const { return CassiniPolicy({.placements = 10}).ChoosePlacement(Running(), candidates_); }
  PlacementScore ScoreOf(size_t candidate) const { return PlacementScorer(Running()).Score(candidates_[candidate]); }
  TrafficSnapshot Running() const { return cluster_.Snapshot(); }

  ExampleCluster cluster_;
  std::deque<model::Iteration> iterations_;
  std::vector<JobView> candidates_;
};

TEST_F(PlacementScoreTest, TheJobJoinsTheOneThatItFits) {
  // From leaf 0 to 1 sends a job for 80 of 100 ms, from 2 to 3 one for 50. One of 50 more has 30 ms too much on both
  // cables from 0 to 1, and none from 2 to 3.
  Run(0, {{0, 4}}, 0.02, 0.08);
  Run(1, {{8, 12}}, 0.05, 0.05);
  Offer({{1, 5}}, 0.05, 0.05);
  Offer({{9, 13}}, 0.05, 0.05);
  EXPECT_EQ(ScoreOf(0).num_links, kLinksOfFlow);
  EXPECT_EQ(ScoreOf(0).num_contended, 2u);
  // Two links of 0.7, and six that it has for itself count 1.
  EXPECT_NEAR(ScoreOf(0).score, 1 - 2 * 0.3 / kLinksOfFlow, 1e-9);
  EXPECT_NEAR(ScoreOf(1).score, 1, 1e-9);
  EXPECT_EQ(ScoreOf(1).num_contended, 2u);
  const PlacementChoice choice = Choose();
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_NEAR(choice.score, 1, 1e-9);
  EXPECT_NEAR(choice.first_score, 0.925, 1e-9);
  EXPECT_EQ(choice.num_looped, 0u);
}

TEST_F(PlacementScoreTest, ALinkForItselfIsWorthNoMoreThanACompatiblePair) {
  Run(0, {{0, 4}}, 0.05, 0.05);
  Offer({{1, 5}}, 0.05, 0.05);
  Offer({{9, 13}}, 0.05, 0.05);
  EXPECT_EQ(ScoreOf(1).num_contended, 0u);
  EXPECT_EQ(Choose().candidate, 0u) << "the first of equals";
  // A job that fits no gap of it goes where it is alone.
  candidates_.clear();
  Offer({{1, 5}}, 0.04, 0.06);
  Offer({{9, 13}}, 0.04, 0.06);
  EXPECT_EQ(Choose().candidate, 1u);
}

TEST_F(PlacementScoreTest, PeriodsMatterNotOnlyLoads) {
  // 40 and 60 ms: bursts of 10 ms in both fit (unified_circle_test.cc), of 10 and 20 ms never: modulo 20 ms they take
  // [0, 10) and all of it. On a circle of 120 ms the first sends 30 ms; 20 of 60 are a third of the time: 10 collide.
  Run(0, {{0, 4}}, 0.03, 0.01);
  Run(1, {{8, 12}}, 0.03, 0.01);
  Offer({{1, 5}}, 0.04, 0.02);
  Offer({{17, 21}}, 0.04, 0.02);
  EXPECT_NEAR(ScoreOf(0).score, 1 - 2 * (10.0 / 120) / kLinksOfFlow, 1e-9);
  EXPECT_EQ(Choose().candidate, 1u);
  candidates_.clear();
  Offer({{1, 5}}, 0.05, 0.01);
  Offer({{17, 21}}, 0.05, 0.01);
  EXPECT_EQ(Choose().candidate, 0u);
}

TEST_F(PlacementScoreTest, ALoopIsLeftOut) {
  // Pairs meet on the uplinks of leaves 0, 1 and 2. Each pair can be half a period apart, all three can't.
  Run(0, {{0, 12}, {4, 16}}, 0.05, 0.05);
  Run(1, {{5, 20}, {8, 24}}, 0.05, 0.05);
  Offer({{9, 28}, {1, 32}}, 0.05, 0.05);
  Offer({{9, 28}, {29, 32}}, 0.05, 0.05);
  EXPECT_TRUE(ScoreOf(0).closes_loop);
  EXPECT_NEAR(ScoreOf(0).score, 1, 1e-9);
  EXPECT_FALSE(ScoreOf(1).closes_loop);
  const PlacementChoice choice = Choose();
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_EQ(choice.num_looped, 1u);
}

TEST_F(PlacementScoreTest, WhereAllCloseLoopsTheFirstIsTaken) {
  Run(0, {{0, 12}, {4, 16}}, 0.05, 0.05);
  Run(1, {{5, 20}, {8, 24}}, 0.05, 0.05);
  Offer({{9, 28}, {1, 32}}, 0.01, 0.09);
  Offer({{9, 28}, {2, 33}}, 0.05, 0.05);
  const PlacementChoice choice = Choose();
  EXPECT_EQ(choice.candidate, 0u) << "although the second has the better score";
  EXPECT_EQ(choice.num_looped, 2u);
  EXPECT_LT(choice.score, ScoreOf(1).score);
  PlacementCounters counters;
  counters.Count(choice, 2);
  EXPECT_EQ(counters.num_fallbacks, 1u);
  EXPECT_EQ(counters.num_changed, 0u);
}

TEST_F(PlacementScoreTest, LoopsThatAreThereAlreadyAreNotHeldAgainstTheJob) {
  Run(0, {{0, 12}, {4, 16}}, 0.05, 0.05);
  Run(1, {{5, 20}, {8, 24}}, 0.05, 0.05);
  Run(2, {{9, 28}, {1, 32}}, 0.05, 0.05);
  Offer({{2, 6}}, 0.05, 0.05);
  EXPECT_FALSE(ScoreOf(0).closes_loop) << "it is on one link of the loop";
  Offer({{2, 6}, {7, 10}}, 0.05, 0.05);
  EXPECT_TRUE(ScoreOf(1).closes_loop) << "it joins two that are joined";
}

TEST_F(PlacementScoreTest, BothDirectionsOfACableAreOneLinkOfTheGraph) {
  Run(0, {{0, 4}, {4, 0}}, 0.05, 0.05);
  Offer({{1, 5}, {5, 1}}, 0.05, 0.05);
  EXPECT_EQ(ScoreOf(0).num_contended, 4u);
  EXPECT_FALSE(ScoreOf(0).closes_loop);
}

TEST_F(PlacementScoreTest, APortAndThePcieLinkBehindItAreOneLinkOfTheGraph) {
  // Both jobs send from host 0: on its port and on the PCIe link, of which they use another part.
  Run(0, {{0, 4}}, 0.05, 0.05);
  Offer({{0, 8}}, 0.02, 0.08);
  EXPECT_GE(ScoreOf(0).num_contended, 2u);
  EXPECT_FALSE(ScoreOf(0).closes_loop);
}

TEST_F(PlacementScoreTest, DeparturesMakeRoom) {
  Run(0, {{0, 4}}, 0.02, 0.08);
  Offer({{1, 5}}, 0.05, 0.05);
  Offer({{9, 13}}, 0.05, 0.05);
  EXPECT_EQ(Choose().candidate, 1u);
  TrafficSnapshot empty = Running();
  empty.jobs = {};
  const PlacementChoice choice = CassiniPolicy({.placements = 10}).ChoosePlacement(empty, candidates_);
  EXPECT_EQ(choice.candidate, 0u);
  EXPECT_EQ(choice.score, 1);
}

TEST_F(PlacementScoreTest, AJobThatSendsNothingTakesTheFirst) {
  Run(0, {{0, 4}}, 0.02, 0.08);
  Offer({}, 0.05, 0);
  Offer({}, 0.05, 0);
  const PlacementChoice choice = Choose();
  EXPECT_EQ(choice.candidate, 0u);
  EXPECT_EQ(choice.score, 1);
}

TEST_F(PlacementScoreTest, APeriodThatNoCircleHoldsCountsWithItsMean) {
  // 0.3 ms beside 10 s: slots of 1 ms are too long for it. It asks for 2/3 of the cable all the time; the other one
  // sends for half of it.
  Run(0, {{0, 4}}, 0.0001, 0.0002);
  Offer({{1, 5}}, 5, 5);
  EXPECT_NEAR(ScoreOf(0).score, 1 - 2 * (2.0 / 3 / 2) / kLinksOfFlow, 1e-6);
  // Two of centuries are no better than what the lengths of their bursts allow.
  cluster_.AddJob(1, 1e15, Flows({{8, 12}}, 1e10), Seconds(1e10));
  Offer({{9, 13}}, 1e10, 1e10);
  EXPECT_NEAR(ScoreOf(1).score, 1, 1e-6) << "half of the time each";
}

TEST_F(PlacementScoreTest, APlaceThatFailuresCutOffIsTheLastChoice) {
  Run(0, {{0, 4}}, 0.02, 0.08);
  Offer({{9, 13}}, 0.05, 0.05);
  Offer({{1, 5}}, 0.05, 0.05);
  EXPECT_EQ(Choose().candidate, 0u);
  // No cable is left above leaf 2. What can't be sent meets nobody, which must not count as a merit.
  const topology::Fabric& fabric = cluster_.fabric();
  model::Path path;
  cluster_.router().AppendPath(cluster_.gpu(9), cluster_.gpu(13), 0, &path);
  for (const LinkId link : path) {
    if (fabric.tier(link) == topology::LinkTier::kLeafSpine) cluster_.SetHealth(link, 0);
  }
  const PlacementChoice choice = Choose();
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_EQ(choice.num_cut_off, 1u);
}

// Several spines: what counts are the paths that jobs have.
class PlacementPathsTest : public PlacementScoreTest {
 protected:
  PlacementPathsTest() : PlacementScoreTest(2, 8) {}
};

TEST_F(PlacementPathsTest, PathsInForceCountNotThoseOfHashes) {
  Run(0, {{0, 4}}, 0.02, 0.08);
  Offer({{1, 5}}, 0.05, 0.05);
  const model::Path hashed = DefaultPaths(Running(), candidates_[0])[0];
  size_t num_contended = 0;
  for (uint32_t p = 0; p < cluster_.router().CountPaths(cluster_.gpu(0), cluster_.gpu(4)); ++p) {
    TrafficPlan plan = HashedPlan(Running());
    plan.jobs[0].paths[0].clear();
    cluster_.router().AppendPath(cluster_.gpu(0), cluster_.gpu(4), p, &plan.jobs[0].paths[0]);
    cluster_.Apply(plan);
    const bool meets = plan.jobs[0].paths[0][3] == hashed[3];
    EXPECT_EQ(ScoreOf(0).num_contended, meets ? 2u : 0u) << p;
    num_contended += meets ? 1 : 0;
  }
  EXPECT_EQ(num_contended, 1u) << "one of eight spines";
}

TEST(CassiniPlacementsTest, OneLeavesThePlaceToOthers) {
  EXPECT_EQ(CassiniPolicy().NumPlacements(), 1u);
  EXPECT_EQ(CassiniPolicy({.placements = 10}).NumPlacements(), 10u);
  EXPECT_FALSE(CassiniOptions{.placements = 0}.Validate().ok());
  EXPECT_FALSE(CassiniOptions{.placements = 1001}.Validate().ok());
}

}  // namespace
}  // namespace fairlead::traffic::cassini
