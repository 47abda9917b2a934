#include "diagnosis/c4d/mismatch_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "diagnosis/c4d/wording.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::JobLayout;
using model::OperationKind;
using model::RankId;

// Ranks that mean the same operation.
struct Camp {
  OperationSignature signature;
  std::vector<RankId> ranks;
  size_t num_alike = 0;
  bool is_usual = false;
};

std::vector<Camp> CampsOf(const JobLayout& layout, CommunicatorId id, const OpenOperation& operation) {
  const std::vector<RankId>& ranks = layout.communicators[id.index()].ranks;
  std::vector<Camp> camps(1);
  camps.front().signature = operation.signature;
  for (uint32_t i = 0; i < ranks.size(); ++i) {
    const MemberProgress& member = operation.members[i];
    if (member.stage == Stage::kAbsent || member.contradicts || member.is_implied) continue;
    const auto deviation = std::find_if(operation.deviations.begin(), operation.deviations.end(),
                                        [&](const auto& d) { return d.position == i; });
    const OperationSignature& said =
        deviation == operation.deviations.end() ? operation.signature : deviation->signature;
    auto camp = std::find_if(camps.begin(), camps.end(), [&](const Camp& c) { return c.signature == said; });
    if (camp == camps.end()) {
      camp = camps.insert(camp, Camp());
      camp->signature = said;
    }
    camp->ranks.push_back(ranks[i]);
  }
  std::erase_if(camps, [](const Camp& c) { return c.ranks.empty(); });
  return camps;
}

// Communicators of the same size do the same things in the same order in most programs: how many did as stated.
size_t NumAlike(const JobPicture& picture, CommunicatorId id, const OperationSignature& said) {
  const size_t num_ranks = picture.layout().communicators[id.index()].ranks.size();
  const auto is_same = [&](const OperationSignature& s) {
    return s.kind == said.kind && s.sequence == said.sequence && s.bytes == said.bytes;
  };
  size_t count = 0;
  for (size_t c = 0; c < picture.communicators().size(); ++c) {
    if (c == id.index() || picture.layout().communicators[c].ranks.size() != num_ranks) continue;
    const CommunicatorState& other = picture.communicators()[CommunicatorId(c)];
    const bool is_open =
        std::any_of(other.collectives.open().begin(), other.collectives.open().end(),
                    [&](const OpenOperation& o) { return o.deviations.empty() && is_same(o.signature); });
    if (is_open || std::any_of(other.remembered.begin(), other.remembered.end(), is_same)) ++count;
  }
  return count;
}

// The camp that is right; nothing if that is unknown.
const Camp* FindRight(const std::vector<Camp>& camps) {
  const Camp* best = nullptr;
  bool is_tie = false;
  for (const Camp& camp : camps) {
    const auto rank = std::tuple(camp.ranks.size(), camp.num_alike, camp.is_usual);
    const auto best_rank = best == nullptr ? std::tuple(size_t{0}, size_t{0}, false)
                                           : std::tuple(best->ranks.size(), best->num_alike, best->is_usual);
    is_tie = best != nullptr && (rank == best_rank || (is_tie && rank < best_rank));
    if (best == nullptr || rank > best_rank) best = &camp;
  }
  return is_tie ? nullptr : best;
}

std::string TextOf(const OperationSignature& signature) {
  std::string text = fmt::format("{} {} of {} bytes", NameOf(signature.kind), signature.sequence, signature.bytes);
  if (!signature.data_type.empty()) text += " " + signature.data_type;
  if (signature.root >= 0) text += fmt::format(" from root {}", signature.root);
  return text;
}

