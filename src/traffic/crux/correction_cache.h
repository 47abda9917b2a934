// Correction factors that were computed before.
//
// A re-plan compares every job with the reference job in 32 simulations, and most pairs are those of the last plan: one
// job has come or gone. A factor depends on six numbers and the options; the cache gives back exactly what a new
// computation would.
#pragma once

#include <array>
#include <cstddef>
#include <map>

#include "traffic/crux/correction_factor.h"

namespace fairlead::traffic::crux {

class CorrectionCache {
 public:
  // Pairs kept; when there are more, all are forgotten.
  static constexpr size_t kMaxPairs = 20'000;

  explicit CorrectionCache(CorrectionOptions options);

  const CorrectionOptions& options() const { return options_; }
  // ComputeCorrectionFactor(reference, job, options()).
  CorrectionFactor Find(const LinkJob& reference, const LinkJob& job);
  size_t size() const { return factors_.size(); }

 private:
  // C, t and s of both jobs.
  using Key = std::array<double, 6>;

  CorrectionOptions options_;
  std::map<Key, CorrectionFactor> factors_;
};

}  // namespace fairlead::traffic::crux
