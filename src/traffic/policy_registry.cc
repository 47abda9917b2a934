#include "traffic/policy_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_word.h"
#include "traffic/c4p/c4p_policy.h"
#include "traffic/cassini/cassini_policy.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/ecmp/ecmp_policy.h"
#include "traffic/edge_coloring/edge_coloring_policy.h"
#include "traffic/ethereal/ethereal_router.h"
#include "traffic/fixed/fixed_policy.h"
#include "traffic/flowlet/flowlet_router.h"
#include "traffic/mltcp/mltcp_policy.h"
#include "traffic/sincronia/sincronia_policy.h"
#include "traffic/spray/spray_router.h"
#include "traffic/taccl_star/taccl_star_policy.h"
#include "traffic/varys/varys_policy.h"

namespace fairlead::traffic {
namespace {

using Policy = std::unique_ptr<TrafficPolicy>;

constexpr std::string_view kCruxOn = "crux+";

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

Result<Policy> CreateMltcp(std::string_view, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.mltcp.Validate());
  return Policy(std::make_unique<mltcp::MltcpPolicy>(options.mltcp));
}

Result<Policy> CreateSincronia(std::string_view, const PolicyOptions& options) {
  return Policy(std::make_unique<sincronia::SincroniaPolicy>(options.sincronia));
}

Result<Policy> CreateVarys(std::string_view, const PolicyOptions& options) {
  return Policy(std::make_unique<varys::VarysPolicy>(options.varys));
}

Result<Policy> CreateFixed(std::string_view, const PolicyOptions& options) {
  return Policy(std::make_unique<fixed::FixedPolicy>(options.fixed));
}

// Levels of Crux on the paths that the router gives.
Result<Policy> Layer(std::string_view name, std::unique_ptr<const FlowRouter> router, const PolicyOptions& options) {
  if (!name.starts_with(kCruxOn)) return Policy(std::make_unique<LayeredPolicy>(name, std::move(router), nullptr));
  FL_ASSIGN_OR_RETURN(Policy levels, MakeCrux("crux-levels", crux::LevelsOnly(options.crux)));
  return Policy(std::make_unique<LayeredPolicy>(name, std::move(router), std::move(levels)));
}

Result<Policy> CreateSpray(std::string_view name, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.spray.Validate());
  return Layer(name, std::make_unique<spray::SprayRouter>(options.spray), options);
}

Result<Policy> CreateFlowlet(std::string_view name, const PolicyOptions& options) {
  FL_RETURN_IF_ERROR(options.flowlet.Validate());
  return Layer(name, std::make_unique<flowlet::FlowletRouter>(options.flowlet), options);
}

Result<Policy> CreateEthereal(std::string_view name, const PolicyOptions& options) {
  return Layer(name, std::make_unique<ethereal::EtherealRouter>(), options);
}

constexpr Entry kPolicies[] = {
    {"ecmp", Create<EcmpPolicy>},
    {"fixed", CreateFixed},
    {"flowlet", CreateFlowlet},
    {"spray", CreateSpray},
    {"ethereal", CreateEthereal},
    {"edge-coloring", Create<edge_coloring::EdgeColoringPolicy>},
    {"mltcp", CreateMltcp},
    {"sincronia", CreateSincronia},
    {"varys", CreateVarys},
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
    {"crux+flowlet", CreateFlowlet},
    {"crux+spray", CreateSpray},
    {"crux+ethereal", CreateEthereal},
};

}  // namespace

RoutingCosts RoutingCostsOf(std::string_view name, const PolicyOptions& options) {
  if (!name.ends_with("spray")) return {};
  const spray::SprayOptions& spray = options.spray;
  const SimDuration detect = SimDuration::FromSeconds(spray.detect);
  return {.efficiency = spray.efficiency,
          .detect = detect,
          .detect_port = std::max(detect, SimDuration::FromSeconds(spray.remap)),
          .reorder = SimDuration::FromSeconds(spray.reorder)};
}

std::string_view RoutingOf(std::string_view name) {
  using namespace std::string_view_literals;
  for (const std::string_view routing : {"flowlet"sv, "spray"sv, "ethereal"sv}) {
    if (name.ends_with(routing)) return routing;
  }
  return "ecmp";
}

bool SendersHaveRules(std::string_view name, const PolicyOptions& options) {
  if (name.ends_with("flowlet")) return options.flowlet.chooses();
  if (name == "mltcp") return options.mltcp.slope > 0;
  if (name == "sincronia") return options.sincronia.pacing != Pacing::kNone;
  return name == "varys" && options.varys.pacing != Pacing::kNone;
}

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
