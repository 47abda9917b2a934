// One history of the live system under faults, on virtual time: do its laws hold?
//
//     VirtualJobs -- questions, telemetry --> VirtualAgent [host] <--- VirtualStreams ---> VirtualController
//       ^   |                                   |        |                     ^              |        |
//       |  VirtualKernel [host] <---------------+        +--> VirtualNetwork   Liar         store   VirtualDiagnosis
//       |                                                                                             |
//       +--- stops, restarts --- VirtualScheduler <--- actions of steering --------------------------+
//
// The cores are those of the daemons: agent/host_agent.h, controller/traffic_controller.h, the path service and the
// policy behind it, controller/job_watch.h with the C4D master, controller/kept_steering.h. Simulated are only the
// kernel, the network, disks, streams, training processes and the scheduler. Steering acts, with terms that are shorter
// than a cluster's, and without its limits by day.
//
// Method      faults until `faulty_for`, then none for `calm_for`; then the controller is killed once more.
// Laws        always         a packet reaches its socket, whatever is rewritten; a question has one answer; no check of
//                            our own fails; nobody innocent is isolated, no other job is touched, nothing is done twice
//                            (virtual_scheduler.h)
//             after the calm every agent is connected; every connection that sends is held by the agent of its host and
//                            by the controller, once, and nothing else is; its packets take the path that the
//                            controller has for it, over cables that work and that no operator has taken out; its
//                            class is that of its job's level; the kernels rewrite for live connections only; every
//                            job is watched with all its processes, and nothing is found about it, or it is stopped,
//                            and steering says so; steering knows which hosts are isolated
//             at the end     the restarted controller has the same levels once agents have announced, and the same
//                            paths
// Guarantees  same options, same result and hash.
// Limits      lies end with the faults: then the agent is started again. An agent that lies about a job which its host
//             is part of can have that job stopped and its own host isolated, nothing else.
// Cost        see docs/performance.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "sim/chaos/fault.h"
#include "sim/hosts/sabotage.h"
#include "sim/hosts/violation.h"

namespace fairlead::sim::chaos {

struct ChaosOptions {
  uint64_t seed = 1;       // of everything but the faults
  uint32_t num_hosts = 6;  // 2 .. 64
  uint32_t num_jobs = 3;   // 0 .. 64
  // 1 .. 2, of each NIC, each on a plane of its own: a bond with one address.
  uint32_t num_nic_ports = 1;
  SimDuration faulty_for = SimDuration(40'000'000'000);
  SimDuration calm_for = SimDuration(60'000'000'000);  // longer than a lease's term and what is found by probes
  std::vector<Fault> faults;                           // ascending
  hosts::Sabotage sabotage = hosts::Sabotage::kNone;
  // Called with what happens, for people; may be empty.
  std::function<void(SimTime, const std::string&)> log;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct ChaosResult {
  std::optional<hosts::Violation> violation;  // the first one; what came after is not run
  uint64_t hash = 0;                          // of the history
  uint64_t num_events = 0;
  uint64_t num_opened = 0;     // connections
  uint64_t num_moved = 0;      // ports of open connections
  uint64_t num_isolated = 0;   // hosts
  uint64_t num_restarted = 0;  // jobs, by steering
  SimDuration simulated;
};

// Args: options: valid.
ChaosResult RunChaos(const ChaosOptions& options);

}  // namespace fairlead::sim::chaos
