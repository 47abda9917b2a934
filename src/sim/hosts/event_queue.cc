#include "sim/hosts/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::sim::hosts {

void EventQueue::At(SimTime at, Action action) {
  FL_CHECK(now_ <= at);
  heap_.push_back({at, ++num_scheduled_, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end());
}

void EventQueue::RunUntil(SimTime end, const std::function<bool()>& stop) {
  while (!heap_.empty() && heap_.front().at <= end && !stop()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Event event = std::move(heap_.back());
    heap_.pop_back();
    now_ = event.at;
    ++num_run_;
    hash_ = CombineHash(CombineHash(hash_, static_cast<uint64_t>(event.at.ns())), event.number);
    event.action();
  }
}

void EventQueue::AdvanceTo(SimTime now) {
  FL_CHECK(heap_.empty() || now <= heap_.front().at);
  now_ = std::max(now_, now);
}

}  // namespace fairlead::sim::hosts
