#include "controller/node_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::controller {

using node_check::HostVerdict;
using node_check::PairRounds;
using node_check::TransferFault;
using node_check::TransferResult;
using Verdict = CheckedHostView::Verdict;

namespace {

constexpr SimDuration kTransferLengthMax(60'000'000'000);
constexpr double kShareWhileTraining = 0.01;
constexpr double kBurnInBelow = 0.95;  // of the median
constexpr size_t kBurnInLikeMin = 3;   // fewer have no median worth a verdict

std::string DescribeDevice(const model::HostSymptomRecord& symptom) {
  const std::string_view device = model::IsOfGpu(symptom.symptom) ? "GPU" : "NIC";
  return model::IsDeviceFault(symptom.symptom) ? fmt::format("{} {} reports: {}", device, symptom.device, symptom.text)
                                               : "the host reports: " + symptom.text;
}

std::string DescribeFault(const HostVerdict& verdict) {
  const std::string_view does = verdict.sends ? "sends" : "receives";
  switch (verdict.fault) {
    case TransferFault::kNone:
      return "";
    case TransferFault::kFailed:
      return fmt::format("NIC {} {} nothing", verdict.nic, does);
    case TransferFault::kSlow:
      return fmt::format("NIC {} {} at {:.0f} % of what is usual", verdict.nic, does, 100 * verdict.rate_share);
    case TransferFault::kLossy:
      return fmt::format("NIC {} {} with {:.2g} % of packets lost", verdict.nic, does, 100 * verdict.lost_share);
  }
  return "";
}

}  // namespace

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWaiting:
      return "waiting";
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "";
}

std::optional<CheckedHostView> FindCheckedHost(const std::deque<NodeCheckView>& checks, uint64_t number, HostId host) {
  const auto check = std::ranges::find(checks, number, &NodeCheckView::number);
  if (check == checks.end()) return std::nullopt;
  const auto checked = std::ranges::find(check->hosts, host, &CheckedHostView::host);
  return checked == check->hosts.end() ? std::nullopt : std::optional(*checked);
}

NodeChecks::NodeChecks(const topology::Fabric& fabric, const topology::AddressBook& addresses, const JobTable& jobs,
                       const AgentStreams& streams, HostTestRuns* tests, TrafficOutputs* outputs)
    : fabric_(fabric), addresses_(addresses), jobs_(jobs), streams_(streams), tests_(tests), outputs_(outputs) {}

std::vector<IpAddress> NodeChecks::NicsOf(HostId host) const {
  std::set<NicId> used;  // by GPUs
  for (uint32_t g = 0; g < fabric_.num_gpus_of(host); ++g) {
    used.insert(fabric_.nic_of(fabric_.gpu(host, g)));
  }
  std::vector<IpAddress> nics;
  for (const NicId nic : used) {
    const IpAddress address = addresses_.AddressOf(nic);
    if (!address.is_unset()) nics.push_back(address);
  }
  return nics;
}

bool NodeChecks::IsReady(HostId host) const {
  return tests_->CanTest(host) && !tests_->IsReserved(host) && jobs_.jobs_at(host).empty() && !NicsOf(host).empty();
}

