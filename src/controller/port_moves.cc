#include "controller/port_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "traffic/source_ports.h"

namespace fairlead::controller {
namespace {

using Kind = traffic::QueuePairAnswer::Kind;

constexpr uint8_t kTcp = 6;

// Moves that failed are tried again after 2, 4, …, 64 s.
constexpr SimDuration kRetryAfter(2'000'000'000);
constexpr uint32_t kLongestRetry = 5;

// The same for the same queue pair, whichever controller asks.
uint64_t HashOf(const std::string& job, uint64_t connection, uint32_t queue_pair) {
  uint64_t hash = job.size();
  for (const char c : job) hash = CombineHash(hash, static_cast<uint8_t>(c));
  return CombineHash(CombineHash(hash, connection), queue_pair);
}

}  // namespace

bool PortMoves::Carry(const traffic::PathsMoved& action) {
  NoteImmovable(action);
  bool is_known = false;
  PathsChanged reported;
  for (const traffic::PathMove& move : action.moves) {
    const LiveConnection* connection = world_.jobs.FindConnection(move.job, action.host, move.connection);
    if (connection == nullptr || move.queue_pair >= connection->socket_ports.size()) continue;
    is_known = true;
    const QueuePairKey key{move.job, move.connection, move.queue_pair};
    const uint16_t socket_port = connection->socket_ports[move.queue_pair];
    const bool is_open_tcp = connection->request.protocol == kTcp && socket_port != 0;
    QueuePairChanged change = {.job = NameOf(move.job),
                               .connection = move.connection,
                               .queue_pair = move.queue_pair,
                               .answer = move.answer,
                               .cause = move.cause,
                               .is_prepared = connection->request.protocol != kTcp || is_open_tcp};
    if (is_open_tcp) {
      const uint16_t wire_port = WirePortOf(key, socket_port);
      if (move.answer.kind == Kind::kUse && move.answer.port != wire_port) {
        Begin(key, *connection, {move.answer, move.cause});
        continue;
      }
      Cancel(key);
      change.answer.port = wire_port;  // a port that was wanted and never sent stays unreported
    }
    reported.changes.push_back(std::move(change));
  }
  if (!reported.changes.empty()) streams_->SendTo(action.host, std::move(reported));
  return is_known;
}

void PortMoves::NoteImmovable(const traffic::PathsMoved& action) {
  std::map<std::pair<JobId, traffic::MoveCause>, uint32_t> counts;
  for (const traffic::PathMove& move : action.moves) {
    if (move.cause == traffic::MoveCause::kCorrected) continue;  // its host has reported that it stays
    const LiveConnection* connection = world_.jobs.FindConnection(move.job, action.host, move.connection);
    if (connection == nullptr || move.queue_pair >= connection->socket_ports.size()) continue;
    const uint16_t socket_port = connection->socket_ports[move.queue_pair];
    const bool is_open = connection->request.protocol != kTcp && socket_port != 0;
    if (is_open && move.answer.kind == Kind::kUse && move.answer.port != socket_port) {
      ++counts[{move.job, move.cause}];
    }
  }
  for (const auto& [key, count] : counts) {
    outputs_->Note(
        Noted::Severity::kWarning, "job " + NameOf(key.first),
        fmt::format("{} open RoCE queue pairs on {} can't be moved from outside their process ({}): they stay on "
                    "their paths, whatever is planned for them; a restart of the job opens them on new ones",
                    count, world_.fabric.HostName(action.host), traffic::Name(key.second)));
  }
}

uint16_t PortMoves::WirePortOf(const QueuePairKey& key, uint16_t socket_port) const {
  const auto arrival = arrivals_.find(key);
  return arrival == arrivals_.end() ? socket_port : arrival->second.wire_port;
}

uint16_t PortMoves::WirePortOf(const traffic::HeldQueuePair& held) const {
  const uint64_t number = held.request->connection;
  const LiveConnection* connection = world_.jobs.FindConnection(held.lease.job, held.lease.host, number);
  if (connection == nullptr || held.queue_pair >= connection->socket_ports.size()) return 0;
  const uint16_t socket_port = connection->socket_ports[held.queue_pair];
  return socket_port == 0 ? uint16_t{0}
                          : WirePortOf(QueuePairKey{held.lease.job, number, held.queue_pair}, socket_port);
}

PortMoves::Arrival& PortMoves::ArrivalOf(const QueuePairKey& key, const LiveConnection& connection) {
  const auto [place, is_new] = arrivals_.try_emplace(key);
  Arrival& arrival = place->second;
  if (!is_new) return arrival;
  const traffic::ConnectionRequest& request = connection.request;
  uint64_t alias = HashOf(NameOf(key.job), key.connection, key.queue_pair);
  while (!by_alias_.try_emplace(alias, key).second) ++alias;
  arrival.from = connection.host;
  arrival.to = world_.fabric.host_of(request.destination);
  arrival.wire_port = connection.socket_ports[key.queue_pair];
  arrival.order = {.alias = alias,
                   .source = world_.addresses.AddressOf(request.source),
                   .destination = world_.addresses.AddressOf(request.destination),
                   .protocol = request.protocol,
                   .destination_port = request.destination_port,
                   .socket_port = arrival.wire_port,
                   .wire_port = arrival.wire_port};
  arrivals_at_[arrival.to].insert(key);
  return arrival;
}

void PortMoves::TakeHeldPort(const QueuePairKey& key, const LiveConnection& connection, const traffic::HeldPath& held) {
  const uint16_t socket_port = connection.socket_ports[key.queue_pair];
  if (connection.request.protocol != kTcp || socket_port == 0 || !held.is_managed) return;
  const uint16_t wire_port = held.port == 0 ? socket_port : held.port;  // 0: it has not moved
  if (wire_port == WirePortOf(key, socket_port)) return;
  Arrival& arrival = ArrivalOf(key, connection);
  arrival.wanted.reset();
  arrival.due = SimTime::Never();
  arrival.wire_port = wire_port;
  Order(&arrival, wire_port);
}

void PortMoves::MoveIfNeeded(const QueuePairKey& key, const LiveConnection& connection, uint16_t held_port) {
  const auto answer = world_.paths.Find(key.job, key.connection);
  if (!answer || key.queue_pair >= answer->queue_pairs.size()) return;
  const traffic::QueuePairAnswer& mine = answer->queue_pairs[key.queue_pair];
  const uint16_t socket_port = connection.socket_ports[key.queue_pair];
  const bool is_tcp = connection.request.protocol == kTcp;
  // The search may end with the port that is known already, which is no news.
  if (mine.kind == Kind::kScan && is_tcp && socket_port != 0) to_retry_.emplace(world_.time.now() + kRetryAfter, key);
  if (mine.kind != Kind::kUse) return;
  if (is_tcp && socket_port != 0) {
    if (mine.port == WirePortOf(key, socket_port)) return;
    return Begin(key, connection, {mine, traffic::MoveCause::kCorrected});
  }
  // The path service may have found another port on hearing of this one, because that was taken.
  if (mine.port == held_port) return;
  TellOf(connection.host, key, {mine, traffic::MoveCause::kCorrected}, /*is_prepared=*/!is_tcp);
}

void PortMoves::TellOf(HostId source, const QueuePairKey& key, const Arrival::Wanted& wanted, bool is_prepared) {
  streams_->SendTo(source, PathsChanged{{{.job = NameOf(key.job),
                                          .connection = key.connection,
                                          .queue_pair = key.queue_pair,
                                          .answer = wanted.answer,
                                          .cause = wanted.cause,
                                          .is_prepared = is_prepared}}});
}

void PortMoves::Begin(const QueuePairKey& key, const LiveConnection& connection, const Arrival::Wanted& wanted) {
  // A port to bind, for which the path service has not heard yet that the socket has another one. Destinations rewrite
  // none of these: they are those of other connections.
  const uint16_t port = wanted.answer.port;
  const bool is_back = port == connection.socket_ports[key.queue_pair];
  if (!is_back && !traffic::PortsFor(kTcp, /*is_open=*/true).Contains(port)) return;
  Arrival& arrival = ArrivalOf(key, connection);
  const bool is_under_way =
      arrival.wanted && arrival.wanted->answer.port == wanted.answer.port && arrival.due != SimTime::Never();
  arrival.wanted = wanted;
  if (!is_under_way) OrderWanted(&arrival);
}

// The source stays where it is.
void PortMoves::Cancel(const QueuePairKey& key) {
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end() || !found->second.wanted) return;
  Arrival& arrival = found->second;
  arrival.wanted.reset();
  arrival.due = SimTime::Never();
  if (arrival.order.wire_port != arrival.wire_port) Order(&arrival, arrival.wire_port);
}

void PortMoves::Order(Arrival* arrival, uint16_t wire_port) {
  arrival->order.wire_port = wire_port;
  if (!streams_->IsConnected(arrival->to)) return;
  ++arrival->num_unanswered;
  streams_->SendTo(arrival->to, arrival->order);
}

void PortMoves::OrderWanted(Arrival* arrival) {
  arrival->due = SimTime::Never();
  if (!streams_->IsConnected(arrival->to) || !streams_->IsConnected(arrival->from)) {
    const QueuePairKey& key = by_alias_.at(arrival->order.alias);
    return outputs_->Note(Noted::Severity::kWarning, "job " + NameOf(key.job),
                          fmt::format("a connection from {} to {} can't be moved: an agent is away; {}",
                                      world_.fabric.HostName(arrival->from), world_.fabric.HostName(arrival->to),
                                      TryAgainLater(key, arrival, arrival->wanted->answer.port)));
  }
  Order(arrival, arrival->wanted->answer.port);
  arrival->due = world_.time.now() + timeout_;
  due_.emplace_back(arrival->due, by_alias_.at(arrival->order.alias));
}

void PortMoves::Hear(HostId host, const ArrivalPrepared& message) {
  const auto key = by_alias_.find(message.alias);
  if (key == by_alias_.end()) return;
  Arrival& arrival = arrivals_.at(key->second);
  if (arrival.to != host) return outputs_->Object(host, "answers for an arrival at another host");
  if (arrival.num_unanswered == 0 || --arrival.num_unanswered > 0) return;  // of an older order
  arrival.is_order_refused = !message.error.empty();
  if (arrival.is_order_refused) {
    arrival.due = SimTime::Never();
    return outputs_->Object(
        host, fmt::format("can't prepare an arrival of job {}: {}; {}", NameOf(key->second.job),
                          message.error.substr(0, 200), TryAgainLater(key->second, &arrival, arrival.order.wire_port)));
  }
  if (arrival.wanted && arrival.wanted->answer.port == arrival.order.wire_port) Finish(key->second, &arrival);
}

void PortMoves::Hear(HostId host, const MoveRefused& message) {
  const std::optional<JobId> job = world_.jobs.Find(message.job);
  if (!job) return;
  const QueuePairKey key{*job, message.connection, message.queue_pair};
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end()) return;  // it has ended, or is none that could have moved
  Arrival& arrival = found->second;
  if (arrival.from != host) return outputs_->Object(host, "refuses to move a connection of another host");
  if (arrival.wire_port != message.port) return;  // of an older plan
  arrival.wire_port = message.wire_port == 0 ? arrival.order.socket_port : message.wire_port;
  batch_->AddPort(key, host, arrival.wire_port, arrival.order.socket_port);
  if (!arrival.wanted) Order(&arrival, arrival.wire_port);
  outputs_->Note(Noted::Severity::kWarning, "job " + message.job,
                 fmt::format("a connection from {} to {} was not moved: {}; {}", world_.fabric.HostName(host),
                             world_.fabric.HostName(arrival.to), message.reason.substr(0, 200),
                             TryAgainLater(key, &arrival, message.port)));
}

