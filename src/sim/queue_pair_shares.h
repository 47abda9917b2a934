// How the connections of a running job spread their bytes over their queue pairs.
//
// What the plugin in a training process does: it times the parts of each message, and shifts bytes from slow paths to
// fast ones (c4p::ShareBalancer). New shares hold from the next message on, never inside one. A connection is one flow
// of one phase; a message is all that it sends in that phase of an iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sim_time.h"
#include "model/flow.h"
#include "sim/job_state.h"
#include "traffic/c4p/share_balancer.h"

namespace fairlead::sim {

class QueuePairShares {
 public:
  // Equal shares. `job` must outlive this. Args: seed of the instants at which shares are looked at.
  QueuePairShares(JobState* job, uint64_t seed);

  // True when there is a connection of several queue pairs.
  static bool HasSomethingToDo(const model::Iteration& iteration);

  // A part of a message has ended: `bytes` of each flow of the transfer.
  void RecordPart(uint32_t transfer, double bytes, SimDuration took, SimTime now);

  // To be called at next_look(), with the job's bytes settled; draws the next instant. Changes the bytes of the job's
  // transfers; returns true when it did.
  bool Look(SimTime now);
  // Never() when nothing has changed for so long that nothing will.
  SimTime next_look() const { return next_look_; }
  // Something else has changed: paths, capacities, other jobs.
  void Wake(SimTime now);

 private:
  struct Connection {
    std::vector<uint32_t> transfers;  // [queue pair]
    double bytes = 0;                 // of one message
    traffic::c4p::ShareBalancer balancer;
  };
  struct Place {
    uint32_t connection = 0;
    uint32_t queue_pair = 0;
  };

  JobState* job_;
  std::vector<Connection> connections_;
  std::vector<Place> places_;  // [transfer]; those of no connection have kNowhere
  SimTime next_look_;
  uint32_t looks_without_change_ = 0;
};

}  // namespace fairlead::sim
