#include "agent/resting_ports.h"

namespace fairlead::agent {

bool RestingPorts::Add(const SocketPair& ends, uint64_t connection, SimTime now) {
  if (rests_.size() >= num_max_) return false;
  rests_[ends] = {.connection = connection, .until = now + rest_};
  ends_at_.emplace_back(now + rest_, ends);
  return true;
}

bool RestingPorts::IsTaken(const SocketPair& ends, uint64_t connection) const {
  const auto rest = rests_.find(ends);
  return rest != rests_.end() && rest->second.connection != connection;
}

bool RestingPorts::EndAt(SimTime now) {
  bool has_ended = false;
  for (; !ends_at_.empty() && ends_at_.front().first <= now; ends_at_.pop_front()) {
    const auto rest = rests_.find(ends_at_.front().second);
    if (rest == rests_.end() || now < rest->second.until) continue;
    rests_.erase(rest);
    has_ended = true;
  }
  return has_ended;
}

void RestingPorts::Restore(const std::vector<KeptRest>& kept, SimTime now) {
  for (const KeptRest& rest : kept) {
    Add({rest.source, rest.destination, rest.port, rest.destination_port}, rest.connection, now);
  }
}

std::vector<KeptRest> RestingPorts::State() const {
  std::vector<KeptRest> kept;
  for (const auto& [ends, rest] : rests_) {
    kept.push_back({rest.connection, ends.local, ends.remote, ends.remote_port, ends.local_port});
  }
  return kept;
}

}  // namespace fairlead::agent
