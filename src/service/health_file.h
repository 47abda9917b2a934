// What is found about this host, as a file that its agent keeps for others on it: node-problem-detector, scripts.
//
//     controller --> agent --> FILE --> `fairlead agent check`: 0 well, 1 a problem, 2 unknown
//
// {"fairlead_health": 1, "host": "h3", "at_s": 1763750000, "findings": [{"job", "syndrome", "text", "action"}]}
//
// It is written when something changes, and each `kHealthPeriod` while the controller is there: an old file means
// unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::service {

inline constexpr SimDuration kHealthPeriod{10'000'000'000};

// Of a finding that holds and names this host; names as model::Name() has them.
struct HealthFinding {
  std::string job;
  std::string syndrome;
  std::string text;
  std::string action;

  friend bool operator==(const HealthFinding&, const HealthFinding&) = default;
};

struct HostHealth {
  std::string host;
  int64_t at_s = 0;  // since 1970: when this was known to be so
  std::vector<HealthFinding> findings;

  friend bool operator==(const HostHealth&, const HostHealth&) = default;
};

std::string WriteHealth(const HostHealth& health);
// Errors: kInvalidArgument: it is no such file.
Result<HostHealth> ReadHealth(std::string_view text);

// When an agent writes the file. No thread, clock or disk.
class HealthKeeper {
 public:
  explicit HealthKeeper(std::string host) : host_(std::move(host)) {}

  // What the controller says of this host, whole; it says so after each welcome, and whenever it changes.
  void Judge(std::vector<HealthFinding> findings);
  // The controller is away: the state is unknown until it judges again.
  void Lose() { is_known_ = false; }
  // What is to be written now; nothing: nothing is. Args: unix_s: that is now, since 1970.
  std::optional<HostHealth> TakeDue(SimTime now, int64_t unix_s);

 private:
  std::string host_;
  std::vector<HealthFinding> findings_;
  bool is_known_ = false;
  bool is_changed_ = false;
  SimTime next_;
};

// What there is to say about a host, for people and programs.
struct HealthVerdict {
  enum class Kind { kWell = 0, kProblem = 1, kUnknown = 2 };  // node-problem-detector's exit codes
  Kind kind = Kind::kUnknown;
  std::string line;  // at most 80 columns, clean, no line break
};

struct HealthCheckOptions {
  std::string path;
  // Older is unknown, > 0 s.
  int64_t max_age_s = 60;
  // Findings with this recommendation count; empty: all do.
  std::string action;
};

// Args: now_s: since 1970. Never fails: what can't be read is unknown.
HealthVerdict CheckHealth(const HealthCheckOptions& options, int64_t now_s);

}  // namespace fairlead::service
