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

void RewriteOrders::Clear(const RewriteRule& rule) {
  inherited_.erase(rule);
  Forget(rule);
  clears_[rule] = ClearOnce(rule);
  by_ticket_.emplace(num_tickets_, rule);
}

void RewriteOrders::Finish(const RewriteDone& done) {
  const auto clear = by_ticket_.extract(done.ticket);
  if (clear.empty()) return;
  clears_.erase(clear.mapped());
  if (done.error.empty()) return;
  const SimTime again_at = outbox_.now() + kClearAgain;
  again_at_[clear.mapped()] = again_at;
  failed_.emplace(again_at, clear.mapped());
}

void RewriteOrders::Repeat() {
  while (!failed_.empty() && failed_.begin()->first <= outbox_.now()) {
    const RewriteRule rule = failed_.begin()->second;
    Clear(rule);
  }
}

}  // namespace fairlead::agent
