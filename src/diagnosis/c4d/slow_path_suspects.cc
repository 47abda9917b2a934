#include "diagnosis/c4d/slow_path_suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "diagnosis/c4d/robust_statistics.h"
#include "diagnosis/c4d/transfer_path.h"
#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {
namespace {

// A message that meets one other where it met none takes twice as long.
constexpr double kChanceMax = std::numbers::ln2;
// Elements at fault in one window. More are not understood.
constexpr size_t kElementsMax = 4;

}  // namespace

SlowPathSuspects::SlowPathSuspects(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names)
    : layout_(layout), options_(options), names_(std::move(names)), elements_(layout) {}

SlowPathSuspects::ElementDelay SlowPathSuspects::DelayOf(const SlowElement& element, std::span<const PairDelay> pairs,
                                                         double sigma) const {
  const auto median_of = [&](double PairDelay::*field) {
    std::vector<double> values;
    for (const uint32_t i : element.transfers) values.push_back(pairs[i].*field);
    return MedianInPlace(values);
  };
  ElementDelay delay;
  delay.x = median_of(&PairDelay::x);
  delay.added_seconds = median_of(&PairDelay::added_seconds);
  delay.added_busy = median_of(&PairDelay::added_busy);
  delay.uneven = median_of(&PairDelay::uneven);
  // The mean of several pairs is surer than one of them.
  const double sigma_of_mean = sigma / std::sqrt(static_cast<double>(element.transfers.size()));
  delay.z = delay.x / std::max(sigma_of_mean, options_.matrix.sigma_floor);
  const bool is_connection = element.culprit.kind == model::CulpritKind::kConnection;
  delay.z_min = is_connection ? options_.matrix.z_point : options_.matrix.z_line;
  delay.beyond_like = median_of(&PairDelay::beyond_like);
  const bool may_be_chance = is_connection && delay.x < kChanceMax;
  delay.beyond_like_min =
      may_be_chance ? std::log1p(options_.matrix.effect_min) : -std::numeric_limits<double>::infinity();
  return delay;
}

std::vector<SlowPathSuspects::JudgedElement> SlowPathSuspects::JudgeElements(const PairsOfWindow& window) const {
  std::vector<Transfer> transfers;
  for (const PairDelay& pair : window.pairs) transfers.push_back(pair.transfer);
  std::vector<JudgedElement> judged;
  for (SlowElement& element : elements_.Explain(transfers)) {
    const ElementDelay delay = DelayOf(element, window.pairs, window.sigma);
    judged.push_back({std::move(element), delay});
  }
  std::ranges::stable_sort(judged, std::ranges::greater{}, [](const JudgedElement& each) {
    return std::make_pair(each.element.transfers.size(), each.delay.x);
  });
  return judged;
}

bool SlowPathSuspects::IsExplained(const SlowElement& element, std::span<const PairDelay> pairs,
                                   std::span<const model::Culprit> by) const {
  return std::ranges::all_of(element.transfers,
                             [&](uint32_t i) { return IsPassedByOneOf(layout_, pairs[i].transfer, by); });
}

double SlowPathSuspects::SpreadBeside(std::span<const PairDelay> pairs, std::span<const model::Culprit> slow) const {
  double sum = 0;
  uint32_t count = 0;
  for (const PairDelay& pair : pairs) {
    if (pair.x >= 0 || IsPassedByOneOf(layout_, pair.transfer, slow)) continue;
    sum += pair.x * pair.x;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / count);
}

