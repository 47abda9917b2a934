#include <algorithm>

#include "base/check.h"
#include "scheduling/placement_policy.h"

namespace fairlead::scheduling {

GpuPool::GpuPool(const topology::Fabric& fabric)
    : fabric_(&fabric), free_(fabric.num_gpus(), 1), host_free_(fabric.num_hosts()), num_free_(fabric.num_gpus()) {
  for (size_t h = 0; h < fabric.num_hosts(); ++h) host_free_[HostId(h)] = fabric.num_gpus_of(HostId(h));
}

void GpuPool::Take(const model::Placement& placement) {
  for (GpuId gpu : placement.gpus) {
    FL_CHECK_MSG(free_[gpu] != 0, "a placement takes a GPU that is in use");
    free_[gpu] = 0;
    --host_free_[fabric_->host_of(gpu)];
    --num_free_;
  }
}

void GpuPool::Release(const model::Placement& placement) {
  for (GpuId gpu : placement.gpus) {
    FL_CHECK_MSG(free_[gpu] == 0, "a placement releases a GPU that is free");
    free_[gpu] = 1;
    ++host_free_[fabric_->host_of(gpu)];
    ++num_free_;
  }
}

uint32_t NumHosts(const model::Job& job) { return (job.num_gpus + job.gpus_per_host - 1) / job.gpus_per_host; }

uint32_t RanksOnHost(const model::Job& job, uint32_t index) {
  const uint32_t before = index * job.gpus_per_host;
  FL_CHECK(before < job.num_gpus);
  return std::min(job.gpus_per_host, job.num_gpus - before);
}

void AppendFreeGpus(const GpuPool& pool, HostId host, uint32_t num_gpus, model::Placement* placement) {
  const GpuId first = pool.fabric().first_gpu(host);
  for (uint32_t g = 0; g < pool.fabric().num_gpus_of(host) && num_gpus > 0; ++g) {
    const GpuId gpu(first.value() + g);
    if (!pool.is_free(gpu)) continue;
    placement->gpus.push_back(gpu);
    --num_gpus;
  }
  FL_CHECK_MSG(num_gpus == 0, "a policy chose a host without enough free GPUs");
}

model::Placement PlaceOnHosts(const GpuPool& pool, const model::Job& job, const std::vector<HostId>& hosts) {
  FL_CHECK(hosts.size() == NumHosts(job));
  model::Placement placement;
  placement.gpus.reserve(job.num_gpus);
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    AppendFreeGpus(pool, hosts[i], RanksOnHost(job, i), &placement);
  }
  return placement;
}

std::optional<model::Placement> PlaceOnOwnHosts(const GpuPool& pool, const model::Job& job) {
  if (job.hosts.size() != NumHosts(job)) return std::nullopt;
  for (uint32_t i = 0; i < job.hosts.size(); ++i) {
    if (job.hosts[i].index() >= pool.fabric().num_hosts()) return std::nullopt;
    if (pool.num_free(job.hosts[i]) < RanksOnHost(job, i)) return std::nullopt;
  }
  return PlaceOnHosts(pool, job, job.hosts);
}

}  // namespace fairlead::scheduling
