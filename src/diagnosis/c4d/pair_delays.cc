#include "diagnosis/c4d/pair_delays.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "diagnosis/c4d/delay_matrix.h"
#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {
namespace {

// A pair alone counts as slow from here on; whether any is named is decided per element, at z_line or z_point.
constexpr double kPairSigmas = 3;

auto PlaceOf(const Transfer& transfer) { return std::tie(transfer.source, transfer.destination, transfer.plane); }

// Of a connection alone.
PairDelay DelayOf(const ConnectionSample& sample, const ConnectionDelay& delay, double usual_uneven) {
  const double added = std::exp(sample.log_seconds) * (1 - std::exp(-delay.x));
  return {.transfer = {.source = sample.source, .destination = sample.key.peer, .plane = sample.key.plane},
          .x = delay.x,
          .added_seconds = added,
          .added_busy = added * sample.messages,
          .error_2 = sample.error_2 + (sample.has_normal ? sample.normal_error_2 : 0),
          .uneven = delay.uneven_share - usual_uneven,
          .beyond_like = delay.beyond_like,
          .samples = 1};
}

// What most connections show.
double UsualUnevenShare(const ConnectionDelays& delays) {
  std::vector<double> shares;
  shares.reserve(delays.of.size());
  for (const ConnectionDelay& delay : delays.of) shares.push_back(delay.uneven_share);
  return MedianInPlace(shares);
}

// Connections of a pair and plane together.
std::vector<PairDelay> PoolPairs(std::span<const ConnectionSample> samples, const ConnectionDelays& delays) {
  std::vector<PairDelay> pairs;
  pairs.reserve(samples.size());
  const double usual_uneven = UsualUnevenShare(delays);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (delays.of[i].is_known) pairs.push_back(DelayOf(samples[i], delays.of[i], usual_uneven));
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const PairDelay& a, const PairDelay& b) { return PlaceOf(a.transfer) < PlaceOf(b.transfer); });
  size_t kept = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (kept == 0 || PlaceOf(pairs[kept - 1].transfer) != PlaceOf(pairs[i].transfer)) {
      pairs[kept++] = pairs[i];
      continue;
    }
    PairDelay& pair = pairs[kept - 1];
    pair.x += pairs[i].x;
    pair.added_seconds += pairs[i].added_seconds;
    pair.added_busy = std::max(pair.added_busy, pairs[i].added_busy);
    pair.error_2 += pairs[i].error_2;
    pair.uneven = std::max(pair.uneven, pairs[i].uneven);
    pair.beyond_like = std::max(pair.beyond_like, pairs[i].beyond_like);
    ++pair.samples;
  }
  pairs.resize(kept);
  for (PairDelay& pair : pairs) {
    pair.x /= pair.samples;
    pair.added_seconds /= pair.samples;
    pair.error_2 /= pair.samples * pair.samples;
  }
  return pairs;
}

// Whether it costs anything.
bool Matters(const PairDelay& pair, double window_seconds, const SlowOptions& options) {
  return pair.added_seconds >= options.added_delay_min.seconds().value() ||
         (window_seconds > 0 && pair.added_busy >= options.busy_share_min * window_seconds);
}

void JudgeEach(double sigma, double window_seconds, const SlowOptions& options, std::span<PairDelay> pairs) {
  const double effect = std::log1p(options.matrix.effect_min);
  const double as_ever_max = AsEverMax(options);
  for (PairDelay& pair : pairs) {
    const bool is_uneven = pair.uneven >= kUnevenShareMin;
    const bool is_sure = pair.x >= kPairSigmas * std::max(sigma, std::sqrt(pair.error_2));
    const bool is_delayed = is_sure && pair.x >= effect && Matters(pair, window_seconds, options);
    if (!is_uneven && pair.x < as_ever_max) {
      pair.transfer.health = TransferHealth::kHealthy;
    } else if (is_uneven || is_delayed) {
      pair.transfer.health = TransferHealth::kSlow;
    }
  }
}

// Planes pooled: the ends are those of all planes.
DelayVerdict ScoreLines(std::span<const PairDelay> pairs, size_t num_ranks, const DelayMatrixOptions& options) {
  std::vector<DelayCell> cells;
  std::vector<uint32_t> planes;  // [cell]
  for (const PairDelay& pair : pairs) {
    const uint32_t source = pair.transfer.source.value();
    const uint32_t destination = pair.transfer.destination.value();
    if (cells.empty() || cells.back().source != source || cells.back().destination != destination) {
      cells.push_back({source, destination, 0});
      planes.push_back(0);
    }
    cells.back().delay += pair.x;
    ++planes.back();
  }
  for (size_t i = 0; i < cells.size(); ++i) cells[i].delay = std::exp(cells[i].delay / planes[i]);
  return ScoreDelays(cells, static_cast<uint32_t>(num_ranks), static_cast<uint32_t>(num_ranks), options);
}

void JudgeLines(size_t num_ranks, double window_seconds, const SlowOptions& options, std::span<PairDelay> pairs) {
  const DelayVerdict verdict = ScoreLines(pairs, num_ranks, options.matrix);
  const double effect = std::log1p(options.matrix.effect_min);
  const auto is_named = [](const std::vector<SlowLine>& lines, model::RankId rank) {
    return std::ranges::binary_search(lines, rank.value(), {}, &SlowLine::index);
  };
  for (PairDelay& pair : pairs) {
    const bool is_in_line =
        is_named(verdict.rows, pair.transfer.source) || is_named(verdict.columns, pair.transfer.destination);
    if (is_in_line && pair.x >= effect && Matters(pair, window_seconds, options)) {
      pair.transfer.health = TransferHealth::kSlow;
    }
  }
}

}  // namespace

std::vector<PairDelay> JudgePairs(std::span<const ConnectionSample> samples, const ConnectionDelays& delays,
                                  size_t num_ranks, double window_seconds, const SlowOptions& options) {
  std::vector<PairDelay> pairs = PoolPairs(samples, delays);
  JudgeEach(delays.sigma, window_seconds, options, pairs);
  JudgeLines(num_ranks, window_seconds, options, pairs);
  return pairs;
}

bool IsOfSlowPair(const ConnectionSample& sample, std::span<const PairDelay> pairs) {
  const uint32_t plane = sample.key.plane;
  const auto place = std::tie(sample.source, sample.key.peer, plane);
  const auto pair = std::ranges::lower_bound(pairs, place, {}, [](const PairDelay& p) { return PlaceOf(p.transfer); });
  return pair != pairs.end() && PlaceOf(pair->transfer) == place && pair->transfer.health == TransferHealth::kSlow;
}

}  // namespace fairlead::diagnosis::c4d
