#include "trace/run_time_draw.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

namespace fairlead::trace {

namespace {

// Box and Muller's method, one of its two values.
double DrawNormal(Random* random) {
  const double radius = std::sqrt(-2 * std::log1p(-random->Uniform()));
  return radius * std::cos(2 * std::numbers::pi * random->Uniform());
}

std::vector<double> DrawNormals(size_t count, Random* random) {
  std::vector<double> normals(count);
  for (double& value : normals) value = DrawNormal(random);
  return normals;
}

// Indices in order of `keys`; equal keys in the order in which `shuffled` names them.
template <class Key>
std::vector<size_t> OrderBy(std::span<const Key> keys, std::vector<size_t> shuffled) {
  std::stable_sort(shuffled.begin(), shuffled.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  return shuffled;
}

std::vector<size_t> AllIndices(size_t count) {
  std::vector<size_t> indices(count);
  std::iota(indices.begin(), indices.end(), size_t{0});
  return indices;
}

// How many values each interval of the law still lacks, made to sum to `count`.
std::vector<size_t> PlanCounts(std::span<const double> gpu_run_times, const RunTimeLaw& all, size_t count) {
  const std::vector<double>& p = all.probabilities();
  const double total = static_cast<double>(gpu_run_times.size() + count);
  std::vector<double> missing(p.size() - 1);
  for (size_t b = 0; b < missing.size(); ++b) missing[b] = total * (p[b + 1] - p[b]);
  for (const double value : gpu_run_times) {
    const auto above = std::upper_bound(all.values().begin() + 1, all.values().end() - 1, value);
    missing[static_cast<size_t>(above - all.values().begin()) - 1] -= 1;
  }
  double sum = 0;
  for (double& m : missing) sum += m = std::max(m, 0.0);
  std::vector<size_t> counts(missing.size());
  double seen = 0;
  size_t given = 0;
  for (size_t b = 0; b < missing.size(); ++b) {
    seen += missing[b];
    const auto until =
        sum > 0 ? static_cast<size_t>(std::llround(seen / sum * static_cast<double>(count))) : (b == 0 ? count : given);
    counts[b] = until - given;
    given = until;
  }
  return counts;
}

}  // namespace

std::vector<double> DrawGpuRunTimes(std::span<const uint32_t> gpus, const RunTimeLaw& law, double rank_correlation,
                                    Random* random) {
  const size_t count = gpus.size();
  std::vector<size_t> shuffled = AllIndices(count);
  random->Shuffle(std::span(shuffled));
  const std::vector<size_t> by_size = OrderBy(gpus, std::move(shuffled));
  // The job of k-th rank in size has the k-th smallest of a sample of normals, and its own second one.
  std::vector<double> of_size = DrawNormals(count, random);
  std::sort(of_size.begin(), of_size.end());
  std::vector<double> scores = DrawNormals(count, random);
  const double own = std::sqrt(1 - rank_correlation * rank_correlation);
  for (size_t k = 0; k < count; ++k) scores[by_size[k]] = rank_correlation * of_size[k] + own * scores[by_size[k]];

  const std::vector<size_t> by_score = OrderBy(std::span<const double>(scores), AllIndices(count));
  std::vector<double> minutes(count);
  for (size_t k = 0; k < count; ++k) {
    minutes[by_score[k]] = law.Quantile((static_cast<double>(k) + random->Uniform()) / static_cast<double>(count));
  }
  return minutes;
}

std::vector<double> DrawOtherRunTimes(std::span<const double> gpu_run_times, const RunTimeLaw& all, size_t count,
                                      Random* random) {
  std::vector<double> minutes;
  if (count == 0) return minutes;
  const std::vector<size_t> counts = PlanCounts(gpu_run_times, all, count);
  const std::vector<double>& p = all.probabilities();
  for (size_t b = 0; b < counts.size(); ++b) {
    for (size_t k = 0; k < counts[b]; ++k) {
      const double share = (static_cast<double>(k) + random->Uniform()) / static_cast<double>(counts[b]);
      minutes.push_back(all.Quantile(p[b] + share * (p[b + 1] - p[b])));
    }
  }
  if (counts.back() > 0) minutes.back() = all.values().back();
  random->Shuffle(std::span(minutes));
  return minutes;
}

}  // namespace fairlead::trace
