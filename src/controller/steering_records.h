// The state of steering as records, so that no isolated host is forgotten when the process is killed.
//
// Layout      "cluster"        what is known of hosts, the isolations of the last day, the number of the last action
//             "job/<id>"       its hosts, limits in time, findings held up or judged, and its sequence
//             "action/<n>"     an action that is not answered, and until when it waits or pauses
//             One JSON object each; times in ns, hosts by name. Each component describes its own part.
// Guarantees  reading what was written makes the same state. A host whose name has no id any more was taken out of the
//             fabric: it is lost, and so is the job that it was of, with what is under way for it.
// Differs     docs/spec/c4.md section 7.3 only says that actions are logged; that they go on over a restart is ours.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/action_attempts.h"
#include "controller/isolation_history.h"
#include "controller/steered_hosts.h"
#include "controller/steered_jobs.h"
#include "controller/steering_sequences.h"

namespace fairlead::controller {

// By key.
using SteeringRecords = std::vector<std::pair<std::string, std::string>>;

struct SteeringState {
  struct Cluster {
    SteeredHosts::Kept hosts = {};
    std::vector<HostIsolation> history = {};
    uint64_t num_actions = 0;
  };
  struct Job {
    SteeredJobs::Kept job = {};
    std::optional<SteeringSequence> sequence = {};
  };

  Cluster cluster = {};
  std::map<JobId, Job> jobs = {};
  std::vector<ActionAttempts::Open> open = {};
};

// Which parts of a state that was read name hosts that are no more.
struct SteeringLosses {
  std::vector<JobId> jobs = {};
  std::vector<uint64_t> actions = {};  // numbers
  std::set<std::string> hosts = {};

  // One line each for hosts and jobs, for people.
  std::vector<std::string> Lines() const;
};

// Args: host_names [host]: as the records name hosts, so that they outlive other ids; those beyond it have numbers.
SteeringRecords WriteSteeringRecords(const SteeringState& state, std::span<const std::string> host_names);

// Hosts that are lost have the invalid id. Errors: kDataLoss: names the record.
Result<std::pair<SteeringState, SteeringLosses>> ReadSteeringRecords(
    std::span<const std::pair<std::string, std::string>> records, std::span<const std::string> host_names);

}  // namespace fairlead::controller
