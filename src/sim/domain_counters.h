// All that counts up while a contention domain is simulated, at one instant: what is the same in each period that
// repeats can be added as often as wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/congestion_totals.h"
#include "sim/delay_account.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class CongestionLoss;

struct DomainCounters {
  std::vector<uint64_t> iterations;               // [job]
  std::vector<uint64_t> phase_runs;               // [job][phase], flat
  std::vector<LostTime> losses;                   // [place in the account]
  std::vector<double> bounds;                     // [place in the account]
  std::vector<std::vector<double>> delay_shares;  // [job][share] of the running phase
  std::optional<CongestionCounts> congestion;     // nothing where it is not modelled

  // `times` times the change since `then`; places that the account did not have then were 0. Not of delay_shares.
  DomainCounters ChangeSince(const DomainCounters& then, uint64_t times) const;
  // Adds a change, but to delay_shares.
  void Add(const DomainCounters& change);
};

// Args: congestion: null where it is not modelled.
DomainCounters ReadCounters(std::span<JobState* const> jobs, const DelayAccount& account,
                            const CongestionLoss* congestion);

}  // namespace fairlead::sim
