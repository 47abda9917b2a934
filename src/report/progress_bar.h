// Shows on a terminal how far a long command is, and leaves no trace when it is done.
//
//     crux, seed 3 of 5  [==========          ]  52 %, 1.4 min left
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace fairlead::report {

struct ProgressBarOptions {
  // Whether the stream is a terminal; false: nothing is ever written, so that logs stay clean.
  bool is_terminal = false;
  // Columns of the terminal; lines are kept shorter. Below 20 only the fraction is shown.
  size_t width = 80;
  // Least time between two drawings, s. Lower: smoother, and more time spent writing.
  double interval_s = 0.1;
  // No time-left estimate before this much time has passed, s: the first estimates are wild.
  double estimate_after_s = 1;
};

// Time is handed in by the caller: seconds on any clock that never runs backwards.
class ProgressBar {
 public:
  // `out` must outlive the bar; usually std::cerr.
  ProgressBar(std::ostream& out, ProgressBarOptions options);
  // Finishes.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Args: `fraction` of the whole command that is done, clamped to 0..1; when it goes back, the estimate restarts.
  // Cost: nothing but a comparison while less than `interval_s` has passed and the label is the same.
  void Update(double now_s, std::string_view label, double fraction);
  // Clears the line. Later updates draw again.
  void Finish();

 private:
  std::string Line(double now_s, double fraction) const;

  std::ostream& out_;
  ProgressBarOptions options_;
  std::string label_;
  bool started_ = false;
  bool drawn_ = false;
  double start_s_ = 0;
  double start_fraction_ = 0;
  double last_fraction_ = 0;
  double last_drawn_s_ = 0;
};

}  // namespace fairlead::report
