// What users set of allocation policies: "option=value" for every policy that has the option, "policy.option=value" for
// one.
//
// Errors of all of these: kInvalidArgument, with what was found and what is known. Args: where: the beginning of the
// message, such as "--set".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::scheduling {

struct PolicySetting {
  std::string policy;  // empty: all that have it
  std::string option;
  double value = 0;
};

Result<PolicySetting> ParsePolicySetting(const std::string& text, std::string_view where);

// Each of them; a setting that no policy takes is a mistake. Args: policies: of which some take it.
Result<std::vector<PolicySetting>> ParsePolicySettings(std::span<const std::string> texts,
                                                       std::span<const std::string> policies, std::string_view where);

// Whether a policy of a run is meant by the setting.
bool IsMeantFor(const PolicySetting& setting, std::string_view policy);

// Those that are meant for the policy; of several for one option the last counts.
PolicySettings SettingsOf(std::span<const PolicySetting> settings, std::string_view policy);

}  // namespace fairlead::scheduling
