#include "controller/worker_migration.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace fairlead::controller {
namespace {

using scheduling::BlockMove;
using scheduling::Defragmentation;
using scheduling::DefragmentationOutcome;
using scheduling::RackView;

// By first rank.
std::vector<HostId> HostsOf(const topology::Fabric& fabric, const model::Placement& placement) {
  std::vector<HostId> hosts;
  for (const GpuId gpu : placement.gpus) {
    const HostId host = fabric.host_of(gpu);
    if (hosts.empty() || hosts.back() != host) hosts.push_back(host);
  }
  return hosts;
}

// In several racks, on hosts that are all its own.
bool IsSegment(const topology::Fabric& fabric, const model::Placement& placement, const std::vector<HostId>& hosts) {
  size_t num_gpus = 0;
  bool is_torn = false;
  for (const HostId host : hosts) {
    num_gpus += fabric.num_gpus_of(host);
    is_torn |= fabric.leaf_group(host) != fabric.leaf_group(hosts.front());
  }
  return is_torn && num_gpus == placement.gpus.size();
}

// The jobs that may move, and the room for them.
struct Segments {
  RackView racks;
  std::vector<size_t> jobs;                // [segment]
  std::vector<std::vector<HostId>> hosts;  // [segment] by first rank
};

Segments FindSegments(const scheduling::GpuPool& pool, std::span<const MovableJob> jobs, uint32_t max_rings) {
  const topology::Fabric& fabric = pool.fabric();
  Segments found;
  found.racks.max_rings = max_rings;
  found.racks.capacity.assign(fabric.num_leaf_groups(), 0);
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const HostId host(h);
    if (pool.num_free(host) == fabric.num_gpus_of(host)) ++found.racks.capacity[fabric.leaf_group(host)];
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    std::vector<HostId> hosts = HostsOf(fabric, *jobs[j].placement);
    if (!IsSegment(fabric, *jobs[j].placement, hosts)) continue;
    scheduling::Segment segment;
    segment.num_rings = NumRings(fabric, *jobs[j].iteration);
    segment.blocks.assign(fabric.num_leaf_groups(), 0);
    for (const HostId host : hosts) {
      ++segment.blocks[fabric.leaf_group(host)];
      ++found.racks.capacity[fabric.leaf_group(host)];
    }
    found.racks.segments.push_back(std::move(segment));
    found.jobs.push_back(j);
    found.hosts.push_back(std::move(hosts));
  }
  return found;
}

// Free hosts by rack, lowest number first.
class FreeHosts {
 public:
  explicit FreeHosts(const scheduling::GpuPool& pool) : fabric_(pool.fabric()), hosts_(fabric_.num_leaf_groups()) {
    for (size_t h = 0; h < fabric_.num_hosts(); ++h) {
      if (pool.num_free(HostId(h)) == fabric_.num_gpus_of(HostId(h))) Add(HostId(h));
    }
  }

  void Add(HostId host) {
    std::vector<HostId>& rack = hosts_[fabric_.leaf_group(host)];
    rack.insert(std::ranges::lower_bound(rack, host), host);
  }
  HostId Take(uint32_t rack) {
    FL_CHECK_MSG(!hosts_[rack].empty(), "a plan moves workers to a full rack");
    const HostId host = hosts_[rack].front();
    hosts_[rack].erase(hosts_[rack].begin());
    return host;
  }

 private:
  const topology::Fabric& fabric_;
  std::vector<std::vector<HostId>> hosts_;  // [rack]
};

// The last `count` hosts of a rack leave the list: those that stay follow one another as before.
std::vector<HostId> TakeFromEnd(const topology::Fabric& fabric, uint32_t rack, uint32_t count,
                                std::vector<HostId>* hosts) {
  std::vector<HostId> taken;
  for (size_t i = hosts->size(); i-- > 0 && taken.size() < count;) {
    if (fabric.leaf_group((*hosts)[i]) != rack) continue;
    taken.push_back((*hosts)[i]);
    hosts->erase(hosts->begin() + static_cast<ptrdiff_t>(i));
  }
  std::ranges::reverse(taken);
  return taken;
}

