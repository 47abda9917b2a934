#include "diagnosis/c4d/straggler_suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "diagnosis/c4d/wording.h"
#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Of a slow rank that evidence has just sufficed for, and of one that costs little beside others that are as slow.
constexpr double kBlockConfidence = 0.8;
constexpr double kDoubtfulConfidence = 0.4;
constexpr double kCostShareMin = 0.2;
// Of one that was never faster, what surely exceeds differences between GPUs.
constexpr double kShareFromStartMin = 0.25;
// A single signal is worth this much of what agreeing ones are.
constexpr double kAloneConfidence = 0.5;
// One real job is all that it was seen in.
constexpr double kArrivalConfidenceMax = 0.85;

std::string_view CauseText(const Suspect& suspect) {
  const bool is_of_host = suspect.culprits.front().kind == model::CulpritKind::kHost;
  switch (suspect.sub_cause) {
    case model::SubCause::kThrottled:
      return is_of_host ? "its GPUs' clocks are down" : "its GPU's clocks are down";
    case model::SubCause::kHostThread:
      return is_of_host ? "its host threads enqueue late" : "its host thread enqueues late";
    case model::SubCause::kGpu:
      return is_of_host ? "its GPUs take longer" : "its GPU takes longer";
    default:
      return "it begins to exchange data late";
  }
}

}  // namespace

model::Culprit CulpritOf(const model::JobLayout& layout, const SlowRank& slow) {
  return slow.rank.valid() ? model::RankCulprit(layout, slow.rank) : model::HostCulprit(slow.host);
}

StragglerSuspects::StragglerSuspects(const model::JobLayout& layout, model::PlaceNames names)
    : layout_(layout), names_(std::move(names)) {}

Suspect StragglerSuspects::Name(const SlowRank& slow) const {
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kNonCommSlow;
  suspect.is_confirmed = true;
  suspect.culprits = {CulpritOf(layout_, slow)};
  suspect.cost = slow.share;
  return suspect;
}

std::string StragglerSuspects::SentenceOf(const Suspect& suspect, double share) const {
  return SentenceOf(suspect, share, CauseText(suspect));
}

std::string StragglerSuspects::SentenceOf(const Suspect& suspect, double share, std::string_view cause) const {
  return fmt::format("{} makes the others wait for {:.0f} % of the time: {}",
                     Describe(layout_, names_, suspect.culprits.front()), 100 * share, cause);
}

void StragglerSuspects::WeighLoad(const SlowRank& slow, double load, Suspect* suspect) const {
  if (load - 1 < slow.share || suspect->sub_cause == model::SubCause::kThrottled) return;
  suspect->sub_cause = model::SubCause::kUnknown;
  suspect->confidence = std::min(suspect->confidence, kDoubtfulConfidence);
  suspect->evidence.push_back({"receives in exchanges of all with all", load, 1, "times what its peers do"});
  suspect->summary = SentenceOf(
      *suspect, slow.share, fmt::format("it receives {:.2g} times as much as they in exchanges of all with all", load));
}

Suspect StragglerSuspects::ByArrivals(const SlowRank& slow, bool is_throttled, double load) const {
  Suspect suspect = Name(slow);
  suspect.sub_cause = is_throttled ? model::SubCause::kThrottled : model::SubCause::kUnknown;
  suspect.is_uncounted = true;
  suspect.confidence = std::min(kArrivalConfidenceMax, kBlockConfidence + (1 - kBlockConfidence) * slow.sureness / 4);
  if (slow.cost < kCostShareMin * slow.share) suspect.confidence = kDoubtfulConfidence;
  suspect.evidence = {
      {"what it receives waits for its GPU, beyond that of its peers", 100 * slow.share, 0, "% of the time"},
      {"of that, what the job would gain without it", 100 * slow.cost, 0, "% of the time"},
      {"evidence beyond a false alarm in 100 jobs", slow.sureness, 0, "decades"},
  };
  suspect.summary = SentenceOf(suspect, slow.share);
  WeighLoad(slow, load, &suspect);
  return suspect;
}

Suspect StragglerSuspects::ByOwnTime(const SlowRank& slow, bool is_throttled, double load) const {
  Suspect suspect = Name(slow);
  suspect.lateness = slow.share;
  suspect.sub_cause = is_throttled             ? model::SubCause::kThrottled
                      : slow.host_share >= 0.5 ? model::SubCause::kHostThread
                                               : model::SubCause::kGpu;
  suspect.confidence = kBlockConfidence + (1 - kBlockConfidence) * std::min(0.75, slow.sureness / 4);
  // Others are about as slow, by chance or by turns, or iterations take no longer: the job gains little without it.
  const bool is_idle =
      slow.cost < kCostShareMin * slow.share || (slow.growth != 0 && slow.growth < kCostShareMin * slow.share);
  if (is_idle) suspect.confidence = kDoubtfulConfidence;
  suspect.evidence = {
      {"own time beyond that of its peers", 100 * slow.share, 0, "% of the iteration"},
      {"of that, what the job would gain without it", 100 * slow.cost, 0, "% of the iteration"},
      {"iterations take longer than before it began", 100 * slow.growth, 0, "%"},
      {"evidence beyond a false alarm in 100 jobs", slow.sureness, 0, "decades"},
  };
  suspect.summary = SentenceOf(suspect, slow.share);
  WeighLoad(slow, load, &suspect);
  if (slow.growth != 0) {
    // Others fill some of their waits with work of their own: the job lost no more than iterations have become longer.
    suspect.cost = std::min(suspect.cost, std::max(0.0, slow.growth / (1 + slow.growth)));
    return suspect;
  }
  // It was so from the start. Where collectives run beside compute, others fill much of these waits with work of their
  // own: what the job would gain is not known, and GPUs differ by nature.
  suspect.cost = -1;
  if (slow.share < kShareFromStartMin) suspect.confidence = std::min(suspect.confidence, kDoubtfulConfidence);
  return suspect;
}

Suspect StragglerSuspects::ByStage(const SlowRank& slow, bool is_throttled) const {
  Suspect suspect = Name(slow);
  suspect.sub_cause = is_throttled ? model::SubCause::kThrottled : model::SubCause::kGpu;
  suspect.is_confirmed = false;
  suspect.cost = -1;
  suspect.confidence = kDoubtfulConfidence;
  suspect.evidence = {{"own time beyond that of any other stage but the first and the last", 100 * slow.share, 0,
                       "% of the iteration"}};
  suspect.summary = SentenceOf(suspect, slow.share, fmt::format("{}, or its stage has more to do", CauseText(suspect)));
  return suspect;
}

Suspect StragglerSuspects::ByWindow(const StragglerFigures& figures) const {
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kNonCommSlow;
  suspect.culprits = {figures.culprit};
  suspect.sub_cause = figures.sub_cause;
  suspect.evidence = {
      {"own time beyond that of its peers", figures.own_percent, 0, "% of the window"},
      {"share of all such time", 100 * figures.own_share, 0, "%"},
      {"others waited for it, by time inside collectives", figures.blame_percent, 0, "% of the window"},
      {"others waited for it, by starts of collectives", figures.lag_percent, 0, "% of the window"},
  };
  suspect.cost = figures.own_percent / 100;
  const uint32_t num_agreeing = figures.num_agreeing;
  suspect.confidence = figures.own_share * (num_agreeing == 0 ? kAloneConfidence : num_agreeing == 1 ? 0.8 : 0.95);
  suspect.summary = SentenceOf(suspect, suspect.cost);
  return suspect;
}

}  // namespace fairlead::diagnosis::c4d
