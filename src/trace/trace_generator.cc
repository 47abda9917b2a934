#include "trace/trace_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "trace/arrival_process.h"
#include "trace/concurrency.h"
#include "trace/job_mix.h"
#include "trace/quota_slots.h"
#include "trace/run_time_draw.h"

namespace fairlead::trace {

namespace {

constexpr double kMaxJobs = 1e7;
// Draws with mean concurrent jobs and GPUs this close to the published ones are accepted.
constexpr double kMeanTolerance = 0.1;

uint32_t GpusPerHost(uint32_t gpus, const GeneratorOptions& options, Random* random) {
  constexpr uint32_t kHostGpus = 8;
  if (gpus <= kHostGpus) return gpus;
  return random->Uniform() < options.fragmentation ? kHostGpus / 2 : kHostGpus;
}

double ToSeconds(double minutes) { return std::round(minutes * 60); }

// GPU jobs first.
void SplitByGpus(std::vector<JobKind>* kinds, size_t* num_gpu_jobs) {
  const auto middle =
      std::stable_partition(kinds->begin(), kinds->end(), [](const JobKind& kind) { return kind.gpus > 0; });
  *num_gpu_jobs = static_cast<size_t>(middle - kinds->begin());
}

// Run times in seconds for kinds that begin with the GPU jobs.
std::vector<double> DrawRunTimes(const TraceProfile& profile, const GeneratorOptions& options,
                                 std::span<const uint32_t> gpus, size_t num_others, Random* random) {
  const RunTimeLaw scaled = profile.run_time_minutes.ScaleTail(options.tail_knee, options.tail_scale);
  std::vector<double> minutes = DrawGpuRunTimes(gpus, scaled, options.rank_correlation, random);
  const std::vector<double> others = DrawOtherRunTimes(minutes, profile.run_time_minutes, num_others, random);
  minutes.insert(minutes.end(), others.begin(), others.end());
  std::transform(minutes.begin(), minutes.end(), minutes.begin(), ToSeconds);
  return minutes;
}

// Moments for kinds that begin with the GPU jobs.
std::vector<double> DrawMoments(const TraceProfile& profile, const GeneratorOptions& options,
                                std::vector<double> arrivals, std::span<const uint32_t> gpus,
                                std::span<const double> run_times_s, Random* random) {
  random->Shuffle(std::span(arrivals));
  const QuotaLimits limits{.jobs = options.jobs_limit * options.load, .gpus = options.gpus_limit * options.load};
  const double end_s = NumTraceDays(profile, options) * kSecondsPerDay;
  const std::span<const double> of_gpu_jobs = std::span(arrivals).first(gpus.size());
  std::vector<double> moments;
  for (const size_t moment : AssignMoments(of_gpu_jobs, run_times_s.first(gpus.size()), gpus, limits, end_s, random)) {
    moments.push_back(arrivals[moment]);
  }
  moments.insert(moments.end(), arrivals.begin() + static_cast<std::ptrdiff_t>(gpus.size()), arrivals.end());
  return moments;
}

void NumberJobs(std::vector<TraceJob>* jobs) {
  std::stable_sort(jobs->begin(), jobs->end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submit_s < b.submit_s; });
  const size_t width = std::max<size_t>(5, fmt::formatted_size("{}", jobs->size()));
  for (size_t i = 0; i < jobs->size(); ++i) (*jobs)[i].id = fmt::format("j{:0{}}", i + 1, width);
}

std::vector<TraceJob> DrawJobs(const TraceProfile& profile, const GeneratorOptions& options, Random random) {
  std::vector<double> arrivals = DrawArrivals(profile, options, &random);
  std::vector<JobKind> kinds = DrawJobKinds(profile, arrivals.size(), &random);
  size_t num_gpu_jobs = 0;
  SplitByGpus(&kinds, &num_gpu_jobs);
  std::vector<uint32_t> gpus;
  for (size_t i = 0; i < num_gpu_jobs; ++i) gpus.push_back(kinds[i].gpus);
  const std::vector<double> run_times_s = DrawRunTimes(profile, options, gpus, kinds.size() - num_gpu_jobs, &random);
  const std::vector<double> moments = DrawMoments(profile, options, std::move(arrivals), gpus, run_times_s, &random);
  std::vector<TraceJob> jobs(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    jobs[i] = {.id = {},
               .submit_s = moments[i],
               .duration_s = run_times_s[i],
               .gpus = kinds[i].gpus,
               .gpus_per_host = GpusPerHost(kinds[i].gpus, options, &random),
               .model = profile.models[kinds[i].model].name};
  }
  NumberJobs(&jobs);
  return jobs;
}

// The larger relative distance of the two means from what was published.
double MeanDistance(const TraceProfile& profile, const GeneratorOptions& options, const std::vector<TraceJob>& jobs) {
  const Concurrency c = MeasureConcurrency(jobs, NumTraceDays(profile, options) * kSecondsPerDay);
  return std::max(std::abs(c.jobs_mean / profile.concurrency.jobs_mean - 1),
                  std::abs(c.gpus_mean / profile.concurrency.gpus_mean - 1));
}

// Whether the published means apply: to the profile's own options, which were chosen to meet them.
bool IsComparable(const TraceProfile& profile, const GeneratorOptions& options) {
  const auto shape = [](const GeneratorOptions& o) {
    return std::tie(o.load, o.tail_scale, o.tail_knee, o.rank_correlation, o.jobs_limit, o.gpus_limit);
  };
  return NumTraceDays(profile, options) == profile.num_days() && shape(options) == shape(profile.generator);
}

std::vector<std::string> MakeNotes(const TraceProfile& profile, const GeneratorOptions& options, uint32_t num_draws) {
  std::vector<std::string> notes = profile.source;
  notes.push_back(fmt::format(
      "Drawn from the published distributions of {}, seed {}{}; no row of the data set is in it.", profile.name,
      options.seed, num_draws > 1 ? fmt::format(" ({} draws until the means fitted)", num_draws) : ""));
  notes.push_back(fmt::format(
      "Assumed: {:.0f} % of arrivals in batches of {} on average; rank correlation of GPUs and run time {}.",
      100 * options.burst_fraction, options.burst_mean, options.rank_correlation));
  if (options.tail_scale != 1) {
    notes.push_back(
        fmt::format("Assumed: run times of GPU jobs beyond their {:.3g} % quantile scaled by {}, to meet the published "
                    "concurrency; jobs without GPUs take the rest of the published run times.",
                    100 * options.tail_knee, options.tail_scale));
  }
  if (options.jobs_limit > 0 || options.gpus_limit > 0) {
    notes.push_back(fmt::format("Assumed: a quota of {} jobs and {} GPUs at once (0: none) delays who does not fit.",
                                options.jobs_limit * options.load, options.gpus_limit * options.load));
  }
  return notes;
}

}  // namespace

