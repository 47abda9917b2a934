// The thread of the controller's core: what agents say goes in, and what the core answers is kept, then said.
//
//     ControllerServer --> [batch: all that waits] --> handler --> 1. records to the store   2. messages to agents
//
// A tick comes at least every `tick`. A batch's records are kept before any of its messages are said. While the store
// takes nothing (a full disk), nothing is said and nothing new is taken: agents wait, on streams that stay open, the
// store is tried again with each tick, and store_status() says why. Others look at the core between two batches, by
// Ask().
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/traffic_controller.h"
#include "service/controller_server.h"
#include "store/store.h"

namespace fairlead::service {

struct ControllerLoopOptions {
  // > 0. Shorter: timers of the core are more exact, for more work.
  std::chrono::milliseconds tick{200};
};

struct LoopCounters {
  uint64_t batches = 0;  // that had an input
  uint64_t inputs = 0;
  uint64_t records_changed = 0;
  uint64_t store_failures = 0;
  Seconds handling;  // time inside the handler
};

class ControllerLoop {
 public:
  // TrafficController::Handle, as a rule.
  using Handler =
      std::function<std::vector<controller::TrafficOutput>(SimTime, std::span<const controller::TrafficInput>)>;
  // Told on the loop's thread of all that the core notes, once it is kept.
  using Listener = std::function<void(SimTime, const controller::Noted&)>;
  // Told there of all looks at processes, in their order.
  using Watcher = std::function<void(controller::ProcessesLooked&&)>;

  // Runs from here on. The references must outlive this, and nobody else uses what `handler` does, but by Ask().
  ControllerLoop(const ControllerLoopOptions& options, Handler handler, Listener listener, store::Store& store,
                 ControllerServer& server, Watcher watcher = {});
  // Ends after the batch under way.
  ~ControllerLoop();
  ControllerLoop(const ControllerLoop&) = delete;
  ControllerLoop& operator=(const ControllerLoop&) = delete;

  // Runs `question` on the loop's thread, between two batches, and waits for it. Not from that thread.
  void Ask(const std::function<void()>& question);
  // An input from elsewhere than an agent's stream: the next batch has it.
  void Put(controller::TrafficInput input);

  // Why nothing is kept at present; ok: all is kept.
  Status store_status() const;
  LoopCounters counters() const;

 private:
  void Run();
  void HandleBatch();
  void AnswerQuestions();
  // Records first, then messages; false: the store did not take them, and nothing was said.
  bool CarryOut();

  const ControllerLoopOptions options_;
  const Handler handler_;
  const Listener listener_;
  const Watcher watcher_;  // may be empty
  store::Store& store_;
  ControllerServer& server_;

  // Of the loop's thread.
  SimTime clock_;
  std::vector<controller::TrafficOutput> outputs_;  // not carried out yet

  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<const std::function<void()>*> questions_;
  std::vector<controller::TrafficInput> inputs_;
  bool is_stopping_ = false;
  Status store_status_;
  LoopCounters counters_;

  std::thread thread_;
};

}  // namespace fairlead::service
