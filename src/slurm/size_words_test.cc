#include "slurm/size_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"

namespace fairlead::slurm {
namespace {

// Two pods of two leaves with two hosts each: h0 to h7.
topology::Fabric TwoPods() {
  topology::ClosSpec spec;
  spec.pods = 2;
  spec.cores = 2;
  return topology::BuildClos(spec).value();
}

PlaceJob PlaceOn(uint32_t job, std::vector<std::string> hosts) {
  PlaceJob place;
  place.job = job;
  place.num_nodes = static_cast<uint32_t>(hosts.size());
  place.hosts = std::move(hosts);
  return place;
}

TEST(SizeWordsTest, HowNearHostsAre) {
  const topology::Fabric fabric = TwoPods();
  EXPECT_EQ(NearnessOf({"h0", "h1"}, fabric), "which meet at the same leaves");
  EXPECT_EQ(NearnessOf({"h0", "h2"}, fabric), "which reach one another without a core switch");
  EXPECT_EQ(NearnessOf({"h0", "h1", "h4"}, fabric), "in several pods");
  EXPECT_EQ(NearnessOf({"h0"}, fabric), "");
  EXPECT_EQ(NearnessOf({"h0", "nope"}, fabric), "");
  EXPECT_EQ(NearnessOf({}, fabric), "");
}

// Job 7 has h0 to h3. It keeps two; of the others one is given to 8 and one to 9, which lose nothing.
TEST(SizeWordsTest, WhatAJobLosesToWhom) {
  const topology::Fabric fabric = TwoPods();
  ClusterState state;
  state.jobs.resize(3);
  for (uint32_t i = 0; i < 3; ++i) state.jobs[i].id = 7 + i;
  state.jobs[0].state = state.jobs[1].state = JobState::kRunning;
  state.jobs[0].hosts = {"h0", "h1", "h2", "h3"};
  state.jobs[1].hosts = {"h4"};
  std::vector<Operation> all = {PlaceOn(7, {"h0", "h1"}), PlaceOn(8, {"h2", "h4"}), PlaceOn(9, {"h3"})};
  EXPECT_EQ(DescribeDecision(all[0], "shrunk: place 3 of 3", all, state, fabric),
            "2 nodes, h[0-1], which meet at the same leaves; slurm-8 gets h2 of it; slurm-9 gets h3 of it: shrunk: "
            "place 3 of 3");
  EXPECT_EQ(DescribeDecision(all[1], "grown", all, state, fabric), "2 nodes, h[2,4], in several pods: grown");
  EXPECT_EQ(DescribeDecision(all[2], "", all, state, fabric), "1 node, h3");
  all = {HoldJob{7, 0, 0}, PlaceOn(8, {"h0", "h1", "h2", "h3"})};
  EXPECT_EQ(DescribeDecision(all[0], "stopped", all, state, fabric),
            "waits without nodes; slurm-8 gets h[0-3] of it: stopped");
  EXPECT_EQ(DescribeDecision(HoldJob{9, 0, 0}, "", {}, state, fabric), "waits without nodes");
  EXPECT_EQ(DescribeDecision(PlaceOn(77, {}), "", all, state, fabric), "0 nodes");
}

// Job 7 is made smaller, 8 is somebody else's now, 9 has run anew, 10 is as it was, in another order, 11 has begun, and
// 12 is being ended.
TEST(SizeWordsTest, WhatOthersChangeWhileAJobRuns) {
  const auto job = [](uint32_t id, std::vector<std::string> hosts) {
    Job running;
    running.id = id;
    running.state = JobState::kRunning;
    running.hosts = std::move(hosts);
    return running;
  };
  ClusterState before;
  before.jobs = {
      job(7, {"h0", "h1", "h2", "h3"}), job(8, {"h4", "h5"}), job(9, {"h6", "h7"}), job(10, {"h8", "h9"}), job(11, {}),
      job(12, {"h10", "h11"})};
  before.jobs[4].state = JobState::kPending;
  ClusterState now;
  now.jobs = {job(7, {"h0"}), job(8, {"h4"}), job(9, {"h6"}), job(10, {"h9", "h8"}), job(11, {"h1"}), job(12, {"h10"})};
  now.jobs[1].owner = 5;
  now.jobs[2].num_restarts = 1;
  now.jobs[5].state = JobState::kCompleting;
  EXPECT_THAT(WordsOfLiveChanges(before, now),
              testing::ElementsAre(
                  testing::Pair(7, "was changed while it ran, by somebody else: from 4 nodes, h[0-3], to 1, h0")));
  EXPECT_THAT(WordsOfLiveChanges({}, now), testing::IsEmpty());
  EXPECT_THAT(WordsOfLiveChanges(now, now), testing::IsEmpty());
}

}  // namespace
}  // namespace fairlead::slurm
