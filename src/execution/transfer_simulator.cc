#include "execution/transfer_simulator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::execution {

namespace {

using model::CommunicatorId;
using model::ConnectionKey;
using model::Direction;
using model::RankId;

// A lost message is sent again after this time (a usual retransmission timeout of RoCE NICs).
constexpr Instant kRetransmissionTimeout = 4'000'000;
// A message lost this often still gets through.
constexpr int kRetransmissionsMax = 8;
// How much slower a congested connection is.
constexpr double kCongestionLeast = 1.5;
constexpr double kCongestionMost = 3;

// How many edges of the pattern use a port of a NIC in one direction.
using PortUse = std::map<std::tuple<Direction, MemberIndex, uint32_t>, uint32_t>;

}  // namespace

TransferSimulator::TransferSimulator(const JobShape& shape, const NoiseOptions& noise,
                                     std::vector<ReportWindows> windows, FaultEffects* effects, uint64_t seed)
    : shape_(shape),
      windows_(std::move(windows)),
      effects_(effects),
      wire_noise_(noise.wire_cv, CombineHash(seed, 1)),
      connection_noise_(noise.connection_cv, CombineHash(seed, 10)),
      loss_random_(CombineHash(seed, 2)),
      congestion_random_(CombineHash(seed, 11)),
      congestion_(noise.congestion),
      accounts_of_(shape.NumRanks()) {
  DrawCongestion();
}

void TransferSimulator::DrawCongestion() {
  // Never within a simulation, unless drawn.
  until_congestion_ = ~uint64_t{0};
  if (congestion_ <= 0) return;
  // Geometric: the whole part of an exponential number.
  const double mean = -1 / std::log1p(-congestion_);
  until_congestion_ = static_cast<uint64_t>(congestion_random_.Exponential(mean));
}

Route TransferSimulator::MakeRoute(CommunicatorId communicator, std::vector<RankId> ranks, TransferPattern pattern) {
  Route route{std::move(ranks), std::move(pattern), {}, {}};
  PortUse use;
  const auto plane_of = [this](const TransferEdge& edge) { return edge.channel % shape_.planes; };
  for (const TransferEdge& edge : route.pattern.edges) {
    if (shape_.SameHost(route.ranks[edge.source], route.ranks[edge.destination])) continue;
    ++use[{Direction::kSend, edge.source, plane_of(edge)}];
    ++use[{Direction::kReceive, edge.destination, plane_of(edge)}];
  }
  const auto open_account = [&](RankId rank, const ConnectionKey& key) {
    accounts_.emplace_back(key, windows_[shape_.HostOf(rank).index()]);
    accounts_of_[rank.index()].push_back(static_cast<uint32_t>(accounts_.size() - 1));
    return static_cast<uint32_t>(accounts_.size() - 1);
  };
  for (const TransferEdge& edge : route.pattern.edges) {
    Connection connection;
    connection.path = {route.ranks[edge.source], route.ranks[edge.destination], plane_of(edge)};
    connection.is_network = !shape_.SameHost(connection.path.source, connection.path.destination);
    if (connection.is_network) {
      const auto plane = static_cast<uint8_t>(connection.path.plane);
      const uint32_t share =
          std::max(use[{Direction::kSend, edge.source, plane}], use[{Direction::kReceive, edge.destination, plane}]);
      connection.ns_per_byte = 1e9 * share / shape_.link_speed.value() * connection_noise_.Next();
      connection.latency = shape_.latency.ns();
      connection.flush = shape_.flush_time.ns();
      connection.faults = effects_->FaultsOn(connection.path);
      connection.send_account = open_account(
          connection.path.source, {communicator, edge.channel, plane, Direction::kSend, connection.path.destination});
      connection.receive_account =
          open_account(connection.path.destination,
                       {communicator, edge.channel, plane, Direction::kReceive, connection.path.source});
    } else {
      connection.ns_per_byte = 1e9 / shape_.nvlink_speed.value();
    }
    route.connections.push_back(std::move(connection));
  }
  for (const TransferStage& stage : route.pattern.stages) {
    double slowest = 0;
    for (const EdgeIndex edge : route.pattern.Outputs(stage)) {
      slowest = std::max(slowest, route.connections[edge].ns_per_byte);
    }
    route.copy_ns_per_byte.push_back(slowest / shape_.copy_headroom);
  }
  return route;
}