std::vector<SlowPathSuspects::JudgedElement> SlowPathSuspects::FindSlow(const PairsOfWindow& window,
                                                                        std::span<JudgedElement> elements) const {
  std::vector<JudgedElement> found;
  std::vector<model::Culprit> slow;
  std::vector<model::Culprit> slow_lines;  // without single connections
  for (JudgedElement& judged : elements) {
    const SlowElement& element = judged.element;
    if (!judged.delay.is_slow() || IsExplained(element, window.pairs, slow_lines)) continue;
    if (window.has_late_rank || !slow.empty()) {
      judged.delay = DelayOf(element, window.pairs, std::max(window.sigma, SpreadBeside(window.pairs, slow)));
      if (!judged.delay.is_slow()) continue;
    }
    slow.push_back(element.culprit);
    if (element.culprit.kind != model::CulpritKind::kConnection) slow_lines.push_back(element.culprit);
    found.push_back(judged);
  }
  return found;
}

std::vector<SlowPathSuspects::JudgedElement> SlowPathSuspects::FindLossy(const PairsOfWindow& window,
                                                                         std::span<const JudgedElement> elements,
                                                                         std::span<const model::Culprit> slow) const {
  if (!slow.empty() && SpreadBeside(window.pairs, slow) >= AsEverMax(options_)) return {};
  std::vector<JudgedElement> found;
  for (const JudgedElement& judged : elements) {
    const bool is_lossy = !judged.delay.is_slow() && judged.delay.uneven >= kUnevenShareMin;
    if (is_lossy && !IsExplained(judged.element, window.pairs, slow)) found.push_back(judged);
  }
  return found;
}

Suspect SlowPathSuspects::MakeSuspect(const JudgedElement& judged, double window_seconds) const {
  const auto& [element, delay] = judged;
  Suspect suspect;
  suspect.syndrome = model::Syndrome::kCommSlow;
  suspect.culprits = {element.culprit};
  suspect.evidence = {
      {"time per message, times normal", std::exp(delay.x), 1, "x"},
      {"added to each message", delay.added_seconds * 1e6, 0, "us"},
      {"reports with single messages much slower than others, beyond normal", 100 * delay.uneven, 0, "%"},
      {"slow transfers through it", static_cast<double>(element.hits), 0, "pairs of ranks"},
      {"healthy transfers through it", static_cast<double>(element.misses), 0, "pairs of ranks"},
  };
  if (window_seconds > 0 && delay.is_slow()) suspect.cost = delay.added_busy / window_seconds;
  const double share = static_cast<double>(element.hits) / (element.hits + element.misses);
  suspect.confidence = share * (delay.is_slow() ? delay.z / (delay.z + delay.z_min / 4) : delay.uneven);
  suspect.summary = delay.is_slow() ? fmt::format("{} takes {:.2f} times as long as normal for each message",
                                                  Describe(layout_, names_, element.culprit), std::exp(delay.x))
                                    : fmt::format("{} stalls single messages again and again, as if they were lost",
                                                  Describe(layout_, names_, element.culprit));
  if (element.culprit.kind == model::CulpritKind::kConnection) {
    suspect.summary += "; which end is at fault is unknown";
  }
  return suspect;
}

std::vector<Suspect> SlowPathSuspects::Find(const PairsOfWindow& window) const {
  std::vector<JudgedElement> elements = JudgeElements(window);
  const std::vector<JudgedElement> slow = FindSlow(window, elements);
  std::vector<model::Culprit> culprits;
  for (const JudgedElement& judged : slow) culprits.push_back(judged.element.culprit);
  const std::vector<JudgedElement> lossy = FindLossy(window, elements, culprits);
  // A pattern that takes many elements to explain is not a known one: better to name none than an innocent one.
  if (slow.size() + lossy.size() > kElementsMax) return {};
  std::vector<Suspect> suspects;
  for (const JudgedElement& judged : slow) {
    suspects.push_back(MakeSuspect(judged, window.seconds));
    suspects.back().is_alone = std::ranges::none_of(
        window.pairs, [](const PairDelay& pair) { return pair.transfer.health == TransferHealth::kHealthy; });
  }
  for (const JudgedElement& judged : lossy) suspects.push_back(MakeSuspect(judged, window.seconds));
  return suspects;
}

}  // namespace fairlead::diagnosis::c4d
