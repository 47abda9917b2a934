// One trainer in a lab: a process in the network of its host, that ends with this one.
//
// A trainer is any program that is called `PROGRAM [--ccl=plugin] PLAN.json`, does what the plan says
// (trainer/trainer_plan.h), records it on standard output (trainer/trainer.h, and a line {"connected": N} before),
// obeys FAIRLEAD_TRAINER_CONTROL (trainer/trainer_control.h), ends by SIGTERM within a second, and with 0 when it is
// done or stopped. There are two: fairlead-trainer, and nccl_lab_rank of tests/nccl_host, whose communication is
// NCCL's.
//
//     PATH.json      its plan
//     PATH.jsonl     what it records (trainer/trainer.h)
//     PATH.log       what it says on standard error
//     PATH.control   how it is to misbehave, looked at in each iteration; absent: not at all
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"
#include "lab/lab_state.h"
#include "lab/lab_workload.h"

namespace fairlead::lab {

// What trainers are started with.
struct TrainerPrograms {
  std::string trainer;  // path of the program
  // Path of libfairlead-steer.so; trainers then ask the agent of their host. Empty: their connections are left to the
  // fabric's hashes.
  std::string steering_library;
  // Path of libnccl-profiler-fairlead.so; trainers then tell it what NCCL would, and agents read it. Empty: they don't.
  std::string profiler_plugin;
  std::string lab_folder;       // where agents are found and segments are put
  bool records_phases = false;  // trainers record what happens in iterations, too
};

std::string ControlFileOf(const std::string& path);

class TrainerProcess {
 public:
  // Args: path: of its files, without their endings; in a folder that exists.
  // Errors: kUnavailable: no process, or its files can't be written. That it fails later is seen by its end.
  static Result<TrainerProcess> Start(const LabState& state, const LabWorker& worker, const TrainerPrograms& programs,
                                      const std::string& path);
  // Kills it and waits for its end.
  ~TrainerProcess();
  TrainerProcess(TrainerProcess&& other) noexcept;
  TrainerProcess& operator=(TrainerProcess&& other) noexcept;

  // Looks whether it has ended.
  bool HasEnded();
  // Once it has: 128 + number when a signal ended it, 126 and 127 when it could not be started.
  int exit_code() const { return exit_code_; }
  // By a signal, to go on later.
  bool IsStopped() const;

  // To the trainer itself; nothing when it has ended.
  void Signal(int number);
  // Asks it to end, also when it is stopped.
  void AskToEnd();
  void Kill();

  const std::string& path() const { return path_; }
  const std::string& job() const { return job_; }
  uint32_t worker() const { return worker_; }
  LabNodeId host() const { return host_; }

  // What it has written so far.
  std::string Records() const;
  std::string Log() const;
  // Whether all its connections are established.
  bool IsConnected() const;

 private:
  TrainerProcess() = default;

  pid_t guard_ = -1;    // child of this process and parent of the trainer; -1: moved from, or never started
  pid_t trainer_ = -1;  // as this machine numbers it; -1: it was never born
  bool has_ended_ = false;
  int exit_code_ = 0;
  std::string path_;
  std::string job_;
  uint32_t worker_ = 0;
  LabNodeId host_;
};

}  // namespace fairlead::lab
