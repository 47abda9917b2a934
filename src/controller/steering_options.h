// Within which limits steering acts.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_attempts.h"

namespace fairlead::controller {

enum class SteeringMode : uint8_t {
  kObserve,    // findings are reported, that is all
  kRecommend,  // intended actions are reported
  kAct,        // it is done
};

struct SteeringOptions {
  SteeringMode mode = SteeringMode::kObserve;
  // Hosts of a job isolated within an hour. Larger: several faults in a row are dealt with; smaller: a detector that
  // errs does less harm. Likewise the two shares of hosts within a day, 0..1; each allows at least one host.
  uint32_t max_hosts_per_job_hour = 2;
  double max_job_share_per_day = 0.05;
  double max_cluster_share_per_day = 0.02;
  // No action for that long after a restart of the job, >= 0; a resize is none (HostChoice). Longer: what did not help
  // is not done again so soon.
  SimDuration hold_off = SimDuration(600'000'000'000);
  // More guilty hosts of a job at once than that share, 0..1: the fabric or the detector is to blame. One host never
  // is.
  double suspect_fabric_share = 0.2;
  // Findings of less confidence are not acted upon, 0..1.
  double min_confidence = 0.8;
  AttemptOptions attempts;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// "observe", "recommend", "act".
std::string_view Name(SteeringMode mode);

// Spare hosts for a job of that many hosts: 8 per 128, at least one.
uint32_t RecommendedSpares(uint32_t num_hosts);

}  // namespace fairlead::controller
