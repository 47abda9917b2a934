#include "service/controller/finding_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/shell_word.h"
#include "report/wait_graph_figure.h"

namespace fairlead::service {

namespace {

using model::Finding;
using model::SubCause;
using model::Syndrome;

std::optional<double> SecondsOf(SimTime time) {
  return time == SimTime::Never() ? std::nullopt : std::optional(time.seconds().value());
}

// At most so many hosts of candidates are looked at one by one, and tested together.
constexpr size_t kHostsLookedAt = 3;
constexpr size_t kHostsTested = 8;

// What on-call engineers look at next (docs/oncall). Args: steps: that come first.
std::vector<wire::NextStep> NextStepsOf(const std::string& job, const Finding& finding, const wire::LiveFinding& live,
                                        std::vector<wire::NextStep> steps) {
  for (const std::string& host : live.hosts) {
    steps.push_back({fmt::format("fairlead describe host {}", ShellWord(host)), "what else is known of the host"});
    if (steps.size() == 3) break;
  }
  const std::string host = live.hosts.empty() ? "" : fmt::format("ssh {} ", ShellWord(live.hosts.front()));
  switch (finding.syndrome) {
    case Syndrome::kDead:
      steps.push_back({host + "journalctl -k --since -15min", "Xid, out of memory, machine checks"});
      break;
    case Syndrome::kNonCommHang:
    case Syndrome::kNonCommSlow:
      if (finding.sub_cause == SubCause::kHostThread) {
        steps.push_back({host + "fairlead agent processes", "what its processes finished last and have pending"});
        steps.push_back({host + "py-spy dump --pid PID", "where the training script is"});
      } else if (!host.empty()) {
        steps.push_back({host + "nvidia-smi -q -d PERFORMANCE,ECC,TEMPERATURE", "throttling, memory errors, heat"});
        steps.push_back({host + "journalctl -k --since -15min", "Xid, PCIe errors"});
      }
      break;
    case Syndrome::kCommHang:
    case Syndrome::kCommSlow:
      if (!host.empty()) {
        steps.push_back({host + "ip -s link", "errors and drops of its ports"});
        steps.push_back({host + "rdma statistic", "retransmissions, congestion"});
      }
      steps.push_back({fmt::format("fairlead get connections --job {}", job), "which links its paths take"});
      break;
    case Syndrome::kUnreachable:
      steps.push_back({host + "systemctl status fairlead-agent", "whether the agent runs"});
      break;
    case Syndrome::kMismatch:
      steps.push_back({host + "fairlead agent processes", "what its processes called last"});
      break;
  }
  if (finding.cleared == SimTime::Never()) {
    steps.push_back({fmt::format("fairlead pause {} --for 30m --reason \"I look at it\"", job),
                     "steering leaves the job alone meanwhile"});
  }
  return steps;
}

wire::LiveThreads MakeLive(const model::RankThreads& alike) {
  model::WaitNode node;
  node.ranks = alike.ranks;
  wire::LiveThreads live{.ranks = report::LabelOf(node), .is_accused = alike.is_accused, .groups = {}};
  for (const model::ThreadGroup& group : alike.groups) {
    live.groups.push_back({.name = group.name,
                           .state = std::string(model::Name(group.state)),
                           .place = group.place,
                           .count = group.count});
  }
  return live;
}

}  // namespace

// Those that can't be seen are asked whether they are there; of a program's fault its processes tell; else tests of the
// hosts do, and what their GPUs and stuck threads say.
std::vector<wire::NextStep> TellApart(const Finding& finding, const report::CulpritNames& names) {
  std::vector<std::string> hosts;  // in the order of candidates
  for (const model::Candidate& candidate : finding.candidates) {
    if (!candidate.culprit.host.valid() || hosts.size() == kHostsTested) continue;
    const std::string name = ShellWord(names.host(candidate.culprit.host));
    if (std::ranges::find(hosts, name) == hosts.end()) hosts.push_back(name);
  }
  std::vector<wire::NextStep> steps;
  if (hosts.empty()) return steps;
  const bool is_unseen = finding.syndrome == Syndrome::kNonCommHang || finding.syndrome == Syndrome::kDead;
  const bool is_program = finding.syndrome == Syndrome::kMismatch;
  if (!is_unseen && !is_program) {
    steps.push_back({fmt::format("fairlead check-node {} --while-training", fmt::join(hosts, " ")),
                     "which of them loses data or does not answer, while the job still hangs"});
  }
  for (const std::string& host : std::span(hosts).first(std::min(hosts.size(), kHostsLookedAt))) {
    if (is_unseen)
      steps.push_back({fmt::format("ssh {} systemctl status fairlead-agent", host), "why reports are missing"});
    steps.push_back({fmt::format("ssh {} fairlead agent processes", host),
                     "what its processes finished last: the one that is behind the others is the cause"});
    steps.push_back({fmt::format("ssh {} py-spy dump --pid PID", host),
                     "where the training script is: who is not inside of the operation?"});
    if (!is_program) {
      steps.push_back({fmt::format("ssh {} nvidia-smi -q -d PERFORMANCE,ECC,UTILIZATION", host),
                       "a GPU that waits for data is busy, and one that has stopped reports errors or is idle"});
    }
  }
  if (!is_program) {
    steps.push_back({fmt::format("fairlead check-node {} --burn-in 60s", fmt::join(hosts, " ")),
                     "when the job has left them: which one fails by itself"});
  }
  return steps;
}

wire::LiveFinding MakeLive(const std::string& job, const Finding& finding, const report::CulpritNames& names) {
  wire::LiveFinding live;
  live.job = job;
  live.id = finding.id.value();
  live.syndrome = model::Name(finding.syndrome);
  std::set<HostId> hosts;
  std::set<model::RankId> ranks;
  for (const model::Culprit& culprit : finding.culprits) {
    live.culprits.push_back(report::CulpritText(culprit, names));
    if (culprit.host.valid()) hosts.insert(culprit.host);
    if (culprit.rank.valid()) ranks.insert(culprit.rank);
  }
  for (const HostId host : hosts) live.hosts.push_back(names.host(host));
  for (const model::RankId rank : ranks) live.ranks.push_back(rank.value());
  live.suspected_at_s = SecondsOf(finding.first_seen);
  live.confirmed_at_s = SecondsOf(finding.confirmed);
  live.cleared_at_s = SecondsOf(finding.cleared);
  if (std::isfinite(finding.confidence)) live.confidence = finding.confidence;
  live.cost_share = finding.cost_share;
  live.cost_gpu_hours = finding.cost_gpu_hours;
  live.action = model::Name(finding.action);
  live.sub_cause = model::Name(finding.sub_cause);
  for (const model::Sign sign : finding.signs) live.signs.emplace_back(model::Name(sign));
  live.text = finding.summary;
  for (const model::Evidence& one : finding.evidence) live.evidence.push_back(report::EvidenceText(one));
  for (const model::Candidate& candidate : finding.candidates) {
    wire::LiveCandidate& one = live.candidates.emplace_back();
    one.culprit = report::CulpritText(candidate.culprit, names);
    if (candidate.culprit.host.valid()) one.host = names.host(candidate.culprit.host);
    one.why = candidate.why;
    for (const model::Evidence& evidence : candidate.evidence) one.evidence.push_back(report::EvidenceText(evidence));
  }
  return live;
}

wire::FindingDetail MakeDetail(const std::string& job, const Finding& finding,
                               const std::optional<model::FindingProof>& proof, const report::CulpritNames& names) {
  wire::FindingDetail detail;
  detail.finding = MakeLive(job, finding, names);
  detail.next = NextStepsOf(job, finding, detail.finding, TellApart(finding, names));
  if (!proof.has_value()) return detail;
  detail.seen_at_s = SecondsOf(proof->seen_at);
  for (const model::IterationBlock& block : proof->blocks) {
    detail.blocks.push_back({.at_s = block.at.seconds().value(),
                             .seconds = block.seconds,
                             .own_seconds = block.own_seconds,
                             .like_low_seconds = block.like_low_seconds,
                             .like_median_seconds = block.like_median_seconds,
                             .like_high_seconds = block.like_high_seconds});
  }
  for (const model::WaitNode& node : proof->waits.nodes) {
    detail.wait_nodes.push_back(
        {.label = report::LabelOf(node), .is_operation = node.ranks.empty(), .is_culprit = node.is_culprit});
  }
  for (const auto& [from, to] : proof->waits.edges) detail.waits.push_back({.from = from, .to = to});
  for (const model::TransferDelay& delay : proof->delays) {
    detail.delays.push_back({.source = delay.source.value(),
                             .destination = delay.destination.value(),
                             .ratio = delay.ratio,
                             .is_accused = delay.is_accused});
  }
  detail.delays_left_out = proof->num_delays_left_out;
  for (const model::RankThreads& alike : proof->threads) detail.threads.push_back(MakeLive(alike));
  for (const HostId host : proof->host_of) detail.rank_hosts.push_back(names.host(host));
  return detail;
}

}  // namespace fairlead::service
