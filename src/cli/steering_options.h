// The controller's options for acting on findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "service/steering/live_actions.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::cli {

struct SteeringCommandOptions {
  std::string mode = "observe";
  std::string hook;
  double hook_deadline_s = 60;
  double hook_long_deadline_s = 600;
  std::vector<std::string> spares;
  std::string test_hosts = "backend";
  uint32_t test_passes = 2;
  double test_pause_s = 3600;
  double test_burn_in_s = 0;
  uint32_t max_hosts_per_job_hour = 2;
  double max_job_share = 0.05;
  double max_cluster_share = 0.02;
  double hold_off_s = 600;
  double min_confidence = 0.8;
  std::string health_events;
  bool health_events_act = false;
};

// The options must outlive the command.
void AddSteeringOptions(CLI::App* command, SteeringCommandOptions* options);

// Errors: kInvalidArgument: a hook that is no command. Limits are checked by the code that uses them.
Result<service::LiveActionsOptions> ToLiveActionsOptions(const SteeringCommandOptions& options,
                                                         bool is_insecure_allowed);

}  // namespace fairlead::cli
