#include "service/agent/worker_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace fairlead::service {

EventInbox::EventInbox() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void EventInbox::Push(agent::HostEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  const uint64_t one = 1;
  (void)!write(descriptor_.get(), &one, sizeof(one));
}

std::vector<agent::HostEvent> EventInbox::Take() {
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  (void)!read(descriptor_.get(), &count, sizeof(count));
  return std::exchange(events_, {});
}

WorkerThread::WorkerThread() : thread_([this] { Run(); }) {}

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkerThread::Do(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void WorkerThread::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty() && !is_busy_; });
}

size_t WorkerThread::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return work_.size() + (is_busy_ ? 1 : 0);
}

void WorkerThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !work_.empty(); });
    if (is_over_) return;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    is_busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace fairlead::service