std::string PortMoves::TryAgainLater(const QueuePairKey& key, Arrival* arrival, uint16_t port) {
  if (std::exchange(arrival->refused_port, port) != port) arrival->num_refusals = 0;
  const SimDuration pause = kRetryAfter * (int64_t{1} << std::min(arrival->num_refusals++, kLongestRetry));
  to_retry_.emplace(world_.time.now() + pause, key);
  return fmt::format("it is tried again in {:.0f} s", pause.seconds().value());
}

void PortMoves::Tick() {
  EndOverdue();
  Retry();
}

void PortMoves::Retry() {
  while (!to_retry_.empty() && to_retry_.begin()->first <= world_.time.now()) {
    const QueuePairKey key = to_retry_.begin()->second;
    to_retry_.erase(to_retry_.begin());
    const auto found = arrivals_.find(key);
    if (found != arrivals_.end()) {
      Arrival& arrival = found->second;
      if (arrival.due != SimTime::Never()) continue;  // under way
      const bool is_rewritten = arrival.wire_port != arrival.order.socket_port;
      if (arrival.is_order_refused && is_rewritten) Order(&arrival, arrival.wire_port);
    }
    const LiveJob* job = world_.jobs.Find(key.job);
    if (job == nullptr) continue;
    const auto connection = job->connections.find(key.connection);
    if (connection == job->connections.end() || connection->second.socket_ports[key.queue_pair] == 0) continue;
    MoveIfNeeded(key, connection->second, connection->second.socket_ports[key.queue_pair]);
  }
}

