// The results that a command writes: to files that the user names, or one of them to stdout ("-"), which then holds
// nothing else.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::cli {

class OutputFiles {
 public:
  // A long command must not find out at its end that its results can't be written: makes the folders that are missing.
  // Args: paths of all results; empty: not asked for.
  // Errors: kInvalidArgument: several are "-"; those of PrepareOutputFolder().
  static Result<OutputFiles> Prepare(std::initializer_list<std::string_view> paths);

  // One result goes to stdout: nothing else may be printed.
  bool is_quiet() const { return is_quiet_; }

  // Writes what `render` returns if it is asked for, and says so: "Page written to out.html". What was computed reaches
  // the user even where another file can't be written.
  void Write(const std::string& path, std::string_view what, const std::function<std::string()>& render);

  // The first error of Write().
  const Status& status() const { return status_; }

 private:
  bool is_quiet_ = false;
  Status status_;
};

}  // namespace fairlead::cli
