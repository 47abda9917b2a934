// The interface of placement policies: which GPUs a job gets, once it is its turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "model/job.h"
#include "topology/fabric.h"

namespace fairlead::scheduling {

// Which GPUs are free. A value; the controller keeps one and hands it to the policy.
class GpuPool {
 public:
  // All GPUs of the fabric free. `fabric` must outlive the pool.
  explicit GpuPool(const topology::Fabric& fabric);

  const topology::Fabric& fabric() const { return *fabric_; }
  bool is_free(GpuId gpu) const { return free_[gpu] != 0; }
  uint32_t num_free(HostId host) const { return host_free_[host]; }
  size_t num_free() const { return num_free_; }

  // Every GPU must be free before Take and taken before Release.
  void Take(const model::Placement& placement);
  void Release(const model::Placement& placement);

 private:
  const topology::Fabric* fabric_;
  IdVector<GpuId, uint8_t> free_;
  IdVector<HostId, uint32_t> host_free_;
  size_t num_free_ = 0;
};

// A job that runs, and where.
struct PlacedJob {
  const model::Job* job;
  const model::Placement* placement;
};

// What a placement policy may look at.
struct ClusterView {
  const GpuPool* pool;
  std::span<const PlacedJob> running;  // in any order
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // The name users type: "locality-first", "random".
  virtual std::string_view name() const = 0;
  // GPUs for `job`, or nothing when it does not fit now. Hosts carry job.gpus_per_host of its ranks each (the last one
  // the rest).
  virtual std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const = 0;
  // The same for callers that know which jobs run. Most policies look at free GPUs only.
  virtual std::optional<model::Placement> PlaceBeside(const ClusterView& cluster, const model::Job& job) const {
    return Place(*cluster.pool, job);
  }
  // Whether it may have several placements of a job that are as good to it.
  virtual bool OffersSeveral() const { return false; }
  // Up to `most` >= 1 different placements that are as good to it, the first is that of PlaceBeside; none where the job
  // does not fit now.
  virtual std::vector<model::Placement> Offer(const ClusterView& cluster, const model::Job& job, uint32_t most) const {
    static_cast<void>(most);
    std::optional<model::Placement> only = PlaceBeside(cluster, job);
    return only ? std::vector{*std::move(only)} : std::vector<model::Placement>();
  }
};

// How many of the job's ranks go to its `index`-th host.
uint32_t RanksOnHost(const model::Job& job, uint32_t index);
uint32_t NumHosts(const model::Job& job);

// Adds the first `num_gpus` free GPUs of the host to the placement. It must have as many.
void AppendFreeGpus(const GpuPool& pool, HostId host, uint32_t num_gpus, model::Placement* placement);

// Takes the job's ranks from these hosts, in order: on each host its first free GPUs. Each host must have enough.
model::Placement PlaceOnHosts(const GpuPool& pool, const model::Job& job, const std::vector<HostId>& hosts);

// The same on the hosts that the job names, each once; nothing when one of them has too few free GPUs now, or when they
// are not as many as the job needs.
std::optional<model::Placement> PlaceOnOwnHosts(const GpuPool& pool, const model::Job& job);

// Names in the order shown to users.
std::vector<std::string_view> PlacementPolicyNames();
// Of those that offer several placements.
std::vector<std::string_view> OfferingPolicyNames();

// Errors: kInvalidArgument for an unknown name, listing the known ones. `seed` feeds policies that draw.
Result<std::unique_ptr<PlacementPolicy>> CreatePlacementPolicy(std::string_view name, uint64_t seed);

}  // namespace fairlead::scheduling
