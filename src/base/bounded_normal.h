// Noise that is normal enough, never further out than six deviations, and the same on every platform.
#pragma once

#include "base/random.h"

namespace fairlead {

// The sum of twelve uniform numbers less six: mean 0, deviation 1.
inline double DrawBoundedNormal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.Uniform();
  return sum;
}

}  // namespace fairlead
