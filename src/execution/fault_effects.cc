#include "execution/fault_effects.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace fairlead::execution {

namespace {

using model::HostSymptom;
using model::HostSymptomRecord;
using model::JobLayout;
using model::LeafId;
using model::RankId;

// What the driver of the device says about a fault; nothing: it notices none.
std::optional<HostSymptomRecord> SymptomOf(const Fault& fault, uint32_t device) {
  switch (fault.kind) {
    case FaultKind::kGpuMemoryError:
      return HostSymptomRecord{HostSymptom::kGpuMemoryError, device, "Xid 48: double bit ECC error"};
    case FaultKind::kNvlinkError:
      return HostSymptomRecord{HostSymptom::kNvlinkError, device, "Xid 74: NVLink error"};
    case FaultKind::kCudaError:
      return HostSymptomRecord{HostSymptom::kGpuError, device, "Xid 31: MMU fault"};
    case FaultKind::kSlowGpu:
      return HostSymptomRecord{HostSymptom::kGpuThrottled, device, "clocks reduced: thermal slowdown"};
    case FaultKind::kLossyConnection:
      return HostSymptomRecord{HostSymptom::kNicErrors, device, "retransmissions"};
    case FaultKind::kNicDown:
      return HostSymptomRecord{HostSymptom::kLinkDown, device, "port state: down"};
    default:
      return std::nullopt;
  }
}

// Reported in every period, not only once.
bool SymptomLasts(FaultKind kind) { return kind == FaultKind::kSlowGpu || kind == FaultKind::kLossyConnection; }

bool HasLeaf(const JobLayout& layout, RankId rank, uint32_t plane, LeafId leaf) {
  const auto& leaves = layout.ranks[rank.index()].leaves;
  return plane < leaves.size() && leaves[plane] == leaf;
}

}  // namespace

FaultEffects::FaultEffects(const JobShape& shape, const JobLayout& layout, std::vector<Fault> faults)
    : layout_(&layout),
      faults_(std::move(faults)),
      first_acted_(faults_.size(), kNever),
      is_used_up_(faults_.size(), 0),
      process_gates_(layout.ranks.size()),
      gpu_gates_(layout.ranks.size()),
      nvlink_gates_(layout.ranks.size()),
      gone_gates_(layout.ranks.size()),
      silent_gates_(shape.NumHosts()),
      slow_gpus_(layout.ranks.size()) {
  for (FaultIndex f = 0; f < faults_.size(); ++f) {
    const Status status = Validate(faults_[f], shape);
    FL_CHECK_MSG(status.ok(), status.message());
    Plant(f, shape);
  }
}

void FaultEffects::Plant(FaultIndex index, const JobShape& shape) {
  const Fault& fault = faults_[index];
  const Gate gate{ToInstant(fault.begin), ToInstant(fault.end), index};
  switch (fault.kind) {
    case FaultKind::kHostLost:
    case FaultKind::kAgentLost:
      silent_gates_[fault.host.index()].push_back(gate);
      if (fault.kind == FaultKind::kAgentLost) first_acted_[index] = gate.begin;
      for (uint32_t r = 0; r < shape.NumRanks(); ++r) {
        if (fault.kind == FaultKind::kHostLost && shape.HostOf(RankId(r)) == fault.host) {
          PlantOnRank(index, shape, RankId(r));
        }
      }
      break;
    case FaultKind::kSlowGpu:
      slow_gpus_[fault.rank.index()].push_back(index);
      break;
    case FaultKind::kSlowLoader:
      slow_loaders_.push_back(index);
      break;
    case FaultKind::kCheckpointStall:
    case FaultKind::kWrongSize:
    case FaultKind::kWrongOrder:
    case FaultKind::kCrossedOrder:
      single_acts_.push_back(index);
      break;
    default:
      if (fault.rank.valid()) PlantOnRank(index, shape, fault.rank);
  }
}

void FaultEffects::PlantOnRank(FaultIndex index, const JobShape& shape, RankId rank) {
  const Fault& fault = faults_[index];
  Gate gate{ToInstant(fault.begin), ToInstant(fault.end), index};
  if (KillsProcess(fault.kind, shape)) {
    gate.end = kNever;
    process_gates_[rank.index()].push_back(gate);
    gpu_gates_[rank.index()].push_back(gate);
    gone_gates_[rank.index()].push_back(gate);
  } else if (fault.kind == FaultKind::kProcessFrozen) {
    process_gates_[rank.index()].push_back(gate);
  } else if (fault.kind == FaultKind::kGpuHang) {
    gpu_gates_[rank.index()].push_back(gate);
  } else if (fault.kind == FaultKind::kNvlinkError) {
    nvlink_gates_[rank.index()].push_back(gate);
  }
}

Instant FaultEffects::PassSlowly(const Gates& gates, Instant t) {
  // Leaving one gate may mean reaching the next.
  for (bool moved = true; moved;) {
    moved = false;
    for (const Gate& gate : gates) {
      if (t < gate.begin || t >= gate.end) continue;
      MarkActed(gate.fault, t);
      t = gate.end;
      moved = !IsNever(t);
    }
  }
  return t;
}

bool FaultEffects::Holds(const Gates& gates, Instant t) {
  return std::ranges::any_of(gates, [t](const Gate& gate) { return t >= gate.begin && t < gate.end; });
}

