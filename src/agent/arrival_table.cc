#include "agent/arrival_table.h"

#include <algorithm>

namespace fairlead::agent {

namespace {

// How long to wait for the socket of an arrival that was prepared.
constexpr SimDuration kUnseenFor(10'000'000'000);

// Wire ports of one connection that arrive here, beside the latest.
constexpr size_t kOldPortsMax = 8;

SocketPair EndsOf(const KeptAlias& alias) {
  return {.local = alias.destination,
          .remote = alias.source,
          .local_port = alias.destination_port,
          .remote_port = alias.socket_port};
}

RewriteRule RuleOf(const KeptAlias& alias, uint16_t wire_port) {
  return {.direction = RewriteRule::Direction::kArrival,
          .source = alias.source,
          .destination = alias.destination,
          .from_port = wire_port,
          .destination_port = alias.destination_port};
}

}  // namespace

ArrivalTable::ArrivalTable(ArrivalTableOptions options, AgentOutbox* outbox, RewriteOrders* orders)
    : options_(std::move(options)), outbox_(*outbox), orders_(*orders) {}

void ArrivalTable::Restore(std::span<const KeptAlias> kept) {
  for (const KeptAlias& alias : kept) {
    arrivals_.emplace(alias.alias, Arrival{.kept = alias, .seen_at = outbox_.now()});
  }
  for (auto& [number, arrival] : arrivals_) {
    // What is kept may be older than what the kernel does: a disk can be full.
    std::erase_if(arrival.kept.wire_ports, [&](uint16_t port) {
      return orders_.IsInheritedOtherwise(RuleOf(arrival.kept, port), arrival.kept.socket_port);
    });
    for (const uint16_t port : arrival.kept.wire_ports) {
      const RewriteRule rule = RuleOf(arrival.kept, port);
      if (!by_rule_.try_emplace(rule, number).second) continue;
      if (orders_.IsInherited(rule, arrival.kept.socket_port)) arrival.installed.insert(port);
      orders_.Set(rule, arrival.kept.socket_port);
    }
  }
}

std::vector<KeptAlias> ArrivalTable::State() const {
  std::vector<KeptAlias> kept;
  for (const auto& [number, arrival] : arrivals_) kept.push_back(arrival.kept);
  return kept;
}

std::string ArrivalTable::ObjectionTo(const controller::PrepareArrival& message, const Sockets& sockets) const {
  if (message.protocol != 6) return "only TCP is rewritten";
  if (std::ranges::find(options_.nics, message.destination) == options_.nics.end() || message.source.is_unset()) {
    return message.destination.ToString() + " is no training NIC of this host";
  }
  if (message.destination_port == 0 || message.socket_port == 0 || message.wire_port == 0) return "a port is 0";
  if (!arrivals_.contains(message.alias) && arrivals_.size() >= options_.num_max) {
    return "this host rewrites for as many connections as it can";
  }
  const SocketPair of_wire = {.local = message.destination,
                              .remote = message.source,
                              .local_port = message.destination_port,
                              .remote_port = message.wire_port};
  if (message.wire_port != message.socket_port && sockets.contains(of_wire)) {
    return "another connection from there has port " + std::to_string(message.wire_port);
  }
  return "";
}

void ArrivalTable::Prepare(const controller::PrepareArrival& message, const Sockets& sockets) {
  const uint64_t number = message.alias;
  const uint16_t wire_port = message.wire_port;
  if (const std::string objection = ObjectionTo(message, sockets); !objection.empty()) {
    return Reply(number, 0, objection);
  }
  Arrival& arrival = Renew(message);
  outbox_.Change();
  if (wire_port == message.socket_port) return Reply(number, 0, "");
  arrival.kept.wire_ports.push_back(wire_port);
  const RewriteRule rule = RuleOf(arrival.kept, wire_port);
  TakeOver(rule, number, wire_port);
  if (orders_.IsInherited(rule, message.socket_port)) arrival.installed.insert(wire_port);
  const uint64_t ticket = orders_.Set(rule, message.socket_port);
  by_ticket_[ticket] = {.number = number, .wire_port = wire_port};
  answers_[number].push_back({.ticket = ticket, .error = {}});
}

ArrivalTable::Arrival& ArrivalTable::Renew(const controller::PrepareArrival& message) {
  KeptAlias kept = {.alias = message.alias,
                    .source = message.source,
                    .destination = message.destination,
                    .destination_port = message.destination_port,
                    .socket_port = message.socket_port,
                    .wire_ports = {}};
  const auto known = arrivals_.find(message.alias);
  if (known != arrivals_.end()) {
    kept.wire_ports = known->second.kept.wire_ports;
    if (known->second.kept != kept) Drop(message.alias);
    kept.wire_ports.clear();
  }
  Arrival& arrival = arrivals_.try_emplace(message.alias, Arrival{.kept = kept, .seen_at = SimTime()}).first->second;
  arrival.seen_at = outbox_.now();
  std::vector<uint16_t>& ports = arrival.kept.wire_ports;
  std::erase(ports, message.wire_port);
  for (size_t p = 0; p + kOldPortsMax < ports.size(); ++p) {
    const SimTime until = arrival.old_ports.try_emplace(ports[p], outbox_.now() + options_.linger).first->second;
    next_drop_ = std::min(next_drop_, until);
  }
  arrival.old_ports.erase(message.wire_port);
  return arrival;
}

void ArrivalTable::TakeOver(const RewriteRule& rule, uint64_t number, uint16_t wire_port) {
  const auto [owner, is_free] = by_rule_.try_emplace(rule, number);
  if (is_free || owner->second == number) return;
  Arrival& other = arrivals_.at(owner->second);
  std::erase(other.kept.wire_ports, wire_port);
  other.old_ports.erase(wire_port);
  other.installed.erase(wire_port);
  owner->second = number;
}

void ArrivalTable::Reply(uint64_t number, uint64_t ticket, const std::string& error) {
  std::deque<Answer>& answers = answers_[number];
  if (ticket == 0) answers.push_back({.ticket = 0, .error = error});
  for (Answer& answer : answers) {
    if (ticket != 0 && answer.ticket == ticket) answer.error = error;
  }
  for (; !answers.empty() && answers.front().error.has_value(); answers.pop_front()) {
    outbox_.Send(controller::ArrivalPrepared{.alias = number, .error = *answers.front().error});
  }
  if (answers.empty()) answers_.erase(number);
}

void ArrivalTable::Forget(const controller::ForgetArrival& message) {
  const auto found = arrivals_.find(message.alias);
  if (found == arrivals_.end()) return;
  found->second.was_seen = true;
  found->second.seen_at = outbox_.now();
}

bool ArrivalTable::Finish(const RewriteDone& done) {
  const auto order = by_ticket_.extract(done.ticket);
  if (order.empty()) return false;
  const auto [number, wire_port] = order.mapped();
  const auto found = arrivals_.find(number);
  if (found != arrivals_.end()) {
    if (done.error.empty()) {
      found->second.installed.insert(wire_port);
    } else {
      TakeFailure(number, &found->second, wire_port);
    }
  }
  Reply(number, done.ticket, done.error);
  return true;
}

// A rule that could not be set again is still there.
void ArrivalTable::TakeFailure(uint64_t number, Arrival* arrival, uint16_t wire_port) {
  if (arrival->installed.contains(wire_port)) return;
  const auto rule = by_rule_.find(RuleOf(arrival->kept, wire_port));
  if (rule != by_rule_.end() && rule->second == number) ClearPort(arrival, wire_port);
  std::erase(arrival->kept.wire_ports, wire_port);
  outbox_.Change();
}

void ArrivalTable::ClearPort(Arrival* arrival, uint16_t wire_port) {
  const RewriteRule rule = RuleOf(arrival->kept, wire_port);
  by_rule_.erase(rule);
  arrival->installed.erase(wire_port);
  orders_.Clear(rule);
}

void ArrivalTable::Drop(uint64_t number) {
  const auto found = arrivals_.find(number);
  if (found == arrivals_.end()) return;
  for (const uint16_t port : found->second.kept.wire_ports) ClearPort(&found->second, port);
  std::erase_if(by_ticket_, [&](const auto& order) { return order.second.number == number; });
  answers_.erase(number);
  arrivals_.erase(found);
  outbox_.Change();
}

void ArrivalTable::DropOldPorts() {
  if (outbox_.now() < next_drop_) return;
  next_drop_ = SimTime::Never();
  for (auto& [number, arrival] : arrivals_) {
    for (auto port = arrival.old_ports.begin(); port != arrival.old_ports.end();) {
      if (outbox_.now() < port->second) {
        next_drop_ = std::min(next_drop_, port->second);
        ++port;
        continue;
      }
      ClearPort(&arrival, port->first);
      std::erase(arrival.kept.wire_ports, port->first);
      port = arrival.old_ports.erase(port);
      outbox_.Change();
    }
  }
}

void ArrivalTable::Look(SimTime asked_at, const Sockets& sockets) {
  std::vector<uint64_t> gone;
  for (auto& [number, arrival] : arrivals_) {
    if (sockets.contains(EndsOf(arrival.kept))) {
      arrival.seen_at = asked_at;
      arrival.was_seen = true;
    } else if (arrival.seen_at + (arrival.was_seen ? SimDuration(0) : kUnseenFor) < asked_at) {
      gone.push_back(number);
    }
  }
  for (const uint64_t number : gone) Drop(number);
}

}  // namespace fairlead::agent
