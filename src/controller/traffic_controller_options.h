// What the controller of live traffic can be told to do otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::controller {

struct TrafficControllerOptions {
  std::string version;  // of this program, for people
  // > 0. Shorter: dead hosts are noticed sooner, for more messages.
  SimDuration heartbeat_period = SimDuration(5'000'000'000);
  SimDuration lease_ttl = SimDuration(60'000'000'000);  // that of the path service, for Welcome
  uint32_t num_levels = 8;                              // 1 .. 8
  // False: all jobs stay on the last level; their measurements are still shown.
  bool sets_levels = true;
  // Weight of a new measurement of a job in its smoothed value; (0, 1]. Smaller: levels are calmer, and follow later.
  double measurement_weight = 0.5;
  // (0, 0.5]: the chance with which noise alone may turn the order of two jobs at a measurement. Smaller: levels are
  // calmer, and jobs that are nearly alike stay as they are.
  double order_error_probability = 1e-3;
  // > 0: how often levels may be planned again.
  SimDuration level_period = SimDuration(2'000'000'000);
  uint64_t random_seed = 1;  // for policies that sample
  // > 0. How long a host may take to prepare an arrival, after which the queue pair stays where it is.
  SimDuration arrival_timeout = SimDuration(2'000'000'000);
  // > 0. How long a round of probes waits for its hosts. Longer: slow answers still tell of links; shorter: faults are
  // seen sooner.
  SimDuration probe_timeout = SimDuration(4'000'000'000);
  // What rounds of probes pretend to be: that of the jobs' connections (6: TCP, 17: RoCE).
  uint8_t probe_protocol = 6;
  uint16_t probe_destination_port = 4791;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::controller
