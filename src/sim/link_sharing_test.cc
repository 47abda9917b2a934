#include "sim/link_sharing.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "fluid/max_min_reference.h"

namespace fairlead::sim {
namespace {

// A job of one phase with flows of the given paths and separate groups.
struct TestJob {
  model::Iteration iteration;
  JobState state;

  explicit TestJob(uint32_t id, const std::vector<model::Path>& paths, bool one_group = false) {
    iteration.compute_time = Seconds(1);
    iteration.phases.push_back({"p", 1, false, 0, static_cast<uint32_t>(paths.size())});
    for (uint32_t f = 0; f < paths.size(); ++f) {
      iteration.flows.push_back({GpuId(0), GpuId(1), Bytes(10), one_group ? 0 : f});
    }
    state = CreateJobState(JobId(id), 1, 0, iteration, Detail::kCoupled, SimTime(), 1);
    state.paths = paths;
  }
  TestJob(const TestJob&) = delete;
};

model::Path PathOf(std::initializer_list<uint32_t> links) {
  model::Path path;
  for (uint32_t link : links) path.emplace_back(link);
  return path;
}

// The sharing of jobs[j] with routes[j].
LinkSharing FindSharing(LinkSharingFinder& finder, std::span<JobState* const> jobs,
                        const std::vector<std::vector<TransferRoute>>& routes,
                        const IdVector<LinkId, double>& capacities) {
  std::vector<std::vector<LinkDemand>> demand;
  for (size_t j = 0; j < jobs.size(); ++j) demand.push_back(ComputeDemand(*jobs[j], routes[j]));
  std::vector<RoutedJob> routed;
  for (size_t j = 0; j < jobs.size(); ++j) routed.push_back({jobs[j], &routes[j], &demand[j]});
  return finder.Find(routed, capacities);
}

TEST(LinkSharingTest, RouteCountsCrossingsAndFindsTheTopRate) {
  IdVector<LinkId, double> capacities(3, 100.0);
  capacities[LinkId(1)] = 60;
  // A ring of two edges that meet on link 1: at most 30 each.
  TestJob ring(0, {PathOf({0, 1}), PathOf({1, 2})}, true);
  ASSERT_EQ(ring.state.transfers.size(), 1u);
  const TransferRoute route = ComputeRoute(ring.state, ring.state.transfers[0], capacities);
  EXPECT_EQ(route.top_rate, 30);
  ASSERT_EQ(route.links.size(), 3u);
  EXPECT_EQ(route.links[1].multiplicity, 2u);
  // A flow without a path is cut off.
  TestJob cut(1, {PathOf({0}), {}}, true);
  EXPECT_EQ(ComputeRoute(cut.state, cut.state.transfers[0], capacities).top_rate, 0);
}

TEST(LinkSharingTest, WhatIsLostIsSentAgain) {
  // Three parts over a NIC of 100 and uplinks of 100, one of them broken off: 2/3 of the NIC arrive, and each live
  // uplink carries half of that.
  const IdVector<LinkId, double> capacities(6, 100.0);
  TestJob job(0, {PathOf({0, 0, 1, 5, 0, 2, 5})});
  const TransferRoute route = ComputeRoute(job.state, job.state.transfers[0], capacities);
  EXPECT_DOUBLE_EQ(route.top_rate, 100.0 * 2 / 3);
  EXPECT_DOUBLE_EQ(route.arrives, 2.0 / 3);
  EXPECT_EQ(route.parts, 2u);
  const std::vector<TransferLink> expected = {{LinkId(0), 3}, {LinkId(1), 1}, {LinkId(2), 1}, {LinkId(5), 2}};
  EXPECT_EQ(route.links, expected);

  // In lockstep with a flow of three parts that all arrive: in sixths, three of each part of the first, two of the other.
  TestJob ring(1, {PathOf({0, 0, 1, 5, 0, 2, 5}), PathOf({6, 7, 10, 6, 8, 10, 6, 9, 10})}, true);
  const IdVector<LinkId, double> more_capacities(11, 100.0);
  const TransferRoute both = ComputeRoute(ring.state, ring.state.transfers[0], more_capacities);
  EXPECT_EQ(both.parts, 6u);
  EXPECT_DOUBLE_EQ(both.top_rate, 100.0 * 2 / 3);
  EXPECT_DOUBLE_EQ(both.arrives, 2.0 / 3);
  std::vector<TransferLink> in_sixths = {
      {LinkId(0), 9}, {LinkId(1), 3}, {LinkId(2), 3}, {LinkId(5), 6}, {LinkId(6), 6}};
  for (const uint32_t link : {7, 8, 9}) in_sixths.push_back({LinkId(link), 2});
  in_sixths.push_back({LinkId(10), 6});
  EXPECT_EQ(both.links, in_sixths);
}

// A ring whose flows have 113, 109, 107 and 103 live paths: 135 million common parts are too many to count in, so that
// multiplicities are rounded up, and no link gets more than it has.
TEST(LinkSharingTest, PartsWithoutACommonMultipleAreRoundedUp) {
  std::vector<model::Path> paths;
  uint32_t next = 4;
  for (uint32_t flow = 0; flow < 4; ++flow) {
    model::Path& path = paths.emplace_back();
    for (uint32_t part = 0; part < 113 - (flow == 0 ? 0 : 2 * flow + 2); ++part) {
      path.insert(path.end(), {LinkId(flow), LinkId(next++), LinkId((flow + 1) % 4)});
    }
  }
  const IdVector<LinkId, double> capacities(next, 100.0);
  TestJob ring(0, paths, true);
  const TransferRoute route = ComputeRoute(ring.state, ring.state.transfers[0], capacities);
  // Each of links 0..3 has the flow that leaves and the one that arrives.
  EXPECT_LE(route.top_rate, 50);
  EXPECT_NEAR(route.top_rate, 50, 50.0 / 3000);
}

TEST(LinkSharingTest, OnlyOverloadedLinksJoinJobs) {
  // Jobs 0 and 1 meet on link 2 (capacity 100): 50 + 50 fit, 50 + 60 don't. Job 2 is elsewhere.
  IdVector<LinkId, double> capacities(6, 100.0);
  capacities[LinkId(0)] = 50;
  capacities[LinkId(1)] = 50;
  TestJob a(0, {PathOf({0, 2})}), b(1, {PathOf({1, 2})}), c(2, {PathOf({4})});
  JobState* const jobs[] = {&a.state, &b.state, &c.state};
  std::vector<std::vector<TransferRoute>> routes;
  for (const JobState* job : jobs) routes.push_back(ComputeRoutes(*job, capacities));
  LinkSharingFinder finder(capacities.size());
  LinkSharing sharing = FindSharing(finder, jobs, routes, capacities);
  EXPECT_EQ(sharing.domains.size(), 3u);
  EXPECT_FALSE(sharing.IsContended(LinkId(2)));

  capacities[LinkId(1)] = 60;
  routes[1] = ComputeRoutes(b.state, capacities);
  sharing = FindSharing(finder, jobs, routes, capacities);
  EXPECT_EQ(sharing.domains, (std::vector<std::vector<uint32_t>>{{0, 1}, {2}}));
  EXPECT_TRUE(sharing.IsContended(LinkId(2)));
  EXPECT_FALSE(sharing.IsContended(LinkId(1))) << "its own tightest link is no contention";
}

TEST(LinkSharingTest, LeavingUncontendedLinksOutChangesNoRate) {
  // The claim behind the domains, against the reference solver on all links.
  Random random(5);
  LinkSharingFinder finder(12);  // one for all rounds: it must leave no trace
  for (int round = 0; round < 300; ++round) {
    const size_t num_links = 4 + random.Below(8);
    IdVector<LinkId, double> capacities(num_links);
    for (double& c : capacities.raw()) c = random.Uniform(1, 20);
    std::vector<std::unique_ptr<TestJob>> jobs;
    for (uint32_t j = 0; j < 1 + random.Below(8); ++j) {
      model::Path path;
      for (uint32_t l = 0; l < num_links; ++l) {
        if (random.Below(3) == 0) path.emplace_back(l);
      }
      if (path.empty()) path.emplace_back(random.Below(num_links));
      jobs.push_back(std::make_unique<TestJob>(j, std::vector<model::Path>{path}));
    }
    std::vector<JobState*> states;
    std::vector<std::vector<TransferRoute>> routes;
    for (const auto& job : jobs) {
      states.push_back(&job->state);
      routes.push_back(ComputeRoutes(job->state, capacities));
    }
    const LinkSharing sharing = FindSharing(finder, states, routes, capacities);

    std::vector<fluid::ReferenceFlow> all(jobs.size()), pruned(jobs.size());
    std::vector<double> all_capacities = capacities.raw(), pruned_capacities = capacities.raw();
    for (size_t j = 0; j < jobs.size(); ++j) {
      for (const TransferLink& use : routes[j][0].links) {
        all[j].route.push_back({use.link.value(), use.multiplicity});
        if (sharing.IsContended(use.link)) pruned[j].route.push_back({use.link.value(), use.multiplicity});
      }
      pruned[j].route.push_back({static_cast<uint32_t>(pruned_capacities.size()), 1});
      pruned_capacities.push_back(routes[j][0].top_rate);
    }
    const auto expected = fluid::ComputeMaxMinReference(all_capacities, all);
    const auto actual = fluid::ComputeMaxMinReference(pruned_capacities, pruned);
    for (size_t j = 0; j < jobs.size(); ++j) ASSERT_NEAR(actual[j], expected[j], 1e-9 * expected[j]) << round;
  }
}

}  // namespace
}  // namespace fairlead::sim
