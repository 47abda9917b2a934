// For tests of observers of training jobs: workers of a ring, each in its own process, that move real bytes over
// loopback and imitate NCCL to the real plugin.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/free_port.h"
#include "ccl/profiler/nccl_stand_in.h"
#include "ccl/profiler/plugin_calls.h"

namespace fairlead::ccl {

struct SimulatedRingOptions {
  uint32_t num_workers = 4;
  uint64_t iterations = 5;  // 0: until they are killed
  double compute_s = 0.001;
  uint64_t bytes = 1'000'000;  // of the all-reduce
};

// What an edge of the ring carries in an iteration.
inline uint64_t EdgeBytes(const SimulatedRingOptions& options) {
  return uint64_t{2} * (options.num_workers - 1) * options.bytes / options.num_workers;
}

inline std::vector<lab::TrainerPlan> RingPlans(const SimulatedRingOptions& options) {
  const uint32_t n = options.num_workers;
  const uint16_t port = FindFreePort();
  std::vector<lab::TrainerPlan> plans(n);
  const auto address = [](uint32_t worker) { return "127.0.1." + std::to_string(worker + 1); };
  for (uint32_t w = 0; w < n; ++w) {
    const uint32_t next = (w + 1) % n;
    const uint32_t previous = (w + n - 1) % n;
    lab::TrainerPlan& plan = plans[w];
    plan.job = "gpt";
    plan.worker = w;
    plan.num_workers = n;
    plan.compute_s = options.compute_s;
    plan.iterations = options.iterations;
    plan.listen_port = port;
    plan.listen_addresses = {address(w)};
    plan.connections = {
        {.id = w, .peer = next, .is_outgoing = true, .from = address(w), .to = address(next), .port = port},
        {.id = previous,
         .peer = previous,
         .is_outgoing = false,
         .from = address(previous),
         .to = address(w),
         .port = port}};
    plan.communicators = {{.id = 77, .name = "ring", .workers = {}}};
    for (uint32_t i = 0; i < n; ++i) plan.communicators[0].workers.push_back(i);
    plan.phases.resize(1);
    plan.phases[0].name = "ring-all-reduce";
    plan.phases[0].streams = {{.parts = 2 * (n - 1) * 8,
                               .lead = 8,
                               .sends = {{0, EdgeBytes(options)}},
                               .receives = {{1, EdgeBytes(options)}}}};
    plan.phases[0].operations = {{.function = "AllReduce",
                                  .bytes = options.bytes,
                                  .channels = {{.peer = next, .is_send = true, .connections = {0}},
                                               {.peer = previous, .is_send = false, .connections = {1}}}}};
  }
  return plans;
}

class SimulatedJob {
 public:
  // Workers have their segments in `folder`, and commands to them in CONTROL files there.
  SimulatedJob(const std::vector<lab::TrainerPlan>& plans, std::string folder) : folder_(std::move(folder)) {
    FL_CHECK(pipe(may_leave_) == 0);
    fflush(nullptr);  // or the children would write it once more
    for (const lab::TrainerPlan& plan : plans) {
      pids_.push_back(fork());
      FL_CHECK(pids_.back() >= 0);
      if (pids_.back() == 0) Run(plan);
    }
  }
  ~SimulatedJob() {
    for (const int end : may_leave_) close(end);
    for (const pid_t pid : pids_) {
      if (pid == 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;

  pid_t pid(uint32_t worker) const { return pids_[worker]; }
  void Signal(uint32_t worker, int number) const { kill(pids_[worker], number); }
  static std::string ControlOf(const std::string& folder, uint32_t worker) {
    return folder + "/control-" + std::to_string(worker);
  }
  // Those that have done their iterations may end their communicators and themselves.
  void LetThemLeave() { close(std::exchange(may_leave_[1], -1)); }
  // Whether all have ended; how is checked.
  bool HaveEnded() {
    bool have_all = true;
    for (pid_t& pid : pids_) {
      if (pid == 0) continue;
      int status = 0;
      if (waitpid(pid, &status, WNOHANG) == 0) {
        have_all = false;
        continue;
      }
      FL_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      pid = 0;
    }
    return have_all;
  }

 private:
  [[noreturn]] void Run(const lab::TrainerPlan& plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("FAIRLEAD_SHM_FOLDER", folder_.c_str(), 1);
    setenv("FAIRLEAD_JOB", plan.job.c_str(), 1);
    setenv("RANK", std::to_string(plan.worker).c_str(), 1);
    auto plugin = LoadPlugin(FAIRLEAD_PROFILER_LIBRARY);
    FL_CHECK_MSG(plugin.ok(), plugin.status().message());
    NcclStandIn stand_in(plan, std::move(*plugin));
    FL_CHECK(stand_in.Begin().ok());
    const std::atomic<bool> stop = false;
    auto connections = lab::Connect(plan, 60, stop, lab::Protocol::kMessages);
    FL_CHECK_MSG(connections.ok(), connections.status().message());
    const Status status = TrainAsNccl(
        plan, std::move(*connections), stop, [](const std::string&) {}, {.control = ControlOf(folder_, plan.worker)},
        &stand_in);
    close(may_leave_[1]);
    char nothing = 0;
    FL_CHECK(read(may_leave_[0], &nothing, 1) == 0);
    stand_in.End();
    exit(status.ok() ? 0 : 1);  // with the library's own end
  }

  std::string folder_;
  int may_leave_[2] = {-1, -1};  // a pipe; closed: they may
  std::vector<pid_t> pids_;      // [worker] 0: has ended
};

}  // namespace fairlead::ccl
