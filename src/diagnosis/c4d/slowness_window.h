// When does a window of slowness end, and does it count?
//
// It ends when it is long enough and the median communicator, of those on which anything ran, has completed enough
// operations; or when it is very long. A window in which too little ran, or the job stood still, does not count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"

namespace fairlead::diagnosis::c4d {

class SlownessWindow {
 public:
  explicit SlownessWindow(const WindowOptions& options) : options_(options) {}

  // Args: completed [communicator]: operations until now.
  void Begin(SimTime now, std::vector<uint64_t> completed);
  // The job is stalled, or excused.
  void NoteStandstill() { stood_still_ = true; }

  // Whether it is long enough to end.
  bool MayEnd(SimTime now) const { return now - begin_ >= options_.length; }
  // Nothing: it goes on. Otherwise it ends, and: whether it counts. Args: completed as above, of as many communicators;
  // block_seconds: length of a block of iterations, two of which are enough for a window; 0: not known.
  std::optional<bool> End(SimTime now, std::span<const uint64_t> completed, double block_seconds) const;

 private:
  bool IsFull(std::span<const uint64_t> completed, uint64_t operations) const;

  WindowOptions options_;
  SimTime begin_;
  bool stood_still_ = false;
  std::vector<uint64_t> completed_at_begin_;  // [communicator]
};

}  // namespace fairlead::diagnosis::c4d
