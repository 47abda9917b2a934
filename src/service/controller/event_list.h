// The last events, for readers of any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "base/sim_time.h"
#include "controller/traffic_messages.h"
#include "service/controller/traffic_json.h"

namespace fairlead::service {

class EventList {
 public:
  // Args: time since 1970.
  void Add(SimTime time, const controller::Noted& note) {
    const std::lock_guard lock(mutex_);
    events_.push_back({.number = ++num_events_, .time = time, .note = note});
    if (events_.size() > kEventsMax) events_.pop_front();
  }
  // As EventsJson().
  Json ToJson() const {
    const std::lock_guard lock(mutex_);
    return EventsJson(events_);
  }

 private:
  static constexpr size_t kEventsMax = 1000;

  mutable std::mutex mutex_;
  uint64_t num_events_ = 0;
  std::deque<TrafficEvent> events_;
};

}  // namespace fairlead::service
