#include "sim/hosts/virtual_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/agent_state.h"
#include "base/check.h"

namespace fairlead::sim::hosts {

namespace {

// Receivers of tests listen on these.
constexpr uint16_t kTestPort = 50'000;
constexpr uint16_t kTestPorts = 1000;

// The daemon's periods (service/agent/host_agent_server.cc).
constexpr SimDuration kListPeriod(500'000'000);
constexpr SimDuration kLookPeriod(1'000'000'000);
// Of their operations, for an agent that has just started.
constexpr SimDuration kProcessesRemember(10'000'000'000);
// No more often than this: time advances although something is always due.
constexpr SimDuration kShortestWait(100'000);

}  // namespace

VirtualAgent::VirtualAgent(HostId host, uint64_t seed, Looking looking, Surroundings surroundings)
    : host_(host),
      looking_(looking),
      surroundings_(std::move(surroundings)),
      random_(seed),
      process_(surroundings_.queue),
      rewriter_(host, {.queue = surroundings_.queue,
                       .network = surroundings_.network,
                       .kernel = surroundings_.kernel,
                       .process = &process_,
                       .random = &random_,
                       .sabotage = surroundings_.sabotage,
                       .rules_changed = surroundings_.rules_changed}) {}

SimDuration VirtualAgent::Delay(int64_t least_us, int64_t most_us) {
  return SimDuration(1000 *
                     (least_us + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most_us - least_us)))));
}

void VirtualAgent::Start() {
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
  if (!disk_.state.empty()) kept = agent::ReadAgentState(disk_.state, "disk").value();
  queue().Log([this] { return surroundings_.network->HostName(host_) + ": the agent starts"; });
  process_.Start();
  disk_.is_saving = false;
  disk_.saved_revision = 0;
  wake_at_ = SimTime::Never();
  core_ = std::make_unique<agent::HostAgent>(options, kept, queue().now(), rewriter_.Start());
  Handle();
  KeepListing();
  num_reports_.clear();
  looked_at_ = queue().now() - kProcessesRemember;
  if (surroundings_.look) After(Delay(0, 1'000'000), [this] { KeepLooking(); });
}

void VirtualAgent::Kill() {
  process_.Kill();
  core_.reset();
  queue().Log([this] { return surroundings_.network->HostName(host_) + ": the agent is killed"; });
  inbox_.clear();
}

void VirtualAgent::Continue() {
  if (process_.Continue()) Handle();
}

bool VirtualAgent::Deliver(agent::HostEvent event) {
  if (!is_alive()) return false;
  inbox_.push_back(std::move(event));
  if (is_running()) Handle();
  return true;
}

bool VirtualAgent::MayHaveStaleRules(SimTime opened_at) const {
  const bool was_away = !is_running() || running_since() > opened_at;
  const bool has_looked = is_running() && surroundings_.queue->now() > running_since() + kListPeriod * 2;
  return rewriter_.MayHaveStaleRules(opened_at) || (was_away && !has_looked);
}

void VirtualAgent::Handle() {
  const std::vector<agent::HostEvent> events = std::exchange(inbox_, {});
  const uint64_t mine = incarnation();
  for (const agent::HostAction& action : core_->Handle(queue().now(), events)) {
    Heed(action);
    if (!process_.Is(mine)) return;
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
  if (disk_.is_saving || core_->revision() == disk_.saved_revision) return;
  disk_.is_saving = true;
  disk_.saved_revision = core_->revision();
  After(Delay(1000, 6000), [this, text = agent::WriteAgentState(core_->State()), revision = disk_.saved_revision] {
    if (!disk_.is_full) disk_.state = text;
    disk_.is_saving = false;
    Deliver(agent::StateKept{revision});
  });
}

void VirtualAgent::ListSockets() {
  const SimTime asked_at = queue().now();
  core_->CountGpus(asked_at, surroundings_.gpus_of());
  After(Delay(500, 5000), [this, asked_at, list = kernel().List(asked_at)] {
    rewriter_.ClearOrphans();
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

void VirtualAgent::Do(const agent::SetRewrite& action) { Order(action.ticket, action.rule, action.to_port); }

void VirtualAgent::Do(const agent::ClearRewrite& action) { Order(action.ticket, action.rule, 0); }

void VirtualAgent::Order(uint64_t ticket, const agent::RewriteRule& rule, uint16_t to_port) {
  rewriter_.Order(rule, to_port, [this, ticket](const std::string& error) {
    Deliver(agent::RewriteDone{ticket, error});
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
  rewriter_.OnKernel([this, action] {
    kernel().SetClass(action.inode, action.traffic_class);
    if (surroundings_.classes_changed) surroundings_.classes_changed();
  });
}

}  // namespace fairlead::sim::hosts
