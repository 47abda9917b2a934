#include "traffic/c4p/port_assignment.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {

using Steering = QueuePairState::Steering;

void PortAssignment::Steer(QueuePairRef ref) {
  QueuePairState& mine = connections_->at(ref);
  const Reservation& held = world_.paths.Of(ref);
  const AddressPair pair = PairOf(ref, held.plane);
  const bool was_for_this = mine.port_plane == held.plane && mine.port_path == held.path;
  const PortSteering::Step step =
      ports_->FindStep(pair, held.path, was_for_this ? mine.port : uint16_t{0}, mine.socket_port, mine.is_open);
  mine.epoch = ports_->EpochOf(pair.source_leaf, pair.destination_leaf);
  switch (step.kind) {
    case PortSteering::Step::Kind::kUse:
      Use(ref, pair, step.ports.front());
      return;
    case PortSteering::Step::Kind::kProbe:
    case PortSteering::Step::Kind::kScan:
      Search(ref, pair, step);
      return;
    case PortSteering::Step::Kind::kExhausted:
      GiveUp(ref);
      return;
  }
}

void PortAssignment::Search(QueuePairRef ref, const AddressPair& pair, const PortSteering::Step& step) {
  QueuePairState& mine = connections_->at(ref);
  if (scans_.HasTried(pair, mine.epoch)) return GiveUp(ref);
  mine.steering = Steering::kSearching;
  const bool is_scan = step.kind == PortSteering::Step::Kind::kScan;
  std::vector<uint16_t> ports = scans_.Wait(pair, ref, mine.epoch, step.ports, is_scan, world_.time.now());
  if (!ports.empty()) OrderScan(ref, pair, world_.paths.Of(ref).plane, mine.epoch, std::move(ports));
}

void PortAssignment::Use(QueuePairRef ref, const AddressPair& pair, uint16_t port) {
  QueuePairState& mine = connections_->at(ref);
  const Reservation& held = world_.paths.Of(ref);
  if (mine.port != port || mine.port_plane != held.plane) {
    LetGo(ref);
    FL_CHECK(ports_->Hold(pair, port).ok());
    mine.port = port;
    mine.port_plane = static_cast<uint8_t>(held.plane);
  }
  mine.port_path = held.path;
  mine.steering = Steering::kSteered;
  verification_.Queue(ref, /*has_port=*/true, world_.time.now());
}

void PortAssignment::GiveUp(QueuePairRef ref) {
  connections_->at(ref).steering = Steering::kNoPort;
  verification_.Queue(ref, /*has_port=*/false, world_.time.now());
}

void PortAssignment::Adopt(QueuePairRef ref, const HeldPath& held) {
  if (held.port != 0 && ports_->Hold(PairOf(ref, held.plane), held.port).ok()) {
    QueuePairState& mine = connections_->at(ref);
    mine.port = held.port;
    mine.port_plane = static_cast<uint8_t>(held.plane);
    mine.port_path = held.path;
  }
  Steer(ref);
}

void PortAssignment::LetGo(QueuePairRef ref) {
  QueuePairState& mine = connections_->at(ref);
  if (mine.port == 0) return;
  FL_CHECK(ports_->LetGo(PairOf(ref, mine.port_plane), mine.port).ok());
  mine.port = 0;
}

void PortAssignment::NoteOpen(QueuePairRef ref, uint16_t socket_port, uint16_t wire_port) {
  if (socket_port == 0 || std::exchange(connections_->at(ref).is_open, true)) return;
  // A port to bind that was not bound is none to rewrite to.
  const uint16_t port = connections_->at(ref).port;
  const ConnectionRequest& request = connections_->at(ref.connection).request;
  const bool is_in_force = port == socket_port || port == wire_port;
  if (port == 0 || is_in_force || PortsFor(request.protocol, /*is_open=*/true).Contains(port)) return;
  LetGo(ref);
  SteerAgain(ref);
}

// One that has lost every way waits for a new one.
void PortAssignment::SteerAgain(QueuePairRef ref) {
  if (!world_.paths.HasPath(ref)) return;
  const QueuePairState before = connections_->at(ref);
  Steer(ref);
  const QueuePairState& after = connections_->at(ref);
  const bool has_new_port = after.port != before.port || after.port_plane != before.port_plane;
  if (has_new_port) {
    const bool is_same_path =
        before.port != 0 && before.port_plane == after.port_plane && before.port_path == after.port_path;
    outputs_->Notify(ref, is_same_path ? MoveCause::kRepinned : MoveCause::kPortFound);
  } else if (after.steering != before.steering && after.steering == Steering::kNoPort) {
    outputs_->Notify(ref, MoveCause::kNoPort);
  } else if ((before.steering == Steering::kNoPort || after.is_told_to_wait) && after.steering == Steering::kSteered) {
    outputs_->Notify(ref, MoveCause::kPortFound);
  }
}

