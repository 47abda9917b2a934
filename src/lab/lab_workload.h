// The jobs of a scenario as plans for trainers in a lab: the messages, senders, receivers and connections.
//
// Placement is the controller's and iterations are those of the simulator (sim::MakeIterationProvider), so that both
// worlds run the same thing. Bytes shrink with the lab's scale as its links do, which leaves all times unchanged.
//
// Rings       a group of flows that visits its hosts in one circle is passed on part by part, as NCCL does it: a host
//             sends what it has received, and no more than one step of the ring ahead. All other flows just flow.
// In a host   flows over NVLink and PCIe become the time that they would take alone: max over links of bytes / speed.
// Connection  number k of a pair of NICs carries the pair's k-th flow of every phase: queue pairs live as long as jobs.
// Queue pairs of a connection share its bytes, unless set otherwise (trainer/chunk.h).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_plan.h"
#include "lab/trainer/trainer_plan.h"
#include "model/flow.h"
#include "model/job.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct LabWorker {
  LabNodeId host;
  TrainerPlan plan;
};

struct LabJob {
  std::string name;
  std::vector<LabWorker> workers;  // by host, in order of their first rank
};

// What each queue pair of a connection between hosts carries.
enum class QueuePairBytes {
  kShared,  // as much as it can; where connections have one queue pair: as kFixed
  kFixed,   // an equal share, whatever the others do
};

// A job to be planned: its place, and what an iteration of it is in the fabric, at full speed.
struct PlacedJob {
  std::string name;
  model::Placement placement;
  model::Iteration iteration;    // its flows not split into queue pairs
  uint32_t num_queue_pairs = 1;  // that each flow between hosts is split into
  QueuePairBytes queue_pair_bytes = QueuePairBytes::kShared;
  uint16_t listen_port = 0;
  double start_s = 0;
  uint64_t num_iterations = 0;
};

// Gives the communicators of a job new ids, as NCCL draws them at each start of it; without that, processes of one
// start could be mistaken for those of another. Args: draw: another one for each start.
void DrawCommunicatorIds(uint64_t draw, LabJob* job);
// Args: fabric: the one that `plan` was made of. Ids of communicators follow from the job's name and place.
LabJob PlanJob(const topology::Fabric& fabric, const LabPlan& plan, const PlacedJob& job);

// Where a job of a scenario is to run.
struct JobPlace {
  JobId job;
  // [worker] none twice. More or fewer than the scenario says: an iteration is the same work, divided among them.
  std::vector<LabNodeId> hosts;
  std::vector<uint32_t> num_gpus;  // [worker] >= 1
  uint32_t num_queue_pairs = 1;
  uint16_t listen_port = 0;
  uint64_t num_iterations = 0;
};

// Plans a job of a scenario on hosts that somebody else has chosen. Args: scenario: with whole connections
// (qps_per_connection 1); plan: of its fabric. Errors: kInvalidArgument: a host is none, or has fewer GPUs, or the
// job can't be divided so.
Result<LabJob> PlanJobAt(const sim::Scenario& scenario, const LabPlan& plan, const JobPlace& place);

// The port that a job of a scenario listens at on its hosts.
uint16_t ListenPortOf(JobId job);

// All jobs of a scenario, placed as the scenario says. `num_iterations` > 0 overrides theirs.
// Errors: kInvalidArgument: its fabric is not that of the lab; no jobs, or more than ports; a job finds no place.
Result<std::vector<LabJob>> PlanJobs(const sim::Scenario& scenario, const LabPlan& plan, uint64_t num_iterations,
                                     QueuePairBytes queue_pair_bytes = QueuePairBytes::kShared);

}  // namespace fairlead::lab
