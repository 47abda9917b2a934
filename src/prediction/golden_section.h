// Golden-section search: where a function of one variable is least.
//
// Problem     minimise f on [low, high].
// Method      a grid finds the best cell, golden sections shrink the two cells around its best point.
// Cost        num_grid + 1.44 log2(cells' width / tolerance) calls of f.
// Guarantees  the answer is no worse than any grid point, ends included.
#pragma once

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace fairlead::prediction {

struct ScalarMinimum {
  double x = 0;
  double value = 0;
};

// Args: low <= high, f(double) -> double. Stops when the bracket is shorter than `tolerance`.
template <class Function>
ScalarMinimum GoldenSection(Function&& f, double low, double high, double tolerance) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double left = high - ratio * (high - low);
  double right = low + ratio * (high - low);
  double f_left = f(left);
  double f_right = f(right);
  while (high - low > tolerance) {
    if (f_left <= f_right) {
      high = right;
      right = left;
      f_right = f_left;
      left = high - ratio * (high - low);
      f_left = f(left);
    } else {
      low = left;
      left = right;
      f_left = f_right;
      right = low + ratio * (high - low);
      f_right = f(right);
    }
    if (!(low < left && left < right && right < high)) break;  // out of digits
  }
  return f_left <= f_right ? ScalarMinimum{left, f_left} : ScalarMinimum{right, f_right};
}

// Args: num_grid >= 2 points at equal distances, ends included.
template <class Function>
ScalarMinimum GridThenGoldenSection(Function&& f, double low, double high, size_t num_grid, double tolerance) {
  FL_CHECK(num_grid >= 2);
  const double cell = (high - low) / static_cast<double>(num_grid - 1);
  ScalarMinimum best{low, f(low)};
  for (size_t i = 1; i < num_grid; ++i) {
    const double x = low + cell * static_cast<double>(i);
    if (const double value = f(x); value < best.value) best = {x, value};
  }
  const ScalarMinimum refined =
      GoldenSection(f, std::fmax(low, best.x - cell), std::fmin(high, best.x + cell), tolerance);
  return refined.value < best.value ? refined : best;
}

}  // namespace fairlead::prediction