void TransferSimulator::Simulate(const Route& route, const Transfer& transfer, std::span<Instant> finishes) {
  FL_CHECK(route.pattern.lag_max < kSlots);
  PrepareEdges(route, transfer);
  stage_times_.resize(route.pattern.stages.size());
  for (size_t s = 0; s < stage_times_.size(); ++s) stage_times_[s] = transfer.starts[route.pattern.stages[s].member];
  std::ranges::copy(transfer.starts, finishes.begin());
  const bool has_gates = std::ranges::any_of(route.ranks, [this](RankId rank) { return effects_->HasGates(rank); });
  if (has_gates) {
    SimulateAll<true>(route, transfer, finishes);
  } else {
    SimulateAll<false>(route, transfer, finishes);
  }
}

void TransferSimulator::PrepareEdges(const Route& route, const Transfer& transfer) {
  edges_.assign(route.connections.size(), EdgeState{});
  for (size_t e = 0; e < edges_.size(); ++e) {
    const Connection& connection = route.connections[e];
    edges_[e].ns = transfer.bytes_per_message * connection.ns_per_byte;
    if (!connection.is_network || until_congestion_-- > 0) continue;
    edges_[e].ns *= congestion_random_.Uniform(kCongestionLeast, kCongestionMost);
    DrawCongestion();
  }
}

template <bool HasGates>
void TransferSimulator::SimulateAll(const Route& route, const Transfer& transfer, std::span<Instant> finishes) {
  const TransferPattern& pattern = route.pattern;
  for (uint32_t k = 0; k < transfer.messages + pattern.lag_max; ++k) {
    for (size_t s = 0; s < pattern.stages.size(); ++s) {
      SimulateStage<HasGates>(route, transfer, s, k);
    }
  }
  for (size_t s = 0; s < pattern.stages.size(); ++s) {
    Instant& finish = finishes[pattern.stages[s].member];
    finish = std::max(finish, stage_times_[s]);
  }
  const uint32_t last = (transfer.messages - 1) % kSlots;
  for (size_t e = 0; e < pattern.edges.size(); ++e) {
    Instant& finish = finishes[pattern.edges[e].source];
    finish = std::max(finish, edges_[e].slots[last].done);
  }
}

template <bool HasGates>
void TransferSimulator::SimulateStage(const Route& route, const Transfer& transfer, size_t stage_index,
                                      uint32_t message) {
  const TransferStage& stage = route.pattern.stages[stage_index];
  const bool takes = stage.num_inputs > 0 && message >= stage.lag;
  const bool fills = stage.num_outputs > 0 && message < transfer.messages;
  if ((!takes && !fills) || message >= transfer.messages + stage.lag) return;
  Instant t = stage_times_[stage_index];
  if (message > 0 && fills) {
    t += static_cast<Instant>(transfer.bytes_per_message * route.copy_ns_per_byte[stage_index]);
  }
  const uint32_t slot = message % kSlots;
  const uint32_t input_slot = (message - stage.lag) % kSlots;
  if (takes) {
    for (const EdgeIndex edge : route.pattern.Inputs(stage)) {
      t = std::max(t, edges_[edge].slots[input_slot].arrived + route.connections[edge].flush);
    }
  }
  if (fills && message >= kSlots) {
    for (const EdgeIndex edge : route.pattern.Outputs(stage)) t = std::max(t, edges_[edge].slots[slot].done);
  }
  if constexpr (HasGates) t = effects_->Gpu(route.ranks[stage.member], t);
  if (stage.member == transfer.short_member && message >= transfer.messages / 2) t = kNever;
  stage_times_[stage_index] = t;
  if (takes) {
    for (const EdgeIndex edge : route.pattern.Inputs(stage)) {
      const Connection& connection = route.connections[edge];
      Slot& input = edges_[edge].slots[input_slot];
      input.taken = Process<HasGates>(connection, connection.path.destination, t);
      if (connection.is_network) CountReceived(connection, input, transfer, message - stage.lag);
    }
  }
  if (!fills) return;
  for (const EdgeIndex edge : route.pattern.Outputs(stage)) Send<HasGates>(route, transfer, edge, message, t);
}

