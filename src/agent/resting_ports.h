// Source ports that packets of a connection had on the wire. No other connection to the same place gets them for a
// while: their destination may still rewrite them.
//
// Cost  O(log n) a port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "agent/agent_state.h"
#include "agent/host_agent_messages.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class RestingPorts {
 public:
  // Args: rest: how long. num_max: more are not remembered.
  RestingPorts(SimDuration rest, size_t num_max) : rest_(rest), num_max_(num_max) {}

  // Args: ends: with the port on the wire as the local one; connection: that had it. Returns false where it is not
  // remembered.
  bool Add(const SocketPair& ends, uint64_t connection, SimTime now);
  // Whether another connection had it.
  bool IsTaken(const SocketPair& ends, uint64_t connection) const;
  // Whether a rest has ended. Time never runs backwards.
  bool EndAt(SimTime now);

  void Restore(const std::vector<KeptRest>& kept, SimTime now);
  std::vector<KeptRest> State() const;

 private:
  struct Rest {
    uint64_t connection = 0;
    SimTime until;
  };

  SimDuration rest_;
  size_t num_max_;
  std::map<SocketPair, Rest> rests_;
  std::deque<std::pair<SimTime, SocketPair>> ends_at_;  // ascending; some have begun again since
};

}  // namespace fairlead::agent
