#include "cli/sched/sched_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "base/whole_number.h"
#include "report/number_format.h"

namespace fairlead::cli {

namespace {

// "6x4", "6x4:aws"; nothing for what is neither.
std::optional<sim::NodeGroup> ParseGroup(std::string_view text) {
  const size_t x = text.find('x');
  const size_t colon = text.find(':');
  sim::NodeGroup group;
  if (x == std::string_view::npos || !ParseWhole(text.substr(0, x), &group.num_nodes)) return std::nullopt;
  const std::string_view gpus = text.substr(x + 1, colon == std::string_view::npos ? colon : colon - x - 1);
  if (!ParseWhole(gpus, &group.gpus_per_node)) return std::nullopt;
  if (colon != std::string_view::npos) {
    group.gpu_type = text.substr(colon + 1);
    const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
    if (group.gpu_type.empty() || !std::ranges::all_of(group.gpu_type, is_of_name)) return std::nullopt;
  }
  return group;
}

bool HasDistinctTypes(const std::vector<sim::NodeGroup>& groups) {
  std::set<std::string_view> types;
  for (const sim::NodeGroup& group : groups) types.insert(group.gpu_type);
  return types.size() == groups.size() && (groups.size() == 1 || !types.contains(""));
}

}  // namespace

Result<sim::ElasticCluster> ParseCluster(const std::string& text) {
  constexpr uint64_t kMostGpus = 1'000'000;
  sim::ElasticCluster cluster;
  cluster.groups.clear();
  uint64_t num_gpus = 0;
  bool is_valid = true;
  for (size_t begin = 0; is_valid && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto group = ParseGroup(std::string_view(text).substr(begin, end - begin));
    is_valid = group && group->num_nodes > 0 && group->gpus_per_node > 0 && num_gpus <= kMostGpus;
    begin = end + 1;
    if (!is_valid) continue;
    num_gpus += uint64_t{group->num_nodes} * group->gpus_per_node;
    cluster.groups.push_back(*group);
  }
  if (is_valid && num_gpus <= kMostGpus && HasDistinctTypes(cluster.groups)) return cluster;
  return InvalidArgument(
      fmt::format("--cluster: expected NODESxGPUS, such as 16x4, or NODESxGPUS:TYPE for each of several types, such as "
                  "6x4:t4,2x8:a100, at most a million GPUs; found '{}'",
                  text));
}

std::string DescribeCluster(const sim::ElasticCluster& cluster) {
  std::string text;
  for (const sim::NodeGroup& group : cluster.groups) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", report::FormatCount(group.num_nodes, "node"),
                        report::FormatCount(group.gpus_per_node, "GPU"));
    if (!group.gpu_type.empty()) text += fmt::format(" ({})", group.gpu_type);
  }
  return text;
}

namespace {

// Nothing: it is no tenant.
std::optional<scheduling::Tenant> ParseTenant(std::string_view text) {
  scheduling::Tenant tenant;
  const size_t name_end = text.find(':');
  if (name_end == 0 || name_end == std::string_view::npos) return std::nullopt;
  tenant.name = text.substr(0, name_end);
  const size_t weight_end = text.find(':', name_end + 1);
  if (!ParseWhole(text.substr(name_end + 1, weight_end - name_end - 1), &tenant.weight)) return std::nullopt;
  const bool has_quota = weight_end != std::string_view::npos;
  if (has_quota && !ParseWhole(text.substr(weight_end + 1), &tenant.guaranteed_gpus)) return std::nullopt;
  return tenant;
}

}  // namespace

Result<std::vector<scheduling::Tenant>> ParseTenants(std::span<const std::string> texts) {
  std::vector<scheduling::Tenant> tenants;
  for (const std::string& text : texts) {
    std::optional<scheduling::Tenant> tenant = ParseTenant(text);
    if (!tenant) {
      return InvalidArgument(
          fmt::format("--tenants: expected NAME:WEIGHT or NAME:WEIGHT:GPUS, such as prod:1:16; found '{}'", text));
    }
    tenants.push_back(*std::move(tenant));
  }
  return tenants;
}

}  // namespace fairlead::cli
