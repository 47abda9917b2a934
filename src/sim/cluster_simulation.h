// One simulated cluster: a controller in virtual time, the jobs it starts, and the fluid network they share.
//
// Between outside events (arrival, finish, link change) the running jobs fall into contention domains that can't
// influence each other; each is simulated separately, when its progress is needed (domain_set.h). A finish re-plans all
// jobs, so domains that could finish a job go first.
//
//   outside events --> ClusterController --> StartJob / SetTraffic --> JobState, paths --> domains --> finishes --> …
//
// Under an allocation policy a job runs in stretches, each on other GPUs. A stretch begins with its restart; the
// iteration that is under way when it ends is lost. Whenever the policy is asked, progress is reported first. A job
// whose workers migrate does so in two stretches: in the first one its only iteration is the transfer of their state.
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     run_engine         time, domains, what jobs lose  traffic_in_force  paths, levels and shares in force, links
//     simulated_jobs     records, who runs              carried_account   what links have carried
//     outside_events     what comes, and when           healthy_fabric    what jobs would have alone
//     job_profiling      who is profiled                progress_reports  what the controller was told of progress
//     live_jobs          whose traffic is live          control_log       what re-plans have changed
//     health/host_care   broken GPUs, and who sees to them
//     failure_detection  which failures of links the routing knows of
//
// Size        its members are those parts, and what is new between two of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "fluid/dcqcn.h"
#include "model/job.h"
#include "scheduling/placement_policy.h"
#include "sim/background_traffic.h"
#include "sim/carried_account.h"
#include "sim/control_log.h"
#include "sim/failure_detection.h"
#include "sim/health/host_care.h"
#include "sim/healthy_fabric.h"
#include "sim/job_account.h"
#include "sim/job_profiling.h"
#include "sim/job_state.h"
#include "sim/live_jobs.h"
#include "sim/live_traffic.h"
#include "sim/outside_events.h"
#include "sim/progress_reports.h"
#include "sim/run_engine.h"
#include "sim/run_recording.h"
#include "sim/run_result.h"
#include "sim/run_watch.h"
#include "sim/simulated_jobs.h"
#include "sim/traffic_in_force.h"
#include "topology/fabric.h"
#include "traffic/routing_costs.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

