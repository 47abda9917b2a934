#include "traffic/policy_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_word.h"
#include "traffic/c4p/c4p_policy.h"
#include "traffic/cassini/cassini_policy.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/ecmp/ecmp_policy.h"
#include "traffic/sincronia/sincronia_policy.h"
#include "traffic/taccl_star/taccl_star_policy.h"
#include "traffic/varys/varys_policy.h"

namespace fairlead::traffic {
namespace {

using Policy = std::unique_ptr<TrafficPolicy>;

struct Entry {
  std::string_view name;
  Result<Policy> (*create)(std::string_view name, const PolicyOptions& options);
};

template <class PolicyWithoutOptions>
Result<Policy> Create(std::string_view, const PolicyOptions&) {
  return Policy(std::make_unique<PolicyWithoutOptions>());
}

Result<Policy> CreateTacclStar(std::string_view, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.taccl_star.Validate());
  return Policy(std::make_unique<taccl_star::TacclStarPolicy>(options.taccl_star));
}

Result<Policy> CreateCassini(std::string_view, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.cassini.Validate());
  return Policy(std::make_unique<cassini::CassiniPolicy>(options.cassini));
}

Result<Policy> MakeCrux(std::string_view name, const crux::CruxOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return Policy(std::make_unique<crux::CruxPolicy>(options, name));
}

Result<Policy> CreateCrux(std::string_view name, const PolicyOptions& options) { return MakeCrux(name, options.crux); }

// Crux as the user set it up, but for what the variant's name says.
template <crux::CruxOptions (*MakeVariant)(crux::CruxOptions)>
Result<Policy> CreateVariant(std::string_view name, const PolicyOptions& options) {
  return MakeCrux(name, MakeVariant(options.crux));
}

Result<Policy> CreateC4p(std::string_view name, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.c4p.Validate());
  return Policy(std::make_unique<c4p::C4pPolicy>(options.c4p, name));
}

Result<Policy> CreateStaticC4p(std::string_view name, const PolicyOptions& options) {
  PolicyOptions changed = options;
  changed.c4p.adapts = false;
  return CreateC4p(name, changed);
}

// Crux decides precedence, C4P spreads the traffic of each job.
Result<Policy> CreateCruxWithC4p(std::string_view name, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.crux.Validate());
  FL_RETURN_IF_ERROR(options.c4p.Validate());
  crux::CruxOptions levels = options.crux;
  levels.edge_weight = crux::EdgeWeight::kGain;
  return Policy(std::make_unique<crux::CruxPolicy>(levels, name, std::make_unique<c4p::BalancedPaths>(options.c4p)));
}

constexpr Entry kPolicies[] = {
    {"ecmp", Create<EcmpPolicy>},
    {"sincronia", Create<sincronia::SincroniaPolicy>},
    {"varys", Create<varys::VarysPolicy>},
    {"taccl-star", CreateTacclStar},
    {"cassini", CreateCassini},
    {"crux-pa", CreateVariant<crux::PrioritiesOnly>},
    {"crux-levels", CreateVariant<crux::LevelsOnly>},
    {"crux-ps-pa", CreateVariant<crux::PathsAndPriorities>},
    {"crux", CreateCrux},
    {"crux-fair", CreateVariant<crux::Fair>},
    {"crux-guard", CreateVariant<crux::Guarded>},
    {"c4p-static", CreateStaticC4p},
    {"c4p", CreateC4p},
    {"crux+c4p", CreateCruxWithC4p},
};

}  // namespace

std::vector<std::string_view> PolicyNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

Result<Policy> CreatePolicy(std::string_view name, const PolicyOptions& options) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.create(entry.name, options);
  }
  return NotFound(UnknownName("traffic policy", name, PolicyNames()));
}

}  // namespace fairlead::traffic
