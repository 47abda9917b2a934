// Which nodes do the elastic jobs of a Slurm cluster get? AITurbo's allocation on real jobs: what Slurm shows goes in,
// operations on Slurm come out.
//
//     Slurm's jobs, nodes, reservations --+
//     steps that jobs have done ----------+--> JobAllocator (allocation policy) --> PlaceJob, HoldJob
//
// Problem     sizes have to follow from what waits and from how jobs scale, on a cluster that also runs jobs of others,
//             where changes fail, hosts go, and the controller itself is started again.
// Notation    steps -> iterations of the allocator: units of work that are equal at each size of a job
// Method      jobs that have opted in (an admin_comment of fairlead_jobs.lua, ElasticMark) in the partitions that the
//             operator names get whole hosts: as many as the mark allows, each with all GPUs that the fabric has of it.
//             A job is predictable if its comment declares its steps and some were seen; its speed is what was measured
//             (prediction/measured_speed.h), from its progress file, or from its communication. What a restart costs is
//             measured, too: from the decision to the first steps after it.
//             Which hosts have room, and which of them are near each other, is elastic_hosts.h. After each reading the
//             allocator is told where its jobs are in truth. Jobs that somebody is at (an operation on them is under
//             way, steering moves them, they are being ended) are pinned: others are decided about, without what these
//             hold or are promised.
//             A job that Slurm has ended itself (a node that went, a script that could not be launched) is requeued, at
//             most kNumRequeuesMax times; what Slurm does not show any more is looked at once, and kept or forgotten.
//             A job that waits for others (--dependency) is held, and gets a size when Slurm shows no dependency any
//             more. One that is to begin later by its user's word is Slurm's until it does.
// Guarantees  a job whose script has ended, that was cancelled, or whose time was over is not started again. A job that
//             nobody has opted in, one that its user holds, an array, or one whose size can't be chosen is
//             in no operation. Waiting elastic jobs are held, so that Slurm does not start them at a size of its own,
//             and so that their users can't release them.
// Limits      after a start of the controller policies have forgotten what they remember of waiting jobs
//             (scheduling::JobMemory); attained service, steps and speeds are kept in the store.
// Size        over 400 lines: one table of jobs, to which Slurm, their steps and the policy all add. Hosts, records,
//             marks and logs are in files of their own.
// Thread      one at a time.
// Reference   Zhao et al., AITurbo, HPDC 2021; docs/operate/slurm.md has the contract of such jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "controller/job_allocator.h"
#include "scheduling/allocation_registry.h"
#include "slurm/cluster_state.h"
#include "slurm/elastic_hosts.h"
#include "slurm/job_wish.h"
#include "slurm/operations.h"
#include "store/store.h"
#include "topology/fabric.h"

namespace fairlead::slurm {

struct ElasticOptions {
  std::vector<std::string> partitions;  // whose elastic jobs get their size from us; empty: none
  std::string policy = "aiturbo";       // allocation policy
  scheduling::PolicySettings settings = {};
  // What a restart is thought to cost until one was measured: a checkpoint, Slurm's 2 to 3 s, and the start of a training
  // program; > 0, at most an hour. Higher: new jobs keep the size that they began with; lower: sizes change more often
  // before it is known what that costs.
  double restart_cost_s = 60;

  // Errors: kInvalidArgument, naming the option.
  Status Validate() const;
};

// How far a job has come, as far as anybody says.
struct StepsSeen {
  std::optional<double> done{};             // its own word
  std::optional<SimDuration> said_ago{};    // when it said so last; nothing: never, or nobody knows
  std::optional<Seconds> iteration_time{};  // lately, as its communication shows
  std::string fault = {};                   // what is wrong with its own word, for people
};

struct ElasticSources {
  std::function<Result<Job>(uint32_t id)> read_job;  // with its comment
  std::function<StepsSeen(const Job& job, const ElasticWish& wish)> read_steps;
  std::function<std::optional<SimTime>(const Job& job, const ElasticWish& wish)> read_checkpoint_time;
  // Also of one that has ended, as long as Slurm knows it. Empty: none is requeued.
  std::function<Result<Job>(uint32_t id)> read_end = {};
  // Why the script of a job that has ended as FAILED was not launched (launch_log.h); nothing: it was, for all that is
  // known. Empty: nobody knows.
  std::function<std::optional<std::string>(uint32_t id)> why_not_launched = {};
  // Of one subject ("job 7"): something that people should know; each is reported once for as long as it lasts.
  std::function<void(const std::string& subject, const Status& status)> note;
};

// What is shown of a job.
struct ElasticView {
  uint32_t job = 0;
  uint32_t nodes_min = 0;
  uint32_t nodes_max = 0;
  uint32_t num_nodes = 0;  // that it is to have; 0: it waits
  std::optional<uint64_t> steps{};
  double steps_done = 0;
  double node_seconds = 0;  // that it has had
  uint32_t num_restarts = 0;
  Seconds restart_cost;
  std::string reason;  // of the last decision
};

// [job] hosts that it is promised; empty: none, or they are reserved for it.
using BusyJobs = std::map<uint32_t, std::vector<std::string>>;

class ElasticJobs {
 public:
  // Of one job, whatever happens in between.
  static constexpr uint32_t kNumRequeuesMax = 3;

  struct Requeue {
    RequeueJob operation;
    std::string why;  // for people
  };
  // What somebody else has done to a job.
  struct News {
    uint32_t job = 0;
    std::string text;  // for people
  };

