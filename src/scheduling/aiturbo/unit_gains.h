// What each of the ten unit operations would change in a job's remaining service, and which queue the job goes to.
//
// Notation     V = remaining iterations * T(configuration) * R(configuration); gain(op) = V(now) - V(after op).
// Method       the best increase and the best decrease of each predictable job. The increase wins: INC queue with it;
//              else DEC queue. Without a positive gain: DEC queue, nothing is changed. Both queues by gain, largest
//              first.
// Guarantees   an operation outside the job's limits has no gain at all (it is never a large number). No operation with
//              a gain of 0 or less is applied. Relabelling jobs relabels the answer, but for ties.
// Differs      an unchanged job is ranked in its queue by the best gain that it could have, which is not positive. The
//              text leaves that open: docs/papers/aiturbo.md. A job that only lists sizes has the two GPU operations:
//              the next size up and down.
// Reference    Zhao et al., AITurbo, HPDC 2021; read from the group's slides 20 and 21, as the text was not available.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

// What a job is to run at. Exactly one is in use: `config` for jobs of parameter servers and workers.
struct Configuration {
  uint32_t size = 0;  // [sizes]
  std::optional<PsWorkerConfig> config;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// What it is set to: remembered, in force, or requested; the first of these that exists.
Configuration CurrentConfiguration(const AllocationJob& job);
Resources ResourcesOf(const AllocationJob& job, const Configuration& configuration);
// Infinite where the job is unpredictable or its speed unknown.
double RemainingService(const AllocationJob& job, const Configuration& configuration, const ResourceUnits& units);
// Nothing when the operation leaves the job's limits.
std::optional<Configuration> ApplyTo(const AllocationJob& job, const Configuration& configuration, UnitOperation op);

enum class GainQueue : uint8_t { kIncrease, kDecrease };

struct UnitGains {
  std::vector<OperationGain> gains;  // of possible operations, in the order of UnitOperation
  GainQueue queue = GainQueue::kDecrease;
  std::optional<OperationGain> best;  // that put it into its queue; nothing = no operation is possible
  bool is_applied = false;            // best has a positive gain
};

// Nothing for a job of unknown remaining service.
std::optional<UnitGains> ComputeUnitGains(const AllocationJob& job, const ResourceUnits& units);

// Positions in the own queue, from 1, and how long each queue is.
struct GainBallot {
  std::vector<std::optional<uint32_t>> positions;  // [jobs]
  size_t num_increasing = 0;
  size_t num_decreasing = 0;
};
GainBallot RankByGain(const AllocationSnapshot& snapshot, const std::vector<std::optional<UnitGains>>& gains);

}  // namespace fairlead::scheduling::aiturbo
