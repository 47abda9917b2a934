// Training jobs with loss curves of several kinds, made from a seed: data of our own for trying out and testing
// predictions.
//
// Method      each job draws a kind of curve, then a model and hyper-parameters that usually go with it, then a log:
//             the kind's ideal curve times noise. What a job is asked for (target loss) is what its ideal curve reaches
//             at its end.
// Guarantees  same options, same jobs. Nothing is copied or fitted from measured curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "prediction/job_features.h"

namespace fairlead::prediction {

enum class CurveKind {
  kSmooth,     // one hyperbola, noise of 0.2 to 1 %: predictable soon
  kDrops,      // learning rate falls twice; each fall starts a new hyperbola: predictable after the last
  kNoisy,      // noise of 5 to 15 %: hardly ever predictable
  kDivergent,  // rises or becomes NaN part of the way: never predictable
};
inline constexpr size_t kNumCurveKinds = 4;
std::string_view Name(CurveKind kind);

struct GeneratedJob {
  JobRecord record;
  CurveKind kind = CurveKind::kSmooth;
  double true_end = 0;  // iteration; infinite for kDivergent
};

struct JobGeneratorOptions {
  uint64_t seed = 1;
  size_t num_jobs = 120;
  // Shares of the four kinds, relative to their sum.
  double shares[kNumCurveKinds] = {0.4, 0.25, 0.2, 0.15};
  // Probability that the model is one that does not usually go with the kind: what no feature of the model can tell.
  double surprise = 0.1;
};

std::vector<GeneratedJob> GenerateJobs(const JobGeneratorOptions& options);

}  // namespace fairlead::prediction
