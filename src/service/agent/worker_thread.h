// Work that blocks, done beside a poll loop: one thread, in order; what comes of it goes into an inbox that wakes the
// loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/descriptor.h"

namespace fairlead::service {

// Thread: Push() from any, the rest from one.
class EventInbox {
 public:
  EventInbox();

  void Push(agent::HostEvent event);
  std::vector<agent::HostEvent> Take();
  // Readable while Take() has something.
  int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  std::mutex mutex_;
  std::vector<agent::HostEvent> events_;
};

class WorkerThread {
 public:
  WorkerThread();
  // Waits for what is under way; what has not begun is not done.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void Do(std::function<void()> work);
  // Waits until all that was given is done.
  void Finish();
  size_t num_waiting() const;

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool is_busy_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace fairlead::service
