// Did what was printed reach its reader?
//
// Results are lost silently where stdout is full or closed and nothing checks. While an object of this class lives,
// stdout is a stream that takes everything and remembers the first write that failed: a command goes on and writes its
// files, and the program ends with exit code 3 and one message. A reader that has gone (a closed pipe, as behind `|
// head -1`) is exit code 3, too, but without a message: its reader closed it on purpose.
#pragma once

#include <cstdio>

namespace fairlead::cli {

class CheckedStdout {
 public:
  // Replaces `stdout`. Standard descriptors that are closed are taken, so that no file of the program gets their numbers
  // and everything that is meant for them.
  CheckedStdout();
  ~CheckedStdout();
  CheckedStdout(const CheckedStdout&) = delete;
  CheckedStdout& operator=(const CheckedStdout&) = delete;

  // Flushes, and prints a message to stderr where output was lost. Returns `exit_code`, or kExitUnavailable where output
  // was lost and nothing else was wrong.
  int Finish(int exit_code);

 private:
  std::FILE* original_;
  std::FILE* checked_ = nullptr;  // null: no memory for it; stdout is then as it was
  int first_error_ = 0;           // errno; 0: all was written
};

}  // namespace fairlead::cli
