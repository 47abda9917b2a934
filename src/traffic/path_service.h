// The interface of path services: assign paths to the connections of all jobs while they run.
//
//     requests, heartbeats, releases, probes, reports --> Handle() --> answers, moves, scans, probe rounds
//
// A traffic policy (traffic_policy.h) plans all jobs at once from a snapshot; a path service remembers what it has
// given to whom, and answers one connection at a time. The controller drives it; c4p/c4p_master.h is the one there is.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic {

// A queue pair and what it has now.
struct HeldQueuePair {
  LeaseId lease;
  const ConnectionRequest* request = nullptr;  // of its connection; not null
  uint32_t queue_pair = 0;                     // of the connection
  QueuePairAnswer answer;
  std::span<const LinkId> links;  // its path, from NIC to NIC; empty: it has none
};

class PathService {
 public:
  virtual ~PathService() = default;

  // Handles events of one instant, in their order, and what time has brought: an empty call is a tick, and there should
  // be one every few seconds. Args: clock, which may jump.
  virtual std::vector<PathAction> Handle(SimTime clock, std::span<const PathEvent> events) = 0;

  // What a connection has now; nothing for one that is not known.
  virtual std::optional<ConnectionAnswer> Find(JobId job, uint64_t connection) const = 0;
  // Shows all queue pairs, in an order that is the same for the same past. What is shown is valid during the call.
  virtual void VisitQueuePairs(const std::function<void(const HeldQueuePair&)>& visit) const = 0;
  virtual LinkState state(LinkId link) const = 0;
  // Fraction of a link's capacity that is left; 0 = it carries nothing.
  virtual double health(LinkId link) const = 0;
};

}  // namespace fairlead::traffic
