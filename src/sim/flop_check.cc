#include "sim/flop_check.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace fairlead::sim {

namespace {

// Work that is derived from peak and time gives 1 but for rounding.
constexpr double kWithinPeak = 1e-6;

}  // namespace

double ClaimedShareOfPeak(const model::Job& job, const model::Iteration& iteration, FlopPerSecond peak) {
  if (iteration.work.value() <= 0) return 0;
  const double most = iteration.compute_time.value() * job.num_gpus * peak.value();
  return most > 0 ? iteration.work.value() / most : std::numeric_limits<double>::infinity();
}

controller::IterationProvider FlopCheck::Watch(controller::IterationProvider provider) {
  return [this, provider = std::move(provider)](const model::Job& job,
                                                const model::Placement& placement) -> Result<model::Iteration> {
    auto iteration = provider(job, placement);
    if (iteration.ok()) Look(job, *iteration);
    return iteration;
  };
}

void FlopCheck::Look(const model::Job& job, const model::Iteration& iteration) {
  const double share = ClaimedShareOfPeak(job, iteration, peak_);
  if (share <= 1 + kWithinPeak) return;
  const std::lock_guard lock(mutex_);
  Claim& claim = claims_[job.id];
  if (std::pair(share, job.num_gpus) <= std::pair(claim.share, claim.num_gpus)) return;
  claim = {job.name, job.num_gpus, share, iteration.work.value(), iteration.compute_time.value()};
}

std::vector<std::string> FlopCheck::Describe() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& [id, claim] : claims_) {
    if (sentences.size() == kNumJobsListed) {
      sentences.push_back(
          fmt::format("{} more jobs do more FLOP than their GPUs can.", claims_.size() - kNumJobsListed));
      break;
    }
    const std::string found =
        claim.compute_s > 0
            ? fmt::format("{:.3g} FLOP per iteration in {:.3g} s of compute on {} GPUs is {:.0f} % of their peak",
                          claim.flop, claim.compute_s, claim.num_gpus, 100 * claim.share)
            : fmt::format("{:.3g} FLOP per iteration in no time", claim.flop);
    sentences.push_back(
        fmt::format("Job {} \"{}\" does more FLOP than its GPUs can: {} ({:.4g} TFLOPS each), so that FLOP-weighted "
                    "utilization is too high. Check the FLOP and the compute time of its model profile, and "
                    "gpu_peak_tflops of the fabric's hosts.",
                    id.value(), claim.name, found, peak_.value() * 1e-12));
  }
  return sentences;
}

}  // namespace fairlead::sim
