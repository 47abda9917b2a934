// How late was each rank in a window, by each of three signals?
//
// Notation    own, blame, lag: straggler_detector.h
// Method      own     time of its own doing over the lower median of the ranks that do the same, per output, less what
//                     it normally is over that. Where too few do the same: over its own past, less the lower median of
//                     what others in that situation are over theirs. Or, if that is more, what it grew by over its past
//                     where its host thread idles for at least half of that: only a late host thread can be all of a
//                     stage's at once; GPUs are slow one by one
//             blame, lag   waits for it, less what they normally are
//             A rank is late by a signal that exceeds z_line deviations of all ranks, and wait_share_min of the window.
// Guarantees  pure functions; relabelling relabels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnosis/c4d/own_time.h"
#include "diagnosis/c4d/rank_normals.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/wait_blame.h"

namespace fairlead::diagnosis::c4d {

// What was measured in a window.
struct StragglerWindow {
  double seconds = 0;  // median over the ranks; 0: nothing was seen
  std::vector<OwnTime::OfRank> own;
  std::vector<uint32_t> stages;  // [rank] those of equal number do equal work
  WaitBlame::Blame blame;
  WaitBlame::Blame lag;
};

// One signal of all ranks in one window.
struct LatenessSignal {
  std::vector<double> excess;  // [rank] seconds beyond normal
  std::vector<bool> is_known;  // [rank]
  std::vector<bool> is_late;   // [rank]
};

struct OwnLateness {
  LatenessSignal signal;
  std::vector<double> ratio;        // [rank] over that of its stage, less 1; 0 where unknown
  std::vector<double> host_excess;  // [rank] of own time, before operations were enqueued
  std::vector<double> idle_excess;  // [rank] of the host thread's idle time, over its past and that of others
};

// Whether it was seen doing enough, and few enough of its reports are missing, to judge its own time.
bool IsOwnTimeKnown(const OwnTime::OfRank& own, const SlowOptions& options);

// Args: normals, of as many ranks.
OwnLateness JudgeOwnTime(const StragglerWindow& window, const RankNormals& normals, const SlowOptions& options);

// Args: normal_share: which of what is normal belongs to `blame`; seconds: of the window.
LatenessSignal JudgeWaits(const WaitBlame::Blame& blame, const RankNormals& normals, double RankNormal::*normal_share,
                          double seconds, const SlowOptions& options);

}  // namespace fairlead::diagnosis::c4d
