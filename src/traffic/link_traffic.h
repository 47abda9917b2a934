// How many bytes a job puts on each link in one iteration, how long its worst link needs for them, and which jobs meet.
//
// Capacities and tiers come in as a table, paths as lists of links. A phase with all flows on NVLink is
// *private*: no other job can reach those links (a GPU belongs to one job), so its bytes are not traffic that policies
// arbitrate. They count as time of the phase only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/lazy_id_vector.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/path.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::traffic {

struct TrafficSnapshot;

// What policies need to know of links. A view: what it is made from outlives it.
class LinkTable {
 public:
  // Args: [link]. health: share of the capacity that is left; null: all of it.
  LinkTable(const IdVector<LinkId, BytesPerSecond>& capacities, const IdVector<LinkId, topology::LinkTier>& tiers,
            const topology::LinkHealth* health)
      : capacities_(&capacities), tiers_(&tiers), health_(health) {}

  size_t size() const { return capacities_->size(); }
  // What is left of it; 0 = down.
  BytesPerSecond capacity(LinkId link) const {
    return (*capacities_)[link] * (health_ == nullptr ? 1.0 : (*health_)[link]);
  }
  topology::LinkTier tier(LinkId link) const { return (*tiers_)[link]; }
  bool is_network(LinkId link) const { return topology::IsNetwork(tier(link)); }
  // Two jobs can meet on it. NVLink joins one GPU to its switch, and a GPU has one job.
  bool can_be_shared(LinkId link) const { return tier(link) != topology::LinkTier::kNvlink; }

 private:
  const IdVector<LinkId, BytesPerSecond>* capacities_;
  const IdVector<LinkId, topology::LinkTier>* tiers_;
  const topology::LinkHealth* health_;
};

// Of the snapshot's fabric and health.
LinkTable MakeLinkTable(const TrafficSnapshot& snapshot);

struct LinkBytes {
  LinkId link;
  Bytes bytes;  // per iteration
};

// One communication phase of an iteration.
struct PhaseTraffic {
  Seconds time;             // the phase alone: max over its links of bytes / capacity; infinite over a dead link
  bool is_private = false;  // every flow stays on NVLink; also true of a phase without any path
};

// One job's iteration on the links of its paths.
struct JobTraffic {
  std::vector<LinkBytes> links;      // M_{j,e} without private phases, in order of first use, bytes > 0
  std::vector<PhaseTraffic> phases;  // [phase of the iteration]
  Seconds communication_time;        // t_j = max over links of M_{j,e} / B_e, network and intra-host links alike
  LinkId bounding_link;              // where that maximum is (ties: lowest id); invalid when links is empty
  Bytes network_bytes;               // sum of M_{j,e} over network links
};

// Measures one job after the other with the same scratch memory.
// Paper: Crux section 3.2 (M_{j,e}, t_j).
class LinkTrafficMeter {
 public:
  explicit LinkTrafficMeter(const LinkTable& links);

  // Args: paths [flow of the iteration]; an empty path (cut off by failures) carries nothing.
  // Cost: O(links of all paths).
  JobTraffic Measure(const model::Iteration& iteration, std::span<const model::Path> paths);

 private:
  PhaseTraffic MeasurePhase(const model::Iteration& iteration, const model::CommunicationPhase& phase,
                            std::span<const model::Path> paths);
  void MovePhaseToJob(bool is_private);

  LinkTable links_;
  // Bytes so far, [LinkId], 0 between calls; and the links where they are not 0.
  LazyIdVector<LinkId, double> phase_bytes_;
  LazyIdVector<LinkId, double> job_bytes_;
  std::vector<LinkId> phase_links_;
  std::vector<LinkId> job_links_;
};

// Which jobs share at least one link, in the network or inside a host: result[a] lists every b != a that meets a,
// ascending. Levels act on all of these links.
// Args: jobs [job], the paths of each.
// Cost: O(links of all paths + sum over links of the jobs on them * jobs / 64).
// Paper: Crux section 4.3 (edges of the contention DAG before they are given a direction).
std::vector<std::vector<uint32_t>> FindContention(std::span<const std::span<const model::Path>> jobs,
                                                  const LinkTable& links);
// The same, of what was measured on these paths: JobTraffic::links of each job.
std::vector<std::vector<uint32_t>> FindContention(std::span<const std::span<const LinkBytes>> jobs,
                                                  const LinkTable& links);

}  // namespace fairlead::traffic