std::string NodeChecks::FindFault(const NodeCheckRequest& request) const {
  if (request.hosts.empty()) return "expected at least one host";
  if (checks_.size() >= kRunningMax) return fmt::format("{} checks are under way; wait for one to end", kRunningMax);
  if (request.transfer_length <= SimDuration() || request.transfer_length > kTransferLengthMax) {
    return "transfers take more than 0 and at most 60 s";
  }
  if (request.burn_in_length < SimDuration() || request.burn_in_length > kTestLengthMax) {
    return "burn-in takes at most 600 s";
  }
  if (request.num_streams < 1 || request.num_streams > kTestStreamsMax) {
    return fmt::format("streams: expected 1 to {}, found {}", kTestStreamsMax, request.num_streams);
  }
  if (checks_.contains(request.number)) return fmt::format("check {} is under way", request.number);
  std::set<HostId> named;
  for (const HostId host : request.hosts) {
    const std::string name = fabric_.HostName(host);
    if (!named.insert(host).second) return fmt::format("host {} is named twice", name);
    if (NicsOf(host).empty()) return fmt::format("host {}: the address book has no address of its NICs", name);
    if (!streams_.IsConnected(host)) return fmt::format("host {}: its agent is away", name);
    if (!streams_.agent(host).can_test) {
      return fmt::format("host {}: its agent, version {}, is too old to test it", name, streams_.agent(host).version);
    }
    if (tests_->IsReserved(host)) return fmt::format("host {} is being tested", name);
    if (!request.while_training && !jobs_.jobs_at(host).empty()) {
      const std::string& job = jobs_.at(*jobs_.jobs_at(host).begin()).name;
      return fmt::format("host {}: job {} has connections there; --while-training checks for loss only", name, job);
    }
  }
  if (request.hosts.size() + FindPartners(request.hosts).size() < 2) {
    return "one host can't be checked alone, and no other host is free and has an agent";
  }
  return "";
}

// Those below the same leaves first.
std::vector<HostId> NodeChecks::FindPartners(const std::vector<HostId>& hosts) const {
  std::vector<HostId> partners;
  const uint32_t leaf = fabric_.leaf_group(hosts.front());
  for (const bool is_near : {true, false}) {
    for (uint32_t h = 0; h < fabric_.num_hosts() && hosts.size() + partners.size() < kDecisive; ++h) {
      const HostId host(h);
      if ((fabric_.leaf_group(host) == leaf) != is_near || !IsReady(host)) continue;
      if (std::ranges::find(hosts, host) == hosts.end()) partners.push_back(host);
    }
  }
  return partners;
}

double NodeChecks::LineRateOf(HostId host) const {
  double slowest = std::numeric_limits<double>::infinity();
  for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
    double rate = 0;
    for (const LinkId link : fabric_.links_from(fabric_.node_of(fabric_.nic(host, n)))) {
      if (topology::IsNetwork(fabric_.tier(link))) rate += fabric_.capacity(link).value();
    }
    if (rate > 0) slowest = std::min(slowest, rate);
  }
  return slowest;
}

NodeCheckView* NodeChecks::FindView(uint64_t number) {
  const auto found = std::ranges::find(views_, number, &NodeCheckView::number);
  return found == views_.end() ? nullptr : &*found;
}

void NodeChecks::Begin(SimTime now, SimTime clock, const NodeCheckRequest& request) {
  if (const std::string fault = FindFault(request); !fault.empty()) {
    return outputs_->Note(Noted::Severity::kWarning, fmt::format("check {}", request.number), "not begun: " + fault);
  }
  Check check;
  check.request = request;
  NodeCheckView view{.number = request.number,
                     .while_training = request.while_training,
                     .who = request.who,
                     .began = clock,
                     .ended = {},
                     .hosts = {}};
  std::vector<HostId> hosts = request.hosts;
  for (const HostId partner : FindPartners(request.hosts)) hosts.push_back(partner);
  // Neighbours in the list are near each other.
  std::ranges::stable_sort(hosts, {}, [&](HostId host) { return std::pair(fabric_.leaf_group(host), host); });
  for (const HostId host : hosts) {
    check.hosts.push_back({.host = host, .nics = NicsOf(host)});
    view.hosts.push_back({.host = host,
                          .is_partner = std::ranges::find(request.hosts, host) == request.hosts.end(),
                          .reasons = {},
                          .transfers = {},
                          .burn_in_score = {}});
  }
  check.burned_in.resize(hosts.size());
  if (request.burn_in_length > SimDuration()) {
    for (size_t h = 0; h < hosts.size(); ++h) {
      check.burn_ins[tests_->BeginBurnIn(now, hosts[h], request.burn_in_length)] = h;
    }
  }
  outputs_->Note(
      Noted::Severity::kInfo, fmt::format("check {}", request.number),
      fmt::format("{} hosts are checked{}{}", hosts.size(), request.who.empty() ? "" : ", asked for by ", request.who));
  Check& begun = checks_.emplace(request.number, std::move(check)).first->second;
  while (views_.size() >= kKeptMax && views_.front().ended.has_value()) views_.pop_front();
  views_.push_back(std::move(view));
  tests_->Reserve(hosts);
  if (begun.burn_ins.empty()) BeginTransfers(now, &begun);
}

