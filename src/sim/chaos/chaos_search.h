// Many histories of the live system under random faults, and the smallest one that breaks a law.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "sim/chaos/chaos_run.h"

namespace fairlead::sim::chaos {

struct SearchOptions {
  uint64_t first_seed = 1;
  uint64_t num_seeds = 100;         // >= 1
  ChaosOptions run;                 // of all runs, but for seed and faults
  std::vector<FaultKind> kinds;     // of the faults that are drawn; none: no faults
  double faults_per_second = 1;     // in all; [0, 100]
  uint32_t num_threads = 0;         // 0: one per processor
  size_t num_violations_kept = 10;  // those of the lowest seeds

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct FoundViolation {
  ChaosOptions run;
  hosts::Violation violation;
};

struct SearchResult {
  uint64_t num_runs = 0;
  uint64_t num_violated = 0;
  std::vector<FoundViolation> violations;                    // by seed
  std::array<uint64_t, kFaultNames.size()> num_faults = {};  // [FaultKind]
  uint64_t num_events = 0;
  uint64_t num_opened = 0;
  uint64_t num_moved = 0;
  uint64_t num_isolated = 0;   // hosts
  uint64_t num_restarted = 0;  // jobs, by steering
  Seconds simulated;
  uint64_t hash = 0;  // of all histories; meaningless when stopped
  bool was_stopped = false;
};

// One run of a search. Args: options: valid.
ChaosOptions DrawRun(const SearchOptions& options, uint64_t seed);

// Args: progress: share done, 0..1; called from several threads, one at a time.
SearchResult SearchChaos(const SearchOptions& options, const std::atomic<bool>& stop,
                         const std::function<void(double)>& progress = {});

// A run that breaks the same law with as few faults as can be found by leaving some out (delta debugging), and fewer
// jobs. Cost: some hundred runs at most.
FoundViolation Minimise(const FoundViolation& found, const std::atomic<bool>& stop);

}  // namespace fairlead::sim::chaos
