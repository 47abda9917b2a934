// For tests of what a simulation of a cluster consists of: a small fabric, and jobs that send over its one uplink.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/flow.h"
#include "model/path.h"
#include "sim/job_state.h"
#include "sim/run_watch.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::sim {

inline SimTime AtSimSecond(double s) { return SimTime::FromSeconds(Seconds(s)); }

// Two leaves with two hosts each and one spine: 1e9 byte/s between the leaves, each way.
inline topology::Fabric OneUplinkFabric() {
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = 2;
  spec.spines = 1;
  spec.leaf_uplink.speed = GigabitsPerSecond(8);
  return topology::BuildClos(spec).value();
}

struct OneUplinkExample {
  topology::Fabric fabric = OneUplinkFabric();
  topology::Router router{fabric};
  std::atomic<bool> stop = false;
  RunWatch watch{stop, nullptr};

  // From a GPU of host h0 to one of h2, each flow of so many GB, behind the compute.
  model::Iteration Sending(double compute_s, double gigabytes, uint16_t num_queue_pairs = 1) const {
    model::Iteration iteration;
    iteration.compute_time = Seconds(compute_s);
    iteration.work = Flop(1e12);
    iteration.phases.push_back({"send", 1, false, 0, num_queue_pairs});
    for (uint16_t q = 0; q < num_queue_pairs; ++q) {
      iteration.flows.push_back({.source = fabric.first_gpu(HostId(0)),
                                 .destination = fabric.first_gpu(HostId(2)),
                                 .bytes = Bytes(gigabytes * 1e9),
                                 .group = q,
                                 .queue_pair = q,
                                 .num_queue_pairs = num_queue_pairs});
    }
    iteration.num_groups = num_queue_pairs;
    return iteration;
  }
  static model::Iteration Computing(double compute_s) {
    model::Iteration iteration;
    iteration.compute_time = Seconds(compute_s);
    iteration.work = Flop(1e12);
    return iteration;
  }
  // [flow] over the spine.
  std::vector<model::Path> PathsOf(const model::Iteration& iteration) const {
    std::vector<model::Path> paths;
    for (const model::FlowDemand& flow : iteration.flows) {
      router.AppendPath(flow.source, flow.destination, 0, &paths.emplace_back());
    }
    return paths;
  }
  LinkId Uplink() const { return fabric.FindLink("leaf0->spine0"); }
};

// On two GPUs, ten bins of the timeline; `iteration` must outlive it.
inline JobState StateOf(uint32_t id, const model::Iteration& iteration, uint64_t num_iterations = 0,
                        SimTime start = SimTime()) {
  return CreateJobState(JobId(id), 2, num_iterations, iteration, Detail::kCoupled, start, 10);
}

}  // namespace fairlead::sim