void NodeChecks::BeginTransfers(SimTime now, Check* check) {
  std::vector<node_check::CheckedHost> checked;
  double line_rate = std::numeric_limits<double>::infinity();
  for (const TestedHost& host : check->hosts) {
    checked.push_back({.leaf = fabric_.leaf_group(host.host),
                       .pod = fabric_.pod(host.host),
                       .num_nics = static_cast<uint32_t>(host.nics.size())});
    line_rate = std::min(line_rate, LineRateOf(host.host));
  }
  node_check::PairRoundOptions options;
  if (check->request.while_training) options.slow_below = 0;  // rates are the jobs'
  auto rounds = std::make_unique<PairRounds>(std::move(checked), options);
  check->rounds = rounds.get();
  HostTestRuns::Transfer terms;
  terms.num_streams = check->request.num_streams;
  terms.length = check->request.transfer_length;
  terms.despite_jobs = check->request.while_training;
  if (check->request.while_training) terms.rate_max = kShareWhileTraining * line_rate;
  check->run.emplace(std::move(rounds), check->hosts, terms, tests_);
  check->run->Begin(now);
}

void NodeChecks::Take(SimTime now, const HostTestRuns::Ended& ended) {
  for (auto& [number, check] : checks_) Take(now, &check, ended);
}

void NodeChecks::Take(SimTime now, Check* check, const HostTestRuns::Ended& ended) {
  const auto burn_in = check->burn_ins.find(ended.test);
  const bool is_ours = burn_in != check->burn_ins.end() || (check->run && check->run->IsWaitingFor(ended.test));
  if (!is_ours) return;
  for (const HostTestRuns::Symptom& symptom : ended.symptoms) check->symptoms[symptom.host].push_back(symptom.record);
  if (burn_in == check->burn_ins.end()) return check->run->Take(now, ended);
  check->burned_in[burn_in->second] = ended;
  check->burn_ins.erase(burn_in);
  if (check->burn_ins.empty()) BeginTransfers(now, check);
}

void NodeChecks::Conclude(SimTime clock) {
  for (auto one = checks_.begin(); one != checks_.end();) {
    const Check& check = one->second;
    NodeCheckView* view = FindView(one->first);
    const bool has_burn_in = check.request.burn_in_length > SimDuration();
    view->num_steps = (has_burn_in ? 1 : 0) + (check.run ? check.run->num_steps() : 0);
    view->num_finished_steps = check.run ? (has_burn_in ? 1 : 0) + check.run->num_finished_steps() : 0;
    if (!check.run || !check.run->is_over()) {
      ++one;
      continue;
    }
    Judge(check, view);
    view->ended = clock;
    Note(*view);
    for (const TestedHost& host : check.hosts) tests_->Release({&host.host, 1});
    one = checks_.erase(one);
  }
}