Result<Trace> GenerateTrace(const TraceProfile& profile, const GeneratorOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  const double per_day = *std::max_element(profile.arrivals_per_day.begin(), profile.arrivals_per_day.end());
  if (per_day * options.load * NumTraceDays(profile, options) > kMaxJobs) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("days and load make more than {:.0f} jobs; use fewer days or a lower load", kMaxJobs));
  }
  Trace trace;
  trace.title = fmt::format("{}, {}, seed {}", profile.name, CountDays(NumTraceDays(profile, options)), options.seed);
  const uint32_t draws_max = IsComparable(profile, options) ? options.draws_max : 1;
  double best = std::numeric_limits<double>::infinity();
  uint32_t draw = 0;
  while (draw < draws_max && best > kMeanTolerance) {
    std::vector<TraceJob> jobs = DrawJobs(profile, options, Random(CombineHash(options.seed, draw)));
    ++draw;
    const double distance = draws_max > 1 ? MeanDistance(profile, options, jobs) : 0;
    if (distance >= best) continue;
    best = distance;
    trace.jobs = std::move(jobs);
  }
  if (options.gpu_jobs_only) std::erase_if(trace.jobs, [](const TraceJob& job) { return job.gpus == 0; });
  trace.notes = MakeNotes(profile, options, draw);
  return trace;
}

}  // namespace fairlead::trace
