// Which of a reporter's reports have arrived: tells late and repeated ones, and whether something may have been missed.
//
// Method      reports are counted from 0 by the reporter; a number beyond the next one leaves a gap, which a late
//             report fills. A number far from the next one, or an old number on a report that was made after all
//             others, means that the reporter has restarted its count. So do two old numbers in a row that were made
//             as far apart as they arrived, unless they are known as those of before: its clock was set back, too.
//             A report that comes next, and was made before the last one, means that its clock was set back; one that
//             seems to come from the future, beside all before it, that it was set forward. Serials number reports
//             without such jumps backwards.
//             Reports are made at even intervals, and the one that was under way for the shortest time shows the offset
//             of the reporter's clock: so it is known when a missing one was made, however late its absence is noticed.
// Cost        O(kMaxGaps) a report; only the latest kMaxGaps gaps are remembered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"

namespace fairlead::diagnosis::c4d {

class ReportSequence {
 public:
  static constexpr size_t kMaxGaps = 16;

  // Notes that a report made at `at`, on the reporter's clock, arrived at `now`. Returns its serial, or nothing for one
  // that has arrived before.
  std::optional<uint32_t> Add(uint64_t number, SimTime at, SimTime now);

  // Whether the report that was added last is of another count, or another setting of the clock, than those before it:
  // what they tell cannot be joined.
  bool begins_anew() const { return begins_anew_; }

  // When the newest report was made, on the reporter's clock.
  SimTime newest_at() const { return newest_at_; }

  // Whether a report after the one with this serial is missing that was made until `horizon`.
  bool HasGap(uint32_t since_serial, SimTime horizon) const;

  // Whether a report after the one with this serial is missing that was made within [from, until].
  bool HasGapBetween(SimTime from, SimTime until, uint32_t since_serial = 0) const;

  uint32_t num_missing() const { return static_cast<uint32_t>(gaps_.size()); }

 private:
  struct Gap {
    uint32_t serial;
    SimTime made;  // on the clock of the receiver
  };

  // An old number that fills no gap, was not made after all others, and is none of those remembered.
  struct Stray {
    uint64_t number = 0;
    SimTime at;
    SimTime arrived;
  };

  // The reporter's clock was set: what it showed before counts no more.
  void SetClock(SimTime at, SimTime now);
  uint32_t CountAnew(uint64_t number, SimTime at, SimTime now);
  void Remember(uint32_t serial, SimTime at) { made_[serial % kRemembered] = at; }
  // Whether it is one of the latest reports again. Args: distance: to the number that is expected, < 0.
  bool IsRepeated(int64_t distance, SimTime at) const;
  // Whether this one follows the stray before as a report follows another.
  bool FollowsStray(const Stray& stray) const;
  // Args: when the reports before the first and after the last were made.
  void NoteGaps(uint32_t first, uint32_t last, SimTime before, SimTime after);

  bool has_started_ = false;
  bool begins_anew_ = false;
  uint32_t next_ = 1;  // serial that is expected; 0 is no report's
  uint64_t base_ = 0;  // number of the report with serial 0, modulo 2^64
  SimTime newest_at_;
  SimDuration least_delay_;  // of reports so far, by the difference of the clocks
  std::vector<Gap> gaps_;    // as noticed
  static constexpr uint32_t kRemembered = 32;
  std::array<SimTime, kRemembered> made_ = {};  // [serial] of the latest, on the reporter's clock
  std::optional<Stray> stray_;                  // that nothing has come after
};

}  // namespace fairlead::diagnosis::c4d
