#include "execution/noise.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bounded_normal.h"
#include "base/check.h"
#include "base/random.h"

namespace fairlead::execution {

namespace {

struct Part {
  const char* field;
  double value;
};

}  // namespace

Status NoiseOptions::Validate() const {
  for (const Part& part : {Part{"compute_cv", compute_cv},
                           {"wire_cv", wire_cv},
                           {"loading_cv", loading_cv},
                           {"gpu_cv", gpu_cv},
                           {"connection_cv", connection_cv},
                           {"hiccup", hiccup},
                           {"congestion", congestion},
                           {"lost", lost},
                           {"duplicated", duplicated},
                           {"delayed", delayed},
                           {"truncated", truncated},
                           {"contradicting", contradicting}}) {
    if (part.value >= 0 && part.value <= 1) continue;
    return InvalidArgument(fmt::format("noise: {} must be 0 to 1, it is {}", part.field, part.value));
  }
  if (report_period.ns() <= 0) return InvalidArgument("noise: report_period must be above 0");
  return OkStatus();
}

NoiseTable::NoiseTable(double coefficient_of_variation, uint64_t seed) : state_(MixBits(seed)) {
  FL_CHECK(coefficient_of_variation >= 0 && coefficient_of_variation <= 1);
  // exp(N(-s^2/2, s^2)) has mean 1 and variance exp(s^2) - 1.
  const double variance = std::log1p(coefficient_of_variation * coefficient_of_variation);
  Random random(seed);
  for (float& factor : factors_) {
    factor = static_cast<float>(std::exp(std::sqrt(variance) * DrawBoundedNormal(random) - variance / 2));
  }
}

}  // namespace fairlead::execution
