// One simulated cluster: a controller in virtual time, the jobs it starts, and the fluid network they share.
//
// Between outside events (arrival, finish, link change) the running jobs fall into contention domains that can't
// influence each other; each is simulated separately, when its progress is needed (domain_set.h). A finish re-plans all
// jobs, so domains that could finish a job go first.
//
//   outside events --> ClusterController --> StartJob / SetTraffic --> JobState, paths --> domains --> finishes --> …
//
// Under an allocation policy a job runs in stretches, each on other GPUs. A stretch begins with its restart; the
// iteration that is under way when it ends is lost. Whenever the policy is asked, progress is reported first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "fluid/dcqcn.h"
#include "model/job.h"
#include "scheduling/placement_policy.h"
#include "sim/congestion_loss.h"
#include "sim/delay_account.h"
#include "sim/domain_set.h"
#include "sim/job_record.h"
#include "sim/job_state.h"
#include "sim/live_traffic.h"
#include "sim/outside_events.h"
#include "sim/profiling_window.h"
#include "sim/result_collection.h"
#include "sim/run_recording.h"
#include "sim/run_result.h"
#include "sim/run_watch.h"
#include "sim/solo_yardstick.h"
#include "sim/timeline.h"
#include "topology/fabric.h"
#include "topology/router.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

struct SimulationOptions {
  // The simulation ends here, or earlier when every job has finished.
  SimTime end = SimTime::FromSeconds(Seconds(120));
  // Payload share of the speed of network links: headers, acknowledgements, congestion control. Range (0, 1]. 1 gives
  // ideal links; packet-level simulators measure about 0.97.
  double goodput = 0.97;
  // Share of that which the way packets are routed leaves (traffic::RoutingEfficiency). Range (0, 1]. Jobs alone,
  // the yardstick, have all of it.
  double routing_efficiency = 1;
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
  // With an allocation policy, all jobs have a number of iterations; `speeds` may be left out: speeds are then those
  // of each size alone, on the hosts with the lowest numbers.
  controller::ControllerOptions controller;
  // Decides over paths and levels from a job's start on, instead of the traffic policy, which only says where its flows
  // go until their connections are open. Null: the policy decides. Must outlive the simulation; `profile_jobs` is off.
  LiveTraffic* live = nullptr;
  // Learns what happens in its window. Null: nobody asks. Must outlive the simulation.
  RunRecorder* recorder = nullptr;
};

// Bytes/s of payload of every link: capacity x health x goodput (network links only).
IdVector<LinkId, double> PayloadCapacities(const topology::Fabric& fabric, const topology::LinkHealth& health,
                                           double goodput);

class ClusterSimulation {
 public:
  // `jobs` with unique ids, `link_events` in any order (the last one of a link and instant counts). `solo_policies`
  // choose the paths of a job that runs alone, the yardstick of slowdowns; the same for every policy compared. All must
  // outlive the simulation.
  ClusterSimulation(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                    const traffic::TrafficPolicy& traffic, std::vector<const traffic::TrafficPolicy*> solo_policies,
                    controller::IterationProvider iterations, std::vector<model::Job> jobs,
                    std::vector<LinkEvent> link_events, const SimulationOptions& options);

  // Runs the simulation to its end, or until `watch` says stop: the result is then marked partial, and jobs that don't
  // influence each other may have been simulated to different instants. Call once.
  RunResult Run(RunWatch& watch);

 private:
  // What becomes of the iteration that is under way.
  enum class LastIteration : uint8_t { kCounts, kIsThrownAway };
  double FractionAt(SimTime t) const { return t.seconds() / options_.end.seconds(); }
  SimTime NextOutsideEvent() const;
  std::vector<controller::Event> TakeOutsideEvents(RunWatch& watch);
  void EndHolds(RunWatch& watch);
  bool allocates() const { return options_.controller.allocation.policy != nullptr; }
  controller::AllocationOptions MakeAllocationOptions(const controller::IterationProvider& iterations);
  Result<std::vector<prediction::SpeedPoint>> ProfileAlone(const controller::IterationProvider& iterations,
                                                           const model::Job& job);
  void ReportProgress(RunWatch& watch, std::vector<controller::Event>* events);
  void StartProfiling(JobId job, RunWatch& watch);
  void EndProfiling(RunWatch& watch, std::vector<controller::Event>* events);
  void ReportSpeeds(RunWatch& watch, std::vector<controller::Event>* events);
  SimTime NextShareLook() const;
  void LookAtShares(RunWatch& watch);
  void WakeShares();
  void Handle(const std::vector<controller::Event>& events, RunWatch& watch);
  void Apply(std::vector<controller::Action> actions, RunWatch& watch);
  void Start(const controller::StartJob& action);
  void Stop(const controller::SuspendJob& action, RunWatch& watch);
  void LowerYardstick(JobRecord& record, const model::Iteration& iteration);
  void SetTrafficOf(controller::SetTraffic action, RunWatch& watch);
  void AdoptTraffic(controller::SetTraffic action, RunWatch& watch);
  void UpdateCapacities(const std::vector<controller::Event>& events, RunWatch& watch);
  void SettleBytes(JobRecord& record);
  void RetireFinishedJobs();
  void RetireJob(JobRecord& record, LastIteration last);
  void CloseAccount(JobRecord& record, LastIteration last);
  void RebuildDomains(RunWatch& watch);
  void AdvanceUntilFinishOr(SimTime limit, RunWatch& watch);
  double IntensityOf(const JobRecord& record);
  RunResult MakeResult(bool partial);

  // In live_simulation.cc: with options_.live.
  void StartLive(JobRecord& record, controller::SetTraffic action, RunWatch& watch);
  SimTime NextLiveChange(SimTime limit);
  void FollowLive(RunWatch& watch);
  LiveCounters CountersOf(const JobRecord& record) const;

  const topology::Fabric* fabric_;
  const traffic::TrafficPolicy* traffic_;
  SimulationOptions options_;
  topology::Router healthy_router_;  // for solo paths
  IdVector<LinkId, double> healthy_capacities_;

  int64_t num_balanced_ = 0;  // running jobs with `shares`
  std::map<JobId, JobRecord> records_;
  OutsideEvents outside_;
  std::unique_ptr<ProfilingWindow> profiling_;  // of the job that is being profiled; null: none
  SimTime profiling_end_ = SimTime::Never();
  SimDuration speed_report_interval_;  // 0 = never
  SimTime next_speed_report_ = SimTime::Never();
  std::vector<JobId> running_;  // by id
  std::vector<JobId> finished_now_;

  IdVector<LinkId, double> capacities_;
  SoloYardstick yardstick_;
  traffic::LinkTable healthy_links_;
  traffic::LinkTrafficMeter meter_;
  SimTime now_;
  SimTime last_event_;

  std::vector<ControlChange> control_;
  controller::ControlCounters live_counters_;
  BinnedSum busy_gpu_seconds_;
  DelayAccount delays_;
  std::optional<CongestionPoints> congestion_points_;
  DomainSet domains_;                                        // after what it writes to and reads
  std::optional<controller::ClusterController> controller_;  // after what profiles jobs for it
  CarriedBytes carried_;
};

}  // namespace fairlead::sim
