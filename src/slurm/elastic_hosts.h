// Hosts for elastic jobs: those of the partitions that the operator names, which of them have room, and which are near
// each other.
//
// Method      a host has room if it is up, in a named partition, in no active reservation, and no job of others is on
//             it; one that is drained, or that others have begun to use, or of which a slurmctld that has just begun
//             knows nothing yet (3 s, measured on 22.05.8), keeps the elastic jobs that it has. Sizes can
//             be chosen where all these hosts have equally many GPUs.
// Thread      one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/job_allocator.h"
#include "scheduling/allocation_policy.h"
#include "slurm/cluster_state.h"
#include "topology/fabric.h"

namespace fairlead::slurm {

class ElasticHosts {
 public:
  // `fabric` must outlive it.
  ElasticHosts(const topology::Fabric& fabric, std::vector<std::string> partitions)
      : fabric_(fabric), partitions_(std::move(partitions)) {}

  // Which hosts the partitions have now. Errors: kFailedPrecondition: why no size can be chosen.
  Status LookAtPartitions(const ClusterState& state);
  // What became of each host of the fabric. Args: is_elastic: whether a job's size is ours to choose.
  std::vector<controller::HostStateChanged> LookAtHosts(const ClusterState& state,
                                                        const std::function<bool(uint32_t job)>& is_elastic);

  // Whether decisions would come to something: a partition is up, and Slurm, which may have begun lately, has heard of
  // all hosts, or waited for so long that it calls them down.
  bool MayDecide() const { return starts_jobs_ && !has_unknown_ && CanSize(); }

  bool CanSize() const { return gpus_of_each_.has_value(); }
  // GPUs of each host. CanSize().
  uint32_t gpus_of_each() const { return *gpus_of_each_; }
  size_t num_hosts() const { return hosts_.size(); }
  bool AreAllNamed(const std::vector<std::string>& partitions) const;

  // The whole of these hosts, ascending; nothing: one is not of the partitions, or not in the fabric. CanSize().
  std::optional<std::vector<scheduling::NodeShare>> SharesOf(const std::vector<std::string>& names) const;
  // Errors: kFailedPrecondition: a part of a host. CanSize().
  Result<std::vector<std::string>> NamesOf(const std::vector<scheduling::NodeShare>& shares) const;

  // Gives jobs that change as many hosts as before, but near each other, the largest first, out of those that have room
  // and are not `kept` by jobs that stay. Left as they are: jobs for which there are no such hosts. CanSize().
  // Returns the jobs that it gave hosts. Cost: O(hosts of the fabric + changes x hosts).
  std::vector<JobId> PlaceNear(const std::set<HostId>& kept, std::vector<controller::AllocationChange>* changes) const;

 private:
  const topology::Fabric& fabric_;
  const std::vector<std::string> partitions_;
  std::set<HostId> hosts_;    // of the partitions
  std::set<HostId> open_;     // of these: that have room
  bool has_unknown_ = false;  // of these
  bool starts_jobs_ = false;
  std::optional<uint32_t> gpus_of_each_;
};

// Ascending by host.
std::vector<scheduling::NodeShare> Sorted(std::vector<scheduling::NodeShare> shares);

}  // namespace fairlead::slurm
