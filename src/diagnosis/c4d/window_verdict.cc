#include "diagnosis/c4d/window_verdict.h"

#include <algorithm>
#include <utility>

namespace fairlead::diagnosis::c4d {
namespace {

// Whether these are all the ranks of a stage that has several. Args: stages [rank].
bool IsWholeStage(std::span<const uint32_t> stages, uint32_t stage, const std::set<model::RankId>& ranks) {
  size_t num = 0;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    if (stages[rank] != stage) continue;
    if (!ranks.contains(model::RankId(static_cast<uint32_t>(rank)))) return false;
    ++num;
  }
  return num > 1;
}

}  // namespace

WindowVerdict::WindowVerdict(const model::JobLayout& layout, const SlowOptions& options)
    : layout_(layout), options_(options), normals_(layout.ranks.size(), options.baseline_windows) {}

WindowVerdict::Judged WindowVerdict::JudgeSignals(StragglerWindow window) const {
  OwnLateness own = JudgeOwnTime(window, normals_, options_);
  LatenessSignal blame = JudgeWaits(window.blame, normals_, &RankNormal::blame_share, window.seconds, options_);
  LatenessSignal lag = JudgeWaits(window.lag, normals_, &RankNormal::lag_share, window.seconds, options_);
  return {.window = std::move(window), .own = std::move(own), .blame = std::move(blame), .lag = std::move(lag)};
}

void WindowVerdict::NoteWaits(const Judged& judged, std::span<const SlowRank> slow) {
  not_waited_for_.clear();
  std::set<model::RankId> all_slow;
  for (const SlowRank& each : slow) all_slow.insert(each.ranks.begin(), each.ranks.end());
  for (const SlowRank& each : slow) {
    // Collectives of its stage in which all are late show no wait.
    if (IsWholeStage(judged.window.stages, judged.window.stages[each.ranks.front().index()], all_slow)) continue;
    const bool is_known = IsKnown(judged.blame, each.ranks) || IsKnown(judged.lag, each.ranks);
    if (!is_known || Agrees(judged.blame, each.ranks, judged.window, options_) ||
        Agrees(judged.lag, each.ranks, judged.window, options_)) {
      continue;
    }
    not_waited_for_.insert(CulpritOf(layout_, each));
  }
}

uint32_t WindowVerdict::CountAgreeing(const Judged& judged, const LateCandidate& candidate) const {
  const StragglerWindow& window = judged.window;
  const bool is_idle = IsMostOfStage(layout_, candidate, window.stages) &&
                       HasIdleHost(judged.own, candidate.ranks, window.seconds, options_);
  return (is_idle ? 1 : 0) + (Agrees(judged.blame, candidate.ranks, window, options_) ? 1 : 0) +
         (Agrees(judged.lag, candidate.ranks, window, options_) ? 1 : 0);
}

model::SubCause WindowVerdict::FindSubCause(const Judged& judged, const LateCandidate& candidate,
                                            const ThrottledGpus& throttled) const {
  if (throttled.IsInWindow(candidate.ranks)) return model::SubCause::kThrottled;
  if (HasIdleHost(judged.own, candidate.ranks, judged.window.seconds, options_)) return model::SubCause::kHostThread;
  double excess = 0;
  double host_excess = 0;
  for (const model::RankId rank : candidate.ranks) {
    excess += judged.own.signal.excess[rank.index()];
    host_excess += judged.own.host_excess[rank.index()];
  }
  return host_excess >= excess / 2 ? model::SubCause::kHostThread : model::SubCause::kGpu;
}

StragglerFigures WindowVerdict::Describe(const Judged& judged, const LateCandidate& candidate,
                                         const ThrottledGpus& throttled) const {
  const auto greatest_percent = [&](const LatenessSignal& signal) {
    double value = signal.excess[candidate.ranks.front().index()];
    for (const model::RankId rank : candidate.ranks) value = std::max(value, signal.excess[rank.index()]);
    return 100 * value / judged.window.seconds;
  };
  return {.culprit = candidate.culprit,
          .sub_cause = FindSubCause(judged, candidate, throttled),
          .own_share = candidate.share,
          .own_percent = greatest_percent(judged.own.signal),
          .blame_percent = greatest_percent(judged.blame),
          .lag_percent = greatest_percent(judged.lag),
          .num_agreeing = CountAgreeing(judged, candidate)};
}

std::vector<double> WindowVerdict::Judge(StragglerWindow window, std::span<const SlowRank> slow,
                                         const ThrottledGpus& throttled) {
  verdict_ = {};
  std::vector<double> lateness(layout_.ranks.size(), 0.0);
  if (window.seconds <= 0) return lateness;
  Judged judged = JudgeSignals(std::move(window));
  NoteWaits(judged, slow);
  const std::vector<LateCandidate> candidates = FindLateCandidates(layout_, judged.window, judged.own, options_);
  for (const LateCandidate& candidate : candidates) {
    StragglerFigures figures = Describe(judged, candidate, throttled);
    const bool is_agreed = figures.num_agreeing > 0;
    // Where nothing else can confirm it, nothing may be missing.
    const bool is_alone = !IsKnown(judged.blame, candidate.ranks) && HasAllReports(judged.window, candidate.ranks);
    if (!is_agreed && !is_alone) continue;
    verdict_.suspects.push_back(std::move(figures));
    if (!is_agreed) continue;
    for (const model::RankId rank : candidate.ranks) lateness[rank.index()] = judged.own.signal.excess[rank.index()];
  }
  if (candidates.empty()) verdict_.healthy = std::move(judged);
  return lateness;
}

void WindowVerdict::Learn(const Judged& judged) {
  const StragglerWindow& window = judged.window;
  for (size_t rank = 0; rank < window.own.size(); ++rank) {
    const OwnTime::OfRank& own = window.own[rank];
    if (!IsOwnTimeKnown(own, options_)) continue;
    const auto outputs = static_cast<double>(own.outputs);
    normals_.Learn(rank, {.own_per_output = own.seconds / outputs,
                          .idle_per_output = own.idle_seconds / outputs,
                          .own_ratio = judged.own.ratio[rank],
                          .blame_share = window.blame.seconds[rank] / window.seconds,
                          .lag_share = window.lag.seconds[rank] / window.seconds});
  }
}

std::vector<StragglerFigures> WindowVerdict::TakeSuspects(bool has_slow_path) {
  Verdict verdict = std::exchange(verdict_, {});
  if (has_slow_path) return {};
  if (verdict.healthy) Learn(*verdict.healthy);
  return std::move(verdict.suspects);
}

}  // namespace fairlead::diagnosis::c4d
