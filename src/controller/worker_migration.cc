#include "controller/worker_migration.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/disjoint_sets.h"

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

bool OwnsItsHosts(const topology::Fabric& fabric, const model::Placement& placement, const std::vector<HostId>& hosts) {
  size_t num_gpus = 0;
  for (const HostId host : hosts) num_gpus += fabric.num_gpus_of(host);
  return num_gpus == placement.gpus.size();
}

// [flow] whether it is part of a ring between hosts.
std::vector<bool> FindRingFlows(const topology::Fabric& fabric, const model::Iteration& iteration) {
  std::vector<uint32_t> in_group(iteration.num_groups);
  for (const model::FlowDemand& flow : iteration.flows) in_group[flow.group] += flow.queue_pair == 0 ? 1 : 0;
  std::vector<bool> crosses, in_lockstep;
  for (const model::FlowDemand& flow : iteration.flows) {
    crosses.push_back(flow.queue_pair == 0 && fabric.host_of(flow.source) != fabric.host_of(flow.destination));
    in_lockstep.push_back(crosses.back() && in_group[flow.group] > 1);
  }
  return std::ranges::find(in_lockstep, true) == in_lockstep.end() ? crosses : in_lockstep;
}

// The parts of jobs that may move, and the room for them.
struct Segments {
  RackView racks;
  std::vector<size_t> jobs;                   // [segment]
  std::vector<std::vector<uint32_t>> places;  // [segment] RingSegment::hosts
  std::vector<std::vector<HostId>> hosts;     // [job] by first rank
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
    const std::vector<HostId>& hosts = found.hosts.emplace_back(HostsOf(fabric, *jobs[j].placement));
    if (!OwnsItsHosts(fabric, *jobs[j].placement, hosts)) continue;
    for (RingSegment& part : FindRingSegments(fabric, *jobs[j].placement, *jobs[j].iteration)) {
      scheduling::Segment segment;
      segment.num_rings = part.num_rings;
      segment.blocks.assign(fabric.num_leaf_groups(), 0);
      for (const uint32_t place : part.hosts) ++segment.blocks[fabric.leaf_group(hosts[place])];
      if (!scheduling::IsTorn(segment.blocks)) continue;
      for (size_t t = 0; t < segment.blocks.size(); ++t) found.racks.capacity[t] += segment.blocks[t];
      found.racks.segments.push_back(std::move(segment));
      found.jobs.push_back(j);
      found.places.push_back(std::move(part.hosts));
    }
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
void SortByRack(const topology::Fabric& fabric, std::vector<HostId>* hosts) {
  std::map<uint32_t, size_t> order;
  for (const HostId host : *hosts) order.try_emplace(fabric.leaf_group(host), order.size());
  std::ranges::stable_sort(*hosts, {}, [&](HostId host) { return order.at(fabric.leaf_group(host)); });
}

model::Placement PlaceOnWholeHosts(const topology::Fabric& fabric, const std::vector<HostId>& hosts) {
  model::Placement placement;
  for (const HostId host : hosts) {
    for (uint32_t g = 0; g < fabric.num_gpus_of(host); ++g) {
      placement.gpus.push_back(fabric.gpu(host, g));
    }
  }
  return placement;
}

// All hosts that are left are free before any is taken.
std::vector<JobMove> MoveHosts(const scheduling::GpuPool& pool, const std::vector<BlockMove>& moves,
                               Segments segments) {
  const topology::Fabric& fabric = pool.fabric();
  std::map<uint32_t, std::vector<HostId>> hosts;  // of segments that move
  for (const BlockMove& move : moves) {
    const auto [place, is_new] = hosts.try_emplace(move.segment);
    if (!is_new) continue;
    for (const uint32_t p : segments.places[move.segment]) {
      place->second.push_back(segments.hosts[segments.jobs[move.segment]][p]);
    }
  }
  FreeHosts free(pool);
  std::vector<std::vector<HostId>> left;  // [move]
  for (const BlockMove& move : moves) {
    left.push_back(TakeFromEnd(fabric, move.from, move.num_blocks, &hosts[move.segment]));
    for (const HostId host : left.back()) free.Add(host);
  }
  std::map<size_t, JobMove> by_job;
  for (size_t m = 0; m < moves.size(); ++m) {
    for (const HostId from : left[m]) {
      const HostId to = free.Take(moves[m].to);
      by_job[segments.jobs[moves[m].segment]].hosts.push_back({from, to});
      hosts[moves[m].segment].push_back(to);
    }
  }
  for (auto& [segment, own] : hosts) {
    SortByRack(fabric, &own);
    for (size_t i = 0; i < own.size(); ++i) {
      segments.hosts[segments.jobs[segment]][segments.places[segment][i]] = own[i];
    }
  }
  std::vector<JobMove> result;
  for (auto& [job, move] : by_job) {
    move.job = job;
    move.placement = PlaceOnWholeHosts(fabric, segments.hosts[job]);
    result.push_back(std::move(move));
  }
  return result;
}

}  // namespace

std::vector<RingSegment> FindRingSegments(const topology::Fabric& fabric, const model::Placement& placement,
                                          const model::Iteration& iteration) {
  const std::vector<HostId> hosts = HostsOf(fabric, placement);
  std::map<HostId, uint32_t> place_of;
  for (uint32_t p = 0; p < hosts.size(); ++p) place_of.emplace(hosts[p], p);
  const std::vector<bool> is_ring = FindRingFlows(fabric, iteration);
  DisjointSets joined(hosts.size());
  for (size_t f = 0; f < iteration.flows.size(); ++f) {
    if (!is_ring[f]) continue;
    joined.Join(place_of.at(fabric.host_of(iteration.flows[f].source)),
                place_of.at(fabric.host_of(iteration.flows[f].destination)));
  }
  std::vector<RingSegment> segments;
  std::map<uint32_t, size_t> segment_of;  // by what DisjointSets calls it
  for (uint32_t p = 0; p < hosts.size(); ++p) {
    const auto [place, is_new] = segment_of.try_emplace(joined.Find(p), segments.size());
    if (is_new) segments.emplace_back();
    segments[place->second].hosts.push_back(p);
  }
  for (const model::CommunicationPhase& phase : iteration.phases) {
    std::map<std::pair<size_t, uint32_t>, uint32_t> leaving;  // by segment and rack
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const HostId source = fabric.host_of(iteration.flows[f].source);
      const uint32_t rack = fabric.leaf_group(source);
      if (!is_ring[f] || rack == fabric.leaf_group(fabric.host_of(iteration.flows[f].destination))) continue;
      const size_t segment = segment_of.at(joined.Find(place_of.at(source)));
      segments[segment].num_rings = std::max(segments[segment].num_rings, ++leaving[{segment, rack}]);
    }
  }
  return segments;
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
      iteration.flows.push_back({.source = fabric.gpu(move.from, g),
                                 .destination = fabric.gpu(move.to, g),
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
