// What was in the cluster and its network, and what its jobs looked like, for readers of any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "controller/traffic_views.h"
#include "service/controller/cluster_history.h"
#include "service/controller/job_trace.h"
#include "service/controller/network_history.h"
#include "service/controller/topology_routes.h"
#include "store/store.h"
#include "topology/fabric.h"

namespace fairlead::service {

class KeptHistory {
 public:
  // Args: fabric: outlives it.
  explicit KeptHistory(const topology::Fabric& fabric) : fabric_(fabric), network_(fabric) {}

  // Takes up what an earlier controller has kept. Errors: the store's.
  Status Restore(SimTime now, const store::Store& store);

  // Whether it is time for an Add(). Args of both: now since 1970, does not run backwards.
  bool IsDue(SimTime now) const;
  // Returns the records of periods that are over.
  std::vector<store::Change> Add(SimTime now, const ClusterFigures& figures,
                                 std::span<const controller::JobOnFabric> jobs,
                                 const std::vector<controller::LinkOnFabric>& links);

  // As ClusterHistory::ToJson().
  Json ToJson() const;
  NetworkPast Remember(std::optional<int64_t> at_s) const;
  std::vector<JobLooks::Look> LooksOf(const std::string& job) const;

 private:
  const topology::Fabric& fabric_;
  mutable std::mutex mutex_;
  ClusterHistory cluster_;
  NetworkHistory network_;
  JobLooks jobs_;
  SimTime next_;
};

}  // namespace fairlead::service
