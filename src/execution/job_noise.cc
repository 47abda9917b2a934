#include "execution/job_noise.h"

#include "execution/instant.h"

namespace fairlead::execution {

JobNoise::JobNoise(const NoiseOptions& options, uint32_t num_ranks, uint64_t seed)
    : hiccup_(options.hiccup),
      hiccup_mean_(options.hiccup_mean),
      compute_(options.compute_cv, CombineHash(seed, 3)),
      loading_(options.loading_cv, CombineHash(seed, 4)),
      hiccup_random_(CombineHash(seed, 8)) {
  NoiseTable gpu_noise(options.gpu_cv, CombineHash(seed, 9));
  for (uint32_t r = 0; r < num_ranks; ++r) gpu_factors_.push_back(gpu_noise.Next());
}

SimDuration JobNoise::Hiccup() {
  if (hiccup_random_.Uniform() >= hiccup_) return SimDuration(0);
  return SimDuration(Scaled(hiccup_mean_, hiccup_random_.Exponential(1)));
}

}  // namespace fairlead::execution
