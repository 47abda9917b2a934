#include "agent/rewrite_orders.h"

namespace fairlead::agent {

namespace {

constexpr SimDuration kClearAgain(1'000'000'000);

}  // namespace

bool RewriteOrders::IsInherited(const RewriteRule& rule, uint16_t to_port) const {
  const auto known = inherited_.find(rule);
  return known != inherited_.end() && known->second == to_port;
}

bool RewriteOrders::IsInheritedOtherwise(const RewriteRule& rule, uint16_t to_port) const {
  return inherited_.contains(rule) && !IsInherited(rule, to_port);
}

void RewriteOrders::Forget(const RewriteRule& rule) {
  if (const auto clear = clears_.extract(rule)) by_ticket_.erase(clear.mapped());
  if (const auto failed = again_at_.extract(rule)) failed_.erase({failed.mapped(), rule});
  to_ports_.erase(rule);
}

uint64_t RewriteOrders::Set(const RewriteRule& rule, uint16_t to_port) {
  Forget(rule);
  outbox_.Act(SetRewrite{.ticket = ++num_tickets_, .rule = rule, .to_port = to_port});
  return num_tickets_;
}

uint64_t RewriteOrders::ClearOnce(const RewriteRule& rule) {
  outbox_.Act(ClearRewrite{.ticket = ++num_tickets_, .rule = rule});
  return num_tickets_;
}

void RewriteOrders::Clear(const RewriteRule& rule, uint16_t to_port) {
  inherited_.erase(rule);
  Forget(rule);
  if (to_port != 0) to_ports_[rule] = to_port;
  clears_[rule] = ClearOnce(rule);
  by_ticket_.emplace(num_tickets_, rule);
}

std::optional<RewriteRule> RewriteOrders::Finish(const RewriteDone& done) {
  const auto clear = by_ticket_.extract(done.ticket);
  if (clear.empty()) return std::nullopt;
  const RewriteRule& rule = clear.mapped();
  clears_.erase(rule);
  if (done.error.empty()) {
    to_ports_.erase(rule);
    return std::nullopt;
  }
  const SimTime again_at = outbox_.now() + kClearAgain;
  again_at_[rule] = again_at;
  failed_.emplace(again_at, rule);
  return rule;
}

std::optional<uint16_t> RewriteOrders::TakeUp(const RewriteRule& rule) {
  const auto to_port = to_ports_.find(rule);
  if (!again_at_.contains(rule) || to_port == to_ports_.end()) return std::nullopt;
  const uint16_t port = to_port->second;
  Forget(rule);
  return port;
}

void RewriteOrders::Repeat() {
  while (!failed_.empty() && failed_.begin()->first <= outbox_.now()) {
    const RewriteRule rule = failed_.begin()->second;
    const auto to_port = to_ports_.find(rule);
    Clear(rule, to_port == to_ports_.end() ? uint16_t{0} : to_port->second);
  }
}

}  // namespace fairlead::agent
