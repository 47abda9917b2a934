// The steps of steering as operations on Slurm: which of them may be done, and in which order.
//
//     isolate_host  checks of the job --> DRAIN, "fairlead: finding 7: …"
//     stop_job      [SIGUSR1 --> its checkpoint] --> reservation fairlead_job_N of its hosts --> requeuehold
//     take_spare    into the reservation of the job, out of that of spares
//     restart_job   update, release --> it runs --> the reservation is deleted
//     test_host     RESUME inside a reservation of its own --> srun --> DRAIN --> the reservation is deleted
//     return_host   into the reservation of spares --> RESUME
//
// Problem     a step may come twice, after an earlier process has done it in part, or all of it.
// Method      each call looks at what Slurm and the store say and does what is next; with what Writer has recorded it
//             goes on. Refusals come before the first change: a sequence that can't be carried to its end is not begun.
// Guarantees  a job is acted upon if Slurm has it as the owner's whose processes it has, on hosts that are all in the
//             fabric, and its comment does not wish otherwise. Other reservations than "fairlead…" are not changed.
// Checkpoints a job that has named the files of its checkpoint and its progress, and whose steps go on (a slow host,
//             not a hang), is asked for a checkpoint before it is stopped, and stopped when that is there, or in any
//             case after `checkpoint_patience`. After a death of the process it is asked again, which changes nothing.
// Limits      Slurm does not say when a job's run began, as far as we read it: a stop that was decided before a death
//             of the controller, and not recorded, may meet a run that somebody else has started since.
// Size        over 400 lines: six steps on the same store and Slurm, each again from wherever a death has left it.
// Thread      one at a time for one store; calls block for as long as Slurm takes, or for `patience`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/steering_events.h"
#include "model/job_identity.h"
#include "slurm/cluster_reader.h"
#include "slurm/intention_records.h"
#include "slurm/programs.h"
#include "slurm/writer.h"
#include "store/store.h"

