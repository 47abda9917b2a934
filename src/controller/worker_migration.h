// Which workers of running jobs change hosts, so that no rack has more rings on its uplinks than there are spines
// (MonkeyTree): the plan of a defragmentation policy, in hosts and GPUs.
//
//     racks, blocks, rings <-- free hosts, placements, iterations        a rack is a leaf group, a block a whole host
//          |
//     DefragmentationPolicy --> moves of blocks --> placements, and which host goes where
//
// A segment is what rings hold together: a job, or one of its pipeline stages, whose messages to the next one are not
// counted. Jobs whose hosts are not all theirs are left alone, and so are their rings.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/job.h"
#include "scheduling/defragmentation_policy.h"
#include "scheduling/placement_policy.h"
#include "topology/fabric.h"

namespace fairlead::controller {

struct MigrationOptions {
  // Null: jobs stay where they started. Must outlive the controller.
  const scheduling::DefragmentationPolicy* policy = nullptr;
  // Rings that a rack may have on its uplinks; >= 1. Fewer keep more of the uplinks free for one ring each, and move
  // more workers. 0: as many as the fabric has spines.
  uint32_t max_rings = 0;
  // What a worker of the job (the process of one GPU) takes along, as flows from its old host to the new one. Empty:
  // nothing, its state is there at once.
  std::function<Bytes(const model::Job&)> worker_state;
  // From the end of these flows until the job trains again.
  SimDuration restart_time;
};

// What has been done so far.
struct MigrationCounters {
  uint64_t num_plans = 0;       // that moved workers of running jobs
  uint64_t num_unrelieved = 0;  // times that a rack had too many rings, and no plan helped
  uint64_t moved_jobs = 0;
  uint64_t moved_gpus = 0;
};

// A running job as far as it matters here. The iteration is that of its training.
struct MovableJob {
  const model::Job* job;
  const model::Placement* placement;
  const model::Iteration* iteration;
};

struct HostMove {
  HostId from;
  HostId to;
};

struct JobMove {
  size_t job = 0;  // index into the jobs that were given
  // Ranks of each segment rack by rack, so that a ring enters and leaves a rack once. Segments keep their order.
  model::Placement placement;
  std::vector<HostMove> hosts;
};

struct MigrationPlan {
  bool is_needed = false;      // a rack has more than max_rings
  std::vector<JobMove> moves;  // by job; empty: nothing is needed, or nothing helps
};

// Hosts of a job whose ranks move data in lockstep.
struct RingSegment {
  std::vector<uint32_t> hosts;  // places in the job's hosts by first rank, ascending
  // Most flows of rings that leave one rack in one phase; the queue pairs of a connection are one. 0: in one rack.
  uint32_t num_rings = 0;
};

// By first host; each host is in one. Where no flows between hosts move in lockstep all of them count as rings, those
// of an all-to-all for one. Cost: O(flows).
std::vector<RingSegment> FindRingSegments(const topology::Fabric& fabric, const model::Placement& placement,
                                          const model::Iteration& iteration);

// Pure. Args: pool: without the GPUs of `jobs`; max_rings >= 1. Cost: that of the policy.
MigrationPlan PlanMigration(const scheduling::GpuPool& pool, std::span<const MovableJob> jobs, uint32_t max_rings,
                            const scheduling::DefragmentationPolicy& policy);

// The transfer of the state of all workers that move, each in one flow: an iteration that only sends. Args:
// worker_state > 0; moves not empty.
model::Iteration TransferIteration(const topology::Fabric& fabric, const std::vector<HostMove>& moves,
                                   Bytes worker_state);

}  // namespace fairlead::controller
