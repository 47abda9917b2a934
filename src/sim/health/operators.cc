#include "sim/health/operators.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim {

using controller::HostState;

namespace {

std::vector<HostEvent> ByTime(std::vector<HostEvent> events) {
  std::ranges::stable_sort(events, {}, &HostEvent::time);
  return events;
}

}  // namespace

Operators::Operators(size_t num_hosts, std::vector<HostEvent> events, SimDuration reaction, SimDuration search)
    : events_(ByTime(std::move(events))), reaction_(reaction), search_(search) {
  states_.assign(num_hosts, HostState::kUp);
}

SimTime Operators::Next() const {
  SimTime next = next_event_ < events_.size() ? events_[next_event_].time : SimTime::Never();
  for (const auto& [host, time] : searched_at_) next = std::min(next, time);
  return next;
}

void Operators::CarryOutPlans(SimTime now) {
  for (; next_event_ < events_.size() && events_[next_event_].time <= now; ++next_event_) {
    states_[events_[next_event_].host] = events_[next_event_].state;
  }
}

void Operators::Search(SimTime now, HostId host) {
  searched_at_.try_emplace(host, now + (suspected_.contains(host) ? reaction_ : search_));
}

std::vector<HostId> Operators::TakeSearched(SimTime now) {
  std::vector<HostId> hosts;
  std::erase_if(searched_at_, [&](const auto& search) {
    const bool is_over = search.second <= now;
    if (is_over) hosts.push_back(search.first);
    return is_over;
  });
  return hosts;
}

void Operators::NoteRepair(HostId host) {
  suspected_.erase(host);
  if (states_[host] == HostState::kIsolated) states_[host] = HostState::kUp;
}

}  // namespace fairlead::sim
