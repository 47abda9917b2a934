// Of the C4P master: the ports that lead to the paths that were given, and what is answered.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "traffic/c4p/c4p_master.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {

using Steering = QueuePairState::Steering;

namespace {

// At least as long as destinations may show packets with the port to the socket of before: after a move (agents'
// arrival_linger), and when a moved connection has ended while the agent of the destination was away (kUnseenFor).
constexpr SimDuration kPortRest(15'000'000'000);
// Searches in vain are repeated after 2, 4, …, 64 periods of verification.
constexpr uint8_t kLongestPause = 6;

}  // namespace

ConnectionAnswer C4pMaster::AnswerOf(uint32_t slot) const {
  const ConnectionState& connection = connections_.at(slot);
  ConnectionAnswer answer = {.connection = connection.request.connection, .reason = "", .queue_pairs = {}};
  answer.queue_pairs.reserve(connection.queue_pairs.size());
  bool is_complete = true;
  for (uint32_t q = 0; q < connection.queue_pairs.size(); ++q) {
    answer.queue_pairs.push_back(AnswerOf(QueuePairRef{slot, q}));
    is_complete = is_complete && answer.queue_pairs.back().kind != QueuePairAnswer::Kind::kUnmanaged;
  }
  if (is_complete) return answer;
  answer.reason =
      options_.chooses_paths ? paths_.ExplainNoPath(connection.request) : "c4p: paths are left to the fabric's hash";
  return answer;
}

QueuePairAnswer C4pMaster::AnswerOf(QueuePairRef ref) const {
  using Kind = QueuePairAnswer::Kind;
  const QueuePairState& mine = connections_.at(ref);
  QueuePairAnswer answer = {.port = mine.port, .epoch = mine.epoch};
  if (!mine.reservation.valid()) return answer;
  const Reservation& held = paths_.Of(ref);
  answer.plane = held.plane;
  answer.path = held.path;
  answer.kind = mine.steering == Steering::kSteered  ? Kind::kUse
                : mine.steering == Steering::kNoPort ? Kind::kNoPort
                                                     : Kind::kScan;
  return answer;
}

void C4pMaster::Steer(QueuePairRef ref) {
  const QueuePairState& mine = connections_.at(ref);
  const Reservation& held = paths_.Of(ref);
  const AddressPair pair = ports_.PairOf(connections_.at(ref.connection).request, held.plane);
  const bool was_for_this = mine.port_plane == held.plane && mine.port_path == held.path;
  const PortSteering::Step step =
      ports_.FindStep(pair, held.path, was_for_this ? mine.port : uint16_t{0}, mine.socket_port, mine.is_open);
  connections_.at(ref).epoch = ports_.EpochOf(pair.source_leaf, pair.destination_leaf);
  switch (step.kind) {
    case PortSteering::Step::Kind::kUse:
      UsePort(ref, pair, step.ports.front());
      return;
    case PortSteering::Step::Kind::kProbe:
    case PortSteering::Step::Kind::kScan:
      Search(ref, pair, step);
      return;
    case PortSteering::Step::Kind::kExhausted:
      GiveUpSearch(ref);
      return;
  }
}

void C4pMaster::Search(QueuePairRef ref, const AddressPair& pair, const PortSteering::Step& step) {
  QueuePairState& mine = connections_.at(ref);
  if (scans_.HasTried(pair, mine.epoch)) return GiveUpSearch(ref);
  mine.steering = Steering::kSearching;
  const bool is_scan = step.kind == PortSteering::Step::Kind::kScan;
  std::vector<uint16_t> ports = scans_.Wait(pair, ref, mine.epoch, step.ports, is_scan, time_.now());
  if (ports.empty()) return;
  const ConnectionState& connection = connections_.at(ref.connection);
  outputs_.Scan(connection.lease.host, {.source = connection.request.source,
                                        .destination = connection.request.destination,
                                        .plane = paths_.Of(ref).plane,
                                        .protocol = pair.protocol,
                                        .destination_port = pair.destination_port,
                                        .epoch = mine.epoch,
                                        .ports = std::move(ports)});
}

void C4pMaster::UsePort(QueuePairRef ref, const AddressPair& pair, uint16_t port) {
  QueuePairState& mine = connections_.at(ref);
  const Reservation& held = paths_.Of(ref);
  if (mine.port != port || mine.port_plane != held.plane) {
    DropPort(ref);
    FL_CHECK(ports_.Hold(pair, port).ok());
    mine.port = port;
    mine.port_plane = static_cast<uint8_t>(held.plane);
  }
  mine.port_path = held.path;
  mine.steering = Steering::kSteered;
  mine.num_failed_searches = 0;
  QueueVerification(ref);
}

void C4pMaster::GiveUpSearch(QueuePairRef ref) {
  QueuePairState& mine = connections_.at(ref);
  mine.steering = Steering::kNoPort;
  if (mine.num_failed_searches < kLongestPause) ++mine.num_failed_searches;
  QueueVerification(ref);
}

void C4pMaster::QueueVerification(QueuePairRef ref) {
  QueuePairState& mine = connections_.at(ref);
  if (std::exchange(mine.is_to_verify, true)) return;
  to_verify_.emplace(time_.now() + options_.verify_period * (int64_t{1} << mine.num_failed_searches), ref);
}

void C4pMaster::VerifyPorts() {
  while (!to_verify_.empty() && to_verify_.begin()->first <= time_.now()) {
    const QueuePairRef ref = to_verify_.begin()->second;
    to_verify_.erase(to_verify_.begin());
    if (!connections_.IsHeld(ref)) continue;
    connections_.at(ref).is_to_verify = false;
    Verify(ref);
  }
}

void C4pMaster::Verify(QueuePairRef ref) {
  const QueuePairState& mine = connections_.at(ref);
  const ConnectionState& connection = connections_.at(ref.connection);
  if (mine.steering == Steering::kNoPort) {
    // What was seen while a cable of the path was down need not hold any more.
    const AddressPair pair = ports_.PairOf(connection.request, paths_.Of(ref).plane);
    ports_.Forget(pair);
    scans_.Tidy(pair);
    return SteerAgain(ref);
  }
  if (mine.steering != Steering::kSteered || mine.port == 0) return;
  QueueVerification(ref);
  const AddressPair pair = ports_.PairOf(connection.request, mine.port_plane);
  verifying_[pair].insert(ref);
  outputs_.Scan(connection.lease.host, {.source = connection.request.source,
                                        .destination = connection.request.destination,
                                        .plane = mine.port_plane,
                                        .protocol = pair.protocol,
                                        .destination_port = pair.destination_port,
                                        .epoch = ports_.EpochOf(pair.source_leaf, pair.destination_leaf),
                                        .ports = {mine.port}});
}

void C4pMaster::TakeVerified(const AddressPair& pair) {
  const auto node = verifying_.extract(pair);
  if (node.empty()) return;
  for (const QueuePairRef ref : node.mapped()) {
    if (!connections_.IsHeld(ref)) continue;
    const QueuePairState& mine = connections_.at(ref);
    if (mine.steering != Steering::kSteered || mine.port == 0) continue;
    if (ports_.PairOf(connections_.at(ref.connection).request, mine.port_plane) != pair) continue;
    const std::optional<uint32_t> leads_to = ports_.PathOf(pair, mine.port);
    if (!leads_to.has_value() || *leads_to == mine.port_path) continue;
    ports_.Forget(pair);  // seen at the same time as this one, or before
    SteerAgain(ref);
  }
}

void C4pMaster::DropPort(QueuePairRef ref) {
  QueuePairState& mine = connections_.at(ref);
  if (mine.port == 0) return;
  const AddressPair pair = ports_.PairOf(connections_.at(ref.connection).request, mine.port_plane);
  FL_CHECK(ports_.LetGo(pair, mine.port).ok());
  mine.port = 0;
}

// What all of them have is known before one is given another port.
void C4pMaster::Open(std::span<const PathEvent> events) {
  std::vector<const QueuePairOpened*> known;
  for (const PathEvent& event : events) {
    const auto& opened = std::get<QueuePairOpened>(event);
    if (NoteOpened(opened)) known.push_back(&opened);
  }
  for (const QueuePairOpened* opened : known) SteerOpened(*opened);
}

bool C4pMaster::NoteOpened(const QueuePairOpened& event) {
  const auto slot = connections_.Find(event.job, event.connection);
  // Late messages of connections that have ended are normal.
  if (!slot || connections_.at(*slot).lease.host != event.host) return false;
  if (event.queue_pair >= connections_.at(*slot).queue_pairs.size()) return false;
  if (!options_.chooses_paths) return true;
  const QueuePairRef ref{*slot, event.queue_pair};
  const auto steering_port = [](uint16_t port) { return IsSteeringPort(port) ? port : uint16_t{0}; };
  Occupy(ref, &QueuePairState::socket_port, steering_port(event.socket_port), Leaving::kIsFree);
  Occupy(ref, &QueuePairState::wire_port, steering_port(event.port), Leaving::kRests);
  return true;
}

void C4pMaster::SteerOpened(const QueuePairOpened& event) {
  const uint32_t slot = *connections_.Find(event.job, event.connection);
  const QueuePairRef ref{slot, event.queue_pair};
  if (!options_.chooses_paths) {
    if (hashed_.Follow(ref, connections_.at(slot).request, event.port)) AskForHashedPath(ref);
    return;
  }
  if (event.socket_port == 0 || std::exchange(connections_.at(ref).is_open, true)) return;
  // A port to bind that was not bound is none to rewrite to.
  const uint16_t port = connections_.at(ref).port;
  const ConnectionRequest& request = connections_.at(slot).request;
  const bool is_in_force = port == event.socket_port || port == event.port;
  if (port == 0 || is_in_force || PortsFor(request.protocol, /*is_open=*/true).Contains(port)) return;
  DropPort(ref);
  SteerAgain(ref);
}

// On all planes: a socket has no plane.
void C4pMaster::Occupy(QueuePairRef ref, uint16_t QueuePairState::*which, uint16_t port, Leaving leaving) {
  const uint16_t before = std::exchange(connections_.at(ref).*which, port);
  if (before == port) return;
  const ConnectionRequest& request = connections_.at(ref.connection).request;
  const size_t num_planes =
      std::min(catalogue_.ports(request.source).size(), catalogue_.ports(request.destination).size());
  for (uint32_t plane = 0; plane < num_planes; ++plane) {
    const AddressPair pair = ports_.PairOf(request, plane);
    if (port != 0) ports_.Occupy(pair, port);
    if (before == 0) continue;
    if (leaving == Leaving::kIsFree) {
      ports_.Vacate(pair, before);
    } else {
      resting_ports_.push_back({time_.now() + kPortRest, pair, before});
    }
  }
}

void C4pMaster::EndRests() {
  for (; !resting_ports_.empty() && resting_ports_.front().until <= time_.now(); resting_ports_.pop_front()) {
    ports_.Vacate(resting_ports_.front().pair, resting_ports_.front().port);
  }
}

void C4pMaster::SteerAgain(QueuePairRef ref) {
  const QueuePairState before = connections_.at(ref);
  Steer(ref);
  const QueuePairState& after = connections_.at(ref);
  const bool has_new_port = after.port != before.port || after.port_plane != before.port_plane;
  if (has_new_port) {
    const bool is_same_path =
        before.port != 0 && before.port_plane == after.port_plane && before.port_path == after.port_path;
    outputs_.Notify(ref, is_same_path ? MoveCause::kRepinned : MoveCause::kPortFound);
  } else if (after.steering != before.steering && after.steering == Steering::kNoPort) {
    outputs_.Notify(ref, MoveCause::kNoPort);
  } else if (before.steering == Steering::kNoPort && after.steering == Steering::kSteered) {
    outputs_.Notify(ref, MoveCause::kPortFound);
  }
}

void C4pMaster::LearnPorts(std::span<const PortScanSeen> scans) {
  std::vector<AddressPair> touched;
  for (const PortScanSeen& scan : scans) {
    hashed_.Learn(scan);
    if (!ports_.Learn(scan, time_.now()).ok()) {
      ++counters_.bad_scans;
      continue;
    }
    const AddressPair pair = ports_.PairOf(scan);
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

// Those that wait for a pair's ports; some may have gone elsewhere or ended since.
void C4pMaster::SteerWaiting(const AddressPair& pair) {
  for (const QueuePairRef ref : scans_.TakeWaiting(pair)) {
    if (!connections_.IsHeld(ref) || connections_.at(ref).steering != Steering::kSearching) continue;
    const uint32_t plane = paths_.Of(ref).plane;
    if (ports_.PairOf(connections_.at(ref.connection).request, plane) == pair) SteerAgain(ref);
  }
  scans_.Tidy(pair);
}

}  // namespace fairlead::traffic::c4p
