// The published facts about a workload with unpublished jobs: distributions one by one, and options for the unknown.
//
// A profile is a YAML file (trace_profiles/NAME.yaml, each number with its origin); those that come with the program
// are part of it. The generator draws traces from a profile, the goodness of fit measures a trace against one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/run_time_law.h"

namespace fairlead::trace {

// Jobs by their GPUs: counts[i] jobs of gpus[i] GPUs, gpus ascending.
struct SizeTable {
  std::vector<uint32_t> gpus;
  std::vector<double> counts;

  double NumJobs() const;
  // The smallest size with at least a share `p` of the jobs at or below it. The table must hold a job.
  uint32_t Quantile(double p) const;
  // The share of jobs with at most `size` GPUs.
  double Cdf(double size) const;
};

struct ModelCount {
  std::string name;
  double jobs = 0;
  SizeTable sizes;         // empty: sizes are not known by label; 0 GPUs: jobs without a GPU worker
  std::string stands_for;  // model profile that replays it; empty: one of unlabelled_stand_ins
};

// Jobs at once, and the GPUs they hold.
struct PublishedConcurrency {
  double jobs_mean = 0;
  double jobs_max = 0;
  double gpus_mean = 0;
  double gpus_max = 0;
  std::vector<double> daily_jobs;  // mean over each day
  std::vector<double> daily_gpus;
};

// Everything that the published distributions leave open. Ranges are checked by Validate().
struct GeneratorOptions {
  // Same profile, options and seed: the same trace, byte for byte.
  uint64_t seed = 1;
  // Length, 1 to 3650; 0: the profile's. Days beyond the profile's repeat its last full weeks.
  uint32_t days = 0;
  // Factor on the number of arrivals, (0, 1000]. Above 1: the same cluster with more users.
  double load = 1;
  // Leaves out jobs without GPUs, which a network never sees.
  bool gpu_jobs_only = false;

  // Share of arrivals that come in batches, [0, 1]. Higher: more jobs start together.
  double burst_fraction = 0.3;
  // Mean size of a batch (geometric), >= 1. Higher: fewer, larger batches.
  double burst_mean = 4;
  // Length of a batch, s, (0, 3600].
  double burst_window_s = 120;

  // Factor on how far the run times of GPU jobs exceed the tail_knee quantile, (0, 10]. Lower: fewer jobs at once.
  // Jobs without GPUs get the long run times that GPU jobs give up, so that all jobs together keep the published law.
  double tail_scale = 1;
  // Where the tail begins, as a probability, [0, 1).
  double tail_knee = 0.95;
  // Rank correlation between GPUs and run time of GPU jobs (Gaussian copula), [-1, 1]. Higher: large jobs run longer,
  // and more GPUs are busy at once, while the number of jobs stays.
  double rank_correlation = 0;
  // The most GPU jobs, and GPUs of them, that should be there at once; 0: no limit. Demanding jobs are given moments at
  // which they fit, as if their owners had waited for quota. Scaled with `load`.
  double jobs_limit = 0;
  double gpus_limit = 0;
  // Share of jobs on several hosts that get half hosts (4 GPUs each instead of 8), [0, 1].
  double fragmentation = 0;
  // Traces are drawn again, at most this often, until mean concurrent jobs and GPUs are within 10 % of the profile's;
  // 1: the first one is taken. Only where they apply: with the profile's days, load, tail, rank correlation and limits.
  uint32_t draws_max = 200;

  Status Validate() const;
};

struct TraceProfile {
  std::string name;
  std::vector<std::string> source;
  std::string first_day;  // "2023-07-15"
  double jobs = 0;
  double gpu_jobs = 0;
  std::vector<double> arrivals_per_day;
  std::vector<double> hour_weights;  // [24], what was seen
  double hour_weight_floor = 0;      // least weight when drawing
  RunTimeLaw run_time_minutes;
  SizeTable gpus_per_job;
  std::vector<ModelCount> models;
  std::vector<std::string> unlabelled_stand_ins;  // model profiles
  SizeTable unlisted_model_sizes;
  PublishedConcurrency concurrency;
  GeneratorOptions generator;  // defaults for this profile

  uint32_t num_days() const { return static_cast<uint32_t>(arrivals_per_day.size()); }
  // [24] weights by which hours are drawn.
  std::vector<double> DrawnHourWeights() const;
};

// Errors: kInvalidArgument, kNotFound: one message with file, line and key.
Result<TraceProfile> LoadTraceProfileFile(const std::string& path);
Result<TraceProfile> ParseTraceProfile(std::string_view text, const std::string& name);

// Names of the profiles that come with the program, sorted.
std::vector<std::string> BuiltInTraceProfiles();
// One of these by name. Errors: kNotFound, listing them.
Result<TraceProfile> BuiltInTraceProfile(std::string_view name);

}  // namespace fairlead::trace