  // `fabric` and `store` must outlive it. Errors: those of options.Validate() and of the store; kDataLoss: a record that
  // can't be read.
  static Result<std::unique_ptr<ElasticJobs>> Create(const topology::Fabric& fabric, ElasticOptions options,
                                                     store::Store* store, ElasticSources sources);
  ~ElasticJobs();

  // Whether it is sized by us, as of the last Look(); and whether it is, or will be with the next one.
  bool Has(uint32_t job) const { return entries_.contains(job); }
  bool Takes(const Job& job) const { return hosts_.CanSize() && IsOurs(job); }

  // What Slurm shows now. Args: busy: jobs that somebody is at (an operation of ours, or steering): where they are is no
  // news yet, and they keep what they hold and are promised. Cost: one read_job for each new job, of which it takes 20
  // at most, one read_steps for each running one.
  void Look(const ClusterState& state, const BusyJobs& busy, SimTime now);

  // What is to be done so that jobs are as decided, those that were not busy at the last Look(). All of it has to be
  // tried. `now` never goes back.
  std::vector<Operation> Decide(SimTime now);

  // Jobs that Slurm has ended itself since the last call. It is counted already, and recorded as an
  // intention.
  std::vector<Requeue> TakeRequeues() { return std::exchange(requeues_, {}); }

  // Since the last call.
  std::vector<News> TakeNews() { return std::exchange(news_, {}); }

  // The job stops and waits, whatever was decided: its run is lost (lost_runs.h). Nothing: it is not ours, its steps have
  // gone on since, or it can't be.
  std::optional<Operation> StopLost(uint32_t job, SimTime since) const;

  // An operation that Decide() returned has come to nothing. A job with which that happens again and again is not ours
  // any more; what gives it back to Slurm is returned.
  std::optional<Operation> Fail(uint32_t job, const std::string& why, SimTime now);

  // Whether its processes end when it is stopped.
  bool Runs(uint32_t job) const;
  // Whether it is worth while to ask it for a checkpoint before it is stopped, or, `at` an earlier time, to have asked
  // it: it runs, has named its file, and would write one. Not one that has done all its steps; none in its present run,
  // which leaves nothing to keep; or none for a minute, and for three times as long as they have taken, before `at`: it
  // hangs, or has ended and a slurmctld that was killed has forgotten that.
  bool WritesCheckpoints(uint32_t job, SimTime at) const;
  // When it has written the last one, if ever.
  std::optional<SimTime> CheckpointTime(uint32_t job) const;

  // Of the last decision about it; empty: there was none.
  std::string ReasonOf(uint32_t job) const;

  // By job.
  std::vector<ElasticView> Views() const;

 private:
  struct Entry;

  ElasticJobs(const topology::Fabric& fabric, ElasticOptions options, store::Store* store, ElasticSources sources);

  bool IsOurs(const Job& job) const;
  // Likewise, whether it has ended or not.
  bool IsOrWasOurs(const Job& job) const;
  // Those of which Slurm shows nothing any more.
  void LookAtEnds(const ClusterState& state, const BusyJobs& busy, SimTime now);
  // Whether it is to be kept: it will be back, or nobody knows yet.
  bool LookAtEnd(uint32_t job);
  std::string WhyEndedBySlurm(const Job& job) const;
  void Pin(const ClusterState& state, const BusyJobs& busy, SimTime now);
  void Forget(const ClusterState& state);
  void LookAtJob(const Job& job, SimTime now);
  // Whether it waits for what only Slurm knows of: it gets no size meanwhile.
  bool IsSlurmsFor(const Job& job);
  // What is wrong with a mark that is there; OK: nothing, or there is none.
  static Status CheckMark(const Job& job);
  Status Enter(const Job& job, const ElasticMark& mark, SimTime now);
  void LookAtSteps(Entry* entry, SimTime now);
  void Measure(Entry* entry, double done, SimTime now);
  void Count(Entry* entry, Seconds iteration, SimTime now);
  void TellSteps(const Entry& entry, Seconds iteration, Seconds measured_for);
  void EndRestart(Entry* entry, SimTime now);
  Result<Operation> MakeOperation(const Entry& entry, const std::vector<scheduling::NodeShare>& nodes) const;
  void Refuse(uint32_t job, const Status& why, SimTime now);
  void Save(SimTime now);

  const topology::Fabric& fabric_;
  const ElasticOptions options_;
  store::Store& store_;
  const ElasticSources sources_;
  ElasticHosts hosts_;
  std::unique_ptr<scheduling::AllocationPolicy> policy_;
  std::optional<controller::JobAllocator> allocator_;
  std::map<uint32_t, std::unique_ptr<Entry>> entries_;  // [job]
  std::map<uint32_t, std::vector<HostId>> reserved_;    // [job that is pinned] as of the last Look()
  std::map<uint32_t, std::string> saved_;               // [job] record as it is in the store
  SimTime saved_at_;
  std::vector<Requeue> requeues_;
  std::vector<News> news_;
  std::vector<Job> dependent_;  // that wait for others, as of the last Look()
  std::set<uint32_t> kept_;     // jobs that Slurm does not show, and whose records stay; as of the last Look()
  std::set<uint32_t> refused_;  // jobs whose size can't be chosen
  Seconds restart_cost_;        // of jobs that have not been restarted
};

}  // namespace fairlead::slurm