bool FaultEffects::IsActive(FaultIndex fault, Instant t) const {
  return t >= ToInstant(faults_[fault].begin) && t < ToInstant(faults_[fault].end);
}

void FaultEffects::MarkActed(FaultIndex fault, Instant t) { first_acted_[fault] = std::min(first_acted_[fault], t); }

double FaultEffects::ComputeFactor(RankId rank, Instant t) {
  double factor = 1;
  for (const FaultIndex fault : slow_gpus_[rank.index()]) {
    if (!IsActive(fault, t)) continue;
    MarkActed(fault, t);
    factor *= faults_[fault].magnitude;
  }
  return factor;
}

double FaultEffects::LoadingFactor(RankId rank, Instant t) {
  double factor = 1;
  for (const FaultIndex fault : slow_loaders_) {
    const HostId host = faults_[fault].host;
    if (!IsActive(fault, t) || (host.valid() && host != layout_->ranks[rank.index()].host)) continue;
    MarkActed(fault, t);
    factor *= faults_[fault].magnitude;
  }
  return factor;
}

SimDuration FaultEffects::CheckpointStall(RankId rank, Instant t) {
  SimDuration stall;
  for (const FaultIndex fault : single_acts_) {
    const Fault& planted = faults_[fault];
    if (planted.kind != FaultKind::kCheckpointStall || planted.rank != rank) continue;
    if (is_used_up_[fault] != 0 || !IsActive(fault, t)) continue;
    is_used_up_[fault] = 1;
    MarkActed(fault, t);
    stall += SimDuration::FromSeconds(Seconds(planted.magnitude));
  }
  return stall;
}

std::optional<FaultKind> FaultEffects::Mistake(RankId rank, Instant t) {
  for (const FaultIndex fault : single_acts_) {
    const Fault& planted = faults_[fault];
    if (!IsMistake(planted.kind) || planted.rank != rank) continue;
    if (is_used_up_[fault] != 0 || !IsActive(fault, t)) continue;
    is_used_up_[fault] = 1;
    MarkActed(fault, t);
    return planted.kind;
  }
  return std::nullopt;
}

bool FaultEffects::Touches(const Fault& fault, const NetworkPath& path) const {
  switch (fault.kind) {
    case FaultKind::kSlowNicSend:
      return fault.rank == path.source;
    case FaultKind::kSlowNicReceive:
      return fault.rank == path.destination;
    case FaultKind::kNicDown:
      return fault.rank == path.source || fault.rank == path.destination;
    case FaultKind::kSlowConnection:
    case FaultKind::kLossyConnection:
    case FaultKind::kConnectionDown:
      return fault.rank == path.source && fault.peer == path.destination;
    case FaultKind::kSlowLeaf:
      return HasLeaf(*layout_, path.source, path.plane, fault.leaf) ||
             HasLeaf(*layout_, path.destination, path.plane, fault.leaf);
    case FaultKind::kSlowPlane:
      return fault.plane == path.plane;
    default:
      return false;
  }
}

std::vector<FaultIndex> FaultEffects::FaultsOn(const NetworkPath& path) const {
  std::vector<FaultIndex> touching;
  for (FaultIndex f = 0; f < faults_.size(); ++f) {
    if (Touches(faults_[f], path)) touching.push_back(f);
  }
  return touching;
}

FaultEffects::Delivery FaultEffects::Deliver(std::span<const FaultIndex> faults, Instant sent, Instant done) {
  Delivery delivery;
  for (const FaultIndex index : faults) {
    const Fault& fault = faults_[index];
    if (fault.kind == FaultKind::kNicDown || fault.kind == FaultKind::kConnectionDown) {
      if (done <= ToInstant(fault.begin) || sent >= ToInstant(fault.end)) continue;
      delivery.blocked_until = std::max(delivery.blocked_until, ToInstant(fault.end));
      MarkActed(index, std::max(sent, ToInstant(fault.begin)));
      continue;
    }
    if (!IsActive(index, sent)) continue;
    MarkActed(index, sent);
    if (fault.kind == FaultKind::kLossyConnection) {
      delivery.loss = std::max(delivery.loss, fault.magnitude);
    } else {
      delivery.factor *= fault.magnitude;
    }
  }
  return delivery;
}

Instant FaultEffects::RecordedUntil(RankId rank, Instant t) const {
  Instant recorded = t;
  for (const Gate& gate : process_gates_[rank.index()]) {
    if (t >= gate.begin && t < gate.end) recorded = std::min(recorded, gate.begin - 1);
  }
  return recorded;
}

std::vector<HostSymptomRecord> FaultEffects::Symptoms(HostId host, Instant after, Instant until) const {
  std::vector<HostSymptomRecord> symptoms;
  for (const Fault& fault : faults_) {
    if (!fault.rank.valid() || layout_->ranks[fault.rank.index()].host != host) continue;
    const auto symptom = SymptomOf(fault, layout_->ranks[fault.rank.index()].gpu);
    const Instant begin = ToInstant(fault.begin);
    const bool began = begin > after && begin <= until;
    const bool lasts = SymptomLasts(fault.kind) && begin <= until && ToInstant(fault.end) > after;
    if (symptom.has_value() && (began || lasts)) symptoms.push_back(*symptom);
  }
  return symptoms;
}

}  // namespace fairlead::execution
