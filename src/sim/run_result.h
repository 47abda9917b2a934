// What a simulation leaves behind: plain data for tables, JSON and pages. Filled by the engine, read by `report`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "scheduling/decision_record.h"
#include "sim/loss_cause.h"
#include "sim/run_recording.h"
#include "topology/fabric.h"
#include "traffic/placement_choice.h"

namespace fairlead::sim {

// How far a measured profile is from the truth, relative.
struct ProfilingError {
  double window_s = 0;        // for how long the job was watched
  double iteration_time = 0;  // against its mean iteration in the window
  double work = 0;            // FLOP per iteration
  double bytes = 0;           // sent over NICs per iteration
};

// A job has so many GPUs from then on; 0: it waits.
struct SizeChange {
  double time_s = 0;
  uint32_t num_gpus = 0;
  std::string reason;  // text of the allocation policy
};

// What an allocation policy did with a job.
struct AllocationResult {
  std::vector<SizeChange> sizes;  // by time; the end of the job is no change
  double waited_s = 0;            // without GPUs, from its arrival to its end or the end of the run
  uint32_t num_restarts = 0;      // after its first start
  uint32_t num_stops = 0;         // of these with a wait in between
  double held_gpu_s = 0;          // restarts included
  double busy_gpu_s = 0;          // in which its GPUs computed
};

// Some workers of a job change hosts.
struct WorkerMove {
  double time_s = 0;
  uint32_t num_gpus = 0;  // workers
  std::string reason;
};

// What migration did to a job.
struct JobMigrations {
  std::vector<WorkerMove> moves;  // by time
  // In which it stood still: state was transferred, and it restarted. The iterations that were under way are lost
  // besides; as far as other jobs did not slow the transfer down, both are in its losses, cause kRestart.
  double stopped_s = 0;
};

// State of a job at the end of the run, or of the job. Names in JSON: JobConditionName().
enum class JobCondition : uint8_t {
  kNeverStarted,  // it began no iteration
  kRan,           // it finished, or was making progress
  kStalled,       // it has paths, and has done no work for a second and three of its iterations alone, or longer
  kCutOff,        // it waits for a transfer that has no path, or only one over a link that is down
};

// "never_started", "ran", "stalled", "cut_off".
std::string_view JobConditionName(JobCondition condition);

// Time that a job lost, for one cause, because of one other job, on one link.
struct LossResult {
  LossCause cause = LossCause::kNotAttributed;
  JobId culprit;          // kJob, kLevel, kProfiling; invalid otherwise
  LinkId link;            // invalid: no link has to do with it
  std::string link_name;  // empty: no link
  double lost_s = 0;      // > 0
  double gpu_hours = 0;   // lost_s times the GPUs that the job held then
};

// One job over the whole run.
struct JobResult {
  JobId id;
  std::string name;
  std::string model;
  uint32_t num_gpus = 0;
  double arrival_s = 0;
  double start_s = 0;  // first iteration began; < 0: it never did
  double end_s = 0;    // finished, or the end of the run
  bool finished = false;
  JobCondition condition = JobCondition::kNeverStarted;
  double stalled_s = 0;    // for how long it had done no work when the run ended; 0 unless stalled or cut off
  double held_s = 0;       // in which it held GPUs, from its first iteration on; with its restarts where sizes change
  double work = 0;         // useful work: completed iterations plus the share of the open one
  double iterations = 0;   // the same
  double iteration_s = 0;  // mean length of a completed iteration; 0 when none completed
  double solo_iteration_s = 0;  // the same alone on the healthy fabric, on the fastest of the sound path choices
  // held_s / (work * solo_iteration_s), >= 1; a lower bound where the job is stalled or cut off (printed ">= x");
  // 0: it never started.
  double slowdown = 0;
  double lost_s = 0;          // held_s - work * solo_iteration_s
  double lost_gpu_hours = 0;  // the same times GPUs
  // Rows add up to lost_s and lost_gpu_hours; most lost first, then by cause, culprit and link.
  std::vector<LossResult> lost_to;
  double compute_s = 0;      // seconds in which the job's GPUs computed
  double gpu_intensity = 0;  // Crux I_j, FLOP/s; 0 = no network traffic
  uint32_t level = 0;        // priority level in force at the end, 0 = most important
  uint32_t priority_rank = 0;
  std::optional<ProfilingError> profiling_error;  // nothing: it was not profiled, or sends nothing over NICs
  // CNPs that its senders received; nothing: congestion control is not modelled.
  std::optional<double> cnps;
  // What its bytes wait, in the mean, in the queue of a link that holds them back, s; nothing: as above.
  std::optional<double> queue_wait_s;
  std::string bounding_link;  // link on which the job's flows waited longest; empty: none
  std::string reason;         // text of the policy about this job
  // Nothing: sizes are fixed. With it `num_gpus` is the last size that the job had.
  std::optional<AllocationResult> allocation;
  // Nothing: workers don't migrate.
  std::optional<JobMigrations> migrations = {};
};

// What stands before a link, by the operating point of its congestion control (congestion_loss.h); all levels.
struct LinkQueueResult {
  double mean_bytes = 0;  // over the simulated time
  double most_bytes = 0;  // while the same flows were held back
};

struct LinkResult {
  LinkId id;
  std::string name;
  topology::LinkTier tier = topology::LinkTier::kLeafSpine;
  double capacity_bytes_per_s = 0;
  double utilization = 0;                     // bytes carried / (capacity x simulated time), 0..1
  uint32_t num_jobs = 0;                      // jobs with a path over it at the end
  std::vector<JobId> jobs = {};               // whose last paths, of then or of their end, lead over it; ascending
  std::vector<float> utilization_over_time;   // [Timeline bin]; kept for the hottest links only
  std::optional<LinkQueueResult> queue = {};  // nothing: congestion control is not modelled
};

// Equal bins over the simulated time.
struct Timeline {
  double bin_s = 0;
  std::vector<double> gpu_busy;        // [bin] busy GPUs / GPUs allocated to running jobs, 0..1
  std::vector<double> held_gpu_s;      // [bin] GPU-seconds allocated to running jobs: the weight of gpu_busy
  std::vector<double> network_load;    // [bin] bytes carried on network links / their capacity
  std::vector<uint32_t> running_jobs;  // [bin]
};

// One re-plan and what it changed for jobs that ran before and after it: the cost of control.
struct ControlChange {
  double time_s = 0;
  uint32_t jobs_started = 0;
  uint32_t jobs_ended = 0;
  uint32_t links_changed = 0;
  uint64_t path_changes = 0;   // flows
  uint64_t level_changes = 0;  // jobs
};

// What became of a broken GPU. Times in seconds of the run; < 0: it did not happen.
struct FaultResult {
  HostId host;
  std::string host_name = {};
  std::string kind = {};  // as in execution/fault.h
  double began_s = 0;
  double hit_s = -1;       // a job first met it
  double found_s = -1;     // a confirmed finding first named its host
  double isolated_s = -1;  // its host
  double resumed_s = -1;   // a job that it had hit first trained on sound GPUs again
  double back_s = -1;      // its host, repaired
  uint32_t num_jobs_hit = 0;
};

// What broken GPUs have cost, and what was done about them.
struct HealthResult {
  std::vector<FaultResult> faults = {};  // by time
  double hung_gpu_s = 0;                 // held by jobs that made no progress
  double repeated_gpu_s = 0;             // for work since the last checkpoint, done again
  double restarted_gpu_s = 0;            // for restarts of jobs that were hit
  double slowed_gpu_s = 0;               // that slow jobs lost against sound GPUs
  double away_gpu_s = 0;                 // of isolated hosts
  uint32_t num_failures = 0;             // of jobs, by time-out or launcher
  uint32_t num_isolations = 0;
  uint32_t num_wrong_isolations = 0;  // of hosts without a broken GPU
};

// A stream of messages beside training (background_traffic.h). Times are from a message's begin to its last byte.
struct BackgroundResult {
  std::string name;
  uint64_t num_messages = 0;    // that have ended
  uint64_t num_unfinished = 0;  // on their way at the end of the run
  uint64_t num_skipped = 0;     // checkpoints that were due while the last one was being written
  double gigabytes = 0;         // of those that have ended
  double mean_s = 0;
  double p50_s = 0;
  double p99_s = 0;  // nearest rank
  double max_s = 0;
  double mean_slowdown = 0;  // against the message alone on the healthy fabric
};

// Workers that changed hosts (controller/worker_migration.h).
struct MigrationResult {
  uint64_t num_plans = 0;       // that moved workers of running jobs
  uint64_t num_unrelieved = 0;  // times that a rack had too many rings, and no plan helped
  uint64_t moved_jobs = 0;
  uint64_t moved_gpus = 0;
  double stopped_s = 0;       // sum of the jobs'
  double lost_gpu_hours = 0;  // by what that takes alone, and by iterations that were under way: cause kRestart
};

// One policy under one draw of chance (scenario_draws.h).
struct RunResult {
  std::string policy;
  std::string allocation;  // policy that decides about sizes; empty: sizes are fixed
  uint32_t draw = 0;
  uint64_t seed = 0;  // of the hash
  uint64_t phase_seed = 0;
  uint64_t placement_seed = 0;
  uint64_t event_hash = 0;
  bool partial = false;  // stopped by the user or a limit before the end
  double simulated_s = 0;
  double wall_s = 0;
  double peak_rss_mb = 0;
  double fast_forward_fraction = 0;     // of simulated job time that was jumped, 0..1
  double fast_forward_error_bound = 0;  // largest relative error of a job's iterations that jumping may have caused
  double busy = 0;                      // GPU utilization: sum of GPUs x compute seconds / sum of GPUs x seconds held
  double flop_weighted = 0;             // FLOP done / (GPUs held x peak x seconds)
  double vs_ideal = 0;                  // useful work / what each job would have done alone in the time held, 0..1
  double ideal_busy = 0;                // busy when every job runs alone
  double gpu_hours_lost = 0;            // sum of the jobs' lost_gpu_hours
  double mean_slowdown = 0;             // over jobs that began; 0: none did
  double worst_slowdown = 0;            // the greatest; 0: no job began
  std::optional<double> p99_slowdown;   // nearest rank; nothing with fewer than 100 jobs
  bool slowdowns_are_bounds = false;    // a stalled or cut off job is among them: mean and worst are at least so much
  uint32_t num_stalled = 0;             // jobs
  uint32_t num_cut_off = 0;             // jobs
  uint64_t path_changes = 0;            // flows with a path changed by a re-plan
  uint64_t level_changes = 0;           // jobs with a level changed by a re-plan
  // Links between switches on which a job lost time to another job or to itself, over the whole run.
  uint64_t colliding_links = 0;
  // Of the bytes that flows would have sent while full links held them back, the share that the saw-tooth of their
  // rates cost (congestion_loss.h); nothing: congestion control is not modelled.
  std::optional<double> congestion_loss;
  std::vector<ControlChange> control;                        // re-plans that changed something, by time
  uint64_t num_plans = 0;                                    // re-plans
  std::vector<JobResult> jobs;                               // by id
  std::vector<LinkResult> links;                             // network links that carried bytes, by id
  std::vector<std::pair<LinkId, double>> unwell_links = {};  // with less than all of their capacity at the end, by id
  Timeline timeline;
  // About one job, where ScenarioRunOptions asks for it and an allocation policy decides; by time.
  std::vector<scheduling::DecisionRecord> decisions;
  // Where the scenario has faults or events of hosts.
  std::optional<HealthResult> health = {};
  // Where the scenario has such traffic.
  std::vector<BackgroundResult> background = {};
  // Where the scenario lets workers migrate.
  std::optional<MigrationResult> migration = {};
  // Where the traffic policy chooses among placements.
  std::optional<traffic::PlacementCounters> placement_choices = {};
  // Where ScenarioRunOptions asks for it.
  std::optional<RunRecording> recording;
};

// A run that one of our own checks has ended: no results, and a mistake of ours.
struct FailedRun {
  std::string policy;     // as RunResult::policy
  uint32_t draw = 0;      // as RunResult::draw
  uint64_t seed = 0;      // of the hash
  std::string message;    // of the check: file, line, expression
  std::string reproduce;  // one command that runs it alone; empty: unknown
};

// One `fairlead sim run`: every policy under every draw.
struct SimulationReport {
  std::string scenario;  // its title
  std::string version;
  uint64_t num_gpus = 0;           // of the cluster
  std::string fabric_summary;      // "346 hosts, 2768 GPUs (A100), 173 leaves, 16 spines"
  std::vector<std::string> notes;  // assumptions that the scenario makes; shown on the page
  // Doubts of the run about its input: the job, what was found, what to check. Shown with the notes.
  std::vector<std::string> doubts;
  std::vector<std::string> varied;  // what differs between draws: "hash", "phase", "placement"
  std::vector<RunResult> runs;      // grouped by policy, draws ascending
  // Beside `runs`, in the same order; only where ScenarioRunOptions::keeps_others.
  std::vector<FailedRun> failed_runs;
};

}  // namespace fairlead::sim
