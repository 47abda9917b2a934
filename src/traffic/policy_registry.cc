#include "traffic/policy_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traffic/crux/crux_policy.h"
#include "traffic/ecmp/ecmp_policy.h"

namespace fairlead::traffic {
namespace {

using Policy = std::unique_ptr<TrafficPolicy>;

struct Entry {
  std::string_view name;
  Result<Policy> (*create)(const PolicyOptions& options);
};

Result<Policy> CreateEcmp(const PolicyOptions&) { return Policy(std::make_unique<EcmpPolicy>()); }

Result<Policy> CreateCrux(const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.crux.Validate());
  return Policy(std::make_unique<crux::CruxPolicy>(options.crux));
}

constexpr Entry kPolicies[] = {
    {"ecmp", CreateEcmp},
    {"crux", CreateCrux},
};

}  // namespace

std::vector<std::string_view> PolicyNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

Result<Policy> CreatePolicy(std::string_view name, const PolicyOptions& options) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.create(options);
  }
  return NotFound(fmt::format("traffic policy '{}': no such policy; known: {}", name, fmt::join(PolicyNames(), ", ")));
}

}  // namespace fairlead::traffic
