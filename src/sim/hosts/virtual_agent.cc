#include "sim/hosts/virtual_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/agent_state.h"
#include "base/check.h"

namespace fairlead::sim::hosts {

using agent::RewriteRule;

namespace {

// Receivers of tests listen on these.
constexpr uint16_t kTestPort = 50'000;
constexpr uint16_t kTestPorts = 1000;

}  // namespace

namespace {

// The daemon's periods (service/agent/host_agent_server.cc).
constexpr SimDuration kListPeriod(500'000'000);
constexpr SimDuration kOrphanPeriod(10'000'000'000);
constexpr SimDuration kLookPeriod(1'000'000'000);
// Of their operations, for an agent that has just started.
constexpr SimDuration kProcessesRemember(10'000'000'000);
constexpr const char* kRefusal = "nft: no space left on device";
// No more often than this: time advances although something is always due.
constexpr SimDuration kShortestWait(100'000);

}  // namespace

VirtualAgent::VirtualAgent(HostId host, uint64_t seed, Looking looking, Surroundings surroundings)
    : host_(host), looking_(looking), surroundings_(std::move(surroundings)), random_(seed) {}

SimDuration VirtualAgent::Delay(int64_t least_us, int64_t most_us) {
  return SimDuration(1000 *
                     (least_us + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most_us - least_us)))));
}

void VirtualAgent::After(SimDuration delay, std::function<void()> work) {
  queue().After(delay, [this, mine = incarnation_, work = std::move(work)] {
    if (!is_alive() || incarnation_ != mine) return;
    if (is_stopped_) {
      suspended_.push_back(work);
    } else {
      work();
    }
  });
}

void VirtualAgent::OnKernel(std::function<void()> work) {
  kernel_free_at_ = std::max(kernel_free_at_, queue().now()) + Delay(100, 2000);
  After(kernel_free_at_ - queue().now(), std::move(work));
}

void VirtualAgent::Start() {
  FL_CHECK(!is_alive());
  agent::HostAgentOptions options;
  options.host = surroundings_.network->HostName(host_);
  options.version = "simulated";
  for (const NicId nic : surroundings_.network->NicsOf(host_)) {
    options.nics.push_back(surroundings_.network->AddressOf(nic));
  }
  options.keeps_state = true;
  options.random_seed = random_();
  options.probes.probes_per_second = 1e6;
  if (surroundings_.sabotage == Sabotage::kLateAnswers) options.answer_deadline = SimDuration(1'000'000'000);
  agent::AgentState kept;
  if (!disk_.empty()) kept = agent::ReadAgentState(disk_, "disk").value();
  std::map<RewriteRule, uint16_t> installed = kernel().rules();
  orphans_.clear();
  for (const auto& [rule, port] : installed) orphans_.insert(rule);
  if (surroundings_.sabotage == Sabotage::kForgottenRules) {
    installed.clear();
    orphans_.clear();
  }
  queue().Log([this] { return surroundings_.network->HostName(host_) + ": the agent starts"; });
  ++incarnation_;
  is_stopped_ = false;
  running_since_ = queue().now();
  is_saving_ = false;
  saved_revision_ = 0;
  kernel_free_at_ = queue().now();
  orphan_look_at_ = queue().now() + kOrphanPeriod;
  wake_at_ = SimTime::Never();
  core_ = std::make_unique<agent::HostAgent>(options, kept, queue().now(), installed);
  Handle();
  KeepListing();
  num_reports_.clear();
  looked_at_ = queue().now() - kProcessesRemember;
  if (surroundings_.look) After(Delay(0, 1'000'000), [this] { KeepLooking(); });
}

void VirtualAgent::Kill() {
  core_.reset();
  queue().Log([this] { return surroundings_.network->HostName(host_) + ": the agent is killed"; });
  inbox_.clear();
  suspended_.clear();
  is_stopped_ = false;
}

void VirtualAgent::Continue() {
  if (!is_alive() || !std::exchange(is_stopped_, false)) return;
  running_since_ = queue().now();
  const uint64_t mine = incarnation_;
  for (const std::function<void()>& work : std::exchange(suspended_, {})) {
    if (is_alive() && incarnation_ == mine) work();
  }
  if (is_alive() && incarnation_ == mine) Handle();
}

bool VirtualAgent::Deliver(agent::HostEvent event) {
  if (!is_alive()) return false;
  inbox_.push_back(std::move(event));
  if (!is_stopped_) Handle();
  return true;
}

void VirtualAgent::Handle() {
  const std::vector<agent::HostEvent> events = std::exchange(inbox_, {});
  const uint64_t mine = incarnation_;
  for (const agent::HostAction& action : core_->Handle(queue().now(), events)) {
    Heed(action);
    if (!is_alive() || incarnation_ != mine) return;
  }
  Save();
  ScheduleWake();
}

void VirtualAgent::ScheduleWake() {
  const SimTime due = core_->NextDue();
  if (due == SimTime::Never() || wake_at_ <= due) return;
  const SimTime at = std::max(due, queue().now() + kShortestWait);
  wake_at_ = at;
  After(at - queue().now(), [this, at] {
    if (wake_at_ == at) Wake();
  });
}

void VirtualAgent::Wake() {
  wake_at_ = SimTime::Never();
  Handle();
}

void VirtualAgent::Save() {
  if (is_saving_ || core_->revision() == saved_revision_) return;
  is_saving_ = true;
  saved_revision_ = core_->revision();
  After(Delay(1000, 6000), [this, text = agent::WriteAgentState(core_->State()), revision = saved_revision_] {
    if (!is_disk_full_) disk_ = text;
    is_saving_ = false;
    Deliver(agent::StateKept{revision});
  });
}

void VirtualAgent::ListSockets() {
  const SimTime asked_at = queue().now();
  core_->CountGpus(asked_at, surroundings_.gpus_of());
  After(Delay(500, 5000), [this, asked_at, list = kernel().List(asked_at)] {
    ClearOrphans();
    Deliver(agent::SocketsSeen{asked_at, list});
  });
}

void VirtualAgent::KeepListing() {
  if (looking_ != Looking::kByItself) return;
  ListSockets();
  After(kListPeriod + Delay(0, 20'000), [this] { KeepListing(); });
}

void VirtualAgent::KeepLooking() {
  const SimTime now = queue().now();
  agent::SegmentsSeen seen{.at = now + clock_, .processes = surroundings_.look(looked_at_, clock_)};
  looked_at_ = now;
  for (telemetry::SeenProcess& process : seen.processes) {
    process.report.number = num_reports_[{process.report.pid, process.report.process_start}]++;
  }
  Deliver(std::move(seen));
  After(kLookPeriod, [this] { KeepLooking(); });
}

// As the daemon: all sockets now and then, and those that are measured in between.
void VirtualAgent::Sample() {
  if (!is_running()) return;
  const SimTime asked_at = queue().now();
  if (next_list_ <= asked_at) {
    next_list_ = asked_at + kListPeriod;
    return ListSockets();
  }
  core_->CountGpus(asked_at, surroundings_.gpus_of());
  Deliver(agent::BytesSeen{asked_at, kernel().List(asked_at)});
}

// As service/agent/port_rewriter.h: rules of the agent before live as long as their connection.
void VirtualAgent::ClearOrphans() {
  if (queue().now() < orphan_look_at_) return;
  orphan_look_at_ = queue().now() + kOrphanPeriod;
  std::set<agent::SocketPair> alive;
  for (const auto& [inode, socket] : kernel().sockets()) alive.insert(socket.ends);
  OnKernel([this, alive = std::move(alive)] {
    if (kernel_refuses_) return;
    for (auto rule = orphans_.begin(); rule != orphans_.end();) {
      const auto installed = kernel().rules().find(*rule);
      const bool is_gone = installed == kernel().rules().end();
      if (!is_gone && alive.contains(EndsOf(*rule, installed->second))) {
        ++rule;
        continue;
      }
      kernel().SetRule(*rule, 0);
      LogRule(*rule, 0);
      rule = orphans_.erase(rule);
    }
    surroundings_.rules_changed();
  });
}

void VirtualAgent::SetKernelRefuses(bool refuses) {
  if (refuses && !kernel_refuses_) refuses_since_ = queue().now();
  if (!refuses && kernel_refuses_) refused_until_ = queue().now();
  kernel_refuses_ = refuses;
}

bool VirtualAgent::MayHaveStaleRules(SimTime opened_at) const {
  // Refused orders are given again by then.
  constexpr SimDuration kCaughtUpWithin(10'000'000'000);
  if (opened_at < refuses_since_) return false;
  return kernel_refuses_ || surroundings_.queue->now() < refused_until_ + kCaughtUpWithin;
}

void VirtualAgent::Heed(const agent::HostAction& action) {
  std::visit([this](const auto& one) { Do(one); }, action);
}

void VirtualAgent::Do(const agent::ProbePorts& action) {
  After(Delay(200, 5000), [this, action] {
    Deliver(agent::ProbesDone{.order = action.order, .scans = {surroundings_.network->Probe(action.scan)}});
  });
}

// The bytes of a transfer are not simulated: it has what its route carries.
void VirtualAgent::Do(const agent::RunHostTest& action) {
  const controller::HostTestWanted& wanted = action.wanted;
  controller::HostTestDone done;
  done.test = wanted.test;
  if (wanted.kind == controller::HostTestKind::kBurnIn) {
    done.score = 1;
  } else if (wanted.kind == controller::HostTestKind::kReceive) {
    const auto port = static_cast<uint16_t>(kTestPort + wanted.test % kTestPorts);
    After(Delay(100, 1000), [this, test = wanted.test, port] { Deliver(agent::HostTestListens{test, port}); });
    done.rate =
        surroundings_.network->RateOf({.source = wanted.peer, .destination = wanted.local, .destination_port = port});
    if (done.rate == 0) done.error = "no connection came";
  }
  After(wanted.length + Delay(1000, 5000), [this, done] { Deliver(agent::HostTestEnded{done}); });
}

void VirtualAgent::Do(const agent::SetRewrite& action) {
  OnKernel([this, action] {
    if (!kernel_refuses_) {
      if (surroundings_.sabotage == Sabotage::kForgottenArrivals) ForgetOlder(action);
      kernel().SetRule(action.rule, action.to_port);
      LogRule(action.rule, action.to_port);
      orphans_.erase(action.rule);
      surroundings_.rules_changed();
    }
    Deliver(agent::RewriteDone{action.ticket, kernel_refuses_ ? kRefusal : ""});
  });
}

void VirtualAgent::Do(const agent::ClearRewrite& action) {
  OnKernel([this, action] {
    if (!kernel_refuses_) {
      kernel().SetRule(action.rule, 0);
      LogRule(action.rule, 0);
      orphans_.erase(action.rule);
      surroundings_.rules_changed();
    }
    Deliver(agent::RewriteDone{action.ticket, kernel_refuses_ ? kRefusal : ""});
  });
}

void VirtualAgent::ForgetOlder(const agent::SetRewrite& action) {
  if (action.rule.direction != RewriteRule::Direction::kArrival) return;
  const std::map<RewriteRule, uint16_t> rules = kernel().rules();
  for (const auto& [rule, port] : rules) {
    RewriteRule same = rule;
    same.from_port = action.rule.from_port;
    if (same == action.rule && port == action.to_port) kernel().SetRule(rule, 0);
  }
}

void VirtualAgent::LogRule(const RewriteRule& rule, uint16_t port) {
  queue().Log([&] {
    const bool departs = rule.direction == RewriteRule::Direction::kDeparture;
    return fmt::format("{}: {} {}->{} port {} to {}: {}", surroundings_.network->HostName(host_),
                       departs ? "departure" : "arrival", surroundings_.network->HostName(rule.source),
                       surroundings_.network->HostName(rule.destination), rule.from_port, rule.destination_port,
                       port == 0 ? "as it is" : fmt::format("becomes {}", port));
  });
}

void VirtualAgent::Do(const agent::FindOwners& action) {
  After(Delay(1000, 20'000), [this, action] {
    agent::OwnersFound found;
    for (const uint64_t inode : action.inodes) {
      const VirtualSocket* socket = kernel().Find(inode);
      if (socket == nullptr || socket->job.empty()) continue;
      found.owners.push_back({.inode = inode, .pid = socket->pid, .job = socket->job});
    }
    Deliver(std::move(found));
  });
}

void VirtualAgent::Do(const agent::Noted& action) {
  queue().Log([&] { return surroundings_.network->HostName(host_) + ": " + action.text; });
}

void VirtualAgent::Do(const agent::SetSocketClass& action) {
  if (surroundings_.sabotage == Sabotage::kLostClasses) return;
  OnKernel([this, action] {
    kernel().SetClass(action.inode, action.traffic_class);
    if (surroundings_.classes_changed) surroundings_.classes_changed();
  });
}

}  // namespace fairlead::sim::hosts
