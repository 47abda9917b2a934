// Small clusters for the tests and benchmarks of traffic policies: a fabric, jobs placed by hand, and the snapshot of
// both.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/check.h"
#include "topology/clos_fabrics.h"
#include "topology/router.h"
#include "traffic/default_paths.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

// Two layers, one cable per leaf and spine, as fast as a host's port. Hosts have two GPUs, NVLink and one NIC of 200
// Gb/s. All links are `scale` times as fast as that.
inline topology::Fabric MakeSmallClos(uint32_t leaves, uint32_t hosts_per_leaf, uint32_t spines, double scale = 1) {
  topology::ClosSpec spec;
  spec.leaves = leaves;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.spines = spines;
  spec.leaf_uplink.speed = GigabitsPerSecond(200);
  spec.host.gpus = 2;
  spec.host.sockets = 1;
  spec.host.pcie_switches = 1;
  spec.host.nics = 1;
  topology::Fabric fabric = topology::BuildClos(spec).value();
  std::vector<std::pair<LinkId, BytesPerSecond>> capacities;
  for (uint32_t link = 0; link < fabric.num_links(); ++link) {
    capacities.emplace_back(LinkId(link), fabric.capacity(LinkId(link)) * scale);
  }
  return std::move(fabric).WithCapacities(capacities);
}

// Links without a fabric.
struct OwnLinks {
  IdVector<LinkId, BytesPerSecond> capacities;
  IdVector<LinkId, topology::LinkTier> tiers;

  void Add(double bytes_per_s, topology::LinkTier tier) {
    capacities.push_back(BytesPerSecond(bytes_per_s));
    tiers.push_back(tier);
  }
  operator LinkTable() const { return LinkTable(capacities, tiers, nullptr); }
};

// Switches without steering: every flow on the path of its hash.
inline TrafficPlan HashedPlan(const TrafficSnapshot& snapshot) {
  TrafficPlan plan;
  for (const JobView& job : snapshot.jobs) {
    JobPlan& mine = plan.jobs.emplace_back();
    mine.id = job.id;
    mine.paths = DefaultPaths(snapshot, job);
  }
  return plan;
}

class ExampleCluster {
 public:
  explicit ExampleCluster(topology::Fabric fabric)
      : fabric_(std::move(fabric)), router_(fabric_), health_(fabric_.num_links(), 1.0) {}
  ExampleCluster(const ExampleCluster&) = delete;
  ExampleCluster& operator=(const ExampleCluster&) = delete;

  const topology::Fabric& fabric() const { return fabric_; }
  const topology::Router& router() const { return router_; }
  const model::Iteration& iteration(size_t job) const { return iterations_[job]; }

  GpuId gpu(uint32_t host, uint32_t index = 0) const { return fabric_.gpu(HostId(host), index); }

  // A job with flows that start when compute is done. Ids must ascend.
  void AddJob(uint32_t id, double work, std::vector<model::FlowDemand> flows, Seconds compute_time = Seconds(1)) {
    model::Iteration& iteration = iterations_.emplace_back();
    iteration.compute_time = compute_time;
    iteration.work = Flop(work);
    model::CommunicationPhase phase;
    phase.num_flows = static_cast<uint32_t>(flows.size());
    if (!flows.empty()) iteration.phases.push_back(phase);
    iteration.flows = std::move(flows);
    iteration.num_groups = static_cast<uint32_t>(iteration.flows.size());
    JobView& view = views_.emplace_back();
    view.id = JobId(id);
    view.num_gpus = 2;
    view.arrival_order = views_.size() - 1;
    view.iteration = &iteration;
    in_force_.emplace_back();
  }

  // Makes a plan the state of the cluster, as a controller would.
  void Apply(const TrafficPlan& plan) {
    FL_CHECK(plan.jobs.size() == views_.size());
    for (size_t j = 0; j < views_.size(); ++j) {
      in_force_[j] = plan.jobs[j].paths;
      views_[j].paths = in_force_[j];
      views_[j].level = plan.jobs[j].level;
    }
    changed_links_.clear();
  }

  // What a controller measured of a running job.
  void SetSpeed(size_t job, double relative_speed, Seconds starved_for) {
    views_[job].relative_speed = relative_speed;
    views_[job].starved_for = starved_for;
  }
  void SetArrivalOrder(size_t job, uint64_t order) { views_[job].arrival_order = order; }

  void SetHealth(LinkId link, double health) {
    health_[link] = health;
    router_.SetHealth(health_);
    changed_links_.push_back(link);
  }

  TrafficSnapshot Snapshot() const {
    TrafficSnapshot snapshot;
    snapshot.router = &router_;
    snapshot.health = &health_;
    snapshot.jobs = views_;
    snapshot.changed_links = changed_links_;
    return snapshot;
  }

 private:
  topology::Fabric fabric_;
  topology::Router router_;
  topology::LinkHealth health_;
  std::deque<model::Iteration> iterations_;  // addresses stay
  std::deque<std::vector<model::Path>> in_force_;
  std::vector<JobView> views_;
  std::vector<LinkId> changed_links_;  // since the last plan
};

}  // namespace fairlead::traffic
