// Runs the operator's program for one action: text on its standard input, its exit code back.
//
// Sites differ in how a host is drained or a job restarted; whatever can be done from a command line can be done here.
// The program gets its own process group, nothing on descriptors above 2, and ends with the deadline: first SIGTERM, a
// grace later SIGKILL, to the whole group.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::service {

struct ExecHookOptions {
  // Program and arguments; without a slash it is searched in PATH. No shell is involved. Not empty.
  std::vector<std::string> command;
  // Longer: slow schedulers get done. Shorter: a hook that hangs holds up other actions less.
  std::chrono::milliseconds deadline{60'000};
  // Between SIGTERM and SIGKILL.
  std::chrono::milliseconds grace{2'000};
  // Of output (and of errors) so much is kept; > 0.
  size_t output_bytes_max = size_t{64} << 10;
  // Whether standard error is kept apart from standard output.
  bool separates_errors = false;
  // When it turns true, the program is ended as if its deadline had come. May be null.
  const std::atomic<bool>* stop = nullptr;
};

struct ExecHookOutcome {
  int exit_code = 0;        // 128 + number when a signal ended it
  bool timed_out = false;   // it was ended at the deadline
  std::string output;       // what it wrote to standard output and error
  std::string errors = {};  // what it wrote to standard error, where that is kept apart

  bool ok() const { return exit_code == 0 && !timed_out; }
};

// Blocks until the program has ended. A program that does not read all of `input` is no error. What its children leave
// behind in the background is not waited for. Thread: any; needs no signal handler.
// Errors: kInvalidArgument  no command; kUnavailable  it can't be started: says why.
Result<ExecHookOutcome> RunExecHook(const ExecHookOptions& options, std::string_view input);

// The last line that says something, without white space at its end; empty: there is none.
std::string_view LastLine(std::string_view output);

}  // namespace fairlead::service
