// The traffic policies by name: the one list that a new policy is added to.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "traffic/c4p/balanced_paths.h"
#include "traffic/cassini/cassini_options.h"
#include "traffic/coflow_pacing.h"
#include "traffic/crux/crux_options.h"
#include "traffic/fixed/fixed_options.h"
#include "traffic/flowlet/flowlet_options.h"
#include "traffic/mltcp/mltcp_options.h"
#include "traffic/routing_costs.h"
#include "traffic/spray/spray_options.h"
#include "traffic/taccl_star/taccl_star_options.h"
#include "traffic/traffic_policy.h"
#include "traffic/varys/varys_policy.h"

namespace fairlead::traffic {

// Options of every policy; each reads its own part.
struct PolicyOptions {
  crux::CruxOptions crux;     // of "crux" and "crux+c4p"; "crux-…" changes what its name says
  c4p::BalancingOptions c4p;  // of "c4p", "c4p-static" and "crux+c4p"
  taccl_star::TacclStarOptions taccl_star;
  cassini::CassiniOptions cassini;
  spray::SprayOptions spray;  // of "spray" and "crux+spray"
  fixed::FixedOptions fixed;
  flowlet::FlowletOptions flowlet;  // of "flowlet" and "crux+flowlet"
  mltcp::MltcpOptions mltcp;
  CoflowOptions sincronia;
  CoflowOptions varys = varys::kDefaultOptions;
};

// What the way that the policy's packets travel costs; nothing for those that do not spray. `name` is one of
// PolicyNames().
RoutingCosts RoutingCostsOf(std::string_view name, const PolicyOptions& options);

// The policy of flows that no policy steers, by what the fabric does under policy `name`: "spray" under "crux+spray",
// "ecmp" under "crux".
std::string_view RoutingOf(std::string_view name);

// Whether senders do more than congestion control lets them: weights that grow, paces, paths of their own choice
// (sender_rules.h). `name` is one of PolicyNames().
bool SendersHaveRules(std::string_view name, const PolicyOptions& options);

// In the order people should see them: baselines first.
std::vector<std::string_view> PolicyNames();

// Errors: kNotFound for an unknown name, listing the known ones; kInvalidArgument for options out of range.
Result<std::unique_ptr<TrafficPolicy>> CreatePolicy(std::string_view name, const PolicyOptions& options);

}  // namespace fairlead::traffic
