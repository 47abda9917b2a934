// The thread on which jobs are watched: what agents saw of processes goes in; findings, and what steering does about
// them, come out.
//
//     ControllerLoop --> [inbox] --> JobWatch --+--> steer: steering's dispatcher
//                                               +--> judge: what is found about a host, for its agent
//                                               +--> listener: the event list and the log
//
// Of its own, because a job of thousands of ranks takes milliseconds to judge, and answers to processes can't wait for
// that. All it calls is called on its thread, with nothing locked.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "controller/job_watch.h"
#include "controller/traffic_controller.h"

namespace fairlead::service {

struct DiagnosisLoopOptions {
  // > 0. Shorter: findings come sooner after the look that shows them, for more work.
  std::chrono::milliseconds tick{250};
  // Looks that wait; more are dropped and counted. What is missed is noticed by numbers, and excuses what it would tell.
  size_t num_waiting_max = 65'536;
  controller::JobWatchOptions watch;
  // Any clock that does not jump; empty: SteadyUnixTime.
  std::function<SimTime()> clock;
};

// Time since 1970 at the start of the process, advanced by a clock that cannot be set.
SimTime SteadyUnixTime();

struct DiagnosisLoopCounters {
  uint64_t looks_dropped = 0;
  Seconds handling;  // time spent on looks and judgements
};

class DiagnosisLoop {
 public:
  // Called with each tick, also when nothing has happened.
  using Steer = std::function<void(SimTime, std::span<const controller::SteeringEvent>)>;
  using Judge = std::function<void(HostId, const controller::HostJudged&)>;
  using Listener = std::function<void(SimTime, const controller::Noted&)>;
  using AskForTest = std::function<void(const controller::SlowEndQuestion&)>;
  struct Outputs {  // each may be empty
    Steer steer = {};
    Judge judge = {};
    AskForTest ask = {};
    Listener listener = {};
  };

  // Runs from here on. `fabric` must outlive this. `prepare`: called with the watch before anything else; may be empty.
  DiagnosisLoop(const DiagnosisLoopOptions& options, const topology::Fabric& fabric,
                diagnosis::JobDiagnosisFactory make_diagnosis, Outputs outputs,
                const std::function<void(controller::JobWatch&)>& prepare = {});
  // Ends after the tick under way.
  ~DiagnosisLoop();
  DiagnosisLoop(const DiagnosisLoop&) = delete;
  DiagnosisLoop& operator=(const DiagnosisLoop&) = delete;

  // Never waits.
  void Put(controller::WatchInput input);

  // What `ask` makes of the watch, between two ticks. Any thread, also from within outputs.
  template <class AskWatch>
  auto Ask(const AskWatch& ask) const {
    const std::lock_guard lock(watch_mutex_);
    return ask(std::as_const(watch_));
  }
  // JobWatch::Excuse. Likewise.
  void Excuse(JobId job, SimTime until);

  DiagnosisLoopCounters counters() const;

 private:
  struct Arrived {
    SimTime at;
    controller::WatchInput input;
  };

  void Run();
  void Tick();
  void Note(SimTime now, const controller::SteeringEvent& event);

  const DiagnosisLoopOptions options_;
  const Outputs outputs_;

  mutable std::mutex watch_mutex_;
  controller::JobWatch watch_;

  // Of the loop's thread: jobs that run, and findings that hold.
  std::map<JobId, std::string> names_;
  std::set<model::FindingId> noted_;

  mutable std::mutex mutex_;
  std::condition_variable stopping_;
  std::vector<Arrived> inbox_;
  bool is_stopping_ = false;
  DiagnosisLoopCounters counters_;

  std::thread thread_;
};

}  // namespace fairlead::service
