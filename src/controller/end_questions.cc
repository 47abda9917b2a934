#include "controller/end_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace fairlead::controller {

using model::Culprit;
using model::CulpritKind;
using model::Finding;
using node_check::SlowEnd;

namespace {

// Large jobs have more than are needed.
constexpr size_t kBystandersMax = 16;

struct Pair {
  RankEnd sender;
  RankEnd receiver;
  bool is_one_way = true;
};

// The two NICs that all culprits are at, or lie between; where there are none, all candidates; else all of the job.
// Nothing: they name something else.
std::optional<Pair> FindPair(const Finding& finding, std::span<const RankEnd> ends) {
  std::vector<Culprit> culprits = finding.culprits;
  if (culprits.empty()) {
    for (const model::Candidate& candidate : finding.candidates) {
      if (candidate.culprit.kind == CulpritKind::kRank) culprits.push_back(candidate.culprit);
    }
    if (culprits.size() < finding.candidates.size()) culprits.clear();
  }
  std::vector<RankEnd> found;
  bool is_one_way = true;
  for (const Culprit& culprit : culprits) {
    const bool is_connection = culprit.kind == CulpritKind::kConnection;
    if (!is_connection && culprit.kind != CulpritKind::kRank) return std::nullopt;
    std::vector<model::RankId> ranks = {culprit.rank};
    if (is_connection) ranks.push_back(culprit.peer);
    for (const model::RankId rank : ranks) {
      if (rank.index() >= ends.size()) return std::nullopt;
      if (std::ranges::find(found, ends[rank.index()]) == found.end()) found.push_back(ends[rank.index()]);
    }
    is_one_way &= is_connection && ends[culprit.rank.index()] == found.front();
  }
  if (culprits.empty()) {
    is_one_way = false;
    for (const RankEnd& end : ends) {
      if (std::ranges::find(found, end) == found.end()) found.push_back(end);
      if (found.size() > 2) return std::nullopt;
    }
  }
  if (found.size() != 2 || found[0].host == found[1].host) return std::nullopt;
  return Pair{found[0], found[1], is_one_way};
}

}  // namespace

void EndQuestions::Consider(const Finding& finding, std::span<const RankEnd> ends) {
  const bool may_ask = finding.syndrome == model::Syndrome::kCommHang &&
                       finding.state == model::FindingState::kConfirmed && !asked_.contains(finding.id);
  const std::optional<Pair> pair = may_ask ? FindPair(finding, ends) : std::nullopt;
  if (!pair) return;
  SlowEndQuestion question{.finding = finding.id,
                           .sender = pair->sender.host,
                           .receiver = pair->receiver.host,
                           .sender_nic = pair->sender.nic,
                           .receiver_nic = pair->receiver.nic};
  std::set<HostId> known = {question.sender, question.receiver};
  for (const RankEnd& end : ends) {
    if (question.bystanders.size() >= kBystandersMax) break;
    if (known.insert(end.host).second) question.bystanders.push_back(end.host);
  }
  asked_[finding.id] = {
      .question = question, .culprits = finding.culprits, .is_one_way = pair->is_one_way, .answer = {}};
  questions_.push_back(std::move(question));
}

bool EndQuestions::Take(const SlowEndAnswer& answer) {
  const auto found = asked_.find(answer.finding);
  if (found == asked_.end()) return false;
  found->second.answer = answer;
  return true;
}

void EndQuestions::Refine(Finding* finding) const {
  const auto found = asked_.find(finding->id);
  if (found == asked_.end() || !found->second.answer || found->second.culprits != finding->culprits) return;
  const auto& [question, culprits, is_one_way, answer] = found->second;
  const std::string sender = names_.Of(question.sender);
  const std::string receiver = names_.Of(question.receiver);
  const auto add = [&](const std::string& host, double share) {
    if (share < 0) return;
    finding->evidence.push_back(
        {fmt::format("what {} reaches with other hosts, of what these reach", host), 100 * share, 100, "%"});
  };
  add(sender, answer->sender_share);
  add(receiver, answer->receiver_share);
  switch (answer->end) {
    case SlowEnd::kUndecided:
      return;
    case SlowEnd::kNeither:
      finding->summary += "; in tests the hosts reach each other well";
      return;
    case SlowEnd::kFabric:
      finding->summary += "; in tests other hosts are slow, too: that is the fabric";
      return;
    case SlowEnd::kPath:
      finding->summary += "; tests say that both hosts are well, and the path between them is not";
      finding->signs.push_back(model::Sign::kTest);
      return;
    case SlowEnd::kSender:
      finding->summary += fmt::format("; tests say that the network of {} is at fault", sender);
      break;
    case SlowEnd::kReceiver:
      finding->summary += fmt::format("; tests say that the network of {} is at fault", receiver);
      break;
    case SlowEnd::kBoth:
      finding->summary += "; tests say that the networks of both hosts are at fault";
      break;
  }
  Blame(found->second, finding);
}

void EndQuestions::Blame(const Asked& asked, Finding* finding) const {
  const SlowEnd end = asked.answer->end;
  const auto culprit_at = [&](HostId host, NicId nic, CulpritKind one_way) {
    Culprit culprit;
    culprit.kind = asked.is_one_way ? one_way : CulpritKind::kNic;
    culprit.host = host;
    culprit.nic = nic;
    if (!asked.culprits.empty()) culprit.plane = asked.culprits.front().plane;
    return culprit;
  };
  finding->culprits.clear();
  finding->candidates.clear();
  if (end != SlowEnd::kReceiver) {
    finding->culprits.push_back(culprit_at(asked.question.sender, asked.question.sender_nic, CulpritKind::kNicSend));
  }
  if (end != SlowEnd::kSender) {
    finding->culprits.push_back(
        culprit_at(asked.question.receiver, asked.question.receiver_nic, CulpritKind::kNicReceive));
  }
  std::ranges::sort(finding->culprits);
  finding->signs.push_back(model::Sign::kTest);
  finding->sub_cause = model::SubCause::kNetwork;
  finding->confidence = std::max(finding->confidence, kTestedConfidence);
  finding->action = model::RecommendedAction::kIsolateAndRestart;
}

}  // namespace fairlead::controller
