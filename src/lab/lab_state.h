// What is remembered of a running lab between two commands, and its form on disk (JSON).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "lab/keeper.h"
#include "lab/lab_plan.h"

namespace fairlead::lab {

struct LabState {
  std::string name;
  std::string source;  // the file that the fabric came from, for people
  LabPlan plan;
  CableHealth health;  // [cable]
  KeeperId keeper;
  bool has_own_hash_seeds = true;  // false: the kernel has one secret seed for all namespaces

  friend bool operator==(const LabState&, const LabState&) = default;
};

std::string WriteLabState(const LabState& state);

// Errors: kInvalidArgument: not written by WriteLabState() of this version; `path` appears in the message.
Result<LabState> ReadLabState(std::string_view text, const std::string& path);

// The process of a lab from a state of any version: enough to take it down. Errors: kInvalidArgument, as above.
Result<KeeperId> ReadKeeperOf(std::string_view text, const std::string& path);

}  // namespace fairlead::lab
