// What the planted faults do to the simulated job at an instant: which ranks stop until when, and what takes longer.
//
// A fault that stops something is a gate: an event that would happen in the fault's interval happens at its end, or
// never.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "execution/fault.h"
#include "execution/instant.h"
#include "execution/job_shape.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// An index into the list of faults.
using FaultIndex = uint32_t;

// Ends of one network connection.
struct NetworkPath {
  model::RankId source;
  model::RankId destination;
  uint32_t plane = 0;
};

class FaultEffects {
 public:
  // `faults` must be valid for `shape`.
  FaultEffects(const JobShape& shape, const model::JobLayout& layout, std::vector<Fault> faults);

  const std::vector<Fault>& faults() const { return faults_; }
  // When the fault first changed the course of the job; kNever: not yet.
  Instant FirstActed(FaultIndex fault) const { return first_acted_[fault]; }

  // Gates. Anything that never happens stays so.
  Instant Process(model::RankId rank, Instant t) { return Pass(process_gates_[rank.index()], t); }
  Instant Gpu(model::RankId rank, Instant t) { return Pass(gpu_gates_[rank.index()], t); }
  Instant Nvlink(model::RankId rank, Instant t) { return Pass(nvlink_gates_[rank.index()], t); }
  bool HasGates(model::RankId rank) const {
    return !process_gates_[rank.index()].empty() || !gpu_gates_[rank.index()].empty();
  }

  // Factors of times, 1 where all is well.
  double ComputeFactor(model::RankId rank, Instant t);
  double LoadingFactor(model::RankId rank, Instant t);
  // How much longer a checkpoint that begins at `t` takes; each stall acts once.
  SimDuration CheckpointStall(model::RankId rank, Instant t);
  // A rank's mistake (see IsMistake) in the iteration that begins at `t`; each is made once.
  std::optional<FaultKind> Mistake(model::RankId rank, Instant t);

  // Connections: which faults can touch one, and what they do to a message.
  std::vector<FaultIndex> FaultsOn(const NetworkPath& path) const;
  struct Delivery {
    double factor = 1;          // of the time on the wire
    double loss = 0;            // probability that the message is sent again
    Instant blocked_until = 0;  // nothing before passes
  };
  // For a message on the wire during [sent, done).
  Delivery Deliver(std::span<const FaultIndex> faults, Instant sent, Instant done);

  // What the agents see.
  bool IsGone(model::RankId rank, Instant t) const { return Holds(gone_gates_[rank.index()], t); }
  // The latest instant up to `t` of which the rank's process has recorded anything: earlier than `t` while it is
  // stopped.
  Instant RecordedUntil(model::RankId rank, Instant t) const;
  bool IsFrozen(model::RankId rank, Instant t) const { return RecordedUntil(rank, t) < t && !IsGone(rank, t); }
  bool IsSilent(HostId host, Instant t) const { return Holds(silent_gates_[host.index()], t); }
  // Symptoms of a host in (after, until].
  std::vector<model::HostSymptomRecord> Symptoms(HostId host, Instant after, Instant until) const;

 private:
  struct Gate {
    Instant begin;
    Instant end;
    FaultIndex fault;
  };
  using Gates = std::vector<Gate>;

  void Plant(FaultIndex index, const JobShape& shape);
  void PlantOnRank(FaultIndex index, const JobShape& shape, model::RankId rank);
  Instant Pass(const Gates& gates, Instant t) {
    if (gates.empty() || IsNever(t)) return t;
    return PassSlowly(gates, t);
  }
  Instant PassSlowly(const Gates& gates, Instant t);
  static bool Holds(const Gates& gates, Instant t);
  bool IsActive(FaultIndex fault, Instant t) const;
  void MarkActed(FaultIndex fault, Instant t);
  bool Touches(const Fault& fault, const NetworkPath& path) const;

  const model::JobLayout* layout_;
  std::vector<Fault> faults_;
  std::vector<Instant> first_acted_;                // [fault]
  std::vector<uint8_t> is_used_up_;                 // [fault] of those that act once
  std::vector<Gates> process_gates_;                // [rank]
  std::vector<Gates> gpu_gates_;                    // [rank]
  std::vector<Gates> nvlink_gates_;                 // [rank]
  std::vector<Gates> gone_gates_;                   // [rank]
  std::vector<Gates> silent_gates_;                 // [host]
  std::vector<std::vector<FaultIndex>> slow_gpus_;  // [rank]
  std::vector<FaultIndex> slow_loaders_;
  std::vector<FaultIndex> single_acts_;  // stalls and mistakes
};

}  // namespace fairlead::execution
