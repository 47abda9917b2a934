// Since when nobody goes on with a step that was begun: what is taken back is left for long enough, and was so at each
// look in between.
//
// Thread      one at a time.
#pragma once

#include <map>
#include <string>

#include "base/sim_time.h"

namespace fairlead::slurm {

// The job or the host that a subject is about: a reservation of ours is of the one in its name. Others as they are.
std::string JobOrHostOf(const std::string& subject);

class LeftSteps {
 public:
  // Args: left_after: > 0.
  explicit LeftSteps(SimDuration left_after) : left_after_(left_after) {}

  // Nobody goes on with the subject at present. Returns whether that is so for long enough. May come more than once in
  // a look.
  bool Note(const std::string& subject, SimTime now);
  // The look is over. Of one that has met everything, subjects that were not noted are forgotten; otherwise the look
  // does not count.
  void EndLook(bool is_complete);
  // Nobody could look, or go on with anything, for so long: that does not count. Between two looks.
  void Skip(SimDuration absence);

 private:
  const SimDuration left_after_;
  std::map<std::string, SimTime> since_;      // [subject] as of the last look that counts
  std::map<std::string, SimTime> new_since_;  // likewise of the one under way
};

}  // namespace fairlead::slurm
