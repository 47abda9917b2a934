// C4P alone and below Crux: which job keeps its paths, which moves, and that neither undoes the other's work.
#include "traffic/c4p/c4p_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "topology/rail_fabric.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/job_survey.h"
#include "traffic/link_traffic.h"
#include "traffic/plan_laws.h"
#include "traffic/policy_registry.h"

namespace fairlead::traffic::c4p {
namespace {

TrafficPlan PlanWith(std::string_view policy, const ExampleCluster& cluster) {
  return CreatePolicy(policy, {}).value()->Plan(cluster.Snapshot());
}

// Flows of a connection with several queue pairs.
void AddConnection(GpuId source, GpuId destination, double bytes, uint16_t num_queue_pairs,
                   std::vector<model::FlowDemand>* flows) {
  for (uint16_t q = 0; q < num_queue_pairs; ++q) {
    flows->push_back({.source = source,
                      .destination = destination,
                      .bytes = Bytes(bytes / num_queue_pairs),
                      .group = static_cast<uint32_t>(flows->size()),
                      .queue_pair = q,
                      .num_queue_pairs = num_queue_pairs});
  }
}

// `num_jobs` equal jobs: job j sends from host j below leaf 0 to host j below leaf 1.
std::unique_ptr<ExampleCluster> EqualJobs(uint32_t num_jobs, uint32_t spines, uint16_t num_queue_pairs = 1) {
  auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(2, num_jobs, spines));
  for (uint32_t j = 0; j < num_jobs; ++j) {
    std::vector<model::FlowDemand> flows;
    AddConnection(cluster->gpu(j), cluster->gpu(num_jobs + j), 1e9, num_queue_pairs, &flows);
    cluster->AddJob(j, 1e15, flows);
  }
  return cluster;
}

// Flows per uplink and downlink of a plan.
std::map<LinkId, uint32_t> CountFlows(const ExampleCluster& cluster, const TrafficPlan& plan) {
  std::map<LinkId, uint32_t> counts;
  for (const JobPlan& job : plan.jobs) {
    for (const model::Path& path : job.paths) {
      for (const LinkId link : path) {
        if (cluster.fabric().tier(link) == topology::LinkTier::kLeafSpine) ++counts[link];
      }
    }
  }
  return counts;
}

size_t CountMoved(const TrafficPlan& before, const TrafficPlan& after) {
  size_t moved = 0;
  for (size_t j = 0; j < before.jobs.size(); ++j) {
    for (size_t f = 0; f < before.jobs[j].paths.size(); ++f) {
      moved += before.jobs[j].paths[f] != after.jobs[j].paths[f] ? 1 : 0;
    }
  }
  return moved;
}

class EachC4pTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(EachC4pTest, EqualJobsSpreadEvenly) {
  for (const uint32_t jobs : {8u, 12u, 13u}) {
    for (const auto& [link, count] : CountFlows(*EqualJobs(jobs, 4), PlanWith(GetParam(), *EqualJobs(jobs, 4)))) {
      EXPECT_LE(count, (jobs + 3) / 4);
    }
  }
}

TEST_P(EachC4pTest, QueuePairsOfAConnectionTakeDifferentPaths) {
  const auto cluster = EqualJobs(2, 4, 4);
  const TrafficPlan plan = PlanWith(GetParam(), *cluster);
  for (const JobPlan& job : plan.jobs) {
    const std::set<model::Path> paths(job.paths.begin(), job.paths.end());
    EXPECT_EQ(paths.size(), 4u);
    EXPECT_EQ(job.balances_shares, GetParam() != "c4p-static");
  }
}

// What is settled stays settled: on random clusters, before and after failures.
TEST_P(EachC4pTest, PlanningAgainChangesNothing) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const auto cluster = DrawCluster(seed);
    for (int round = 0; round < 2; ++round) {
      cluster->Apply(PlanWith(GetParam(), *cluster));
      const TrafficPlan once = PlanWith(GetParam(), *cluster);
      cluster->Apply(once);
      ExpectSameDecisions(once, PlanWith(GetParam(), *cluster));
      BreakAFifth(seed, cluster.get());
    }
  }
}

