// Steering over HTTP: what it does, for readers; and what people can tell it, for operators.
//
//     GET  /v1/steering          mode, isolated hosts, conditions of jobs and hosts, open actions, the last of the log
//     POST /v1/steering/undo     {"host": "h3"}      takes an isolation back
//     POST /v1/steering/spare    {"host": "h9"}      the host is free, and in order
//     POST /v1/steering/pause    {"job": "gpt", "for_s": 600, "reason": "switch"}     nothing is found until then
//
// Orders are answered when they are saved, and are in the audit log before that.
#pragma once

#include <vector>

#include "service/http/http_route.h"
#include "service/steering/live_steering.h"

namespace fairlead::service {

// `steering` must outlive the routes.
std::vector<HttpRoute> SteeringRoutes(LiveSteering* steering);

}  // namespace fairlead::service
