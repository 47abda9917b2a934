#include "sim/drill/planted_faults.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim {

using execution::Fault;
using execution::FaultKind;

namespace {

bool IsOfHost(FaultKind kind) { return kind == FaultKind::kHostLost || kind == FaultKind::kAgentLost; }
bool IsOfFabric(FaultKind kind) { return kind == FaultKind::kSlowLeaf || kind == FaultKind::kSlowPlane; }

}  // namespace

bool StaysBroken(FaultKind kind) {
  switch (kind) {
    case FaultKind::kProcessCrash:
    case FaultKind::kProcessFrozen:
    case FaultKind::kCheckpointStall:
    case FaultKind::kWrongSize:
    case FaultKind::kWrongOrder:
    case FaultKind::kCrossedOrder:
      return false;
    default:
      return true;
  }
}

PlantedFaults::PlantedFaults(const execution::JobShape& shape, std::vector<Fault> faults)
    : shape_(shape), faults_(std::move(faults)), is_repaired_(faults_.size()), first_acted_(faults_.size()) {}

HostId PlantedFaults::HostOf(size_t fault) const {
  const Fault& planted = faults_[fault];
  if (IsOfFabric(planted.kind)) return HostId();
  if (IsOfHost(planted.kind) || planted.host.valid()) return planted.host;
  return planted.rank.valid() ? shape_.HostOf(planted.rank) : HostId();
}

bool PlantedFaults::IsHealthy(SimTime now, HostId host) const {
  for (size_t f = 0; f < faults_.size(); ++f) {
    const bool is_acting = faults_[f].begin <= now && now < faults_[f].end && !is_repaired_[f];
    if (is_acting && StaysBroken(faults_[f].kind) && HostOf(f) == host) return false;
  }
  return true;
}

std::vector<Fault> PlantedFaults::BeginRun(const RunPlace& place) {
  const SimTime begin = SimTime() + place.begin;
  of_run_.clear();
  std::vector<Fault> faults;
  for (size_t f = 0; f < faults_.size(); ++f) {
    Fault fault = faults_[f];
    const bool is_over = fault.begin < begin && (!StaysBroken(fault.kind) || fault.end <= begin);
    if (is_over || is_repaired_[f]) continue;
    if (fault.rank.valid() && !IsOfFabric(fault.kind) && !Move(&fault.rank, place)) continue;
    if (fault.peer.valid() && !Move(&fault.peer, place)) continue;
    if (fault.host.valid()) {
      const auto found = std::find(place.hosts.begin(), place.hosts.end(), fault.host);
      if (found == place.hosts.end()) continue;
      fault.host = HostId(static_cast<uint32_t>(found - place.hosts.begin()));
    }
    fault.begin = SimTime(std::max<int64_t>(0, (fault.begin - begin).ns()));
    if (fault.end != SimTime::Never()) fault.end = SimTime((fault.end - begin).ns());
    if (!execution::Validate(fault, shape_).ok()) continue;  // such as a peer on the same host by now
    faults.push_back(fault);
    of_run_.push_back(f);
  }
  return faults;
}

void PlantedFaults::NoteActed(const execution::JobExecution& run, const RunPlace& place, SimTime now) {
  for (size_t i = 0; i < of_run_.size(); ++i) {
    std::optional<SimTime>& acted = first_acted_[of_run_[i]];
    const std::optional<SimTime> here = run.FirstActed(i);
    if (!acted && here && *here + place.begin <= now) acted = *here + place.begin;
  }
}

bool PlantedFaults::Move(model::RankId* rank, const RunPlace& place) const {
  const HostId host = shape_.HostOf(*rank);
  const auto found = std::find(place.hosts.begin(), place.hosts.end(), host);
  if (found == place.hosts.end()) return false;
  const uint32_t gpus = shape_.gpus_per_host;
  const auto position = static_cast<uint32_t>(found - place.hosts.begin());
  *rank = model::RankId(position * gpus + rank->value() % gpus);
  return rank->value() < shape_.NumRanks();
}

}  // namespace fairlead::sim
