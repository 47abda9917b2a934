#include "service/agent/kernel_worker.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "service/agent/tcp_sockets.h"

namespace fairlead::service {

namespace {

constexpr SimDuration kOrphanPeriod(10'000'000'000);

}  // namespace

KernelWorker::KernelWorker(bool rewrites_ports, std::function<void(const std::string&)> log, OnceLog* once,
                           EventInbox* inbox)
    : log_(std::move(log)), once_(*once), inbox_(*inbox), rewriter_(Open(rewrites_ports)) {}

std::optional<PortRewriter> KernelWorker::Open(bool rewrites_ports) {
  if (!rewrites_ports) {
    no_rewriter_because_ = "--keep-ports is set";
    return std::nullopt;
  }
  auto rewriter = PortRewriter::Open();
  if (rewriter.ok()) {
    const size_t num_rules = rewriter->rules().size();
    if (num_rules > 0) log_(fmt::format("took over {} rewritten ports of the previous agent", num_rules));
    return std::move(*rewriter);
  }
  no_rewriter_because_ = "this host can't rewrite ports: " + rewriter.status().message();
  log_(no_rewriter_because_ + "; open connections can't be moved");
  return std::nullopt;
}

std::map<agent::RewriteRule, uint16_t> KernelWorker::InstalledRules() const {
  return rewriter_.has_value() ? rewriter_->rules() : std::map<agent::RewriteRule, uint16_t>();
}

void KernelWorker::Order(uint64_t ticket, const agent::RewriteRule& rule, uint16_t to_port) {
  rules_.push_back({ticket, {rule, to_port}});
  if (to_port != 0 && rule.direction == agent::RewriteRule::Direction::kDeparture) ++num_moves_;
}

void KernelWorker::Flush() {
  FlushRules();
  FlushClasses();
}

void KernelWorker::FlushRules() {
  if (rules_.empty()) return;
  thread_.Do([this, rules = std::exchange(rules_, {})] {
    std::vector<PortRewriter::Change> changes;
    changes.reserve(rules.size());
    for (const Rewrite& rule : rules) changes.push_back(rule.change);
    std::string error = no_rewriter_because_;
    if (rewriter_.has_value()) error = rewriter_->Apply(changes).message();
    once_.Tell(error);
    for (const Rewrite& rule : rules) {
      // Without a rewriter there is nothing to clear: an error would be tried again forever.
      const bool is_done = !rewriter_.has_value() && rule.change.to_port == 0;
      inbox_.Push(agent::RewriteDone{rule.ticket, is_done ? std::string() : error});
    }
  });
}

void KernelWorker::FlushClasses() {
  if (classes_.empty()) return;
  thread_.Do([this, classes = std::exchange(classes_, {})] { once_.Tell(SetSocketClasses(classes).message()); });
}

void KernelWorker::ClearOrphans(SimTime now, const agent::SocketsSeen& seen) {
  if (!rewriter_.has_value() || now < next_orphan_look_) return;
  next_orphan_look_ = now + kOrphanPeriod;
  std::set<agent::SocketPair> alive;
  for (const agent::SeenSocket& socket : seen.sockets) alive.insert(socket.ends);
  thread_.Do([this, alive = std::move(alive)] { once_.Tell(rewriter_->ClearOrphans(alive).message()); });
}

void KernelWorker::Close() {
  thread_.Finish();
  if (!rewriter_.has_value()) return;
  const auto gone = rewriter_->Close();
  if (!gone.ok()) {
    log_("rewriting of ports stays as it is: " + gone.status().message());
  } else if (!*gone) {
    log_(fmt::format("{} arriving connections are still rewritten; the next agent takes them over",
                     rewriter_->rules().size()));
  }
}

}  // namespace fairlead::service
