// Which ranks or hosts may be why all are late in a window, and what else speaks for it?
//
// Method      candidates are the ranks that are late by their own time, and instead of several of one host the host, if
//             most of its ranks are late: the fewest, three at most, that have blame_share_min of all own time in
//             excess together. Others can agree: waits for a candidate beyond those for the median rank of the job, or
//             of its stage, which may be all that wait for it.
// Guarantees  pure functions; a host of which too few ranks can be judged is no candidate, and no rank of it either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/c4d/lateness_signals.h"
#include "diagnosis/c4d/slow_options.h"
#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct LateCandidate {
  std::vector<model::RankId> ranks;
  model::Culprit culprit;
  double share = 0;  // of all own time in excess
};

// Returns: the worst first; none if more than three would be needed.
std::vector<LateCandidate> FindLateCandidates(const model::JobLayout& layout, const StragglerWindow& window,
                                              const OwnLateness& own, const SlowOptions& options);

// Args of these: ranks, one or more, of the layout.

// Whether the signal tells anything of one of the ranks.
bool IsKnown(const LatenessSignal& signal, std::span<const model::RankId> ranks);
// Whether, on the mean of the ranks, it is wait_share_min of the window beyond the median rank, or that of the stage.
bool Agrees(const LatenessSignal& signal, std::span<const model::RankId> ranks, const StragglerWindow& window,
            const SlowOptions& options);
// Whether their host threads idle for so much longer than they used to, those of others not.
bool HasIdleHost(const OwnLateness& own, std::span<const model::RankId> ranks, double window_seconds,
                 const SlowOptions& options);
bool HasAllReports(const StragglerWindow& window, std::span<const model::RankId> ranks);
// Whether it is a host with more than half of the ranks of its stage.
bool IsMostOfStage(const model::JobLayout& layout, const LateCandidate& candidate, std::span<const uint32_t> stages);

}  // namespace fairlead::diagnosis::c4d
