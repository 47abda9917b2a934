#include "scheduling/policy_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_word.h"
#include "base/whole_number.h"

namespace fairlead::scheduling {
namespace {

bool HasOption(std::string_view policy, const std::string& option) {
  const auto options = AllocationPolicyOptions(policy);
  return std::ranges::find(options, option, &PolicyOption::name) != options.end();
}

Status CheckTaken(const PolicySetting& setting, std::span<const std::string> policies, std::string_view where) {
  std::vector<std::string> known;
  for (const std::string& policy : policies) {
    if (!setting.policy.empty() && setting.policy != policy) continue;
    if (HasOption(policy, setting.option)) return OkStatus();
    for (const auto& option : AllocationPolicyOptions(policy)) known.emplace_back(option.name);
  }
  if (!setting.policy.empty() && std::ranges::find(policies, setting.policy) == policies.end()) {
    return InvalidArgument(fmt::format("{} {}.{}: that policy is not run; there are {}", where, setting.policy,
                                       setting.option, fmt::join(policies, ", ")));
  }
  if (known.empty()) {
    return InvalidArgument(fmt::format("{} {}: these policies have no options", where, setting.option));
  }
  return InvalidArgument(fmt::format("{}: {}", where, UnknownName("option", setting.option, known)));
}

}  // namespace

Result<PolicySetting> ParsePolicySetting(const std::string& text, std::string_view where) {
  PolicySetting setting;
  const size_t equals = text.find('=');
  const std::string left = text.substr(0, equals);
  const size_t dot = left.find('.');
  if (dot != std::string::npos) setting.policy = left.substr(0, dot);
  setting.option = dot == std::string::npos ? left : left.substr(dot + 1);
  const bool has_value =
      equals != std::string::npos && ParseWhole(std::string_view(text).substr(equals + 1), &setting.value);
  if (has_value && !setting.option.empty()) return setting;
  return InvalidArgument(fmt::format("{}: expected OPTION=NUMBER or POLICY.OPTION=NUMBER, found '{}'", where, text));
}

Result<std::vector<PolicySetting>> ParsePolicySettings(std::span<const std::string> texts,
                                                       std::span<const std::string> policies, std::string_view where) {
  std::vector<PolicySetting> settings;
  for (const std::string& text : texts) {
    FL_ASSIGN_OR_RETURN(PolicySetting setting, ParsePolicySetting(text, where));
    FL_RETURN_IF_ERROR(CheckTaken(setting, policies, where));
    settings.push_back(std::move(setting));
  }
  return settings;
}

bool IsMeantFor(const PolicySetting& setting, std::string_view policy) {
  return setting.policy.empty() ? HasOption(policy, setting.option) : setting.policy == policy;
}

PolicySettings SettingsOf(std::span<const PolicySetting> settings, std::string_view policy) {
  PolicySettings own;
  for (const PolicySetting& setting : settings) {
    if (IsMeantFor(setting, policy)) own[setting.option] = setting.value;
  }
  return own;
}

}  // namespace fairlead::scheduling
