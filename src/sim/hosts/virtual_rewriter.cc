#include "sim/hosts/virtual_rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::sim::hosts {

using agent::RewriteRule;

namespace {

constexpr SimDuration kOrphanPeriod(10'000'000'000);
constexpr const char* kRefusal = "nft: no space left on device";

}  // namespace

std::map<RewriteRule, uint16_t> VirtualRewriter::Start() {
  std::map<RewriteRule, uint16_t> installed = kernel().rules();
  if (surroundings_.sabotage == Sabotage::kForgottenRules) installed.clear();
  orphans_.clear();
  for (const auto& [rule, port] : installed) orphans_.insert(rule);
  free_at_ = queue().now();
  orphan_look_at_ = queue().now() + kOrphanPeriod;
  return installed;
}

void VirtualRewriter::SetRefuses(bool refuses) {
  if (refuses && !refuses_) refuses_since_ = queue().now();
  if (!refuses && refuses_) refused_until_ = queue().now();
  refuses_ = refuses;
}

bool VirtualRewriter::MayHaveStaleRules(SimTime opened_at) const {
  // Refused orders are given again by then.
  constexpr SimDuration kCaughtUpWithin(10'000'000'000);
  if (opened_at < refuses_since_) return false;
  return refuses_ || queue().now() < refused_until_ + kCaughtUpWithin;
}

void VirtualRewriter::OnKernel(std::function<void()> work) {
  const auto delay = SimDuration(1000 * (100 + static_cast<int64_t>(surroundings_.random->Below(1900))));
  free_at_ = std::max(free_at_, queue().now()) + delay;
  surroundings_.process->After(free_at_ - queue().now(), std::move(work));
}

void VirtualRewriter::Order(const RewriteRule& rule, uint16_t to_port, Done done) {
  OnKernel([this, rule, to_port, done = std::move(done)] {
    if (!refuses_) {
      if (to_port != 0 && surroundings_.sabotage == Sabotage::kForgottenArrivals) ForgetOlder(rule, to_port);
      Set(rule, to_port);
      orphans_.erase(rule);
      surroundings_.rules_changed();
    }
    done(refuses_ ? kRefusal : "");
  });
}

void VirtualRewriter::ClearOrphans() {
  if (queue().now() < orphan_look_at_) return;
  orphan_look_at_ = queue().now() + kOrphanPeriod;
  std::set<agent::SocketPair> alive;
  for (const auto& [inode, socket] : kernel().sockets()) alive.insert(socket.ends);
  OnKernel([this, alive = std::move(alive)] {
    if (refuses_) return;
    for (auto rule = orphans_.begin(); rule != orphans_.end();) {
      const auto installed = kernel().rules().find(*rule);
      const bool is_gone = installed == kernel().rules().end();
      if (!is_gone && alive.contains(EndsOf(*rule, installed->second))) {
        ++rule;
        continue;
      }
      Set(*rule, 0);
      rule = orphans_.erase(rule);
    }
    surroundings_.rules_changed();
  });
}

void VirtualRewriter::Set(const RewriteRule& rule, uint16_t to_port) {
  kernel().SetRule(rule, to_port);
  queue().Log([&] {
    const bool departs = rule.direction == RewriteRule::Direction::kDeparture;
    const VirtualNetwork& network = *surroundings_.network;
    return fmt::format("{}: {} {}->{} port {} to {}: {}", network.HostName(host_), departs ? "departure" : "arrival",
                       network.HostName(rule.source), network.HostName(rule.destination), rule.from_port,
                       rule.destination_port, to_port == 0 ? "as it is" : fmt::format("becomes {}", to_port));
  });
}

void VirtualRewriter::ForgetOlder(const RewriteRule& rule, uint16_t to_port) {
  if (rule.direction != RewriteRule::Direction::kArrival) return;
  const std::map<RewriteRule, uint16_t> rules = kernel().rules();
  for (const auto& [older, port] : rules) {
    RewriteRule same = older;
    same.from_port = rule.from_port;
    if (same == rule && port == to_port) kernel().SetRule(older, 0);
  }
}

}  // namespace fairlead::sim::hosts