namespace fairlead::slurm {

struct SteeringStepOptions {
  std::vector<std::string> fabric_hosts;
  std::string spares = {};        // reservation that keeps spares free, "fairlead…"; empty: there is none
  std::string test_program = {};  // run on a host that is to be tested; 0: healthy; empty: no host is tested
  // > 0. How long a job may take to write it. Longer: larger models get theirs. Shorter: the slow host is left sooner.
  // Below the patience with a stop (EngineOptions::patience).
  SimDuration checkpoint_patience = SimDuration(60'000'000'000);
  // > 0. Steps that are older than that do not go on.
  SimDuration steps_go_on_within = SimDuration(20'000'000'000);
  WriterOptions writer = {};
  // Runs the test on the host, inside the reservation: its exit code. Empty: srun. Args: stop: end it soon.
  std::function<Result<int>(const std::string& host, const std::string& reservation, const std::atomic<bool>& stop)>
      run_test = {};
  // Empty where there is none of that number. Empty function: this machine's.
  std::function<std::string(uint32_t)> user_name = {};
  // When a file of a job's owner was written last, and what time it is, since 1970. Empty functions: TimeOfFile(),
  // UnixTime().
  std::function<std::optional<SimTime>(const std::string& path, uint32_t owner)> file_time = {};
  std::function<SimTime()> now = {};
};

// A step with what names its hosts and job.
struct StepOrder {
  uint64_t action = 0;
  uint32_t attempt = 0;
  controller::SteeringStep step;
  std::string host;                // that the step is about; of take_spare the spare
  std::vector<std::string> hosts;  // of restart_job
  std::string job;                 // key; empty: none
  std::string reason;              // "finding 7: rank 3 …"
};

struct StepProgress {
  enum class Kind : uint8_t {
    kDone,
    kUnderway,  // call again
    kFailed,    // another attempt may do better
    kRefused,   // not here, not now, and not by trying again
  };
  Kind kind = Kind::kDone;
  std::string message;
  std::optional<bool> is_healthy{};  // of a test that has ended
};

// Of a job in Slurm: by the kernel's word, or by its name where Slurm makes no cgroups; 0: none, or not verified.
uint32_t JobNumberOf(const model::JobIdentity& job);

class SteeringSteps {
 public:
  // `programs` and `store` must outlive this.
  SteeringSteps(Programs* programs, store::Store* store, SteeringStepOptions options);
  ~SteeringSteps();
  SteeringSteps(const SteeringSteps&) = delete;
  SteeringSteps& operator=(const SteeringSteps&) = delete;

  // Errors: those of Writer::Carry().
  Result<StepProgress> Go(const StepOrder& order);

  // What is left of steps that nobody goes on with: records of intentions and stops, reservations of jobs and tests.
  // And what a slurmctld that was killed has forgotten. Args: is_left("job 7", "host h3", "reservation fairlead_…"):
  // whether it is left. Returns what was done about it, for people. Errors: as Go().
  using IsLeft = std::function<bool(const std::string& subject)>;
  Result<std::vector<std::string>> CleanUp(const ClusterState& state, const IsLeft& is_left);

 private:
  struct CheckedJob {
    std::optional<Job> job;
    std::string refusal;  // where there is none
    std::string comment;
  };
  // A job that was asked for a checkpoint.
  struct Asked {
    uint32_t num_restarts = 0;  // of the run that was
    SimTime at;
    std::optional<SimTime> before;  // when it had written the last one
  };

  Result<StepProgress> Isolate(const StepOrder& order);
  Result<StepProgress> Drain(const DrainHost& drain);
  Result<StepProgress> Stop(const StepOrder& order);
  Result<StepProgress> TakeSpare(const StepOrder& order);
  Result<StepProgress> Restart(const StepOrder& order);
  Result<StepProgress> Test(const StepOrder& order);
  Result<StepProgress> EndTest(const StepOrder& order, const Result<int>& exit_code);
  Result<StepProgress> Return(const StepOrder& order);

  // The job in its present state, if it may be acted upon.
  Result<CheckedJob> CheckJob(const StepOrder& order);
  // Whether it is still to be waited for. Errors: kUnavailable: Slurm does not answer.
  Result<bool> WaitsForCheckpoint(const Job& job, const std::string& comment);
  Result<StepProgress> Carry(const Operation& operation, std::span<const store::Change> when_done = {});
  Result<std::optional<Operation>> FindRecorded(const std::string& subject) const;
  Result<std::optional<StopJob>> FindStopped(uint32_t job) const;
  // Hosts in and out of one of our reservations. Users: of one that is made anew.
  Result<StepProgress> ChangeReservation(const std::string& name, const std::vector<std::string>& in,
                                         const std::vector<std::string>& out, const std::string& user);
  Result<std::optional<Reservation>> FindReservation(const std::string& name);
  std::string UserName(uint32_t user) const;
  // Hosts that were taken for the job are so again, where a slurmctld that was killed has forgotten it. Args: user: of
  // the job's reservation, where that is made anew; empty: it is not.
  Result<StepProgress> TakeAgain(uint32_t job, const std::vector<std::string>& hosts, const std::string& user);
  Result<StepProgress> LeaveReservationOf(uint32_t job, uint32_t owner, StepProgress before);

  // A slurmctld that was killed forgets its last seconds: hosts that were returned shortly before are so again.
  Status RepeatReturns(const std::vector<Reservation>& reservations, std::vector<std::string>* notes);
  Status RepeatReturn(const std::string& host, const std::vector<Reservation>& reservations,
                      std::vector<std::string>* notes);
  // Likewise a job that was placed or released shortly before is held again then: nobody would go on with it.
  Status ReleaseForgotten(const ClusterState& state, std::vector<std::string>* notes);
  Status LetGo(uint32_t id, std::vector<std::string>* notes);
  // Likewise a test that has ended, and one whose controller was killed, keeps its host until its time is over.
  Status EndLeftTests(const std::vector<Job>& jobs, std::vector<std::string>* notes);
  // Likewise those that were isolated shortly before.
  Status RepeatIsolations(std::vector<std::string>* notes);
  // Another step is about the host now.
  Status ForgetReturn(const std::string& host) { return ForgetRecord(ReturnedKey(host)); }
  Status ForgetIsolation(const std::string& host) { return ForgetRecord(IsolatedKey(host)); }
  Status ForgetRecord(const std::string& key);

  Status CleanUpStop(const StopJob& stop, std::vector<std::string>* notes);
  Status CleanUpReservation(const Reservation& reservation, const IsLeft& is_left, std::vector<std::string>* notes);

  Programs& programs_;
  store::Store& store_;
  const SteeringStepOptions options_;
  const std::set<std::string> fabric_hosts_;
  ProgramReader reader_;
  Writer writer_;
  std::atomic<bool> is_over_ = false;
  std::map<uint32_t, Asked> asked_;                               // [job] until it is stopped
  std::map<std::string, std::shared_future<Result<int>>> tests_;  // [host] until what they found is carried out
};

}  // namespace fairlead::slurm
