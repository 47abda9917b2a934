// The three tests of one case: each mechanism alone against the enumerated optimum, the other two being optimal.
//
//   paths         paths by the method;   levels: the best of 243
//   assignment    order by the method;   paths: the best of 32; levels: the best that compress this order without
//                 turning two jobs around that share a network link
//   compression   paths and order of the optimum, the lexicographically first among equals; levels by the method
//
// The order of Sincronia depends on the paths: it is computed again for each path choice. kWorst takes the worst path
// choice, the worst order, and the worst levels that reverse no two jobs.
#pragma once

#include <array>
#include <cstdint>

#include "experiments/crux-near-optimality/decisions.h"

namespace fairlead::experiments::crux_near_optimality {

enum class MechanismTest : uint8_t { kPaths, kAssignment, kCompression };
inline constexpr size_t kNumTests = 3;

struct CaseResult {
  double optimum = 0;  // U*: busy fraction
  // [test][method] utilization; NaN where the method has no rule for the mechanism.
  std::array<std::array<double, kNumMethods>, kNumTests> utilization{};
  size_t num_simulations = 0;
  uint32_t num_rejected = 0;  // draws before this case, see random_case.h

  // (U* - U) / U*.
  double Error(MechanismTest test, Method method) const {
    return 1 - utilization[static_cast<size_t>(test)][static_cast<size_t>(method)] / optimum;
  }
};

// Same seed, same result.
CaseResult RunCase(uint64_t seed);

}  // namespace fairlead::experiments::crux_near_optimality
