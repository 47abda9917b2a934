// What a simulation leaves behind: plain data for tables, JSON and pages. Filled by the engine, read by `report`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "scheduling/decision_record.h"
#include "topology/fabric.h"

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
  std::string reason;  // the allocation policy's words
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
  double iterations = 0;        // completed, plus the fraction of work of the last one
  double iteration_s = 0;       // mean length of a completed iteration; 0 when none completed
  double solo_iteration_s = 0;  // the same alone on the empty fabric
  double slowdown = 0;          // iteration_s / solo_iteration_s; 0 when unknown
  double compute_s = 0;         // seconds in which the job's GPUs computed
  double gpu_intensity = 0;     // Crux I_j, FLOP/s; 0 = no network traffic
  uint32_t level = 0;           // priority level in force at the end, 0 = most important
  uint32_t priority_rank = 0;
  std::optional<ProfilingError> profiling_error;  // nothing: it was not profiled, or sends nothing over NICs
  // CNPs that its senders received; nothing: congestion control is not modelled.
  std::optional<double> cnps;
  std::string bounding_link;  // link on which the job's flows waited longest; empty: none
  std::string reason;         // the policy's words about this job
  // Nothing: sizes are fixed. With it `num_gpus` is the last size that the job had.
  std::optional<AllocationResult> allocation;
};

// Time a job lost on one link because of one other job.
struct ContentionResult {
  JobId victim;
  JobId culprit;
  LinkId link;
  std::string link_name;
  double shared_s = 0;   // both had active flows on the link while it bounded the victim
  double lost_s = 0;     // the victim's share of delay blamed on this culprit
  bool yielded = false;  // the victim stood on a lower level than the culprit
};

struct LinkResult {
  LinkId id;
  std::string name;
  topology::LinkTier tier = topology::LinkTier::kLeafSpine;
  double capacity_bytes_per_s = 0;
  double utilization = 0;                    // bytes carried / (capacity x simulated time), 0..1
  uint32_t num_jobs = 0;                     // jobs with a path over it at the end
  std::vector<float> utilization_over_time;  // [Timeline bin]; kept for the hottest links only
};

// Equal bins over the simulated time.
struct Timeline {
  double bin_s = 0;
  std::vector<double> gpu_busy;        // [bin] busy GPUs / GPUs allocated to running jobs, 0..1
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

// One policy under one hash seed.
struct RunResult {
  std::string policy;
  std::string allocation;  // policy that decides about sizes; empty: sizes are fixed
  uint64_t seed = 0;
  uint64_t event_hash = 0;
  bool partial = false;  // stopped by the user or a limit before the end
  double simulated_s = 0;
  double wall_s = 0;
  double peak_rss_mb = 0;
  double fast_forward_fraction = 0;     // of simulated job time that was jumped, 0..1
  double fast_forward_error_bound = 0;  // largest relative error of a job's iterations that jumping may have caused
  double busy = 0;                      // GPU utilization: sum of GPUs x compute seconds / sum of GPUs x seconds held
  double flop_weighted = 0;             // FLOP done / (GPUs held x peak x seconds)
  double vs_ideal = 0;                  // busy / busy when every job runs alone on the empty fabric
  double gpu_hours_lost = 0;            // GPU-hours by which jobs were behind their solo speed
  double mean_slowdown = 0;             // over jobs that completed an iteration
  double p99_slowdown = 0;              // nearest rank
  uint64_t path_changes = 0;            // flows whose path a re-plan changed
  uint64_t level_changes = 0;           // jobs whose level a re-plan changed
  // Links between switches whose flows, each as fast as its NIC allows, ask for more than the link carries
  // (link_collisions.h); at the end.
  uint64_t colliding_links = 0;
  // Of the bytes that flows would have sent while full links held them back, the share that the saw-tooth of their
  // rates cost (congestion_loss.h); nothing: congestion control is not modelled.
  std::optional<double> congestion_loss;
  std::vector<ControlChange> control;        // re-plans that changed something, by time
  uint64_t num_plans = 0;                    // re-plans
  std::vector<JobResult> jobs;               // by id
  std::vector<LinkResult> links;             // network links that carried bytes, by id
  std::vector<ContentionResult> contention;  // by (victim, culprit, link)
  Timeline timeline;
  // About one job, where ScenarioRunOptions asks for it and an allocation policy decides; by time.
  std::vector<scheduling::DecisionRecord> decisions;
};

// A run that one of our own checks has ended: no results, and a mistake of ours.
struct FailedRun {
  std::string policy;  // as RunResult::policy
  uint64_t seed = 0;
  std::string message;    // of the check: file, line, expression
  std::string reproduce;  // one command that runs it alone; empty: nobody has said
};

// One `fairlead sim run`: every policy under every seed.
struct SimulationReport {
  std::string scenario;  // its title
  std::string version;
  uint64_t num_gpus = 0;           // of the cluster
  std::string fabric_summary;      // "346 hosts, 2768 GPUs (A100), 173 leaves, 16 spines"
  std::vector<std::string> notes;  // assumptions that the scenario makes; shown on the page
  std::vector<RunResult> runs;     // grouped by policy, seeds ascending
  // Beside `runs`, in the same order; only where ScenarioRunOptions::keeps_others.
  std::vector<FailedRun> failed_runs;
};

}  // namespace fairlead::sim