// Those that wait for a pair's ports; some may have gone elsewhere or ended since.
void PortAssignment::SteerWaiting(const AddressPair& pair) {
  for (const QueuePairRef ref : scans_.TakeWaiting(pair)) {
    if (!connections_->IsHeld(ref) || connections_->at(ref).steering != Steering::kSearching) continue;
    if (!world_.paths.HasPath(ref)) continue;
    if (PairOf(ref, world_.paths.Of(ref).plane) == pair) SteerAgain(ref);
  }
  scans_.Tidy(pair);
}

void PortAssignment::Learn(std::span<const PortScanSeen> scans) {
  std::vector<AddressPair> touched;
  for (const PortScanSeen& scan : scans) {
    if (!ports_->Learn(scan, world_.time.now()).ok()) {
      ++counters_->bad_scans;
      continue;
    }
    const AddressPair pair = ports_->PairOf(scan);
    for (const ProbedRoute& route : scan.routes) scans_.Answer(pair, route.ports);
    touched.push_back(pair);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const AddressPair& pair : touched) {
    SteerWaiting(pair);
    TakeVerified(pair);
  }
}

void PortAssignment::SteerOutdated() {
  for (uint32_t slot = 0; slot < connections_->num_slots(); ++slot) {
    const ConnectionState& connection = connections_->at(slot);
    if (!connection.is_held) continue;
    for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
      const QueuePairRef ref{slot, q};
      if (!world_.paths.HasPath(ref)) continue;
      const uint64_t epoch = ports_->EpochOf(connection.request, world_.paths.Of(ref).plane);
      if (connection.queue_pairs[q].epoch != epoch) SteerAgain(ref);
    }
  }
}

void PortAssignment::RetryScans() {
  for (const AddressPair& pair : scans_.TakeOverdue(world_.time.now())) {
    ++counters_->scans_overdue;
    SteerWaiting(pair);
  }
}

void PortAssignment::Verify() {
  while (const auto ref = verification_.TakeDue(world_.time.now())) Verify(*ref);
}

void PortAssignment::Verify(QueuePairRef ref) {
  const QueuePairState& mine = connections_->at(ref);
  if (mine.steering == Steering::kNoPort) {
    if (!world_.paths.HasPath(ref)) return;
    // What was seen while a cable of the path was down need not hold any more.
    const AddressPair pair = PairOf(ref, world_.paths.Of(ref).plane);
    ports_->Forget(pair);
    scans_.Tidy(pair);
    return SteerAgain(ref);
  }
  if (mine.steering != Steering::kSteered || mine.port == 0) return;
  verification_.Queue(ref, /*has_port=*/true, world_.time.now());
  const AddressPair pair = PairOf(ref, mine.port_plane);
  verification_.NoteProbed(pair, ref);
  OrderScan(ref, pair, mine.port_plane, ports_->EpochOf(pair.source_leaf, pair.destination_leaf), {mine.port});
}

void PortAssignment::TakeVerified(const AddressPair& pair) {
  for (const QueuePairRef ref : verification_.TakeProbed(pair)) {
    if (!connections_->IsHeld(ref)) continue;
    const QueuePairState& mine = connections_->at(ref);
    if (mine.steering != Steering::kSteered || mine.port == 0) continue;
    if (PairOf(ref, mine.port_plane) != pair) continue;
    const std::optional<uint32_t> leads_to = ports_->PathOf(pair, mine.port);
    if (!leads_to.has_value() || *leads_to == mine.port_path) continue;
    ports_->Forget(pair);  // seen at the same time as this one, or before
    SteerAgain(ref);
  }
}

void PortAssignment::OrderScan(QueuePairRef ref, const AddressPair& pair, uint32_t plane, uint64_t epoch,
                               std::vector<uint16_t> ports) {
  const ConnectionState& connection = connections_->at(ref.connection);
  outputs_->Scan(connection.lease.host, {.source = connection.request.source,
                                         .destination = connection.request.destination,
                                         .plane = plane,
                                         .protocol = pair.protocol,
                                         .destination_port = pair.destination_port,
                                         .epoch = epoch,
                                         .ports = std::move(ports)});
}

QueuePairAnswer PortAssignment::AnswerOf(QueuePairRef ref) const {
  using Kind = QueuePairAnswer::Kind;
  const QueuePairState& mine = connections_->at(ref);
  QueuePairAnswer answer = {.port = mine.port, .epoch = mine.epoch};
  if (!mine.reservation.valid()) return answer;
  const Reservation& held = world_.paths.Of(ref);
  answer.plane = held.plane;
  answer.path = held.path;
  answer.kind = mine.steering == Steering::kSteered  ? Kind::kUse
                : mine.steering == Steering::kNoPort ? Kind::kNoPort
                                                     : Kind::kScan;
  return answer;
}

QueuePairAnswer PortAssignment::Tell(QueuePairRef ref) {
  const QueuePairAnswer answer = AnswerOf(ref);
  connections_->at(ref).is_told_to_wait = answer.kind == QueuePairAnswer::Kind::kScan;
  return answer;
}

}  // namespace fairlead::traffic::c4p
