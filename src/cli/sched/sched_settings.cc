#include "cli/sched/sched_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/nearest_word.h"
#include "base/whole_number.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::cli {

namespace {

bool HasOption(const std::string& policy, const std::string& option) {
  const auto options = scheduling::AllocationPolicyOptions(policy);
  return std::ranges::find(options, option, &scheduling::PolicyOption::name) != options.end();
}

}  // namespace

Result<sim::ElasticCluster> ParseCluster(const std::string& text) {
  constexpr uint64_t kMostGpus = 1'000'000;
  const std::string_view view = text;
  const size_t x = view.find('x');
  sim::ElasticCluster cluster;
  const bool is_pair = x != std::string_view::npos && ParseWhole(view.substr(0, x), &cluster.num_nodes) &&
                       ParseWhole(view.substr(x + 1), &cluster.gpus_per_node);
  const uint64_t num_gpus = uint64_t{cluster.num_nodes} * cluster.gpus_per_node;
  if (is_pair && num_gpus > 0 && num_gpus <= kMostGpus) return cluster;
  return InvalidArgument(
      fmt::format("--cluster: expected NODESxGPUS, such as 16x4, at most a million GPUs; found '{}'", text));
}

Result<Setting> ParseSetting(const std::string& text) {
  Setting setting;
  const size_t equals = text.find('=');
  const std::string left = text.substr(0, equals);
  const size_t dot = left.find('.');
  if (dot != std::string::npos) setting.policy = left.substr(0, dot);
  setting.option = dot == std::string::npos ? left : left.substr(dot + 1);
  const bool has_value =
      equals != std::string::npos && ParseWhole(std::string_view(text).substr(equals + 1), &setting.value);
  if (has_value && !setting.option.empty()) return setting;
  return InvalidArgument(fmt::format("--set: expected OPTION=NUMBER or POLICY.OPTION=NUMBER, found '{}'", text));
}

bool IsMeantFor(const Setting& setting, const std::string& policy) {
  return setting.policy.empty() ? HasOption(policy, setting.option) : setting.policy == policy;
}

Status CheckTaken(const Setting& setting, std::span<const std::string> policies) {
  std::vector<std::string> known;
  for (const std::string& policy : policies) {
    if (!setting.policy.empty() && setting.policy != policy) continue;
    if (HasOption(policy, setting.option)) return OkStatus();
    for (const auto& option : scheduling::AllocationPolicyOptions(policy)) known.emplace_back(option.name);
  }
  if (!setting.policy.empty() && std::ranges::find(policies, setting.policy) == policies.end()) {
    return InvalidArgument(fmt::format("--set {}.{}: that policy is not run; --policy has {}", setting.policy,
                                       setting.option, fmt::join(policies, ", ")));
  }
  if (known.empty()) return InvalidArgument(fmt::format("--set {}: these policies have no options", setting.option));
  return InvalidArgument("--set: " + UnknownName("option", setting.option, known));
}

}  // namespace fairlead::cli
