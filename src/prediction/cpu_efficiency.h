// CPU efficiency: how much faster a worker or a parameter server gets with more cores.
//
// Problem     from measured speeds (cores, speed) of one role, find the saturating curve E(c) and from it the factor by
//             which a process with c cores is slower than with one.
// Notation    E(c) = d - |a| exp(-b c);  |a| -> drop, b -> rate, d -> limit;  e(c) = E(1) / E(c) -> SlowDown
// Method      b by a logarithmic grid 0.05 … 5 and golden section; (|a|, d) by least squares without negatives.
// Cost        about 100 fits of two columns.
// Guarantees  E is increasing in c; SlowDown(1) = 1; SlowDown is positive, finite and never grows with c.
// Differs     published curves are not 1 at one core, so ours are divided by E(1). Below half a core, where published
//             curves turn negative, half a core counts; and no core count is more than 100 times slower than one core.
// Reference   Zhao et al., AITurbo, HPDC 2021; coefficients published with its prototype.
#pragma once

#include <span>

#include "base/status.h"

namespace fairlead::prediction {

inline constexpr double kMinCores = 0.5;
inline constexpr double kSlowDownMax = 100;

struct CpuEfficiency {
  double drop = 0;   // >= 0; 0: cores don't matter
  double rate = 1;   // 1/core, > 0
  double limit = 1;  // speed with very many cores, > 0

  // Speed at `cores`, in the unit of the measurements.
  double Speed(double cores) const;
  // Iterations at `cores` take this many times as long in this role's stages as with one core.
  double SlowDown(double cores) const;
};

struct CpuSpeed {
  double cores = 0;
  double speed = 0;  // any unit, the same in all measurements
};

// Errors: kInvalidArgument when fewer than three different core counts are measured, a number is not positive and
// finite, or speed does not grow with cores; the message says which.
Result<CpuEfficiency> FitCpuEfficiency(std::span<const CpuSpeed> speeds);

}  // namespace fairlead::prediction
