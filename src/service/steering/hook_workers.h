// Carries actions out with the operator's program, beside the caller: nothing here blocks him.
//
//     Begin() --> [orders] --> workers, each one program at a time --> [outcomes] --> TakeOutcomes()
//
// Threads     `num_workers`, so that a slow program for one job holds up no other job. Of one action there is one
//             program at a time; a newer attempt replaces an older one that has not begun.
// End         programs that run are ended (SIGTERM, a grace later SIGKILL), and their outcome is not reported: a later
//             process starts the action again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "controller/action_backend.h"

namespace fairlead::service {

struct HookWorkersOptions {
  // Program and arguments; empty: there is none.
  std::vector<std::string> command = {};
  // > 0. Longer: slow schedulers get done. Shorter: a program that hangs is noticed sooner.
  std::chrono::milliseconds deadline{60'000};
  // The same for restart_job, with the initialization of the job, and for test_host.
  std::chrono::milliseconds long_deadline{600'000};
  // Between SIGTERM and SIGKILL, >= 0.
  std::chrono::milliseconds grace{2'000};
  // >= 1. More: more programs at a time.
  uint32_t num_workers = 4;
};

class HookWorkers final : public controller::ActionBackend {
 public:
  // What the program finds on its standard input (HookInput); called by Begin().
  using WriteInput = std::function<std::string(const controller::SteeringAction&)>;

  // Args: options.command not empty.
  HookWorkers(const HookWorkersOptions& options, WriteInput write_input);
  ~HookWorkers() override;
  HookWorkers(const HookWorkers&) = delete;
  HookWorkers& operator=(const HookWorkers&) = delete;

  std::string_view name() const override { return "hook"; }
  void Begin(SimTime now, const controller::SteeringAction& action) override;
  std::vector<controller::SteeringEvent> TakeOutcomes(SimTime now) override;

 private:
  struct Order {
    controller::SteeringAction action;
    std::string input;
  };

  void Run();
  // With the mutex held: an order with an action that no worker is busy with; end(): none.
  std::deque<Order>::iterator FindNext();
  void CarryOut(const Order& order);

  const HookWorkersOptions options_;
  const WriteInput write_input_;
  std::atomic<bool> is_over_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> orders_;
  std::set<uint64_t> busy_with_;  // numbers of actions
  std::vector<controller::SteeringEvent> outcomes_;

  std::vector<std::thread> threads_;
};

}  // namespace fairlead::service
