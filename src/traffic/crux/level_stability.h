// Level stability: keeps levels in force where new ones would not lose less.
//
// Problem     compression decides again at every event, and many assignments are equally good: jobs that contend with
//             no other may be on any level. Every change of a level costs something on real hardware, so levels must
//             not flap.
// Method      per connected component of the contention DAG: the levels in force stay when they are valid (no edge
//             points from a lower to a higher level) and lose at most `hysteresis` x the component's weight more than
//             the new ones, or no more than what is uncertain about that difference, where weights are measured.
// Cost        O(jobs + edges).
// Guarantees  valid levels; with hysteresis 0 and nothing uncertain the loss is that of the new levels or less.
// Differs     the paper assigns new levels at every event; with hysteresis 0 ours lose nothing against that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "traffic/crux/priority_compression.h"

namespace fairlead::traffic::crux {

// Args: in_force [rank]: nothing for a job that had no level yet; uncertainties [rank] of the weight of edges from the
// job, as a share of it, independent of the others'; levels [rank], valid; hysteresis >= 0.
void KeepLevelsInForce(const ContentionDag& dag, std::span<const std::optional<uint32_t>> in_force,
                       std::span<const double> uncertainties, uint32_t num_levels, double hysteresis,
                       std::vector<uint32_t>* levels);

}  // namespace fairlead::traffic::crux
