#include "diagnosis/c4d/wait_history.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

constexpr SimDuration kAtWorkMin(60'000'000'000);
// What counts of a time without movement.
constexpr SimDuration kGapMax(3'000'000'000);
constexpr SimDuration kFirstMinutes(300'000'000'000);
constexpr SimDuration kHalfDay(43'200'000'000'000);

}  // namespace

void WaitHistory::Add(SimTime time, SimDuration wait) {
  if (!has_begun_) {
    has_begun_ = true;
    part_begin_ = last_ = time;
  }
  if (time - part_begin_ >= (is_settled_ ? kHalfDay : kFirstMinutes)) {
    longest_of_before_ = is_settled_ ? longest_ : SimDuration(0);
    longest_ = SimDuration(0);
    if (!is_settled_) at_work_ = SimDuration(0);
    is_settled_ = true;
    part_begin_ = time;
  }
  longest_ = std::max(longest_, wait);
  if (time <= last_) return;
  at_work_ += std::min(time - last_, kGapMax);
  last_ = time;
}

std::optional<SimDuration> WaitHistory::Longest() const {
  if (at_work_ < kAtWorkMin) return std::nullopt;
  return std::max(longest_, longest_of_before_);
}

}  // namespace fairlead::diagnosis::c4d
