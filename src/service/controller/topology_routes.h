// The network as a picture, over HTTP.
//
//     GET /v1/topology                        the whole: a tier of more than 64 switches as runs of neighbours
//     GET /v1/topology?open=leaf0..leaf9      what is in a run, or below one leaf, and what that is cabled to
//     GET /v1/topology?job=gpt                with all lines of that job
//     GET /v1/topology?at=1764216000          as it was in the period of that moment (seconds since 1970), without jobs
//
// Loads are relative to the fullest link that works, by what is left of its capacity. Jobs that lose most come first.
// "moments" are the periods that can be asked for, by their begins.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "controller/traffic_views.h"
#include "report/topology_picture.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_route.h"
#include "topology/fabric.h"

namespace fairlead::service {

// Of one moment.
struct NetworkSnapshot {
  std::vector<controller::LinkOnFabric> links;
  std::vector<controller::JobPaths> paths;
  std::vector<controller::JobOnFabric> jobs;
};

// [LinkId] of the fabric.
std::vector<report::LinkCondition> ConditionsOf(const topology::Fabric& fabric,
                                                const std::vector<controller::LinkOnFabric>& links);

// What is kept of the past (network_history.h).
struct NetworkPast {
  int64_t period_s = 0;
  std::vector<int64_t> begins;                                   // ascending
  std::optional<std::vector<report::LinkCondition>> conditions;  // [LinkId] of the moment that was asked for
};

struct NetworkSource {
  std::function<NetworkSnapshot()> look;
  std::function<NetworkPast(std::optional<int64_t> at_s)> remember;
};

// Args: source: called where the answer needs it, from threads of the gateway.
// Errors: kInvalidArgument: a parameter that is not known, or at odds with another; kNotFound: a node, a job or a
// moment that is not there.
Result<Json> TopologyJson(const topology::Fabric& fabric, const NetworkSource& source, const HttpQuery& query);

HttpRoute TopologyRoute(const topology::Fabric& fabric, NetworkSource source);

}  // namespace fairlead::service
