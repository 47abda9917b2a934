#include "sim/health/broken_gpus.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fairlead::sim {

using controller::HostState;
using execution::FaultKind;

namespace {

// Results have -1 for what has not happened yet.
void SetOnce(double* instant_s, SimTime time) {
  if (*instant_s < 0) *instant_s = time.seconds().value();
}

}  // namespace

BrokenGpus::BrokenGpus(const topology::Fabric& fabric, std::vector<HostFault> faults)
    : fabric_(fabric), faults_(std::move(faults)), phases_(faults_.size(), Phase::kToCome) {
  std::ranges::stable_sort(faults_, {}, &HostFault::begin);
  for (const HostFault& fault : faults_) {
    results_.push_back({.host = fault.host,
                        .host_name = fabric.HostName(fault.host),
                        .kind = std::string(execution::Name(fault.kind)),
                        .began_s = fault.begin.seconds().value()});
  }
}

SimTime BrokenGpus::NextBegin() const {
  const auto next = std::ranges::find(phases_, Phase::kToCome);
  return next == phases_.end() ? SimTime::Never() : faults_[static_cast<size_t>(next - phases_.begin())].begin;
}

std::vector<HostId> BrokenGpus::Begin(SimTime now) {
  std::vector<HostId> hosts;
  for (size_t f = 0; f < faults_.size() && faults_[f].begin <= now; ++f) {
    if (phases_[f] != Phase::kToCome) continue;
    phases_[f] = Phase::kBroken;
    hosts.push_back(faults_[f].host);
  }
  return hosts;
}

void BrokenGpus::Repair(HostId host) {
  for (size_t f = 0; f < faults_.size(); ++f) {
    if (faults_[f].host == host && IsBroken(f)) phases_[f] = Phase::kRepaired;
  }
}

bool BrokenGpus::IsOn(HostId host) const {
  for (size_t f = 0; f < faults_.size(); ++f) {
    if (faults_[f].host == host && IsBroken(f)) return true;
  }
  return false;
}

JobHealth BrokenGpus::HealthOf(const model::Placement& placement) const {
  JobHealth health;
  for (size_t f = 0; f < faults_.size(); ++f) {
    if (!IsBroken(f) || std::ranges::count(placement.gpus, GpuOf(faults_[f])) == 0) continue;
    if (faults_[f].kind == FaultKind::kSlowGpu) {
      health.slowdown = std::max(health.slowdown, faults_[f].magnitude);
    } else {
      health.is_stuck = true;
    }
  }
  return health;
}

std::vector<WatchedFault> BrokenGpus::FaultsOf(const model::Placement& placement) const {
  std::vector<WatchedFault> faults;
  for (size_t f = 0; f < faults_.size(); ++f) {
    const auto place = std::ranges::find(placement.gpus, GpuOf(faults_[f]));
    if (!IsBroken(f) || place == placement.gpus.end()) continue;
    const auto rank = static_cast<uint32_t>(place - placement.gpus.begin());
    faults.push_back({rank, faults_[f].kind, faults_[f].magnitude, faults_[f].begin});
  }
  return faults;
}

std::optional<size_t> BrokenGpus::NoteHit(const std::vector<HostId>& hosts, SimTime at, bool had_one) {
  for (size_t f = 0; f < faults_.size(); ++f) {
    if (!IsBroken(f) || std::ranges::count(hosts, faults_[f].host) == 0) continue;
    if (!had_one && results_[f].num_jobs_hit++ == 0) results_[f].hit_s = at.seconds().value();
    return f;
  }
  return std::nullopt;
}

void BrokenGpus::NoteFound(HostId host, SimTime now) {
  for (size_t f = 0; f < faults_.size(); ++f) {
    const bool is_found = faults_[f].host == host && IsBroken(f) && results_[f].hit_s >= 0;
    if (is_found) SetOnce(&results_[f].found_s, now);
  }
}

void BrokenGpus::NoteState(HostId host, HostState before, HostState state, SimTime now) {
  for (size_t f = 0; f < faults_.size(); ++f) {
    if (faults_[f].host != host || phases_[f] == Phase::kToCome) continue;
    if (state == HostState::kIsolated) SetOnce(&results_[f].isolated_s, now);
    if (before == HostState::kIsolated) SetOnce(&results_[f].back_s, now);
  }
}

void BrokenGpus::NoteResumed(size_t fault, SimTime at) { SetOnce(&results_[fault].resumed_s, at); }

}  // namespace fairlead::sim
