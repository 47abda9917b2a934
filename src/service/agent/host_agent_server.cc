#include "service/agent/host_agent_server.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/file_reader.h"
#include "base/socket_address.h"
#include "service/agent/agent_clock.h"
#include "service/agent/gpu_counter_files.h"
#include "service/agent/host_prober.h"
#include "service/agent/host_test_runner.h"
#include "service/agent/kernel_worker.h"
#include "service/agent/once_log.h"
#include "service/agent/process_owner.h"
#include "service/agent/segment_watcher.h"
#include "service/agent/socket_sampler.h"
#include "service/agent/state_keeper.h"
#include "service/agent/worker_thread.h"
#include "service/health_file.h"

namespace fairlead::service {

namespace {

constexpr SimDuration kLongestWait(100'000'000);
constexpr SimDuration kProcessPeriod(1'000'000'000);

// fe80::/10: of one cable only.
bool IsLinkLocal(const IpAddress& address) { return address.bytes()[0] == 0xfe && address.bytes()[1] >> 6 == 2; }

agent::AgentState LoadState(const HostAgentServerOptions& options) {
  if (options.state_path.empty()) return {};
  const Result<std::string> text = ReadWholeFile(options.state_path);
  if (text.status().code() == StatusCode::kNotFound) return {};
  auto state = text.ok() ? agent::ReadAgentState(*text, options.state_path) : text.status();
  if (state.ok()) return std::move(*state);
  options.log(fmt::format("{}; starting without it: open connections are not known", state.status().message()));
  return {};
}

agent::HostAgentOptions AgentOptions(const HostAgentServerOptions& options) {
  agent::HostAgentOptions agent = options.agent;
  agent.keeps_state = !options.state_path.empty();
  return agent;
}

}  // namespace

class HostAgentServer::Loop {
 public:
  Loop(const HostAgentServerOptions& options, ControllerLink* link, SteeringSocket socket);

  void Run(const std::atomic<bool>& stop);
  HostAgentCounts counts() const;

 private:
  using Events = std::vector<agent::HostEvent>;

  // Searches that processes wait for don't wait for those of the mesh.
  struct ProbeLane {
    HostProber prober;  // of the thread
    WorkerThread thread;
  };

  void Wait();
  Events Gather(SimTime now);
  void Heed(const std::vector<agent::HostAction>& actions);
  void Do(const agent::AnswerProcess& action);
  void Do(const agent::SendToController& action) { link_->Send(action.message); }
  void Do(const agent::ProbePorts& action);
  void Do(const agent::SetRewrite& action) { kernel_.Order(action.ticket, action.rule, action.to_port); }
  void Do(const agent::ClearRewrite& action) { kernel_.Order(action.ticket, action.rule, 0); }
  void Do(const agent::FindOwners& action) { sampler_.FindOwners(action.inodes); }
  void Do(const agent::SetSocketClass& action) { kernel_.SetClass(action); }
  void Do(const agent::KeepJudgement& action);
  void Do(const agent::RunHostTest& action) { tests_.Run(action.wanted); }
  void Do(const agent::StopHostTests&) { tests_.Stop(); }
  void Do(const agent::Noted& action) { options_.log(action.text); }
  void LookForProcesses(SimTime now, Events* events);

