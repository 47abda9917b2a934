#include "diagnosis/c4d/slow_transfer_detector.h"

#include <algorithm>
#include <utility>

#include "diagnosis/c4d/connection_delays.h"
#include "diagnosis/c4d/pair_delays.h"

namespace fairlead::diagnosis::c4d {

SlowTransferDetector::SlowTransferDetector(const model::JobLayout& layout, const SlowOptions& options,
                                           model::PlaceNames names)
    : layout_(layout),
      options_(options),
      connections_(layout, options),
      suspects_(layout, options, std::move(names)),
      judged_(layout) {}

std::vector<Suspect> SlowTransferDetector::EndWindow(SimTime now, std::span<const double> lateness) {
  const double window_seconds = window_begin_ == SimTime() ? 0 : (now - window_begin_).seconds().value();
  window_begin_ = now;
  const std::vector<ConnectionSample> samples = connections_.TakeWindow(lateness);
  const ConnectionDelays delays = CompareConnections(samples, layout_, options_);
  const std::vector<PairDelay> pairs = JudgePairs(samples, delays, layout_.ranks.size(), window_seconds, options_);
  judged_.Set(pairs);
  std::vector<Suspect> suspects =
      suspects_.Find({.pairs = pairs,
                      .sigma = delays.sigma,
                      .seconds = window_seconds,
                      .has_late_rank = std::ranges::any_of(lateness, [](double seconds) { return seconds > 0; })});
  if (!suspects.empty()) return suspects;
  for (const ConnectionSample& sample : samples) {
    if (!sample.has_normal) connections_.Learn(sample, IsOfSlowPair(sample, pairs));
  }
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d
