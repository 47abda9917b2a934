// The thread of the controller's core: messages of agents go in, and answers of the core are saved, then sent.
//
//     ControllerServer --> [batch: all that waits] --> handler --> 1. records to the store   2. messages to agents
//
// A tick comes at least every `tick`. A batch's records are saved before any of its messages are sent. While the store
// accepts nothing (a full disk), nothing is sent and nothing new is accepted: agents wait, on streams that stay open,
// the store is tried again with each tick, and store_status() gives the reason. Others look at the core between two
// batches, by Ask().
//
// Size        one queue between threads, and what it was made with.
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
#include "service/streams/controller_server.h"
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
  // Called on the loop's thread with all notes of the core, once they are saved.
  using Listener = std::function<void(SimTime, const controller::Noted&)>;
  // Called there with all looks at processes, in their order.
  using Watcher = std::function<void(controller::WatchInput&&)>;

  // Runs from here on. The references must outlive this, and nothing else uses the data of `handler`, except by Ask().
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
  // Records first, then messages; false: the store did not accept them, and nothing was sent.
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
