#include "cli/terminal_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

namespace fairlead::cli {

namespace {

report::ProgressBarOptions OptionsOfStderr() {
  report::ProgressBarOptions options;
  options.is_terminal = isatty(STDERR_FILENO) != 0;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.width = size.ws_col;
  return options;
}

}  // namespace

TerminalProgress::TerminalProgress() : bar_(std::cerr, OptionsOfStderr()), begin_(std::chrono::steady_clock::now()) {}

void TerminalProgress::Update(std::string_view label, double fraction) {
  bar_.Update(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(), label, fraction);
}

}  // namespace fairlead::cli
