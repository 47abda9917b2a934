// Events of a simulated world in order of virtual time; equal times in the order in which they were scheduled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sim_time.h"

namespace fairlead::sim::hosts {

// Args: milliseconds, low <= high.
inline SimDuration RandomMilliseconds(Random* random, double low, double high) {
  return SimDuration(static_cast<int64_t>(1e6 * random->Uniform(low, high)));
}

class EventQueue {
 public:
  using Action = std::function<void()>;

  SimTime now() const { return now_; }
  uint64_t num_run() const { return num_run_; }
  // Of the times and order of everything that has run: equal histories have equal hashes.
  uint64_t hash() const { return hash_; }

  void At(SimTime at, Action action);
  void After(SimDuration delay, Action action) { At(now_ + delay, std::move(action)); }

  // Where a history is printed, a line each; `text` makes it only if somebody reads it.
  void SetLog(std::function<void(SimTime, const std::string&)> log) { log_ = std::move(log); }
  template <class Text>
  void Log(const Text& text) const {
    if (log_) log_(now_, text());
  }

  // Runs everything up to and including `end`, unless `stop` says so before the next event.
  void RunUntil(SimTime end, const std::function<bool()>& stop);
  // It is `now`, if it was earlier. Args: nothing is due before.
  void AdvanceTo(SimTime now);

 private:
  struct Event {
    SimTime at;
    uint64_t number = 0;
    Action action;

    friend bool operator<(const Event& a, const Event& b) {  // of a heap with the earliest on top
      return std::pair(b.at, b.number) < std::pair(a.at, a.number);
    }
  };

  SimTime now_;
  uint64_t num_scheduled_ = 0;
  uint64_t num_run_ = 0;
  uint64_t hash_ = 0;
  std::vector<Event> heap_;
  std::function<void(SimTime, const std::string&)> log_;
};

}  // namespace fairlead::sim::hosts
