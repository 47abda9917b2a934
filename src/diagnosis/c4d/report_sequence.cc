#include "diagnosis/c4d/report_sequence.h"

#include <algorithm>
#include <cmath>

namespace fairlead::diagnosis::c4d {
namespace {

// Farther away than this from the expected number: counting restarts. An agent reports once a second.
constexpr int64_t kMaxJump = 3600;
// Clocks that run as fast as they can drift by less between two reports.
constexpr SimDuration kClockStep(1'000'000'000);

}  // namespace

std::optional<uint32_t> ReportSequence::Add(uint64_t number, SimTime at, SimTime now) {
  const bool is_newest = !has_started_ || at > newest_at_;
  SimTime before = newest_at_;
  begins_anew_ = !has_started_ || now - at < least_delay_ - kClockStep;
  least_delay_ = has_started_ ? std::min(least_delay_, now - at) : now - at;
  if (is_newest) newest_at_ = at;
  // Modulo 2^64, so that any number makes sense.
  const auto distance = static_cast<int64_t>(number - (base_ + next_));
  if (!has_started_ || distance > kMaxJump || distance < -kMaxJump) return CountAnew(number, at, now);
  if (distance < 0) {
    const auto gap = std::find_if(gaps_.begin(), gaps_.end(),
                                  [&](const Gap& g) { return static_cast<int64_t>(g.serial) == next_ + distance; });
    if (gap != gaps_.end()) {
      const uint32_t serial = gap->serial;
      gaps_.erase(gap);
      Remember(serial, at);
      return serial;
    }
    if (is_newest) return CountAnew(number, at, now);
    if (IsRepeated(distance, at)) return std::nullopt;
    const Stray stray = {number, at, now};
    if (FollowsStray(stray)) {
      SetClock(at, now);
      return CountAnew(number, at, now);
    }
    stray_ = stray;
    return std::nullopt;
  }
  stray_.reset();
  if (!is_newest) {
    // It comes next, and was made before: the clock was set back.
    begins_anew_ |= at < newest_at_;
    before = at;
    SetClock(at, now);
  }
  const uint32_t serial = next_ + static_cast<uint32_t>(distance);
  if (distance > 0) NoteGaps(next_, serial - 1, before + least_delay_, at + least_delay_);
  next_ = serial + 1;
  Remember(serial, at);
  return serial;
}

void ReportSequence::SetClock(SimTime at, SimTime now) {
  newest_at_ = at;
  least_delay_ = now - at;
}

bool ReportSequence::FollowsStray(const Stray& stray) const {
  if (!stray_ || stray.number != stray_->number + 1) return false;
  const double made = (stray.at - stray_->at).seconds().value();
  const double arrived = (stray.arrived - stray_->arrived).seconds().value();
  return made > 0 && std::abs(made - arrived) <= made / 4;
}

bool ReportSequence::IsRepeated(int64_t distance, SimTime at) const {
  if (-distance > std::min<int64_t>(kRemembered, next_)) return false;
  return made_[static_cast<uint32_t>(next_ + distance) % kRemembered] == at;
}

uint32_t ReportSequence::CountAnew(uint64_t number, SimTime at, SimTime now) {
  stray_.reset();
  if (has_started_) {
    // Reports between the two counts are lost.
    NoteGaps(next_, next_, now, now);
    ++next_;
  }
  has_started_ = begins_anew_ = true;
  base_ = number - next_;
  Remember(next_, at);
  return next_++;
}

bool ReportSequence::HasGap(uint32_t since_serial, SimTime horizon) const {
  return std::any_of(gaps_.begin(), gaps_.end(),
                     [&](const Gap& g) { return g.serial > since_serial && g.made <= horizon; });
}

bool ReportSequence::HasGapBetween(SimTime from, SimTime until, uint32_t since_serial) const {
  return std::any_of(gaps_.begin(), gaps_.end(),
                     [&](const Gap& g) { return g.serial > since_serial && g.made >= from && g.made <= until; });
}

void ReportSequence::NoteGaps(uint32_t first, uint32_t last, SimTime before, SimTime after) {
  const SimDuration period((after - before).ns() / (int64_t{last - first} + 2));
  const uint32_t kept = std::min(last - first + 1, static_cast<uint32_t>(kMaxGaps));
  for (uint32_t serial = last - kept + 1; serial <= last; ++serial) {
    gaps_.push_back({serial, before + period * (int64_t{serial - first} + 1)});
  }
  if (gaps_.size() > kMaxGaps) gaps_.erase(gaps_.begin(), gaps_.end() - kMaxGaps);
}

}  // namespace fairlead::diagnosis::c4d
