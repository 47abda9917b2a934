// Checks of hosts over HTTP.
//
//     GET  /v1/checks                                                        the latest ones, oldest first
//     POST /v1/checks {"hosts": ["h4"], "transfer_s": 2, "burn_in_s": 60, "streams": 4, "while_training": false}
//                                                                            -> {"check": 7}; operators only; audited
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "controller/node_checks.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_route.h"
#include "topology/fabric.h"

namespace fairlead::service {

// Errors: kInvalidArgument: a key, a host or a value that can't be; `request` has no number.
Result<controller::NodeCheckRequest> ReadNodeCheckRequest(const Json& body, const std::string& who,
                                                          const topology::Fabric& fabric);
Json NodeChecksJson(const std::deque<controller::NodeCheckView>& checks, const topology::Fabric& fabric);

// What a check needs of the controller; called from threads of the gateway.
struct NodeCheckSource {
  const topology::Fabric* fabric = nullptr;
  std::function<Json()> show;
  // Why it can't begin now; empty: it can.
  std::function<std::string(const controller::NodeCheckRequest&)> find_fault;
  std::function<Status(const controller::NodeCheckRequest&)> audit;  // before it is begun; an error: nothing is done
  // The number of the check that has begun.
  std::function<uint64_t(const controller::NodeCheckRequest&)> begin;
};
HttpRoute NodeCheckRoute(NodeCheckSource source);

}  // namespace fairlead::service
