// In which order, and when, have processes of this host ended?
//
// Problem     a look once a second finds several processes dead at once, and the one that took the others with it is
//             among them; /proc of a process that is hidden (hidepid) looks like that of one that has ended.
// Method      a descriptor of each process (pidfd), of which the kernel tells the end, and one thread that waits for
//             all of them (epoll): the kernel queues what has happened in its order. How a process ended is in
//             /proc/PID/stat while it is a zombie, to those who may look into it; from Linux 6.15 on the descriptor
//             still tells afterwards.
// Cost        a descriptor for each process; nothing while nothing happens.
// Guarantees  ends of different processes have different times, ascending in their order. Where a process can't be
//             watched (no descriptor left, Linux before 5.3), Watch() says so, and nothing is claimed of it.
// Limits      the time is when this thread ran: some microseconds late, on a busy host milliseconds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace fairlead::service {

// Of a process, as wait() has it: 0..255 of one that exited, -9 of one that signal 9 has ended.
int32_t ExitCodeOf(int wait_status);

class ExitWatch {
 public:
  struct Exit {
    int64_t at_ns = 0;  // CLOCK_MONOTONIC
    std::optional<int32_t> code;
  };
  using Ticket = uint64_t;

  explicit ExitWatch(std::string proc_folder = "/proc");
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  // Watches the process that has this number now. Nothing: it can't be watched, or has ended.
  std::optional<Ticket> Watch(int32_t pid);
  // Nothing: it lives, as the kernel says. Args: of Watch(), not forgotten.
  std::optional<Exit> Find(Ticket ticket) const;
  // Waits until an end that the kernel has reported is seen by Find(). Args: for at most so long.
  bool WaitFor(Ticket ticket, int64_t timeout_ms);
  void Forget(Ticket ticket);

 private:
  struct Watched {
    int32_t pid = 0;
    Descriptor process;
    std::optional<Exit> exit;
  };

  void Run();
  void Note(Ticket ticket);

  const std::string proc_folder_;
  Descriptor events_;  // of epoll
  Descriptor stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ticket, Watched> watched_;
  Ticket last_ticket_ = 0;
  int64_t last_at_ns_ = 0;
  std::thread thread_;  // runs from the first Watch() on
};

// Forgets what it watches when it ends. Must not outlive the watch.
class WatchedExit {
 public:
  WatchedExit() = default;
  WatchedExit(ExitWatch* watch, ExitWatch::Ticket ticket) : watch_(watch), ticket_(ticket) {}
  ~WatchedExit() {
    if (watch_ != nullptr) watch_->Forget(ticket_);
  }
  WatchedExit(WatchedExit&& other) noexcept : watch_(std::exchange(other.watch_, nullptr)), ticket_(other.ticket_) {}
  WatchedExit& operator=(WatchedExit&& other) noexcept {
    std::swap(watch_, other.watch_);
    std::swap(ticket_, other.ticket_);
    return *this;
  }

  // Whether there is something to ask.
  bool is_set() const { return watch_ != nullptr; }
  std::optional<ExitWatch::Exit> Find() const { return watch_->Find(ticket_); }
  bool WaitFor(int64_t timeout_ms) const { return watch_->WaitFor(ticket_, timeout_ms); }

 private:
  ExitWatch* watch_ = nullptr;
  ExitWatch::Ticket ticket_ = 0;
};

}  // namespace fairlead::service
