#include "cli/checked_stdout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "cli/command.h"

namespace fairlead::cli {

namespace {

// A program that is started from here gets the usual way of dying back, which it would not if the signal were ignored.
extern "C" void IgnoreClosedPipe(int /*signal*/) {}

void TakeClosedDescriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Writing to stdout then fails, as it should; for stderr there is no one left
    // to inform.
    const int flags = descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) < 0) return;  // NOLINT(cppcoreguidelines-pro-type-vararg)
  }
}

// Of fopencookie: takes all, so that no caller has to check.
ssize_t WriteAll(void* cookie, const char* data, size_t size) {
  auto* first_error = static_cast<int*>(cookie);
  for (size_t done = 0; done < size && *first_error == 0;) {
    const ssize_t written = write(STDOUT_FILENO, data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) *first_error = errno;
    if (written > 0) done += static_cast<size_t>(written);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

CheckedStdout::CheckedStdout() : original_(stdout) {
  TakeClosedDescriptors();
  std::signal(SIGPIPE, IgnoreClosedPipe);
  cookie_io_functions_t functions{};
  functions.write = WriteAll;
  checked_ = fopencookie(&first_error_, "w", functions);
  if (checked_ == nullptr) return;
  if (isatty(STDOUT_FILENO) != 0) std::setvbuf(checked_, nullptr, _IOLBF, BUFSIZ);
  stdout = checked_;
}

CheckedStdout::~CheckedStdout() {
  if (checked_ == nullptr) return;
  stdout = original_;
  std::fclose(checked_);
}

int CheckedStdout::Finish(int exit_code) {
  std::fflush(stdout);
  if (first_error_ == 0) return exit_code;
  if (first_error_ != EPIPE) {
    ReportError(Unavailable(
        fmt::format("cannot write to stdout: {}; what was printed is not complete", std::strerror(first_error_))));
  }
  return exit_code == kExitOk || exit_code == kExitNo ? kExitUnavailable : exit_code;
}

}  // namespace fairlead::cli
