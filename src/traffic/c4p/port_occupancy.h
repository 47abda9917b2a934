// Which source ports open queue pairs (QPs) have, so that no other QP is given one of them.
//
// Problem     the kernel, or an earlier answer, has given a QP's socket a port, and its packets may carry another one.
//             Packets of two connections between the same addresses with one port reach one socket. When a QP leaves a
//             port, packets that carry it are still under way, and its destination still rewrites it.
// Method      the port of the socket and that on the wire are occupied from their report on, on all planes, as a socket
//             has none. What is no longer a socket's is free at once. What is no longer on the wire rests first,
//             unless it was the socket's own and ends with it.
// Guarantees  each report of a QP replaces its last one. A port is occupied as often as sockets have it, packets carry
//             it, and rests of it last; when all of that has ended it is free.
// Cost        that of the port map.
// Differs     the paper does not say how ports are kept apart.
#pragma once

#include <cstdint>
#include <deque>

#include "base/sim_time.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/port_map.h"
#include "traffic/c4p/port_steering.h"

namespace fairlead::traffic::c4p {

class PortOccupancy {
 public:
  // At least as long as destinations may show packets with the port to the socket of before: after a move (agents'
  // arrival_linger), and when a moved connection has ended while the agent of the destination was away (kUnseenFor).
  static constexpr SimDuration kRest{15'000'000'000};

  // All must outlive this. Only this object may change what the table says of ports of sockets and on the wire.
  PortOccupancy(ConnectionTable* connections, PortSteering* ports) : connections_(connections), ports_(ports) {}

  // A QP has a socket with this port, and its packets carry that one. Ports that do not steer count as none. Times never
  // go back.
  void Note(QueuePairRef ref, uint16_t socket_port, uint16_t wire_port, SimTime now);
  // The QP ends.
  void Release(QueuePairRef ref, SimTime now);
  // Frees ports that have rested.
  void EndRests(SimTime now);

  size_t num_resting() const { return resting_.size(); }

 private:
  struct RestingPort {
    SimTime until;
    AddressPair pair;
    uint16_t port = 0;
  };
  // Of the port before: whether others may have it at once, or only when no packets that carry it can be under way.
  enum class Leaving { kIsFree, kRests };
  void Exchange(QueuePairRef ref, uint16_t QueuePairState::*which, uint16_t port, Leaving leaving, SimTime now);

  ConnectionTable* connections_;
  PortSteering* ports_;
  std::deque<RestingPort> resting_;  // in order of time
};

}  // namespace fairlead::traffic::c4p
