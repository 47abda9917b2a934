// What the plan of every traffic policy must be (docs/internals/modules/traffic.md), checked on random clusters.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "traffic/path_bundle.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {

// All that other jobs can use, too: everything but NVLink.
inline std::set<LinkId> SharableLinks(const topology::Fabric& fabric, const JobPlan& plan) {
  std::set<LinkId> links;
  for (const model::Path& path : plan.paths) {
    for (const LinkId link : path) {
      if (fabric.tier(link) != topology::LinkTier::kNvlink) links.insert(link);
    }
  }
  return links;
}

// True when two jobs share a link, in the network or inside a host.
inline bool Meet(const topology::Fabric& fabric, const JobPlan& a, const JobPlan& b) {
  const std::set<LinkId> of_a = SharableLinks(fabric, a);
  const std::set<LinkId> of_b = SharableLinks(fabric, b);
  return std::any_of(of_a.begin(), of_a.end(), [&](LinkId link) { return of_b.contains(link); });
}

// Two leaves, two spines, eight hosts on both leaves. A host has four GPUs without NVLink and one NIC of two ports:
// flows of two jobs on one host may leave it by different ports and still share the PCIe links of the NIC.
inline topology::Fabric MakeBondedClos() {
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = 4;
  spec.spines = 2;
  spec.double_sided = true;
  spec.leaf_uplink.speed = GigabitsPerSecond(200);
  spec.host.gpus = 4;
  spec.host.nvlink_speed = BytesPerSecond(0);
  spec.host.sockets = 1;
  spec.host.pcie_switches = 2;
  spec.host.nics = 1;
  spec.host.ports_per_nic = 2;
  return topology::BuildClos(spec).value();
}

// Random jobs of flows between any two GPUs; seed decides all.
inline std::unique_ptr<ExampleCluster> DrawJobs(topology::Fabric fabric, uint64_t seed, uint32_t id_step = 1,
                                                double byte_scale = 1) {
  auto cluster = std::make_unique<ExampleCluster>(std::move(fabric));
  Random random(seed);
  const uint64_t num_gpus = cluster->fabric().num_gpus();
  const uint64_t num_jobs = random.Below(12);
  for (uint32_t j = 0; j < num_jobs; ++j) {
    std::vector<model::FlowDemand> flows;
    for (uint64_t f = 0; f < random.Below(6); ++f) {
      const auto source = static_cast<uint32_t>(random.Below(num_gpus));
      const auto destination = static_cast<uint32_t>((source + 1 + random.Below(num_gpus - 1)) % num_gpus);
      const double bytes = random.Uniform(1e8, 1e10);
      flows.push_back({GpuId(source), GpuId(destination), Bytes(bytes * byte_scale), 0});
    }
    cluster->AddJob(j * id_step, random.Uniform(1e14, 1e16), flows);
  }
  return cluster;
}

// Random jobs on four leaves and four spines.
inline std::unique_ptr<ExampleCluster> DrawCluster(uint64_t seed, uint32_t id_step = 1, double byte_scale = 1) {
  return DrawJobs(MakeSmallClos(4, 4, 4, byte_scale), seed, id_step, byte_scale);
}

// A fifth of all cables between switches and to hosts dies.
inline void BreakAFifth(uint64_t seed, ExampleCluster* cluster) {
  Random random(seed);
  for (uint32_t link = 0; link < cluster->fabric().num_links(); ++link) {
    if (!topology::IsNetwork(cluster->fabric().tier(LinkId(link)))) continue;
    if (random.Uniform() < 0.2) cluster->SetHealth(LinkId(link), 0);
  }
}

inline void ExpectEqualCostPaths(const ExampleCluster& cluster, size_t job, const JobPlan& plan) {
  const std::vector<model::FlowDemand>& flows = cluster.iteration(job).flows;
  ASSERT_EQ(plan.paths.size(), flows.size());
  for (size_t f = 0; f < flows.size(); ++f) {
    const uint64_t num_paths = cluster.router().CountPaths(flows[f].source, flows[f].destination);
    bool is_equal_cost = num_paths == 0 && plan.paths[f].empty();
    uint32_t num_equal_cost_parts = 0;
    for (uint64_t index = 0; index < num_paths; ++index) {
      model::Path path;
      cluster.router().AppendPath(flows[f].source, flows[f].destination, index, &path);
      is_equal_cost = is_equal_cost || path == plan.paths[f];
      // Of a bundle, each part.
      if (NumParts(plan.paths[f]) == 1 || path.empty()) continue;
      for (size_t at = 0; at + path.size() <= plan.paths[f].size(); at += path.size()) {
        num_equal_cost_parts +=
            std::equal(path.begin(), path.end(), plan.paths[f].begin() + static_cast<ptrdiff_t>(at));
      }
    }
    if (NumParts(plan.paths[f]) > 1) is_equal_cost = num_equal_cost_parts == NumParts(plan.paths[f]);
    EXPECT_TRUE(is_equal_cost) << "job " << job << " flow " << f;
  }
}

inline bool IsLifted(const JobPlan& plan) { return plan.reason.find("; lifted ") != std::string::npos; }

inline void ExpectLegal(const ExampleCluster& cluster, const TrafficSnapshot& snapshot, const TrafficPolicy& policy,
                        const TrafficPlan& plan) {
  ASSERT_EQ(plan.jobs.size(), snapshot.jobs.size());
  const uint32_t num_levels = policy.NumLevels(snapshot.num_levels, snapshot.jobs.size());
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    const JobPlan& mine = plan.jobs[j];
    EXPECT_EQ(mine.id, snapshot.jobs[j].id);
    EXPECT_LT(mine.level, num_levels);
    EXPECT_FALSE(mine.reason.empty());
    ExpectEqualCostPaths(cluster, j, mine);
    for (const JobPlan& other : plan.jobs) {
      if (IsLifted(mine) || IsLifted(other)) continue;
      if (mine.priority_rank < other.priority_rank && Meet(cluster.fabric(), mine, other)) {
        EXPECT_LE(mine.level, other.level);
      }
    }
    if (!mine.time_shift.has_value()) continue;
    EXPECT_GT(mine.time_shift->period.ns(), 0);
    EXPECT_GE(mine.time_shift->offset.ns(), 0);
    EXPECT_LT(mine.time_shift->offset, mine.time_shift->period);
  }
}

// The whole plan, without its texts.
inline void ExpectSameDecisions(const TrafficPlan& a, const TrafficPlan& b) {
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (size_t j = 0; j < a.jobs.size(); ++j) {
    EXPECT_EQ(a.jobs[j].paths, b.jobs[j].paths) << "job " << j;
    EXPECT_EQ(a.jobs[j].level, b.jobs[j].level) << "job " << j;
    EXPECT_EQ(a.jobs[j].priority_rank, b.jobs[j].priority_rank) << "job " << j;
    EXPECT_EQ(a.jobs[j].time_shift, b.jobs[j].time_shift) << "job " << j;
    EXPECT_EQ(a.jobs[j].senders, b.jobs[j].senders) << "job " << j;
  }
}

}  // namespace fairlead::traffic
