// What must be true of the live system when nothing has failed for a while.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/traffic_controller.h"
#include "sim/chaos/virtual_jobs.h"
#include "sim/chaos/virtual_scheduler.h"
#include "sim/hosts/virtual_agent.h"
#include "sim/hosts/virtual_controller.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"

namespace fairlead::sim::chaos {

struct CalmSurroundings {
  const hosts::VirtualNetwork& network;
  std::span<const std::unique_ptr<hosts::VirtualKernel>> kernels;  // [host]
  std::span<const std::unique_ptr<hosts::VirtualAgent>> agents;    // [host]
  const hosts::VirtualController& controller;
  const VirtualJobs& jobs;
  const VirtualScheduler& scheduler;
  SimTime now;
  LinkId taken_out;  // one direction of a cable that an operator has reported as down
};

struct CalmFault {
  std::string law;
  std::string text;
};

// The first law that does not hold; nothing: all do.
std::optional<CalmFault> FindFaultInCalm(const CalmSurroundings& surroundings);

// What a restart of the controller must bring back.
struct PathsInForce {
  std::map<std::pair<std::string, uint64_t>, std::vector<LinkId>> paths;  // [job, connection]
  std::map<std::string, uint32_t> levels;                                 // [job]
};
PathsInForce PathsOf(const controller::TrafficController& controller);
std::optional<CalmFault> FindOtherPath(const PathsInForce& before, const PathsInForce& after);
std::optional<CalmFault> FindOtherLevel(const PathsInForce& before, const PathsInForce& after);

}  // namespace fairlead::sim::chaos