TEST_P(EachC4pTest, LeftGoesLeftAlsoWhereItCouldCross) {
  topology::RailSpec spec{
      .segments = 2, .hosts_per_segment = 2, .rails_per_leaf = 4, .spines = 4, .shared_planes = true};
  ExampleCluster cluster(topology::BuildRail(spec).value());
  std::vector<model::FlowDemand> flows;
  for (uint32_t g = 0; g < 8; ++g) AddConnection(cluster.gpu(0, g), cluster.gpu(2, g), 1e9, 2, &flows);
  cluster.AddJob(0, 1e15, flows);
  const TrafficPlan plan = PlanWith(GetParam(), cluster);
  const PathCatalogue catalogue(cluster.fabric());
  for (size_t f = 0; f < flows.size(); ++f) {
    const auto from = catalogue.ports(cluster.fabric().nic_of(flows[f].source));
    const auto to = catalogue.ports(cluster.fabric().nic_of(flows[f].destination));
    const model::Path& path = plan.jobs[0].paths[f];
    const uint16_t plane = flows[f].queue_pair;
    EXPECT_NE(std::find(path.begin(), path.end(), from[plane].up), path.end());
    EXPECT_NE(std::find(path.begin(), path.end(), to[plane].down), path.end());
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string_view>& param) {
  std::string name(param.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '+'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, EachC4pTest, ::testing::Values("c4p", "c4p-static", "crux+c4p"), NameOf);

TEST(C4pPolicyTest, NewcomersMoveNoFlow) {
  const auto cluster = EqualJobs(9, 4);
  const TrafficPlan before = PlanWith("c4p", *cluster);
  // The last job has not come yet.
  TrafficPlan in_force = before;
  in_force.jobs[8].paths.clear();
  cluster->Apply(in_force);
  const TrafficPlan after = PlanWith("c4p", *cluster);
  for (size_t j = 0; j < 8; ++j) EXPECT_EQ(after.jobs[j].paths, before.jobs[j].paths);
  for (const auto& [link, count] : CountFlows(*cluster, after)) EXPECT_LE(count, 3u);
}

// 16 flows on 8 uplinks; one dies: its two move, no other; it comes back: two come back.
TEST(C4pPolicyTest, FailureAndRepairMoveOnlyWhatTheyMust) {
  const auto cluster = EqualJobs(16, 8);
  const TrafficPlan before = PlanWith("c4p", *cluster);
  cluster->Apply(before);
  const LinkId lost = cluster->fabric().FindLink("leaf0->spine3");
  cluster->SetHealth(lost, 0);
  const TrafficPlan broken = PlanWith("c4p", *cluster);
  EXPECT_EQ(CountMoved(before, broken), 2u);
  for (const auto& [link, count] : CountFlows(*cluster, broken)) EXPECT_LE(count, 3u);
  cluster->Apply(broken);
  cluster->SetHealth(lost, 1);
  const TrafficPlan repaired = PlanWith("c4p", *cluster);
  EXPECT_EQ(CountMoved(broken, repaired), 2u);
  for (const auto& [link, count] : CountFlows(*cluster, repaired)) EXPECT_EQ(count, 2u);
}

TEST(C4pPolicyTest, ASlowLinkGivesFlowsAway) {
  const auto cluster = EqualJobs(16, 8);
  cluster->Apply(PlanWith("c4p", *cluster));
  const LinkId slow = cluster->fabric().FindLink("leaf0->spine3");
  cluster->SetHealth(slow, 0.5);
  EXPECT_EQ(CountFlows(*cluster, PlanWith("c4p", *cluster))[slow], 1u);
}

// Departures leave holes; only a clear imbalance moves the remaining ones.
TEST(C4pPolicyTest, SmallImbalancesMoveNoFlow) {
  const auto cluster = EqualJobs(16, 4);
  cluster->Apply(PlanWith("c4p", *cluster));
  const TrafficPlan all = PlanWith("c4p", *cluster);
  auto rest = std::make_unique<ExampleCluster>(MakeSmallClos(2, 16, 4));
  TrafficPlan in_force;
  for (uint32_t j = 1; j < 16; ++j) {  // job 0 has left: 3, 4, 4 and 4 flows
    rest->AddJob(j, 1e15, cluster->iteration(j).flows);
    in_force.jobs.push_back(all.jobs[j]);
  }
  rest->Apply(in_force);
  EXPECT_EQ(CountMoved(in_force, PlanWith("c4p", *rest)), 0u);
}

// Ten jobs of different intensity on two leaves with too few uplinks.
std::unique_ptr<ExampleCluster> UnequalJobs(uint64_t seed) {
  auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(2, 10, 3));
  Random random(seed);
  for (uint32_t j = 0; j < 10; ++j) {
    std::vector<model::FlowDemand> flows;
    AddConnection(cluster->gpu(j), cluster->gpu(10 + j), random.Uniform(1e9, 2e10), 2, &flows);
    cluster->AddJob(j, random.Uniform(1e14, 1e16), flows);
  }
  return cluster;
}

// Crux does not undo C4P: its levels are those that it gives to C4P's paths, which it leaves alone.
TEST(CruxWithC4pTest, LevelsAreThoseThatCruxGivesToThesePaths) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const auto cluster = UnequalJobs(seed);
    cluster->Apply(HashedPlan(cluster->Snapshot()));
    const TrafficPlan joint = PlanWith("crux+c4p", *cluster);
    // Crux without path selection plans on the paths in force.
    PolicyOptions options;
    options.crux.select_paths = false;
    options.crux.edge_weight = crux::EdgeWeight::kGain;
    auto on_these_paths = UnequalJobs(seed);
    on_these_paths->Apply(joint);
    const TrafficPlan levels = CreatePolicy("crux", options).value()->Plan(on_these_paths->Snapshot());
    for (size_t j = 0; j < joint.jobs.size(); ++j) {
      EXPECT_EQ(levels.jobs[j].paths, joint.jobs[j].paths);
      EXPECT_EQ(levels.jobs[j].level, joint.jobs[j].level) << "seed " << seed << " job " << j;
    }
  }
}

// Crux does not undo C4P: paths are those of C4P alone.
TEST(CruxWithC4pTest, PathsAreThoseOfC4pAlone) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const auto cluster = UnequalJobs(seed);
    const TrafficPlan joint = PlanWith("crux+c4p", *cluster);
    const TrafficPlan alone = PlanWith("c4p", *cluster);
    for (size_t j = 0; j < joint.jobs.size(); ++j) EXPECT_EQ(joint.jobs[j].paths, alone.jobs[j].paths);
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