struct SimulationOptions {
  // The simulation ends here, or earlier when every job has finished.
  SimTime end = SimTime::FromSeconds(Seconds(120));
  // Payload share of the speed of network links: headers, acknowledgements, congestion control. Range (0, 1]. 1 gives
  // ideal links; packet-level simulators measure about 0.97.
  double goodput = 0.97;
  // What the way packets are routed costs (traffic::RoutingCostsOf). Valid; with `live` failures are known at once. Jobs
  // alone, the yardstick, pay none of it.
  traffic::RoutingCosts routing_costs = {};
  // Congestion control of RoCE v2: links on which flows hold each other back lose what its saw-tooth leaves unused, and
  // CNPs are counted (congestion_loss.h). `goodput` then means headers and acknowledgements only. Nothing: full links
  // carry what they can. Valid.
  std::optional<fluid::DcqcnOptions> dcqcn;
  Detail detail = Detail::kCoupled;
  // Skip whole periods (--exact turns it off).
  bool fast_forward = true;
  // Where no period shows itself, go on at the mean speeds of a window once these have settled (rate_window.h): for
  // runs of days. Adds an error, which the result states. Needs fast_forward.
  bool extrapolate = false;
  // Flows that the network can't tell apart are simulated as one (network_layout.h): exact.
  bool aggregate_flows = true;
  // Each job begins at a random instant within its first solo iteration after placement, so that jobs that start
  // together don't run in step. Drawn from `phase_seed` and the job's id.
  bool random_phase = true;
  uint64_t phase_seed = 1;
  uint32_t num_bins = 120;  // of the timeline, >= 1
  // Links with recorded load over time: that many of the most used.
  uint32_t num_hottest_links = 32;
  // How long a job is profiled (controller.profile_jobs), and how long at most where the first window shows no period.
  SimDuration profiling_window = SimDuration(30'000'000'000);
  SimDuration profiling_window_max = SimDuration(240'000'000'000);
  // Speeds of jobs are reported to the controller this often, and it re-plans then; 0 = never, which policies that need
  // speeds don't bear. Nothing: every kSpeedReportInterval under such policies, never under others.
  std::optional<SimDuration> speed_report_interval;
  // Broken GPUs, and what operators do with hosts; only with an allocation policy and without `live`.
  std::vector<HostFault> host_faults = {};
  std::vector<HostEvent> host_events = {};
  HealthOptions health;
  // With an allocation policy, all jobs have a number of iterations; `speeds` may be left out: speeds are then those
  // of each size alone, on the hosts with the lowest numbers.
  controller::ControllerOptions controller;
  // Decides over paths and levels from a job's start on, instead of the traffic policy, which only says where its flows
  // go until their connections are open. Null: the policy decides. Must outlive the simulation; `profile_jobs` is off.
  LiveTraffic* live = nullptr;
  // Learns what happens in its window. Null: nobody asks. Must outlive the simulation.
  RunRecorder* recorder = nullptr;
  // What the network carries beside the jobs. Not with an allocation policy, nor live.
  BackgroundOptions background = {};
};

class ClusterSimulation {
 public:
  // `jobs` with unique ids, `link_events` in any order (the last one of a link and instant counts). `solo_policies`
  // choose the paths of a job that runs alone, the yardstick of slowdowns; the same for every policy compared. All must
  // outlive the simulation.
  ClusterSimulation(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                    const traffic::TrafficPolicy& traffic, std::vector<const traffic::TrafficPolicy*> solo_policies,
                    const controller::IterationProvider& iterations, std::vector<model::Job> jobs,
                    std::vector<LinkEvent> link_events, const SimulationOptions& options);

  // Runs the simulation to its end, or until `watch` says stop: the result is then marked partial, and jobs that don't
  // influence each other may have been simulated to different instants. Call once.
  RunResult Run(RunWatch& watch);

 private:
  SimTime now() const { return engine_.now(); }
  bool allocates() const { return options_.controller.allocation.policy != nullptr; }
  // With the speeds of jobs alone, where an allocation policy is given no others.
  controller::ControllerOptions MakeControllerOptions(const controller::IterationProvider& iterations);

  // What happens now.
  SimTime NextEvent() const;
  std::vector<controller::Event> TakeEvents();
  void EndHolds();
  void FollowLive();
  void EndTransfers();
  void EndProfiling(std::vector<controller::Event>* events);
  void ChangeLinks(const std::vector<controller::Event>& events);
  void FollowHosts(std::vector<controller::Event>* events);
  void ChangeHealth(JobId id);
  uint64_t IterationsSinceCheckpoint(const JobRecord& record) const;

  // What the controller wants.
  void Handle(const std::vector<controller::Event>& events);
  void Apply(std::vector<controller::Action> actions);
  void Start(const controller::StartJob& action);
  void Stop(const controller::SuspendJob& action);
  void Migrate(const controller::MigrateJob& action);
  void Resume(const controller::ResumeJob& action);
  void BeginStretch(JobId job, SimTime start);
  void EndStretch(JobId job);
  void SetTraffic(controller::SetTraffic action);
  void AdoptTraffic(controller::SetTraffic action);
  void StartProfiling(JobId job);

  // Of jobs that have ended, or leave their GPUs: only what the result needs is kept.
  void Retire(const std::vector<JobId>& jobs);
  void Retire(JobRecord& record, LastIteration last);
  // Books what the job has sent and lost. It must be up to date.
  void CloseAccounts(JobRecord& record, LastIteration last);
  double IntensityOf(const JobRecord& record);
  RunResult MakeResult(bool partial);

  const topology::Fabric& fabric_;
  const traffic::TrafficPolicy& traffic_;
  SimulationOptions options_;
  JobId first_message_;  // ids of background traffic
  // In the order in which they need one another.
  OutsideEvents outside_;
  FailureDetection detection_;
  SimulatedJobs jobs_;
  HealthyFabric healthy_;
  RunEngine engine_;
  CarriedAccount carried_;
  TrafficInForce in_force_;
  BackgroundTraffic background_;
  JobProfiling profiling_;
  ProgressReports reports_;
  LiveJobs live_;
  ControlLog control_;
  HostCare care_;
  bool have_links_changed_ = false;  // now
  std::vector<JobId> finished_;      // that the controller has not been told of
  std::vector<JobId> transferred_;   // likewise: the state of their workers
  controller::ClusterController controller_;
};

}  // namespace fairlead::sim
