// What people are shown of running jobs' traffic, as the JSON that the HTTP gateway gives out.
//
// Keys are never renamed; docs/internals/modules/service.md lists them.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/sim_time.h"
#include "controller/traffic_controller.h"
#include "topology/fabric.h"

namespace fairlead::service {

using Json = nlohmann::ordered_json;

// One line of the event list.
struct TrafficEvent {
  uint64_t number = 0;  // from 1, without gaps
  SimTime time;         // since 1970
  controller::Noted note;
};

Json JobsJson(std::span<const controller::JobOnFabric> jobs, const topology::Fabric& fabric);
// At most `limit`; of one job where `job` is not empty. "total" counts those that were left out too.
Json ConnectionsJson(std::span<const controller::QueuePairOnFabric> queue_pairs, const topology::Fabric& fabric,
                     const std::string& job, size_t limit);
Json EventsJson(const std::deque<TrafficEvent>& events);

}  // namespace fairlead::service
