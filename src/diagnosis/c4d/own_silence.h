// Was the master itself away, so that nobody else was silent?
#pragma once

#include "base/sim_time.h"

namespace fairlead::diagnosis::c4d {

class OwnSilence {
 public:
  // Notes a call of the master. Returns: whether it comes, or brings the first records, more than `away_min` behind the
  // one before: whoever was not called, or heard of no host at all, did not listen.
  bool NoteCall(SimTime now, bool has_records, SimDuration away_min) {
    const bool was_away = now - last_call_ > away_min || (has_records && now - last_records_ > away_min);
    last_call_ = now;
    if (has_records) last_records_ = now;
    return was_away;
  }

 private:
  SimTime last_call_;
  SimTime last_records_;
};

}  // namespace fairlead::diagnosis::c4d
