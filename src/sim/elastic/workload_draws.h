// What generated workloads draw alike: when jobs come, of which kind each is, and how far something is from its mean.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace fairlead::sim {

// `num_jobs` times, uniform in [0, within_s), ascending.
inline std::vector<double> DrawArrivals(uint32_t num_jobs, double within_s, Random* random) {
  std::vector<double> arrivals;
  for (uint32_t j = 0; j < num_jobs; ++j) arrivals.push_back(random->Uniform(0, within_s));
  std::ranges::sort(arrivals);
  return arrivals;
}

// Each with the probability `frequency` that it has; they add up to 1.
template <class Kind, size_t NumKinds>
const Kind& DrawKind(const Kind (&kinds)[NumKinds], Random* random) {
  double left = random->Uniform();
  for (const Kind& kind : kinds) {
    left -= kind.frequency;
    if (left < 0) return kind;
  }
  return kinds[0];
}

// Normal with mean 0, by Box and Muller.
inline double DrawNormal(double sigma, Random* random) {
  const double radius = std::sqrt(-2 * std::log(1 - random->Uniform()));
  return sigma * radius * std::cos(2 * std::numbers::pi * random->Uniform());
}

}  // namespace fairlead::sim
