// The jobs whose processes agents can see: from looks at processes to findings and to the input of steering.
//
//     agents' looks --> Take() --> JobAssembler --> records --+
//                                                             +--> JobDiagnosis of each job --> Tick() --> events
//     (time passes)                                  Tick() --+
//
// Problem     jobs are started, stopped and restarted by others without notice; the agents of their hosts are the only
//             source about them. Which processes are one job, when does it run, is it a new run, is it over? And agents
//             fall silent, hosts die, and processes that are gone are still reported for a while.
// Method      a job is what has its name. It begins with a living process, and has a number until it is gone:
//               layout    whenever the assembler has a new one (telemetry/job_assembler.h); NIC and leaf of a rank are
//                         added where the fabric leaves no choice
//               new run   all processes that are alive came when all others had gone (job_processes.h): assembler and
//                         diagnosis begins again, its findings are over, what belonged to the old run is left out from
//                         then on, unless it is seen alive after it was taken for ended, or has met the new run
//               gone      its processes have all ended regularly; or all have ended and nothing has restarted them for
//                         `restart_within`; or no host has sent a message for `silent_for`. Not while it is excused,
//                         which is how steering keeps a job that it has stopped.
//             A job that is stopped on purpose looks like one that crashes. So a death is reported when others of its
//             run still live after `death_settles_for`; where all are gone by then, nothing is left to wait for it, and
//             it is reported, to be known and not acted upon, if the diagnosis can tell a crash from a stop. Where it
//             is steering that stops it, processes may take `stop_within` to end: a stop need not wait until they have.
//             Findings get numbers of their own, from 1, which are never used again.
// Cost        a look: that of the assembler. A tick: that of the diagnosis of jobs with looks since the tick before, or
//             not judged for `judge_period`.
// Guarantees  same calls, same events. JobRunning comes before findings about the job, and all its findings are over
//             before JobGone. What one job's processes say changes nothing about another job.
// Limits      nothing is saved: after a restart of the controller, jobs and findings are built up again.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 3, 4 and 7.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/end_questions.h"
#include "controller/finding_book.h"
#include "controller/host_messages.h"
#include "controller/job_processes.h"
#include "controller/steering_events.h"
#include "controller/traffic_messages.h"
#include "diagnosis/job_diagnosis.h"
#include "model/finding.h"
#include "model/job_identity.h"
#include "model/place_names.h"
#include "telemetry/job_assembler.h"
#include "topology/fabric.h"