// Rack after rack, in the order in which racks appear.
model::Placement PlaceRackByRack(const topology::Fabric& fabric, std::vector<HostId> hosts) {
  std::map<uint32_t, size_t> order;
  for (const HostId host : hosts) order.try_emplace(fabric.leaf_group(host), order.size());
  std::ranges::stable_sort(hosts, {}, [&](HostId host) { return order.at(fabric.leaf_group(host)); });
  model::Placement placement;
  for (const HostId host : hosts) {
    for (uint32_t g = 0; g < fabric.num_gpus_of(host); ++g) {
      placement.gpus.emplace_back(fabric.first_gpu(host).value() + g);
    }
  }
  return placement;
}

// All hosts that are left are free before any is taken.
std::vector<JobMove> MoveHosts(const scheduling::GpuPool& pool, const std::vector<BlockMove>& moves,
                               Segments segments) {
  const topology::Fabric& fabric = pool.fabric();
  FreeHosts free(pool);
  std::vector<std::vector<HostId>> left;  // [move]
  for (const BlockMove& move : moves) {
    left.push_back(TakeFromEnd(fabric, move.from, move.num_blocks, &segments.hosts[move.segment]));
    for (const HostId host : left.back()) free.Add(host);
  }
  std::map<uint32_t, JobMove> by_segment;
  for (size_t m = 0; m < moves.size(); ++m) {
    JobMove& mine = by_segment[moves[m].segment];
    for (const HostId from : left[m]) {
      const HostId to = free.Take(moves[m].to);
      mine.hosts.push_back({from, to});
      segments.hosts[moves[m].segment].push_back(to);
    }
  }
  std::vector<JobMove> result;
  for (auto& [segment, move] : by_segment) {
    move.job = segments.jobs[segment];
    move.placement = PlaceRackByRack(fabric, std::move(segments.hosts[segment]));
    result.push_back(std::move(move));
  }
  return result;
}

}  // namespace

uint32_t NumRings(const topology::Fabric& fabric, const model::Iteration& iteration) {
  uint32_t most = 0;
  std::vector<uint32_t> leaving(fabric.num_leaf_groups());
  for (const model::CommunicationPhase& phase : iteration.phases) {
    std::ranges::fill(leaving, 0);
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const model::FlowDemand& flow = iteration.flows[f];
      const uint32_t rack = fabric.leaf_group(fabric.host_of(flow.source));
      if (flow.queue_pair > 0 || rack == fabric.leaf_group(fabric.host_of(flow.destination))) continue;
      most = std::max(most, ++leaving[rack]);
    }
  }
  return most;
}

MigrationPlan PlanMigration(const scheduling::GpuPool& pool, std::span<const MovableJob> jobs, uint32_t max_rings,
                            const scheduling::DefragmentationPolicy& policy) {
  Segments segments = FindSegments(pool, jobs, max_rings);
  const Defragmentation plan = policy.Plan(segments.racks);
  if (plan.outcome == DefragmentationOutcome::kNotNeeded) return {};
  return {.is_needed = true, .moves = MoveHosts(pool, plan.moves, std::move(segments))};
}

model::Iteration TransferIteration(const topology::Fabric& fabric, const std::vector<HostMove>& moves,
                                   Bytes worker_state) {
  model::Iteration iteration;
  for (const HostMove& move : moves) {
    for (uint32_t g = 0; g < fabric.num_gpus_of(move.from); ++g) {
      iteration.flows.push_back({.source = GpuId(fabric.first_gpu(move.from).value() + g),
                                 .destination = GpuId(fabric.first_gpu(move.to).value() + g),
                                 .bytes = worker_state,
                                 .group = iteration.num_groups++});
    }
  }
  iteration.phases.push_back({.name = "migration",
                              .start_fraction = 1,
                              .blocks_compute = false,
                              .first_flow = 0,
                              .num_flows = static_cast<uint32_t>(iteration.flows.size())});
  return iteration;
}

}  // namespace fairlead::controller