void NodeChecks::JudgeTransfers(const Check& check, NodeCheckView* view) const {
  const std::vector<HostVerdict> verdicts = check.rounds->Verdicts();
  if (!check.request.while_training) view->usual_rate = check.rounds->usual_rate();
  const auto name_all = [&](const std::vector<uint32_t>& places) {
    std::vector<std::string> names;
    for (const uint32_t place : places) names.push_back(fabric_.HostName(view->hosts[place].host));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  for (size_t h = 0; h < verdicts.size(); ++h) {
    const HostVerdict& verdict = verdicts[h];
    CheckedHostView& host = view->hosts[h];
    host.transfers = verdict;
    const std::string fault = DescribeFault(verdict);
    switch (verdict.kind) {
      case HostVerdict::Kind::kFailed:
        host.verdict = Verdict::kFailed;
        host.reasons.push_back(fmt::format("{}, with each of {} partners", fault, verdict.num_partners));
        break;
      case HostVerdict::Kind::kUndecided:
        host.verdict = Verdict::kUndecided;
        if (verdict.num_partners == 0) {
          host.reasons.push_back("nothing could be measured: its agent, or those of its partners, gave no answer");
        } else {
          host.reasons.push_back(fmt::format("{} with {}: which of them is bad can't be told",
                                             fault.empty() ? "transfers are bad" : fault, name_all(verdict.bad_with)));
        }
        break;
      case HostVerdict::Kind::kPassed:
        host.verdict = Verdict::kPassed;
        // A partner that has failed explains it.
        std::vector<uint32_t> unexplained = verdict.bad_with;
        std::erase_if(unexplained, [&](uint32_t other) { return verdicts[other].kind == HostVerdict::Kind::kFailed; });
        if (unexplained.empty()) break;
        host.reasons.push_back(
            fmt::format("transfers are bad with {} only: the path between them", name_all(unexplained)));
        break;
    }
  }
}

void NodeChecks::JudgeBurnIn(const Check& check, NodeCheckView* view) const {
  std::vector<double> scores;
  for (const auto& ended : check.burned_in) {
    if (ended && ended->transfer.outcome == TransferResult::Outcome::kMeasured) scores.push_back(ended->score);
  }
  const double median = scores.size() < kBurnInLikeMin ? 0 : Median(scores);
  for (size_t h = 0; h < check.burned_in.size(); ++h) {
    const auto& ended = check.burned_in[h];
    if (!ended) continue;
    CheckedHostView& host = view->hosts[h];
    const TransferResult& result = ended->transfer;
    if (result.outcome == TransferResult::Outcome::kNoAnswer) {
      host.reasons.push_back("no burn-in: " + result.error);
      continue;
    }
    const bool has_failed = result.outcome == TransferResult::Outcome::kFailed;
    if (!has_failed) host.burn_in_score = ended->score;
    if (!has_failed && ended->score >= kBurnInBelow * median) continue;
    host.verdict = Verdict::kFailed;
    host.reasons.insert(host.reasons.begin(), has_failed ? "burn-in failed: " + result.error
                                                         : fmt::format("burn-in reaches {:.0f} % of the median",
                                                                       100 * ended->score / median));
  }
}

void NodeChecks::Judge(const Check& check, NodeCheckView* view) const {
  JudgeTransfers(check, view);
  JudgeBurnIn(check, view);
  for (CheckedHostView& host : view->hosts) {
    const auto reported = check.symptoms.find(host.host);
    if (reported == check.symptoms.end()) continue;
    for (const model::HostSymptomRecord& symptom : reported->second) {
      const std::string text = DescribeDevice(symptom);
      if (std::ranges::find(host.reasons, text) != host.reasons.end()) continue;
      if (model::IsDeviceFault(symptom.symptom)) host.verdict = Verdict::kFailed;
      host.reasons.push_back(text);
    }
  }
}

void NodeChecks::Note(const NodeCheckView& view) const {
  size_t num_failed = 0;
  size_t num_undecided = 0;
  for (const CheckedHostView& host : view.hosts) {
    num_failed += host.verdict == Verdict::kFailed ? 1 : 0;
    num_undecided += host.verdict == Verdict::kUndecided ? 1 : 0;
    if (host.verdict != Verdict::kFailed) continue;
    outputs_->NoteHost(Noted::Severity::kWarning, host.host,
                       fmt::format("check {}: failed: {}", view.number, host.reasons.front()));
  }
  outputs_->Note(
      Noted::Severity::kInfo, fmt::format("check {}", view.number),
      fmt::format("{} hosts, of which {} failed and {} are undecided", view.hosts.size(), num_failed, num_undecided));
}

}  // namespace fairlead::controller
