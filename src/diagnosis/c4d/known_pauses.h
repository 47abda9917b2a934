// How long were ranks that may be busy waited for before?
//
// Rank 0 saves, evaluates, waits for storage: while the others wait for it, it looks as if it hung. What came to an end
// by itself may take as long again, and some more.
#pragma once

#include <span>
#include <vector>

#include "base/sim_time.h"
#include "model/finding.h"

namespace fairlead::diagnosis::c4d {

class KnownPauses {
 public:
  // Notes that these are waited for now. Returns: whether they have been before, for at least half as long, and came by
  // themselves. Args: now does not run backwards.
  bool IsKnown(const std::vector<model::Culprit>& culprits, SimTime now);

  // Learns from the pauses that were not noted at `now`: they are over. Args: went_on_until: when the job was seen to
  // go on last; a pause that was noted later has not ended by itself: another verdict has taken its place.
  // before_noted: how long a pause has lasted when it is noted first.
  void EndOthers(SimTime now, SimTime went_on_until, SimDuration before_noted);

 private:
  struct Pause {
    std::vector<model::Culprit> culprits;
    SimTime begin;
    SimTime last_seen;    // of the one under way; 0: there is none
    SimDuration longest;  // of those that ended by themselves
  };
  std::vector<Pause> pauses_;
};

}  // namespace fairlead::diagnosis::c4d
