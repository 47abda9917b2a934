#include "controller/job_processes.h"

#include <algorithm>
#include <set>

namespace fairlead::controller {

void JobProcesses::Note(SimTime now, HostId host, const std::vector<telemetry::SeenProcess>& seen) {
  heard_[host] = now;
  std::set<ProcessKey> named;
  for (const telemetry::SeenProcess& one : seen) {
    const ProcessKey key{host, one.report.pid, one.report.process_start};
    named.insert(key);
    const auto [entry, is_new] = processes_.try_emplace(key);
    Process& process = entry->second;
    if (is_new) process.first_seen = changed_ = now;
    for (const telemetry::ProcessCommunicator& communicator : one.report.communicators) {
      if (process.communicators.insert(communicator.id).second) changed_ = now;
    }
    if (one.state != model::ProcessState::kGone) {
      process.was_alive = true;
      process.ended_at.reset();  // where it could not be read for once
      process.has_failed = false;
    } else if (!process.ended_at.has_value()) {
      process.ended_at = changed_ = now;
      process.has_failed = one.exit.end != model::ProcessEnd::kRegular && one.exit.code != 0;
    }
  }
  auto known = processes_.lower_bound({.host = host, .pid = INT32_MIN, .start = 0});
  for (; known != processes_.end() && known->first.host == host; ++known) {
    if (known->second.ended_at.has_value() || named.contains(known->first)) continue;
    known->second.ended_at = changed_ = now;
    known->second.has_failed = true;
  }
}

bool JobProcesses::IsNewRun(SimTime now, const RunOptions& options) const {
  // By then one that had ended, or a host that had died, before the last one began is known to have.
  if (now - changed_ > options.overlap + options.host_silent_for) return false;
  std::optional<SimTime> first_of_run;
  std::optional<SimTime> last_of_others;
  SimTime others_began;  // the last of them
  for (const auto& [key, process] : processes_) {
    if (!process.was_alive) continue;
    if (MayLive(now, key.host, process, options)) {
      first_of_run = std::min(first_of_run.value_or(process.first_seen), process.first_seen);
    } else {
      const SimTime end = process.ended_at.value_or(heard_.at(key.host));
      last_of_others = std::max(last_of_others.value_or(end), end);
      others_began = std::max(others_began, process.first_seen);
    }
  }
  if (!first_of_run.has_value() || !last_of_others.has_value()) return false;
  if (*first_of_run <= others_began + options.overlap) return false;
  if (*first_of_run + options.overlap < *last_of_others && !AreLivingApart()) return false;
  return !ShareCommunicator(now, options);
}

bool JobProcesses::ShareCommunicator(SimTime now, const RunOptions& options) const {
  std::set<uint64_t> of_run;
  std::set<uint64_t> of_others;
  for (const auto& [key, process] : processes_) {
    if (!process.was_alive) continue;
    std::set<uint64_t>& ids = MayLive(now, key.host, process, options) ? of_run : of_others;
    ids.insert(process.communicators.begin(), process.communicators.end());
  }
  return std::ranges::any_of(of_run, [&](uint64_t id) { return of_others.contains(id); });
}

std::set<uint64_t> JobProcesses::CommunicatorsOfEnded() const {
  std::set<uint64_t> ids;
  for (const auto& [key, process] : processes_) {
    if (process.ended_at.has_value()) ids.insert(process.communicators.begin(), process.communicators.end());
  }
  return ids;
}

bool JobProcesses::AreLivingApart() const {
  const std::set<uint64_t> of_ended = CommunicatorsOfEnded();
  return std::ranges::all_of(processes_, [&](const auto& entry) {
    const Process& process = entry.second;
    return process.ended_at.has_value() ||
           (!process.communicators.empty() &&
            std::ranges::none_of(process.communicators, [&](uint64_t id) { return of_ended.contains(id); }));
  });
}

std::vector<FormerProcess> JobProcesses::DropOthers(SimTime now, const RunOptions& options) {
  std::vector<FormerProcess> others;
  for (const auto& [key, process] : processes_) {
    if (!MayLive(now, key.host, process, options)) others.push_back({key, process.ended_at.has_value()});
  }
  for (const FormerProcess& other : others) processes_.erase(other.key);
  return others;
}

bool JobProcesses::HasMet(const std::vector<telemetry::ProcessCommunicator>& communicators) const {
  return std::ranges::any_of(processes_, [&](const auto& entry) {
    const Process& process = entry.second;
    return !process.ended_at.has_value() &&
           std::ranges::any_of(communicators, [&](const auto& one) { return process.communicators.contains(one.id); });
  });
}

std::optional<SimTime> JobProcesses::AllEndedAt() const {
  std::optional<SimTime> last;
  for (const auto& [key, process] : processes_) {
    if (!process.ended_at.has_value()) return std::nullopt;
    last = std::max(last.value_or(*process.ended_at), *process.ended_at);
  }
  return last;
}

bool JobProcesses::HasFailed() const {
  return std::ranges::any_of(processes_, [](const auto& entry) { return entry.second.has_failed; });
}

size_t JobProcesses::NumAlive() const {
  return static_cast<size_t>(
      std::ranges::count_if(processes_, [](const auto& entry) { return !entry.second.ended_at.has_value(); }));
}

size_t JobProcesses::NumLeftBehind(SimTime now, const RunOptions& options) const {
  std::set<uint64_t> of_ended;
  SimTime ended_began;  // the last of them
  bool has_ended = false;
  for (const auto& [key, process] : processes_) {
    if (MayLive(now, key.host, process, options)) continue;
    has_ended = true;
    ended_began = std::max(ended_began, process.first_seen);
    of_ended.insert(process.communicators.begin(), process.communicators.end());
  }
  return static_cast<size_t>(std::ranges::count_if(processes_, [&](const auto& entry) {
    const auto& [key, process] = entry;
    if (!MayLive(now, key.host, process, options)) return false;
    return !has_ended || process.first_seen <= ended_began + options.overlap ||
           std::ranges::any_of(process.communicators, [&](uint64_t id) { return of_ended.contains(id); });
  }));
}

std::vector<FormerProcess> JobProcesses::All() const {
  std::vector<FormerProcess> all;
  for (const auto& [key, process] : processes_) all.push_back({key, process.ended_at.has_value()});
  return all;
}

}  // namespace fairlead::controller
