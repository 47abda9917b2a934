// A lab in which jobs run, fail and are started again: all that a cluster has, in one process beside the daemons.
//
//     controller (diagnosis, steering) --- fairlead lab hook ---> JobsServer --> JobSteering --> JobRunner --> trainers
//            ^                                                                                                   |
//            +------------- agents of the hosts <--------------- segments of the profiler plugin <---------------+
//
// Controller, agents, steering and the hook are those of a cluster and know nothing of this; it reads the controller's
// page as people do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/awake_processors.h"
#include "lab/findings_page.h"
#include "lab/job_runner.h"
#include "lab/job_steering.h"
#include "lab/jobs_server.h"
#include "lab/lab_faults.h"
#include "lab/lab_programs.h"
#include "lab/lab_session.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct SteeredLabOptions {
  LabSessionOptions session;               // with a page
  std::string trainer = kFairleadTrainer;  // as FindTrainer()
  bool acts = true;                        // steering does what it decides; false: findings are only shown
  uint64_t checkpoint_every = 5;           // iterations
};

class SteeredLab {
 public:
  // Brings the lab up with its services; no job runs yet. Args: file: of the scenario, with hosts named for each job;
  // hosts without a job are spares; stop: must outlive this. Errors: kInvalidArgument: a job without hosts; those of
  // LabSession and JobRunner. Nothing is left then.
  static Result<std::unique_ptr<SteeredLab>> Start(const std::string& file, const sim::Scenario& scenario,
                                                   const SteeredLabOptions& options, const std::atomic<bool>& stop);
  SteeredLab(const SteeredLab&) = delete;
  SteeredLab& operator=(const SteeredLab&) = delete;

  LabSession& session() { return session_; }
  JobRunner& runner() { return *runner_; }
  LabFaultInjector& injector() { return injector_; }
  const JobSteering& steering() const { return steering_; }
  const std::string& NameOf(LabNodeId host) const { return session_.state().plan.nodes[host].name; }

  // Does what steering asks for, and looks at the page, until something is so. False: it was the time.
  // Errors: kCancelled: `stop`; kUnavailable: the controller has been away for half a minute.
  Result<bool> WaitUntil(double patience_s, const std::function<bool()>& is_so);

  // Findings that were confirmed since the call before, as of the last look.
  std::vector<wire::LiveFinding> TakeFindings() { return std::exchange(fresh_, {}); }

  // Starts a job where it was last, and waits for its first iteration. Errors: kUnavailable: it does none, and why; those
  // of WaitUntil().
  Status StartJob(JobId job);
  // The job has done an iteration of that run.
  bool HasIterationOf(JobId job, uint32_t run) const;
  // It runs, and none of its workers has ended.
  bool IsWhole(JobId job) { return runner_->IsRunning(job) && runner_->EndedWorkers(job).empty(); }

 private:
  SteeredLab(LabSession session, const SteeredLabOptions& options, const std::atomic<bool>& stop);
  Status LookAtPage();
  std::string ExplainJob(JobId job);

  LabSession session_;
  AwakeProcessors awake_;
  std::unique_ptr<JobRunner> runner_;  // ends before the lab
  std::unique_ptr<JobsServer> jobs_server_;
  LabFaultInjector injector_;
  JobSteering steering_;
  const std::string page_;
  const std::atomic<bool>& stop_;
  std::set<uint64_t> known_;  // findings
  std::vector<wire::LiveFinding> fresh_;
  double next_look_s_ = 0;
  double last_answer_s_ = 0;
};

}  // namespace fairlead::lab
