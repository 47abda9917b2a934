// Whether steering may act upon a finding, and if not, what speaks against it: the first rule that applies.
//
// Order       what the finding says itself (nothing to do for a host, too many guilty, too little confidence or too few
//             signs), the mode, what is under way or was announced (an operator is asked, another action, a return, a
//             pause, the hold-off), limits (spares, per hour, per day).
// Guarantees  pure: the same view and finding, the same answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/isolation_history.h"
#include "controller/steered_hosts.h"
#include "controller/steered_jobs.h"
#include "controller/steering_options.h"
#include "controller/steering_sequences.h"
#include "model/finding.h"

namespace fairlead::controller {

// How far back limits look.
inline constexpr SimDuration kSteeringLimitsMemory(86'400'000'000'000);

// Why nothing is done.
struct Objection {
  std::string_view rule = {};  // "spares", "hour", ..; empty: there is none
  std::string text = {};
  bool may_pass = false;  // with time, while the finding holds
};

// What a judgement looks at. Borrowed.
struct SteeringView {
  SimTime now;
  const SteeringOptions& options;
  uint32_t num_cluster_hosts;
  const SteeredJob& job;  // that the finding is about
  const SteeredHosts& hosts;
  const std::map<JobId, SteeringSequence>& sequences;
  const IsolationHistory& history;
};

// Hosts of the job that are to be isolated because of the finding, ascending.
std::vector<HostId> GuiltyHosts(const SteeredJob& job, const model::Finding& finding);

// Args: guilty: of the finding.
Objection FindObjection(const SteeringView& view, const model::Finding& finding, const std::vector<HostId>& guilty);

}  // namespace fairlead::controller
