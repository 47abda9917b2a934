#include "sim/elastic/own_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/elastic/epoch_run.h"

namespace fairlead::sim {
namespace {

// Of what is declared: a job that goes on has something left.
constexpr double kLeastLeft = 0.02;

}  // namespace

Result<OwnMeasurements> OwnMeasurements::Create(const std::vector<ElasticJobSpec>& workload,
                                                const ElasticCluster& cluster) {
  std::vector<Known> jobs;
  for (const ElasticJobSpec& spec : workload) {
    if (spec.profile == nullptr) {
      return InvalidArgument(fmt::format(
          "job '{}': steps are measured of jobs that train by all-reduce; this one has servers", spec.name));
    }
    const std::vector<uint32_t> gpus = RunnableGpus(spec, cluster);
    FL_ASSIGN_OR_RETURN(prediction::MeasuredSpeed speed, prediction::MeasuredSpeed::Create(gpus));
    Known job{std::move(speed), {}, false};
    for (const uint32_t k : gpus) job.sizes.push_back({k, k * cluster.cores_per_gpu, 0});
    Refresh(&job);
    jobs.push_back(std::move(job));
  }
  return OwnMeasurements(std::move(jobs));
}

void OwnMeasurements::Refresh(Known* job) {
  for (size_t k = 0; k < job->sizes.size(); ++k) job->sizes[k].iteration_s = job->speed.Predict(k).value();
}

void OwnMeasurements::Observe(uint32_t j, const ElasticJob& job, double seconds, double noise) {
  Known& known = jobs_[j];
  const scheduling::Resources held = job.allocation().resources();
  known.speed.Observe(static_cast<uint32_t>(held.num_gpus), static_cast<uint32_t>(job.allocation().shares.size()),
                      Seconds(job.run().iteration_s() * noise), Seconds(seconds));
  known.has_steps = true;
  Refresh(&known);
}

std::optional<double> OwnMeasurements::Remaining(uint32_t j, const ElasticJob& job) const {
  const auto progress = job.run().ObserveProgress();
  const double done_share = job.run().done_share();
  if (!jobs_[j].has_steps || !job.spec().predictable_after || !progress || done_share <= 0) return std::nullopt;
  const double declared = progress->iterations / done_share * job.spec().declared_factor;
  return std::max(declared - progress->iterations, kLeastLeft * declared);
}

}  // namespace fairlead::sim
