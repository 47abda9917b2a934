#include "prediction/correlations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/check.h"

namespace fairlead::prediction {

namespace {

double PairsOf(double count) { return count * (count - 1) / 2; }

// Pairs within groups of equal neighbours of a sorted range. `is_equal(i)`: does item i equal item i - 1?
template <class IsEqual>
double TiedPairs(size_t count, IsEqual&& is_equal) {
  double pairs = 0;
  size_t run = 1;
  for (size_t i = 1; i <= count; ++i) {
    if (i < count && is_equal(i)) {
      ++run;
      continue;
    }
    pairs += PairsOf(static_cast<double>(run));
    run = 1;
  }
  return pairs;
}

// Sorts `values` and returns how many pairs were the wrong way round.
uint64_t SortAndCountInversions(std::span<double> values, std::span<double> buffer) {
  if (values.size() < 2) return 0;
  const size_t half = values.size() / 2;
  uint64_t inversions = SortAndCountInversions(values.first(half), buffer.first(half)) +
                        SortAndCountInversions(values.subspan(half), buffer.subspan(half));
  size_t left = 0;
  size_t right = half;
  for (double& slot : buffer) {
    const bool take_right = left == half || (right < values.size() && values[right] < values[left]);
    if (take_right) inversions += half - left;
    slot = values[take_right ? right++ : left++];
  }
  std::ranges::copy(buffer, values.begin());
  return inversions;
}

}  // namespace

double PearsonCorrelation(std::span<const double> x, std::span<const double> y) {
  FL_CHECK(x.size() == y.size());
  const auto n = static_cast<double>(x.size());
  if (x.empty()) return 0;
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0) : 0;
}

std::vector<double> AverageRanks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double rank = static_cast<double>(first + last + 1) / 2;  // mean of first + 1 … last
    for (; first < last; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

double SpearmanCorrelation(std::span<const double> x, std::span<const double> y) {
  return PearsonCorrelation(AverageRanks(x), AverageRanks(y));
}

double KendallTauB(std::span<const double> x, std::span<const double> y) {
  FL_CHECK(x.size() == y.size());
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(x[i], y[i]); });
  const auto same_x = [&](size_t i) { return x[order[i]] == x[order[i - 1]]; };
  const double ties_x = TiedPairs(order.size(), same_x);
  const double ties_both =
      TiedPairs(order.size(), [&](size_t i) { return same_x(i) && y[order[i]] == y[order[i - 1]]; });
  std::vector<double> sorted(x.size());
  for (size_t i = 0; i < order.size(); ++i) sorted[i] = y[order[i]];
  std::vector<double> buffer(x.size());
  const auto discordant = static_cast<double>(SortAndCountInversions(sorted, buffer));
  const double ties_y = TiedPairs(sorted.size(), [&](size_t i) { return sorted[i] == sorted[i - 1]; });
  const double pairs = PairsOf(static_cast<double>(x.size()));
  const double untied = std::sqrt(pairs - ties_x) * std::sqrt(pairs - ties_y);
  const double concordant = pairs - ties_x - ties_y + ties_both - discordant;
  return untied > 0 ? std::clamp((concordant - discordant) / untied, -1.0, 1.0) : 0;
}

}  // namespace fairlead::prediction
