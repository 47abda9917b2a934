#include "diagnosis/c4d/straggler_detector.h"

#include <algorithm>
#include <utility>

#include "diagnosis/c4d/robust_statistics.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {

StragglerDetector::StragglerDetector(const model::JobLayout& layout, const SlowOptions& options,
                                     model::PlaceNames names)
    : stages_(layout),
      waits_(layout, options.operations_min),
      own_(layout),
      arrivals_(layout),
      throttled_(layout),
      received_(layout),
      verdict_(layout, options),
      suspects_(layout, std::move(names)) {}

void StragglerDetector::Add(const model::RankReport& report) {
  stages_.Add(report);
  own_.Add(report);
  arrivals_.Add(report);
  waits_.Add(report);
  received_.Add(report);
}

void StragglerDetector::BeginAnew(model::RankId rank) {
  own_.BeginAnew(rank);
  arrivals_.BeginAnew(rank);
}

std::vector<uint32_t> StragglerDetector::FindStages() const {
  return stages_.Find([this](model::CommunicatorId id) { return IsOfExchanges(id); });
}

bool StragglerDetector::HasStages() const {
  const std::vector<uint32_t> stages = FindStages();
  return std::ranges::any_of(stages, [&](uint32_t stage) { return stage != stages.front(); });
}

std::vector<Suspect> StragglerDetector::JudgeBlocks(SimTime now) {
  own_.JudgeBlocks(now, FindStages());
  std::vector<Suspect> suspects;
  const auto load_of = [this](const SlowRank& slow) {
    return received_.FactorOf(slow.rank, [this](model::CommunicatorId id) { return IsOfExchanges(id); });
  };
  for (const SlowRank& slow : own_.watch().Slow()) {
    suspects.push_back(suspects_.ByOwnTime(slow, throttled_.WasEver(slow.ranks), load_of(slow)));
  }
  for (const SlowRank& slow : arrivals_.Judge(now)) {
    Suspect suspect = suspects_.ByArrivals(slow, throttled_.WasEver(slow.ranks), load_of(slow));
    const bool is_named =
        std::ranges::any_of(suspects, [&](const Suspect& other) { return Overlap(other.culprits, suspect.culprits); });
    if (!is_named) suspects.push_back(std::move(suspect));
  }
  return suspects;
}

std::optional<Suspect> StragglerDetector::JudgeStages() const {
  const std::optional<SlowRank> slow = own_.watch().SlowestStage();
  if (!slow) return std::nullopt;
  return suspects_.ByStage(*slow, throttled_.WasEver(slow->ranks));
}

StragglerWindow StragglerDetector::TakeWindow() {
  StragglerWindow window;
  window.own = own_.TakeWindow();
  CollectiveWaits::Blames blames = waits_.Take();
  window.blame = std::move(blames.by_time_inside);
  window.lag = std::move(blames.by_start);
  window.stages = FindStages();
  std::vector<double> spans;
  for (const OwnTime::OfRank& own : window.own) {
    if (own.span > 0) spans.push_back(own.span);
  }
  window.seconds = MedianInPlace(spans);
  return window;
}

std::vector<double> StragglerDetector::JudgeWindow() {
  std::vector<double> lateness = verdict_.Judge(TakeWindow(), own_.watch().Slow(), throttled_);
  throttled_.EndWindow();
  return lateness;
}

bool StragglerDetector::IsDecidedByBlocks(const StragglerFigures& figures) const {
  const model::Culprit& culprit = figures.culprit;
  if (culprit.kind == model::CulpritKind::kRank) return own_.watch().IsWatched(culprit.rank.index());
  // GPUs of a host are slow one by one.
  return figures.sub_cause != model::SubCause::kHostThread;
}

std::vector<Suspect> StragglerDetector::TakeSuspects(bool has_transport_suspect) {
  std::vector<Suspect> suspects;
  for (const StragglerFigures& figures : verdict_.TakeSuspects(has_transport_suspect)) {
    if (!IsDecidedByBlocks(figures)) suspects.push_back(suspects_.ByWindow(figures));
  }
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d
