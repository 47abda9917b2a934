// A progress bar on stderr with its own clock; silent when stderr is no terminal.
#pragma once

#include <chrono>
#include <string_view>

#include "report/progress_bar.h"

namespace fairlead::cli {

class TerminalProgress {
 public:
  TerminalProgress();

  // Thread: one call at a time.
  void Update(std::string_view label, double fraction);
  // Clears the line. Later updates draw again.
  void Finish() { bar_.Finish(); }

 private:
  report::ProgressBar bar_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace fairlead::cli
