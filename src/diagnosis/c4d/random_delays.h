// Matrices of delays with noise and planted faults, for tests and benchmarks of the delay matrix.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/delay_matrix.h"

namespace fairlead::diagnosis::c4d {

// Lognormal of mean about 1 and the given coefficient of variation (Box and Muller).
inline double LogNormal(Random& random, double cv) {
  const double sigma = std::sqrt(std::log1p(cv * cv));
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * random.Uniform()) - sigma * sigma / 2);
}

// All pairs of n workers; each cell is the mean of 30 messages, the fewest that count, with delays that vary by
// `message_cv`.
inline std::vector<DelayCell> MakeDenseDelays(uint32_t n, double message_cv, Random& random) {
  std::vector<DelayCell> cells;
  for (uint32_t y = 0; y < n; ++y) {
    for (uint32_t x = 0; x < n; ++x) {
      if (x != y) cells.push_back({y, x, 3e-11 * LogNormal(random, message_cv / std::sqrt(30.0))});
    }
  }
  return cells;
}

// Each of n workers sends to the next one only.
inline std::vector<DelayCell> MakeRingDelays(uint32_t n, double cell_cv, Random& random) {
  std::vector<DelayCell> cells;
  for (uint32_t y = 0; y < n; ++y) cells.push_back({y, (y + 1) % n, 3e-11 * LogNormal(random, cell_cv)});
  return cells;
}

// Multiplies the cells for which `is_slow(source, destination)`.
template <class Predicate>
void PlantDelay(std::vector<DelayCell>& cells, double factor, Predicate is_slow) {
  for (DelayCell& cell : cells) {
    if (is_slow(cell.source, cell.destination)) cell.delay *= factor;
  }
}

}  // namespace fairlead::diagnosis::c4d
