// The network as a picture, over HTTP.
//
//     GET /v1/topology                        the whole: a tier of more than 64 switches as runs of neighbours
//     GET /v1/topology?open=leaf0..leaf9      what is in a run, or below one leaf, and what that is cabled to
//     GET /v1/topology?job=gpt                with all lines of that job
//
// Loads are relative to the fullest link that works, by what is left of its capacity. Jobs that lose most come first.
#pragma once

#include <functional>
#include <vector>

#include "controller/traffic_views.h"
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

// Errors: kInvalidArgument: a parameter that is not known; kNotFound: a node or a job that is not there.
Result<Json> TopologyJson(const topology::Fabric& fabric, const NetworkSnapshot& snapshot, const HttpQuery& query);

// Args: look: called from threads of the gateway.
HttpRoute TopologyRoute(const topology::Fabric& fabric, std::function<NetworkSnapshot()> look);

}  // namespace fairlead::service
