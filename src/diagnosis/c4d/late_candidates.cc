#include "diagnosis/c4d/late_candidates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Share of a host's ranks that are late when the host is.
constexpr double kLateRanksShare = 0.6;
// With more than that at the same time none is named: such a job is late everywhere.
constexpr size_t kCandidatesMax = 3;

// Those of one host, given by its ranks, with their excess as their share.
void AddCandidates(HostId host, const std::vector<model::RankId>& ranks, double window_seconds, const OwnLateness& own,
                   const SlowOptions& options, std::vector<LateCandidate>& candidates) {
  const LatenessSignal& signal = own.signal;
  LateCandidate candidate;
  candidate.culprit.host = host;
  size_t num_known = 0;
  size_t num_late = 0;
  double worst = 0;
  for (const model::RankId rank : ranks) {
    const bool is_late = signal.is_late[rank.index()];
    num_known += signal.is_known[rank.index()] ? 1 : 0;
    // Ranks of later stages may lack samples, too, and hide it behind their wait for the first one.
    num_late += is_late || HasIdleHost(own, std::span(&rank, 1), window_seconds, options) ? 1 : 0;
    candidate.share += is_late ? signal.excess[rank.index()] : 0;
    worst = std::max(worst, is_late ? signal.excess[rank.index()] : 0);
  }
  const auto least = kLateRanksShare * static_cast<double>(ranks.size());
  if (static_cast<double>(num_late) >= least && worst < options.blame_share_min * candidate.share) {
    candidate.culprit.kind = model::CulpritKind::kHost;
    candidate.ranks = ranks;
    candidates.push_back(std::move(candidate));
    return;
  }
  // Of its neighbours too few may be judged to tell whether it is the rank or its host.
  if (static_cast<double>(num_known) < least) return;
  candidate.culprit.kind = model::CulpritKind::kRank;
  for (const model::RankId rank : ranks) {
    if (!signal.is_late[rank.index()]) continue;
    candidate.culprit.rank = rank;
    candidate.ranks = {rank};
    candidate.share = signal.excess[rank.index()];
    candidates.push_back(candidate);
  }
}

}  // namespace

std::vector<LateCandidate> FindLateCandidates(const model::JobLayout& layout, const StragglerWindow& window,
                                              const OwnLateness& own, const SlowOptions& options) {
  const LatenessSignal& signal = own.signal;
  std::map<HostId, std::vector<model::RankId>> ranks_of;  // of hosts with late ranks
  double total = 0;
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    if (signal.is_late[rank]) ranks_of[layout.ranks[rank].host];
    total += signal.is_late[rank] ? signal.excess[rank] : 0;
  }
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    const auto host = ranks_of.find(layout.ranks[rank].host);
    if (host != ranks_of.end()) host->second.emplace_back(rank);
  }
  std::vector<LateCandidate> all;
  for (const auto& [host, ranks] : ranks_of) AddCandidates(host, ranks, window.seconds, own, options, all);
  std::ranges::stable_sort(all, std::ranges::greater(), &LateCandidate::share);
  std::vector<LateCandidate> candidates;
  double share = 0;
  for (LateCandidate& candidate : all) {
    if (share >= options.blame_share_min || candidates.size() == kCandidatesMax) break;
    candidate.share /= total;
    share += candidate.share;
    candidates.push_back(std::move(candidate));
  }
  if (share < options.blame_share_min) candidates.clear();
  return candidates;
}

bool IsKnown(const LatenessSignal& signal, std::span<const model::RankId> ranks) {
  return std::ranges::any_of(ranks, [&](model::RankId rank) { return signal.is_known[rank.index()]; });
}

bool Agrees(const LatenessSignal& signal, std::span<const model::RankId> ranks, const StragglerWindow& window,
            const SlowOptions& options) {
  if (!IsKnown(signal, ranks)) return false;
  const uint32_t stage = window.stages[ranks.front().index()];
  std::vector<double> all;
  std::vector<double> of_stage;  // possibly the only ranks that wait for it
  for (size_t rank = 0; rank < signal.excess.size(); ++rank) {
    if (!signal.is_known[rank]) continue;
    all.push_back(signal.excess[rank]);
    if (window.stages[rank] == stage) of_stage.push_back(signal.excess[rank]);
  }
  double reference = LowerMedianInPlace(all);
  if (!of_stage.empty()) reference = std::min(reference, LowerMedianInPlace(of_stage));
  double excess = 0;
  for (const model::RankId rank : ranks) excess += signal.excess[rank.index()];
  return excess / static_cast<double>(ranks.size()) - reference >= options.wait_share_min * window.seconds;
}

bool HasIdleHost(const OwnLateness& own, std::span<const model::RankId> ranks, double window_seconds,
                 const SlowOptions& options) {
  double excess = 0;
  for (const model::RankId rank : ranks) excess += own.idle_excess[rank.index()];
  return excess / static_cast<double>(ranks.size()) >= options.wait_share_min * window_seconds;
}

bool HasAllReports(const StragglerWindow& window, std::span<const model::RankId> ranks) {
  return std::ranges::all_of(ranks, [&](model::RankId rank) { return window.own[rank.index()].reports_missing == 0; });
}

bool IsMostOfStage(const model::JobLayout& layout, const LateCandidate& candidate, std::span<const uint32_t> stages) {
  if (candidate.culprit.kind != model::CulpritKind::kHost) return false;
  const uint32_t stage = stages[candidate.ranks.front().index()];
  size_t num_ranks = 0;
  size_t num_own = 0;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    if (stages[rank] != stage) continue;
    ++num_ranks;
    num_own += layout.ranks[rank].host == candidate.culprit.host ? 1 : 0;
  }
  return 2 * num_own > num_ranks;
}

}  // namespace fairlead::diagnosis::c4d