  const HostAgentServerOptions options_;
  ControllerLink* link_;
  SteeringSocket socket_;
  OnceLog once_;
  EventInbox inbox_;
  KernelWorker kernel_;
  agent::HostAgent agent_;
  HealthKeeper health_;
  HostAgentCounts counts_;
  std::set<int32_t> queue_pair_processes_;
  SimTime next_process_look_;
  HostTestRunner tests_;
  SegmentWatcher segments_;
  StateKeeper state_;
  SocketSampler sampler_;
  std::array<ProbeLane, 2> probes_;
};

HostAgentServer::Loop::Loop(const HostAgentServerOptions& options, ControllerLink* link, SteeringSocket socket)
    : options_(options),
      link_(link),
      socket_(std::move(socket)),
      once_(options.log),
      kernel_(options.rewrites_ports, options.log, &once_, &inbox_),
      agent_(AgentOptions(options), LoadState(options), AgentClock(), kernel_.InstalledRules()),
      health_(options.agent.host),
      tests_(options.burn_in, &inbox_),
      segments_({.folder = options.segments, .period = options.look_period, .read_symptoms = options.read_symptoms},
                &once_, &inbox_),
      state_(options.state_path, options.health_path, &once_, &inbox_),
      sampler_({.sample_period = options.sample_period,
                .list_period = options.idle_sample_period,
                .read_gpus = options.read_gpus,
                .socket_path = options.socket.path},
               &once_, &inbox_) {}

void HostAgentServer::Loop::Do(const agent::AnswerProcess& action) {
  socket_.Answer(action);
  ++counts_.num_questions;
  if (action.leave) {
    ++counts_.num_left;
  } else {
    ++(action.source_port != 0 ? counts_.num_steered : counts_.num_classed);
  }
}

void HostAgentServer::Loop::Do(const agent::ProbePorts& action) {
  ++counts_.num_orders;
  ProbeLane& lane = probes_[action.is_urgent ? 0 : 1];
  lane.thread.Do([this, &lane, action] {
    auto seen = lane.prober.Probe(action.scan);
    if (!seen.ok()) once_.Tell(seen.status().message());
    agent::ProbesDone done = {.order = action.order, .scans = {}};
    if (seen.ok()) done.scans.push_back(std::move(*seen));
    inbox_.Push(std::move(done));
  });
}

void HostAgentServer::Loop::Do(const agent::KeepJudgement& action) {
  if (options_.judged) options_.judged(action.judged);
  std::vector<HealthFinding> findings;
  for (const controller::HostJudged::Finding& finding : action.judged.findings) {
    findings.push_back({.job = finding.job,
                        .syndrome = std::string(model::Name(finding.syndrome)),
                        .text = finding.text,
                        .action = std::string(model::Name(finding.action))});
  }
  health_.Judge(std::move(findings));
}

void HostAgentServer::Loop::Heed(const std::vector<agent::HostAction>& actions) {
  for (const agent::HostAction& action : actions) {
    std::visit([this](const auto& one) { Do(one); }, action);
  }
  kernel_.Flush();
}

void HostAgentServer::Loop::LookForProcesses(SimTime now, Events* events) {
  if (now < next_process_look_) return;
  next_process_look_ = now + kProcessPeriod;
  std::erase_if(queue_pair_processes_, [&](int32_t pid) {
    if (kill(pid, 0) == 0 || errno != ESRCH) return false;
    events->emplace_back(agent::ProcessEnded{pid});
    return true;
  });
}

HostAgentServer::Loop::Events HostAgentServer::Loop::Gather(SimTime now) {
  Events events = socket_.Serve(now);
  for (const agent::HostEvent& event : events) {
    const auto* asked = std::get_if<agent::PathRequested>(&event);
    if (asked != nullptr && asked->kind == agent::QuestionKind::kQueuePair) queue_pair_processes_.insert(asked->pid);
  }
  for (ClientEvent& event : link_->Poll()) {
    if (auto* message = std::get_if<controller::ToAgent>(&event)) {
      events.emplace_back(agent::MessageFromController{std::move(*message)});
    } else if (const auto* closed = std::get_if<StreamClosed>(&event)) {
      once_.Tell("no stream to the controller: " + closed->reason);
      health_.Lose();
      events.emplace_back(agent::StreamBroken{});
    } else {
      events.emplace_back(agent::StreamOpened{});
    }
  }
  for (agent::HostEvent& event : inbox_.Take()) {
    if (const auto* seen = std::get_if<agent::SocketsSeen>(&event)) kernel_.ClearOrphans(now, *seen);
    events.push_back(std::move(event));
  }
  LookForProcesses(now, &events);
  return events;
}

void HostAgentServer::Loop::Wait() {
  std::array<pollfd, 3> watched = {
      {{socket_.descriptor(), POLLIN, 0}, {link_->event_descriptor(), POLLIN, 0}, {inbox_.descriptor(), POLLIN, 0}}};
  const SimTime now = AgentClock();
  const SimTime due =
      std::min({agent_.NextDue(), sampler_.NextDue(agent_), segments_.NextDue(), state_.NextDue(agent_)});
  const SimTime until = std::min(now + kLongestWait, std::max(now, due));
  const int64_t wait_ns = (until - now).ns();
  const timespec wait = {.tv_sec = 0, .tv_nsec = wait_ns};
  ppoll(watched.data(), watched.size(), &wait, nullptr);
}

void HostAgentServer::Loop::Run(const std::atomic<bool>& stop) {
  while (!stop) {
    Wait();
    const SimTime now = AgentClock();
    const Events events = Gather(now);
    sampler_.CountGpus(&agent_);
    Heed(agent_.Handle(now, events));
    sampler_.Sample(now, agent_);
    segments_.Look(now);
    state_.Save(now, agent_);
    state_.SaveHealth(now, &health_);
    if (options_.alive) options_.alive();
  }
  state_.Finish(agent_);
  kernel_.Close();
}

HostAgentCounts HostAgentServer::Loop::counts() const {
  HostAgentCounts counts = counts_;
  counts.num_moves = kernel_.num_moves();
  counts.num_rejected = socket_.num_rejected();
  return counts;
}

Result<std::unique_ptr<HostAgentServer>> HostAgentServer::Open(const HostAgentServerOptions& options,
                                                               ControllerLink* link) {
  if (options.agent.host.empty()) return InvalidArgument("an agent needs the name of its host, as the fabric has it");
  if (options.agent.nics.empty()) return InvalidArgument("an agent needs at least one training NIC: its address");
  FL_ASSIGN_OR_RETURN(SteeringSocket socket, SteeringSocket::Open(options.socket));
  return std::unique_ptr<HostAgentServer>(
      new HostAgentServer(std::make_unique<Loop>(options, link, std::move(socket))));
}

HostAgentServer::HostAgentServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HostAgentServer::~HostAgentServer() = default;

void HostAgentServer::Run(const std::atomic<bool>& stop) { loop_->Run(stop); }
HostAgentCounts HostAgentServer::counts() const { return loop_->counts(); }

std::vector<IpAddress> ListNicAddresses() {
  std::vector<IpAddress> addresses;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const bool counts =
        entry->ifa_addr != nullptr && (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!counts) continue;
    const IpAddress address = IpAddressOf(entry->ifa_addr);
    if (!address.is_unset() && !IsLinkLocal(address)) addresses.push_back(address);
  }
  freeifaddrs(first);
  std::stable_partition(addresses.begin(), addresses.end(), [](const IpAddress& one) { return one.is_ipv4(); });
  return addresses;
}

}  // namespace fairlead::service
