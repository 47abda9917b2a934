#include "traffic/c4p/coupon_collector.h"

#include <cmath>

#include "base/check.h"

namespace fairlead::traffic::c4p {
namespace {

// The least n >= 1 with (1 - 1/k)^n <= bound, for a bound below 1.
uint64_t DrawsUntilBelow(uint32_t num_paths, double bound) {
  if (num_paths == 1) return 1;
  return static_cast<uint64_t>(std::ceil(std::log(bound) / std::log1p(-1.0 / num_paths)));
}

}  // namespace

double ExpectedDrawsToSeeAll(uint32_t num_paths) {
  double harmonic = 0;
  for (uint32_t i = num_paths; i >= 1; --i) harmonic += 1.0 / i;
  return num_paths * harmonic;
}

uint64_t DrawsToSeeAll(uint32_t num_paths, double miss_probability) {
  FL_CHECK(miss_probability > 0 && miss_probability < 1);
  return num_paths == 0 ? 0 : DrawsUntilBelow(num_paths, miss_probability / num_paths);
}

uint64_t DrawsToSeeOne(uint32_t num_paths, double miss_probability) {
  FL_CHECK(miss_probability > 0 && miss_probability < 1);
  return num_paths == 0 ? 0 : DrawsUntilBelow(num_paths, miss_probability);
}

}  // namespace fairlead::traffic::c4p
