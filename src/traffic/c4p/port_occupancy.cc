#include "traffic/c4p/port_occupancy.h"

#include <utility>

#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {
namespace {

uint16_t OnlyIfSteering(uint16_t port) { return IsSteeringPort(port) ? port : uint16_t{0}; }

}  // namespace

void PortOccupancy::Note(QueuePairRef ref, uint16_t socket_port, uint16_t wire_port, SimTime now) {
  Exchange(ref, &QueuePairState::socket_port, OnlyIfSteering(socket_port), Leaving::kIsFree, now);
  Exchange(ref, &QueuePairState::wire_port, OnlyIfSteering(wire_port), Leaving::kRests, now);
}

void PortOccupancy::Release(QueuePairRef ref, SimTime now) {
  const bool is_rewritten = connections_->at(ref).wire_port != connections_->at(ref).socket_port;
  Exchange(ref, &QueuePairState::socket_port, 0, Leaving::kIsFree, now);
  Exchange(ref, &QueuePairState::wire_port, 0, is_rewritten ? Leaving::kRests : Leaving::kIsFree, now);
}

void PortOccupancy::EndRests(SimTime now) {
  for (; !resting_.empty() && resting_.front().until <= now; resting_.pop_front()) {
    ports_->Vacate(resting_.front().pair, resting_.front().port);
  }
}

void PortOccupancy::Exchange(QueuePairRef ref, uint16_t QueuePairState::*which, uint16_t port, Leaving leaving,
                             SimTime now) {
  const uint16_t before = std::exchange(connections_->at(ref).*which, port);
  if (before == port) return;
  const ConnectionRequest& request = connections_->at(ref.connection).request;
  const AddressPair pair = ports_->PairOf(request, /*plane=*/0);
  if (port != 0) ports_->Occupy(pair, port);
  if (before == 0) return;
  if (leaving == Leaving::kIsFree) {
    ports_->Vacate(pair, before);
  } else {
    resting_.push_back({now + kRest, pair, before});
  }
}

}  // namespace fairlead::traffic::c4p
