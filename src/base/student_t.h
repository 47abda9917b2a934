// How far the mean of a few draws may be from the truth: Student's t distribution.
#pragma once

#include <cstdint>

namespace fairlead {

// P(|T| < t) for T with `degrees` degrees of freedom. Args: t >= 0, degrees >= 1. Cost: O(degrees).
double StudentTProbability(double t, uint32_t degrees);

// The t with P(|T| < t) = probability: 12.7 for 0.95 and one degree, 1.96 in the limit.
// Args: 0 < probability < 1, degrees >= 1. Cost: O(degrees) times 60.
double StudentTQuantile(double probability, uint32_t degrees);

}  // namespace fairlead
