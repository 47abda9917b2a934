// Control of a running worker from outside: a file that states how it should misbehave.
//
//     {"busy_s": 0.2, "loader_s": 0, "pause_s": 0, "bad_order": false}
//
// busy_s    computes so much longer before each phase
// loader_s  waits so long for samples at the beginning of each iteration
// pause_s   computes nothing for so long, once for each new content of the file
// bad_order from the next iteration on, does the first two phases that communicate in the wrong order
// Keys may be left out; no file, or an empty one, asks for nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace fairlead::lab {

struct TrainerRequests {
  double busy_s = 0;
  double loader_s = 0;
  double pause_s = 0;
  bool bad_order = false;

  friend bool operator==(const TrainerRequests&, const TrainerRequests&) = default;
};

// Errors: kInvalidArgument: no JSON object, an unknown or mistyped key, a number outside of 0 to 86,400.
Result<TrainerRequests> ParseTrainerRequests(std::string_view text);

class TrainerControl {
 public:
  // Args: path: empty: no requests.
  explicit TrainerControl(std::string path) : path_(std::move(path)) {}

  // Looks at the file. Unreadable content leaves the requests unchanged, and is reported on standard error, once. Cost:
  // one call of stat() where nothing has changed.
  const TrainerRequests& Look();
  // Seconds of a pause that was asked for since the last call.
  double TakePause();

 private:
  struct Version {
    int64_t modified_ns = 0;
    int64_t bytes = 0;
    uint64_t inode = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  std::string path_;
  Version version_;  // of what was read; all zero: no file
  std::string content_;
  std::string refused_;  // content that was complained about
  TrainerRequests requests_;
  double pause_s_ = 0;
};

}  // namespace fairlead::lab
