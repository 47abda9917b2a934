#include "execution/noise.h"

#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::execution {

namespace {

// The sum of twelve uniform numbers: normal enough, and bounded at six deviations.
double Normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.Uniform();
  return sum;
}

}  // namespace

NoiseTable::NoiseTable(double coefficient_of_variation, uint64_t seed) : state_(MixBits(seed)) {
  FL_CHECK(coefficient_of_variation >= 0 && coefficient_of_variation <= 1);
  // exp(N(-s^2/2, s^2)) has mean 1 and variance exp(s^2) - 1.
  const double variance = std::log1p(coefficient_of_variation * coefficient_of_variation);
  Random random(seed);
  for (float& factor : factors_) {
    factor = static_cast<float>(std::exp(std::sqrt(variance) * Normal(random) - variance / 2));
  }
}

}  // namespace fairlead::execution