template <bool HasGates>
void TransferSimulator::Send(const Route& route, const Transfer& transfer, EdgeIndex edge, uint32_t message,
                             Instant filled) {
  const Connection& connection = route.connections[edge];
  const TransferEdge& ends = route.pattern.edges[edge];
  EdgeState& state = edges_[edge];
  const RankId source = connection.path.source;
  const RankId destination = connection.path.destination;
  Slot& slot = state.slots[message % kSlots];
  Instant posted = transfer.starts[ends.source];
  Instant clear = transfer.starts[ends.destination];
  if (message >= kSlots) {
    posted = std::max(posted, slot.done);
    clear = std::max(clear, slot.taken);
  }
  posted = Process<HasGates>(connection, source, posted);
  clear = Process<HasGates>(connection, destination, clear);
  filled = Process<HasGates>(connection, source, std::max(filled, posted));
  const Instant sent = Process<HasGates>(connection, source, std::max(filled, clear));
  const Instant wire_done = OnWire(connection, state, sent);
  if (!IsNever(wire_done)) state.wire_free = wire_done - connection.latency;
  slot.clear = clear;
  slot.done = Process<HasGates>(connection, source, wire_done);
  slot.arrived = Process<HasGates>(connection, destination, wire_done);
  if (!connection.is_network) return;
  accounts_[connection.send_account].Add({.posted = posted,
                                          .first = filled,
                                          .second = sent,
                                          .done = slot.done,
                                          .in_flight = std::min(kSlots, transfer.messages - message)},
                                         static_cast<uint64_t>(transfer.bytes_per_message));
}

void TransferSimulator::CountReceived(const Connection& connection, const Slot& slot, const Transfer& transfer,
                                      uint32_t message) {
  accounts_[connection.receive_account].Add({.posted = slot.clear,
                                             .first = std::max(slot.arrived, slot.clear),
                                             .second = slot.arrived + connection.flush,
                                             .done = slot.taken,
                                             .in_flight = std::min(kSlots, transfer.messages - message)},
                                            static_cast<uint64_t>(transfer.bytes_per_message));
}

Instant TransferSimulator::OnWire(const Connection& connection, const EdgeState& state, Instant sent) {
  if (IsNever(sent)) return kNever;
  const double noise = connection.is_network ? wire_noise_.Next() : 1;
  const auto duration = static_cast<Instant>(std::llround(state.ns * noise));
  const Instant begin = std::max(sent, state.wire_free);
  if (!connection.faults.empty()) return OnFaultyWire(connection, sent, begin, duration);
  return begin + duration + connection.latency;
}

Instant TransferSimulator::OnFaultyWire(const Connection& connection, Instant sent, Instant begin, Instant duration) {
  const FaultEffects::Delivery delivery =
      effects_->Deliver(connection.faults, sent, begin + duration + connection.latency);
  duration = static_cast<Instant>(std::llround(static_cast<double>(duration) * delivery.factor));
  for (int i = 0; i < kRetransmissionsMax && delivery.loss > 0; ++i) {
    if (loss_random_.Uniform() >= delivery.loss) break;
    duration += kRetransmissionTimeout;
  }
  begin = std::max(begin, delivery.blocked_until);
  return IsNever(begin) ? kNever : begin + duration + connection.latency;
}

}  // namespace fairlead::execution
