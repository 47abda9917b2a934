#include "sim/outside_events.h"

#include <algorithm>

namespace fairlead::sim {

OutsideEvents::OutsideEvents(std::vector<Instant> arrivals, std::vector<LinkEvent> link_events)
    : arrivals_(std::move(arrivals)), link_events_(std::move(link_events)) {
  std::ranges::sort(arrivals_);
  std::ranges::stable_sort(link_events_, {}, &LinkEvent::time);
}

SimTime OutsideEvents::Next() const {
  SimTime next = SimTime::Never();
  if (has_arrivals()) next = arrivals_[next_arrival_].first;
  if (next_link_event_ < link_events_.size()) next = std::min(next, link_events_[next_link_event_].time);
  if (!hold_ends_.empty()) next = std::min(next, hold_ends_.begin()->first);
  return next;
}

std::span<const OutsideEvents::Instant> OutsideEvents::TakeArrivals(SimTime now) {
  const size_t first = next_arrival_;
  while (has_arrivals() && arrivals_[next_arrival_].first <= now) ++next_arrival_;
  return std::span(arrivals_).subspan(first, next_arrival_ - first);
}

std::span<const LinkEvent> OutsideEvents::TakeLinkEvents(SimTime now) {
  const size_t first = next_link_event_;
  while (next_link_event_ < link_events_.size() && link_events_[next_link_event_].time <= now) ++next_link_event_;
  return std::span(link_events_).subspan(first, next_link_event_ - first);
}

std::vector<JobId> OutsideEvents::TakeHoldEnds(SimTime now) {
  std::vector<JobId> jobs;
  auto end = hold_ends_.begin();
  for (; end != hold_ends_.end() && end->first <= now; ++end) jobs.push_back(end->second);
  hold_ends_.erase(hold_ends_.begin(), end);
  return jobs;
}

}  // namespace fairlead::sim
