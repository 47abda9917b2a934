#include "report/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "report/number_format.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

// Back to the first column, and erase to the end of the line.
constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr size_t kLongestBar = 30;
constexpr size_t kShortestBar = 5;

std::string DrawBar(double fraction, size_t length) {
  const auto done = static_cast<size_t>(fraction * static_cast<double>(length));
  return "[" + std::string(done, '=') + std::string(length - done, ' ') + "]";
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& out, ProgressBarOptions options) : out_(out), options_(options) {}

ProgressBar::~ProgressBar() { Finish(); }

void ProgressBar::Update(double now_s, std::string_view label, double fraction) {
  if (!options_.is_terminal) return;
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  if (!started_ || fraction < last_fraction_) {
    started_ = true;
    start_s_ = now_s;
    start_fraction_ = fraction;
  }
  last_fraction_ = fraction;
  if (drawn_ && label == label_ && now_s - last_drawn_s_ < options_.interval_s) return;
  label_ = label;
  last_drawn_s_ = now_s;
  drawn_ = true;
  out_ << kClearLine << Line(now_s, fraction) << std::flush;
}

void ProgressBar::Finish() {
  if (!drawn_) return;
  out_ << kClearLine << std::flush;
  drawn_ = false;
}

std::string ProgressBar::Line(double now_s, double fraction) const {
  std::string tail = fmt::format("{:3.0f} %", std::floor(100 * fraction));
  const double elapsed = now_s - start_s_;
  const double gained = fraction - start_fraction_;
  if (elapsed >= options_.estimate_after_s && gained > 0 && fraction < 1) {
    tail += fmt::format(", {} left", FormatDuration(elapsed / gained * (1 - fraction)));
  }
  // One column stays free: a line that fills the last one makes some terminals scroll.
  const size_t room = options_.width > 0 ? options_.width - 1 : 0;
  const size_t tail_width = DisplayWidth(tail);
  if (room < tail_width + kShortestBar + 5) return TruncateToWidth(tail, room);
  const size_t bar = std::min(kLongestBar, std::max(kShortestBar, (room - tail_width) / 3));
  const size_t label_room = room - tail_width - bar - 4;  // brackets and two spaces
  return TruncateToWidth(CleanText(label_), label_room) + (label_.empty() ? "" : " ") + DrawBar(fraction, bar) + ' ' +
         tail;
}

}  // namespace fairlead::report
