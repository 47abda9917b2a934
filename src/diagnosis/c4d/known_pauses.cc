#include "diagnosis/c4d/known_pauses.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

// A pause that took some time may take that much longer the next time.
constexpr int64_t kPauseFactor = 2;

}  // namespace

bool KnownPauses::IsKnown(const std::vector<model::Culprit>& culprits, SimTime now) {
  auto pause = std::ranges::find(pauses_, culprits, &Pause::culprits);
  if (pause == pauses_.end()) {
    pause = pauses_.insert(pause, Pause{.culprits = culprits, .begin = now, .last_seen = SimTime(), .longest = {}});
  }
  if (pause->last_seen == SimTime()) pause->begin = now;
  pause->last_seen = now;
  return now - pause->begin < pause->longest * kPauseFactor;
}

void KnownPauses::EndOthers(SimTime now, SimTime went_on_until, SimDuration before_noted) {
  for (Pause& pause : pauses_) {
    if (pause.last_seen == SimTime() || pause.last_seen == now) continue;
    if (went_on_until >= pause.last_seen) {
      pause.longest = std::max(pause.longest, pause.last_seen - pause.begin + before_noted);
    }
    pause.last_seen = SimTime();
  }
}

}  // namespace fairlead::diagnosis::c4d
