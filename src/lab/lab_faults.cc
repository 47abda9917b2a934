#include "lab/lab_faults.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "lab/lab.h"

namespace fairlead::lab {

namespace {

using std::chrono::steady_clock;

struct KindText {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<KindText, kNumLabFaultKinds> kKinds = {{
    {"healthy", "nothing happens"},
    {"pause", "the whole job is stopped for a while"},
    {"frozen_rank", "a worker is stopped (SIGSTOP)"},
    {"killed_rank", "a worker is killed (SIGKILL)"},
    {"killed_host", "a host loses its power"},
    {"cut_link", "a host's NIC loses its cable"},
    {"slow_send", "a NIC sends slowly"},
    {"slow_receive", "a NIC receives slowly"},
    {"slow_connection", "data between two workers flows slowly"},
    {"busy_rank", "a worker computes before each communication"},
    {"slow_loader", "a worker waits for samples"},
    {"mismatch", "a worker communicates in another order"},
}};

// How long an iteration may take before a pause is given up.
constexpr std::chrono::seconds kIterationPatience{30};
constexpr std::chrono::milliseconds kIterationPoll{5};

// Of a host's cable: the shaped traffic leaves the host, or arrives at it.
constexpr size_t kHostEnd = 0;
constexpr size_t kLeafEnd = 1;

bool NeedsShare(LabFaultKind kind) {
  return kind == LabFaultKind::kSlowSend || kind == LabFaultKind::kSlowReceive || kind == LabFaultKind::kSlowConnection;
}

uint32_t AddressOf(const std::string& text) {
  in_addr address = {};
  inet_pton(AF_INET, text.c_str(), &address);
  return ntohl(address.s_addr);
}

}  // namespace

std::string_view Name(LabFaultKind kind) { return kKinds.at(static_cast<size_t>(kind)).name; }

std::string_view Describe(LabFaultKind kind) { return kKinds.at(static_cast<size_t>(kind)).text; }

std::optional<LabFaultKind> FindLabFaultKind(std::string_view name) {
  for (size_t k = 0; k < kNumLabFaultKinds; ++k) {
    if (kKinds[k].name == name) return static_cast<LabFaultKind>(k);
  }
  return std::nullopt;
}

Status Validate(const LabFault& fault, size_t num_workers) {
  const bool needs_peer = fault.kind == LabFaultKind::kSlowConnection;
  if (fault.worker >= num_workers || (needs_peer && (fault.peer >= num_workers || fault.peer == fault.worker))) {
    return InvalidArgument(fmt::format("fault {}: expected workers below {}{}, found {} and {}", Name(fault.kind),
                                       num_workers, needs_peer ? ", two of them" : "", fault.worker, fault.peer));
  }
  if (NeedsShare(fault.kind) && !(fault.share > 0 && fault.share < 1)) {
    return InvalidArgument(
        fmt::format("fault {}: expected a share between 0 and 1, found {}", Name(fault.kind), fault.share));
  }
  if (!(fault.seconds > 0 && fault.seconds <= 3600)) {
    return InvalidArgument(
        fmt::format("fault {}: expected seconds above 0, at most 3600, found {}", Name(fault.kind), fault.seconds));
  }
  return OkStatus();
}

Status LabFaultInjector::Apply(JobId job, const LabFault& fault) {
  FL_CHECK(!planted_ && runner_->IsRunning(job));
  planted_ = Planted{job, fault, runner_->ProgressOf(job).run};
  const LabJob& plan = runner_->PlanOf(job);
  const LabWorker& worker = plan.workers[fault.worker];
  switch (fault.kind) {
    case LabFaultKind::kHealthy:
      return OkStatus();
    case LabFaultKind::kPause:
      return Pause(job, fault.seconds);
    case LabFaultKind::kFrozenRank:
      runner_->Workers(job)[fault.worker].Signal(SIGSTOP);
      return OkStatus();
    case LabFaultKind::kKilledRank:
      runner_->Workers(job)[fault.worker].Signal(SIGKILL);
      return OkStatus();
    case LabFaultKind::kBusyRank:
      return runner_->Control(job, fault.worker, {.busy_s = fault.seconds});
    case LabFaultKind::kSlowLoader:
      return runner_->Control(job, fault.worker, {.loader_s = fault.seconds});
    case LabFaultKind::kMismatch:
      return runner_->Control(job, fault.worker, {.has_bad_order = true});
    case LabFaultKind::kSlowConnection:
      host_ = worker.host;
      return SlowConnection(worker, plan.workers[fault.peer], fault.share);
    default:
      host_ = worker.host;
      return ApplyToCables(fault, worker);
  }
}

Status LabFaultInjector::ApplyToCables(const LabFault& fault, const LabWorker& worker) {
  switch (fault.kind) {
    case LabFaultKind::kSlowSend:
      return SetSpeed(kHostEnd, fault.share);
    case LabFaultKind::kSlowReceive:
      return SetSpeed(kLeafEnd, fault.share);
    case LabFaultKind::kKilledHost:
      // Without the cables no peer learns that the processes have ended.
      FL_RETURN_IF_ERROR(CutCables(0));
      daemons_ = KillProcesses(session_->state().keeper, worker.host);
      return OkStatus();
    default:
      return CutCables(0);
  }
}

Status LabFaultInjector::Undo() {
  if (!planted_) return OkStatus();
  const Planted planted = *planted_;
  planted_.reset();
  const LabNodeId host = std::exchange(host_, LabNodeId());
  const bool is_same_run = runner_->IsRunning(planted.job) && runner_->ProgressOf(planted.job).run == planted.run;
  switch (planted.fault.kind) {
    case LabFaultKind::kFrozenRank:
      if (is_same_run) runner_->Workers(planted.job)[planted.fault.worker].Signal(SIGCONT);
      return OkStatus();
    case LabFaultKind::kBusyRank:
    case LabFaultKind::kSlowLoader:
    case LabFaultKind::kMismatch:
      return is_same_run ? runner_->Control(planted.job, planted.fault.worker, {}) : OkStatus();
    case LabFaultKind::kSlowSend:
    case LabFaultKind::kSlowReceive:
      host_ = host;
      FL_RETURN_IF_ERROR(SetSpeed(planted.fault.kind == LabFaultKind::kSlowSend ? kHostEnd : kLeafEnd, 1));
      break;
    case LabFaultKind::kSlowConnection:
      for (const CableId cable : CablesOf(host))
        FL_RETURN_IF_ERROR(EndSlowConnections(session_->state(), cable, kHostEnd));
      break;
    case LabFaultKind::kCutLink:
    case LabFaultKind::kKilledHost:
      host_ = host;
      FL_RETURN_IF_ERROR(CutCables(1));
      FL_RETURN_IF_ERROR(StartDaemons(session_->state().keeper, host, std::exchange(daemons_, {})));
      break;
    default:
      break;
  }
  host_ = LabNodeId();
  return OkStatus();
}

std::vector<CableId> LabFaultInjector::CablesOf(LabNodeId host) const {
  return session_->state().plan.nodes[host].cables;
}

Status LabFaultInjector::CutCables(double health) {
  for (const CableId cable : CablesOf(host_)) FL_RETURN_IF_ERROR(session_->SetHealth(cable, health));
  return OkStatus();
}

Status LabFaultInjector::SetSpeed(size_t end, double share) {
  for (const CableId cable : CablesOf(host_)) FL_RETURN_IF_ERROR(SetEndSpeed(session_->state(), cable, end, share));
  return OkStatus();
}

Status LabFaultInjector::SlowConnection(const LabWorker& from, const LabWorker& to, double share) {
  const auto found = std::find_if(from.plan.connections.begin(), from.plan.connections.end(),
                                  [&](const auto& c) { return c.is_outgoing && c.peer == to.plan.worker; });
  if (found == from.plan.connections.end()) {
    return InvalidArgument(fmt::format("job {}: worker {} has no connection to worker {}", from.plan.job,
                                       from.plan.worker, to.plan.worker));
  }
  const ConnectionFilter filter{AddressOf(found->from), AddressOf(found->to)};
  for (const CableId cable : CablesOf(from.host)) {
    FL_RETURN_IF_ERROR(SlowConnections(session_->state(), cable, kHostEnd, filter, share));
  }
  return OkStatus();
}

Result<JobProgress> LabFaultInjector::NextIteration(JobId job, const JobProgress& before) const {
  const auto end = steady_clock::now() + kIterationPatience;
  while (true) {
    const JobProgress now = runner_->ProgressOf(job);
    if (now.iteration && now != before) return now;
    if (steady_clock::now() > end) return Unavailable("the job does not get on, so it can't be paused");
    std::this_thread::sleep_for(kIterationPoll);
  }
}

Status LabFaultInjector::Pause(JobId job, double seconds) {
  // Workers begin an iteration at about the same time, and look at their files then: in the midst of one all of them
  // will look next at the same begin.
  const JobProgress first = runner_->ProgressOf(job);
  FL_ASSIGN_OR_RETURN(const JobProgress second, NextIteration(job, first));
  FL_ASSIGN_OR_RETURN(const JobProgress third, NextIteration(job, second));
  std::this_thread::sleep_for(std::chrono::duration<double>((third.ended_s - second.ended_s) / 2));
  for (size_t w = 0; w < runner_->PlanOf(job).workers.size(); ++w) {
    FL_RETURN_IF_ERROR(runner_->Control(job, static_cast<uint32_t>(w), {.pause_s = seconds}));
  }
  return OkStatus();
}

}  // namespace fairlead::lab