namespace fairlead::controller {

struct JobWatchOptions {
  telemetry::JobAssemblerOptions assembler;
  // > 0. A job is judged at least that often, and with each tick that has looks of it.
  SimDuration judge_period = SimDuration(1'000'000'000);
  RunOptions run;
  // >= 0. Longer: a job may take longer to be stopped without a finding; shorter: deaths are reported sooner. At least
  // two periods of looks, or the first host to be looked at is accused.
  SimDuration death_settles_for = SimDuration(2'000'000'000);
  // >= 0; from the end of the excuse for a stop. Longer: processes may outlive a slow stop without a finding; shorter:
  // a death after a stop that has failed is reported sooner. Launchers give processes half a minute before they kill
  // them.
  SimDuration stop_within = SimDuration(60'000'000'000);
  // >= 0. Longer: a job that crashed may take longer to start again as the same one; shorter: it is gone sooner.
  SimDuration restart_within = SimDuration(120'000'000'000);
  // > 0. Longer: agents may be away for longer.
  SimDuration silent_for = SimDuration(300'000'000'000);
  // Findings that are over and still shown; the oldest go first.
  size_t num_over_max = 1000;
  // Whether the operator lets jobs of that owner and name be acted upon; empty: those of all verified owners.
  std::function<bool(const model::JobIdentity&)> may_act_on = {};
  // Whether the job has that host; empty: who says so. Looks of others are dropped and counted: an agent that lies can
  // claim processes of any job.
  std::function<bool(const model::JobIdentity&, HostId)> may_run_on = {};
  // What it means that such a job has other hosts; empty: HostChoice::kRestart for each.
  std::function<HostChoice(const model::JobIdentity&)> host_choice = {};
  // Proofs of findings that are kept when their run is over; the oldest go first.
  size_t num_proofs_max = 200;
  // Jobs at one time; looks of others are dropped and counted.
  size_t num_jobs_max = 10'000;
};

struct JobWatchCounters {
  uint64_t looks = 0;
  uint64_t dropped_looks = 0;  // of one job too many
  uint64_t foreign_looks = 0;  // of hosts that are not the job's
  uint64_t layouts = 0;
  uint64_t runs = 0;                                         // of jobs, new ones included
  uint64_t ends = 0;                                         // of concurrent jobs, with unreported deaths
  std::array<uint64_t, model::kNumSyndromes> findings = {};  // confirmed ever, [syndrome]
};

// A job as people are shown it.
struct WatchedJob {
  JobId id;
  std::string name;
  std::vector<HostId> hosts;  // in rank order; empty: there is no layout yet
  size_t num_ranks = 0;
  size_t num_processes = 0;  // alive
  SimTime excused_until;
  std::vector<std::string> notes;  // what is left out of the layout, and why
};

class JobWatch {
 public:
  // `fabric` must outlive this.
  JobWatch(const topology::Fabric& fabric, diagnosis::JobDiagnosisFactory make_diagnosis,
           const JobWatchOptions& options);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // Reports of an earlier controller, before the first Take(): the job of that name has this number again, and numbers
  // of findings continue after that one.
  void Restore(const std::string& name, JobId id);
  void Restore(model::FindingId last_finding);

  // Args: now does not run backwards, here and below; host of the fabric.
  void Take(SimTime now, HostId host, const ProcessesSeen& look);
  // What tests of its hosts say of a finding.
  void Take(const SlowEndAnswer& answer);
  // The hosts are there, though their agents can't tell of their processes.
  void Take(SimTime now, const HostsAnswered& answer);
  // Any of them.
  void Take(SimTime now, const WatchInput& input);
  // What has become of it all. There should be a call each second at least. Returns JobRunning at each new layout,
  // FindingReported at each opened and changed finding, JobGone; by job, in that order.
  std::vector<SteeringEvent> Tick(SimTime now);

  // Until then nothing is suspected about the job, and it is not gone, whatever becomes of its processes. Replaces
  // earlier ones. Never: the job is about to be stopped. Nothing happens where there is no such job.
  void Excuse(JobId job, SimTime until);

  // Of a job that runs, or that a finding in findings() is about; empty: none.
  std::string JobName(JobId job) const;
  std::optional<JobId> FindJob(const std::string& name) const;  // that runs
  std::vector<WatchedJob> Jobs() const;                         // by id

  // All that hold and the latest ones that are over, by number.
  std::vector<WatchedFinding> Findings() const { return findings_.All(); }
  // What only tests of hosts can tell, since the last call.
  std::vector<SlowEndQuestion> TakeQuestions() { return ends_.TakeQuestions(); }
  // What the finding was made from, with the job's iterations until now, or until its run was over. Nothing: it is not
  // known, or not any more.
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const;
  // Of hosts about which other findings hold than at the call before, what holds now; by host.
  std::vector<std::pair<HostId, HostJudged>> TakeJudged() { return findings_.TakeJudged(); }

  const JobWatchCounters& counters() const { return counters_; }

 private:
  struct Job;

  void NoteCall(SimTime now);
  Job* FindOrBegin(SimTime now, const ProcessesSeen& look);
  void StartRun(SimTime now, Job* job);
  void TellRunning(Job* job, bool has_layout, bool is_alive);
  bool IsGone(SimTime now, const Job& job) const;
  void Forget(SimTime now, const std::string& job, const std::vector<FormerProcess>& processes);
  // Those of the look that are alive and were taken for ended, or that have met the run: they are of no former one.
  void TakeBack(HostId host, const ProcessesSeen& look, const Job& job);
  // The look without processes of former runs.
  telemetry::HostLook Restrict(HostId host, const ProcessesSeen& look) const;
  void Place(model::JobLayout* layout) const;
  void Judge(SimTime now, Job* job);
  // Args: a finding with the diagnosis' own numbers.
  void Tell(SimTime now, Job* job, model::Finding finding);
  void TellSettledDeaths(SimTime now, Job* job);
  // Args: a finding as the diagnosis has it: what tests say of it is added.
  void Report(Job* job, model::Finding finding);
  // Args: a finding as it is to be told.
  void Keep(Job* job, model::Finding finding);
  void KeepProofs(const Job& job);
  void EndFindings(SimTime now, Job* job);

  const topology::Fabric& fabric_;
  const model::PlaceNames names_;
  const diagnosis::JobDiagnosisFactory make_diagnosis_;
  const JobWatchOptions options_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::map<std::string, JobId> ids_;
  std::map<std::string, JobId> restored_;  // of jobs that have not been seen yet
  uint32_t num_jobs_ = 0;                  // ever
  SimTime last_call_;                      // of Take() or Tick()
  SimTime listening_since_;                // without a pause
  struct Former {
    SimTime since;
    bool has_ended = false;
  };
  std::map<std::pair<std::string, ProcessKey>, Former> former_;  // processes of runs that are over, with their jobs
  SimTime next_former_look_;
  FindingBook findings_;
  EndQuestions ends_;  // of findings that hold
  JobWatchCounters counters_;
};

}  // namespace fairlead::controller