void PortMoves::Finish(const QueuePairKey& key, Arrival* arrival) {
  const Arrival::Wanted wanted = *arrival->wanted;
  // Its announcement will show that it has not moved.
  if (!streams_->IsConnected(arrival->from)) return Cancel(key);
  arrival->wanted.reset();
  arrival->due = SimTime::Never();
  arrival->wire_port = wanted.answer.port;
  batch_->AddPort(key, arrival->from, arrival->wire_port, arrival->order.socket_port);
  TellOf(arrival->from, key, wanted, /*is_prepared=*/true);
}

void PortMoves::Drop(const QueuePairKey& key, Arrivals arrivals) {
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end()) return;
  const Arrival& arrival = found->second;
  if (arrivals == Arrivals::kForgotten) streams_->SendTo(arrival.to, ForgetArrival{arrival.order.alias});
  by_alias_.erase(arrival.order.alias);
  const auto there = arrivals_at_.find(arrival.to);
  there->second.erase(key);
  if (there->second.empty()) arrivals_at_.erase(there);
  arrivals_.erase(found);
}

void PortMoves::Renew(HostId to) {
  const auto there = arrivals_at_.find(to);
  if (there == arrivals_at_.end()) return;
  for (const QueuePairKey& key : there->second) {
    Arrival& arrival = arrivals_.at(key);
    Order(&arrival, arrival.wire_port);
    if (arrival.wanted) OrderWanted(&arrival);
  }
}

void PortMoves::LoseOrders(HostId to) {
  const auto there = arrivals_at_.find(to);
  if (there == arrivals_at_.end()) return;
  for (const QueuePairKey& key : there->second) {
    arrivals_.at(key).num_unanswered = 0;
    arrivals_.at(key).due = SimTime::Never();
  }
}

void PortMoves::EndOverdue() {
  while (!due_.empty() && due_.front().first <= world_.time.now()) {
    const auto [due, key] = due_.front();
    due_.pop_front();
    const auto found = arrivals_.find(key);
    if (found == arrivals_.end() || found->second.due != due) continue;
    Arrival& arrival = found->second;
    arrival.due = SimTime::Never();
    outputs_->Object(
        arrival.to,
        fmt::format("does not answer for an arrival of job {}: the connection from {} stays on its path; {}",
                    NameOf(key.job), world_.fabric.HostName(arrival.from),
                    TryAgainLater(key, &arrival, arrival.order.wire_port)));
    Order(&arrival, arrival.wire_port);
  }
}

}  // namespace fairlead::controller