std::optional<Suspect> JudgeOperation(const JobPicture& picture, CommunicatorId id, const OpenOperation& operation) {
  const JobLayout& layout = picture.layout();
  std::vector<Camp> camps = CampsOf(layout, id, operation);
  if (camps.size() < 2) return std::nullopt;
  size_t num_spoken = 0;
  for (Camp& camp : camps) {
    num_spoken += camp.ranks.size();
    const DurationHistory& durations = picture.communicators()[id].durations;
    camp.num_alike = NumAlike(picture, id, camp.signature);
    camp.is_usual = durations.Median(camp.signature.kind, camp.signature.bytes) > SimDuration(0);
  }
  const Camp* right = FindRight(camps);
  // Two ranks of many have spoken: wait for the others.
  if (right == nullptr && num_spoken < operation.members.size()) return std::nullopt;
  std::vector<RankId> guilty;
  const Camp* wrong = nullptr;
  for (const Camp& camp : camps) {
    if (&camp == right) continue;
    guilty.insert(guilty.end(), camp.ranks.begin(), camp.ranks.end());
    wrong = &camp;
  }
  std::sort(guilty.begin(), guilty.end());
  const Camp& other = right != nullptr ? *right : camps.front();
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kMismatch;
  suspect.culprits = RankCulprits(layout, guilty);
  suspect.confidence = right != nullptr ? 0.95 : 0.6;
  suspect.communicator = id;
  suspect.operation = operation.signature.kind;
  suspect.sequence = operation.signature.sequence;
  suspect.evidence.push_back({"ranks that called another operation", static_cast<double>(guilty.size()), 0, "ranks"});
  suspect.evidence.push_back(
      {"bytes", static_cast<double>(wrong->signature.bytes), static_cast<double>(other.signature.bytes), "bytes"});
  suspect.summary = fmt::format("{} called {} on {} where {} other ranks called {}: a bug in the program",
                                Describe(layout, picture.names(), suspect.culprits), TextOf(wrong->signature),
                                layout.communicators[id.index()].name, other.ranks.size(), TextOf(other.signature));
  return suspect;
}

void JudgeTransfers(const JobPicture& picture, CommunicatorId id, std::vector<Suspect>* suspects) {
  const JobLayout& layout = picture.layout();
  const TransferTable& transfers = picture.communicators()[id].transfers;
  const std::vector<RankId>& ranks = layout.communicators[id.index()].ranks;
  for (uint32_t i = 0; i < ranks.size(); ++i) {
    for (const Lane& lane : transfers.lanes(i)) {
      if (lane.kind != OperationKind::kSend) continue;
      const uint64_t sequence = lane.oldest();
      const Lane* opposite = transfers.Opposite(i, lane);
      const PendingTransfer* mine = lane.Find(sequence);
      const PendingTransfer* theirs = opposite == nullptr ? nullptr : opposite->Find(sequence);
      if (mine == nullptr || theirs == nullptr) continue;
      const uint64_t sent = mine->bytes;
      const uint64_t expected = theirs->bytes;
      if (sent == 0 || expected == 0 || sent == expected) continue;
      Suspect suspect;
      suspect.syndrome = model::Syndrome::kMismatch;
      suspect.culprits = {model::RankCulprit(layout, ranks[i]), model::RankCulprit(layout, ranks[lane.peer])};
      std::sort(suspect.culprits.begin(), suspect.culprits.end());
      suspect.confidence = 0.6;
      suspect.communicator = id;
      suspect.operation = OperationKind::kSend;
      suspect.sequence = sequence;
      suspect.evidence.push_back(
          {"bytes sent, against bytes expected", static_cast<double>(sent), static_cast<double>(expected), "bytes"});
      suspect.summary =
          fmt::format("{} sends {} bytes on {} where {} expects {}: a bug in the program",
                      Describe(layout, picture.names(), ranks[i]), sent, layout.communicators[id.index()].name,
                      Describe(layout, picture.names(), ranks[lane.peer]), expected);
      suspects->push_back(std::move(suspect));
    }
  }
}

}  // namespace

std::vector<Suspect> MismatchCheck::Find(SimTime now, const HangOptions& options, JobPicture* picture) {
  for (Dispute& dispute : picture->TakeSettledDisputes()) settled_.push_back({std::move(dispute), now});
  std::erase_if(settled_, [&](const Settled& s) { return now - s.at > options.clear_after; });
  std::vector<Suspect> suspects;
  const auto judge = [&](CommunicatorId id, const OpenOperation& operation) {
    if (std::optional<Suspect> suspect = JudgeOperation(*picture, id, operation)) suspects.push_back(*suspect);
  };
  for (const Settled& settled : settled_) judge(settled.dispute.communicator, settled.dispute.operation);
  for (const CommunicatorId id : picture->disputed()) {
    for (const OpenOperation& operation : picture->communicators()[id].collectives.open()) {
      const bool is_serious = std::any_of(operation.deviations.begin(), operation.deviations.end(),
                                          [&](const auto& d) { return !operation.signature.MayDiffer(d.signature); });
      const SimTime since = std::max(operation.since, picture->communicators()[id].last_progress);
      const bool is_stalled = now - since >= options.suspect_after;
      if (!operation.deviations.empty() && (is_serious || is_stalled)) judge(id, operation);
    }
    JudgeTransfers(*picture, id, &suspects);
  }
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d
