// For how long, at most, has a communicator been waited for before it went on by itself?
//
// Problem     how long a standstill has to last before it is suspect. Most communicators never keep anybody waiting for
//             more than a second or two; some do so now and then, for a checkpoint or an evaluation.
// Method      the longest wait of the last half day at least, one day at most. What was within five minutes of the
//             first operations, when programs compile and connect, is forgotten when these have passed.
// Cost        O(1) a wait, 56 bytes.
#pragma once

#include <optional>

#include "base/sim_time.h"

namespace fairlead::diagnosis::c4d {

class WaitHistory {
 public:
  // Something moved at `time`, and had been pending for `wait` without anything moving; 0: nothing was pending. Args:
  // time on the master's clock, of earlier ones only the waits count.
  void Add(SimTime time, SimDuration wait);

  // Nothing: it has been seen at work for less than a minute. Of what is done now and then, 3 s each time count.
  std::optional<SimDuration> Longest() const;

 private:
  bool has_begun_ = false;
  bool is_settled_ = false;  // the first minutes have passed
  SimTime part_begin_;
  SimTime last_;
  SimDuration at_work_;            // since the first operations, or since it has settled
  SimDuration longest_;            // of this part
  SimDuration longest_of_before_;  // of the part before
};

}  // namespace fairlead::diagnosis::c4d
