#include "service/agent/host_agent_server.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/file_reader.h"
#include "base/file_writer.h"
#include "base/socket_address.h"
#include "service/agent/gpu_counter_files.h"
#include "service/agent/host_prober.h"
#include "service/agent/host_test_runner.h"
#include "service/agent/port_rewriter.h"
#include "service/agent/process_owner.h"
#include "service/agent/segment_folder.h"
#include "service/agent/socket_owners.h"
#include "service/agent/tcp_sockets.h"
#include "service/agent/worker_thread.h"
#include "service/health_file.h"

namespace fairlead::service {

namespace {

constexpr SimDuration kLongestWait(100'000'000);
constexpr SimDuration kSavePeriod(5'000'000);
constexpr SimDuration kProcessPeriod(1'000'000'000);
constexpr SimDuration kOrphanPeriod(10'000'000'000);
constexpr int64_t kRestFactor = 20;     // samples may take a twentieth of a processor, and lists another one
constexpr size_t kLookUpMax = 256;      // more sockets are cheaper to list than to look up
constexpr int64_t kSaveRestFactor = 4;  // and keeping the state a fifth of a processor

SimTime Now() {
  return SimTime(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// Of the thread that asks.
SimDuration ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return SimDuration(time.tv_sec * 1'000'000'000 + time.tv_nsec);
}

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
  Loop(const HostAgentServerOptions& options, ControllerLink* link, SteeringSocket socket)
      : options_(options),
        link_(link),
        socket_(std::move(socket)),
        rewriter_(OpenRewriter()),
        agent_(AgentOptions(options), LoadState(options), Now(), InstalledRules()),
        health_(options.agent.host) {
    if (!options_.segments.empty()) segments_.emplace(SegmentFolderOptions{.folder = options_.segments});
  }

  void Run(const std::atomic<bool>& stop);
  HostAgentCounts counts() const;

 private:
  using Events = std::vector<agent::HostEvent>;

  std::optional<PortRewriter> OpenRewriter();
  std::map<agent::RewriteRule, uint16_t> InstalledRules() const;
  void CloseRewriter();
  void Wait();
  Events Gather(SimTime now);
  void Heed(const std::vector<agent::HostAction>& actions);
  void Do(const agent::AnswerProcess& action);
  void Do(const agent::SendToController& action) { link_->Send(action.message); }
  void Do(const agent::ProbePorts& action);
  void Do(const agent::SetRewrite& action) { rewrites_.push_back({action.ticket, {action.rule, action.to_port}}); }
  void Do(const agent::ClearRewrite& action) { rewrites_.push_back({action.ticket, {action.rule, 0}}); }
  void Do(const agent::FindOwners& action);
  void Do(const agent::SetSocketClass& action) { classes_.push_back(action); }
  void Do(const agent::KeepJudgement& action);
  void Do(const agent::RunHostTest& action) { tests_.Run(action.wanted); }
  void Do(const agent::StopHostTests&) { tests_.Stop(); }
  void Do(const agent::Noted& action) { options_.log(action.text); }
  void FlushRewrites();
  void FlushClasses();
  void Sample(SimTime now);
  SimTime NextSample() const;
  void ReadGpus(SimTime at);
  void LookAtSegments(SimTime now);
  void Save(SimTime now);
  void KeepHealth(SimTime now);
  void ClearOrphans(SimTime now, const agent::SocketsSeen& seen);
  void LookForProcesses(SimTime now, Events* events);
  // Each text once: a condition of the host is not repeated with every connection.
  void LogOnce(const std::string& text);

  struct Rewrite {
    uint64_t ticket = 0;
    PortRewriter::Change change;
  };

  HostAgentServerOptions options_;
  ControllerLink* link_;
  SteeringSocket socket_;
  std::string no_rewriter_because_;
  std::optional<PortRewriter> rewriter_;  // of the kernel worker, once it runs
  agent::HostAgent agent_;
  HealthKeeper health_;
  HostAgentCounts counts_;
  std::vector<Rewrite> rewrites_;
  std::vector<agent::SetSocketClass> classes_;
  std::set<int32_t> queue_pair_processes_;
  SimTime next_list_;  // of all sockets
  SimTime next_sample_;
  SimTime next_save_;
  SimTime next_look_;
  SimTime next_process_look_;
  uint64_t saved_revision_ = 0;
  SimTime next_orphan_look_;
  std::mutex log_mutex_;
  std::set<std::string> logged_;
  // Of a processor.
  std::atomic<int64_t> list_took_ns_ = 0;
  std::atomic<int64_t> sample_took_ns_ = 0;
  std::atomic<int64_t> save_took_ns_ = 0;
  std::atomic<bool> is_measured_ = false;
  std::mutex gpus_mutex_;
  std::vector<std::pair<SimTime, std::vector<agent::GpuSums>>> gpus_;
  std::array<HostProber, 2> probers_;      // each of its worker
  std::optional<SegmentFolder> segments_;  // of the watcher
  JobIdentifier sampled_jobs_;             // of the sampler
  EventInbox inbox_;
  // Last: they end before what they use.
  HostTestRunner tests_{options_.burn_in, &inbox_};
  WorkerThread watcher_;
  WorkerThread saver_;
  WorkerThread sampler_;
  WorkerThread kernel_;
  std::array<WorkerThread, 2> probes_;
};

void HostAgentServer::Loop::LogOnce(const std::string& text) {
  const std::lock_guard lock(log_mutex_);
  if (!text.empty() && logged_.size() < 1000 && logged_.insert(text).second) options_.log(text);
}

std::optional<PortRewriter> HostAgentServer::Loop::OpenRewriter() {
  if (!options_.rewrites_ports) {
    no_rewriter_because_ = "--keep-ports is set";
    return std::nullopt;
  }
  auto rewriter = PortRewriter::Open();
  if (rewriter.ok()) {
    const size_t num_rules = rewriter->rules().size();
    if (num_rules > 0) options_.log(fmt::format("took over {} rewritten ports of the previous agent", num_rules));
    return std::move(*rewriter);
  }
  no_rewriter_because_ = "this host can't rewrite ports: " + rewriter.status().message();
  options_.log(no_rewriter_because_ + "; open connections can't be moved");
  return std::nullopt;
}

std::map<agent::RewriteRule, uint16_t> HostAgentServer::Loop::InstalledRules() const {
  return rewriter_.has_value() ? rewriter_->rules() : std::map<agent::RewriteRule, uint16_t>();
}

void HostAgentServer::Loop::CloseRewriter() {
  kernel_.Finish();
  if (!rewriter_.has_value()) return;
  const auto gone = rewriter_->Close();
  if (!gone.ok()) {
    options_.log("rewriting of ports stays as it is: " + gone.status().message());
  } else if (!*gone) {
    options_.log(fmt::format("{} arriving connections are still rewritten; the next agent takes them over",
                             rewriter_->rules().size()));
  }
}

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
  const size_t lane = action.is_urgent ? 0 : 1;
  probes_[lane].Do([this, lane, action] {
    auto seen = probers_[lane].Probe(action.scan);
    if (!seen.ok()) LogOnce(seen.status().message());
    agent::ProbesDone done = {.order = action.order, .scans = {}};
    if (seen.ok()) done.scans.push_back(std::move(*seen));
    inbox_.Push(std::move(done));
  });
}

void HostAgentServer::Loop::Do(const agent::FindOwners& action) {
  sampler_.Do([this, action] {
    inbox_.Push(agent::OwnersFound{FindSocketOwners(action.inodes, options_.socket.path, &sampled_jobs_, Now())});
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

void HostAgentServer::Loop::FlushRewrites() {
  if (rewrites_.empty()) return;
  kernel_.Do([this, rewrites = std::exchange(rewrites_, {})] {
    std::vector<PortRewriter::Change> changes;
    changes.reserve(rewrites.size());
    for (const Rewrite& rewrite : rewrites) changes.push_back(rewrite.change);
    std::string error = no_rewriter_because_;
    if (rewriter_.has_value()) error = rewriter_->Apply(changes).message();
    if (!error.empty()) LogOnce(error);
    for (const Rewrite& rewrite : rewrites) {
      // Without a rewriter there is nothing to clear: an error would be tried again forever.
      const bool is_done = !rewriter_.has_value() && rewrite.change.to_port == 0;
      inbox_.Push(agent::RewriteDone{rewrite.ticket, is_done ? std::string() : error});
    }
  });
}

void HostAgentServer::Loop::FlushClasses() {
  if (classes_.empty()) return;
  kernel_.Do([this, classes = std::exchange(classes_, {})] {
    const Status status = SetSocketClasses(classes);
    if (!status.ok()) LogOnce(status.message());
  });
}

void HostAgentServer::Loop::Heed(const std::vector<agent::HostAction>& actions) {
  for (const agent::HostAction& action : actions) {
    std::visit([this](const auto& one) { Do(one); }, action);
  }
  counts_.num_moves += static_cast<uint64_t>(std::count_if(rewrites_.begin(), rewrites_.end(), [](const Rewrite& one) {
    return one.change.to_port != 0 && one.change.rule.direction == agent::RewriteRule::Direction::kDeparture;
  }));
  FlushRewrites();
  FlushClasses();
}

void HostAgentServer::Loop::ReadGpus(SimTime at) {
  if (!options_.read_gpus) return;
  auto gpus = options_.read_gpus(&sampled_jobs_, at);
  if (!gpus.ok()) return LogOnce(gpus.status().message());
  is_measured_ = !gpus->empty();
  const std::lock_guard lock(gpus_mutex_);
  gpus_.emplace_back(at, std::move(*gpus));
}

// All sockets are listed now and then, to see what has come and gone; those that are measured are looked up in between.
void HostAgentServer::Loop::Sample(SimTime now) {
  if (now < NextSample() || sampler_.num_waiting() > 0) return;
  std::vector<agent::SocketPair> wanted = agent_.OpenSockets();
  const bool are_many = wanted.size() > kLookUpMax;
  const bool lists = next_list_ <= now || are_many;
  std::atomic<int64_t>& took_ns = lists ? list_took_ns_ : sample_took_ns_;
  const SimDuration list_rest(list_took_ns_ * kRestFactor), sample_rest(sample_took_ns_ * kRestFactor);
  next_sample_ = now + std::max(options_.sample_period, are_many ? list_rest : sample_rest);
  if (lists) next_list_ = now + std::max(options_.idle_sample_period, list_rest);
  sampler_.Do([this, lists, &took_ns, wanted = std::move(wanted)] {
    const SimTime began = Now();
    const SimDuration spent = ProcessorTime();
    auto sockets = lists ? ListTcpSockets() : LookUpTcpSockets(wanted);
    if (!sockets.ok()) return LogOnce(sockets.status().message());
    ReadGpus(began);
    // Of the processor: on a busy host samples take long, and would be rare where they are needed most.
    took_ns = (ProcessorTime() - spent).ns();
    if (lists) {
      inbox_.Push(agent::SocketsSeen{began, std::move(*sockets)});
    } else {
      inbox_.Push(agent::BytesSeen{began, std::move(*sockets)});
    }
  });
}

SimTime HostAgentServer::Loop::NextSample() const {
  return is_measured_ && agent_.num_connections() > 0 ? std::min(next_list_, next_sample_) : next_list_;
}

void HostAgentServer::Loop::Save(SimTime now) {
  if (options_.state_path.empty() || agent_.revision() == saved_revision_) return;
  if (now < next_save_ || saver_.num_waiting() > 0) return;
  saved_revision_ = agent_.revision();
  next_save_ = now + std::max(kSavePeriod, SimDuration(save_took_ns_ * kSaveRestFactor));
  saver_.Do([this, state = agent_.State(), revision = saved_revision_] {
    const SimDuration began = ProcessorTime();
    const Status status = WriteFileAtomically(options_.state_path, agent::WriteAgentState(state), Outlives::kProcess);
    if (!status.ok()) LogOnce("can't save this agent's state: " + status.message());
    save_took_ns_ = (ProcessorTime() - began).ns();
    inbox_.Push(agent::StateKept{revision});  // the controller learns of it in any case: jobs come first
  });
}

void HostAgentServer::Loop::KeepHealth(SimTime now) {
  if (options_.health_path.empty()) return;
  const std::optional<HostHealth> health = health_.TakeDue(now, std::time(nullptr));
  if (!health) return;
  saver_.Do([this, text = WriteHealth(*health)] {
    const Status status = WriteFileAtomically(options_.health_path, text, Outlives::kProcess);
    if (!status.ok()) LogOnce("can't save the findings about this host: " + status.message());
  });
}

// Another one waits until the previous look is reported: the next one contains what a process did meanwhile.
void HostAgentServer::Loop::LookAtSegments(SimTime now) {
  if (!segments_.has_value() || now < next_look_ || watcher_.num_waiting() > 0) return;
  next_look_ = now + options_.look_period;
  watcher_.Do([this] {
    FolderLook look = segments_->Look();
    if (!look.listing.ok()) LogOnce("no new process is watched: " + look.listing.message());
    for (const SegmentFault& fault : look.faults) LogOnce(fault.path + " is not watched: " + fault.reason);
    agent::SegmentsSeen seen{look.at, std::move(look.processes)};
    if (options_.read_symptoms) seen.symptoms = options_.read_symptoms();
    inbox_.Push(std::move(seen));
  });
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

// Rules that the agent before has left, and that the state does not know: they live as long as their connection.
void HostAgentServer::Loop::ClearOrphans(SimTime now, const agent::SocketsSeen& seen) {
  if (!rewriter_.has_value() || now < next_orphan_look_) return;
  next_orphan_look_ = now + kOrphanPeriod;
  std::set<agent::SocketPair> alive;
  for (const agent::SeenSocket& socket : seen.sockets) alive.insert(socket.ends);
  kernel_.Do([this, alive = std::move(alive)] { LogOnce(rewriter_->ClearOrphans(alive).message()); });
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
      LogOnce("no stream to the controller: " + closed->reason);
      health_.Lose();
      events.emplace_back(agent::StreamBroken{});
    } else {
      events.emplace_back(agent::StreamOpened{});
    }
  }
  for (agent::HostEvent& event : inbox_.Take()) {
    if (const auto* seen = std::get_if<agent::SocketsSeen>(&event)) ClearOrphans(now, *seen);
    events.push_back(std::move(event));
  }
  LookForProcesses(now, &events);
  return events;
}

void HostAgentServer::Loop::Wait() {
  std::array<pollfd, 3> watched = {
      {{socket_.descriptor(), POLLIN, 0}, {link_->event_descriptor(), POLLIN, 0}, {inbox_.descriptor(), POLLIN, 0}}};
  const SimTime now = Now();
  SimTime until = std::min(now + kLongestWait, std::max(now, agent_.NextDue()));
  // The work of a worker wakes the loop when it ends.
  if (sampler_.num_waiting() == 0) until = std::min(until, std::max(now, NextSample()));
  if (segments_.has_value() && watcher_.num_waiting() == 0) until = std::min(until, std::max(now, next_look_));
  const bool is_unsaved = !options_.state_path.empty() && agent_.revision() != saved_revision_;
  if (is_unsaved && saver_.num_waiting() == 0) until = std::min(until, std::max(now, next_save_));
  const int64_t wait_ns = (until - now).ns();
  const timespec wait = {.tv_sec = 0, .tv_nsec = wait_ns};
  ppoll(watched.data(), watched.size(), &wait, nullptr);
}

void HostAgentServer::Loop::Run(const std::atomic<bool>& stop) {
  while (!stop) {
    Wait();
    const SimTime now = Now();
    const Events events = Gather(now);
    {
      const std::lock_guard lock(gpus_mutex_);
      for (const auto& [at, sums] : gpus_) agent_.CountGpus(at, sums);
      gpus_.clear();
    }
    Heed(agent_.Handle(now, events));
    Sample(now);
    LookAtSegments(now);
    Save(now);
    KeepHealth(now);
    if (options_.alive) options_.alive();
  }
  next_save_ = SimTime();
  saver_.Finish();
  Save(Now());
  saver_.Finish();
  CloseRewriter();
}

HostAgentCounts HostAgentServer::Loop::counts() const {
  HostAgentCounts counts = counts_;
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
