#include "sim/elastic/elastic_summary.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace fairlead::sim {
namespace {

// Jobs that are there and not finished, summed over time: the mean over any stretch is a difference.
class JobCount {
 public:
  explicit JobCount(const std::vector<ElasticInterval>& intervals) : intervals_(intervals), sums_(1, 0) {
    for (size_t i = 0; i < intervals.size(); ++i) {
      const double length = i + 1 < intervals.size() ? intervals[i + 1].begin_s - intervals[i].begin_s : 0;
      sums_.push_back(sums_.back() + length * intervals[i].num_jobs);
    }
  }

  double MeanBetween(double begin_s, double end_s) const {
    return end_s > begin_s ? (SumUntil(end_s) - SumUntil(begin_s)) / (end_s - begin_s) : 1;
  }

 private:
  double SumUntil(double time_s) const {
    const auto above = std::ranges::upper_bound(intervals_, time_s, {}, &ElasticInterval::begin_s);
    if (above == intervals_.begin()) return 0;
    const auto i = static_cast<size_t>(above - intervals_.begin()) - 1;
    return sums_[i] + (time_s - intervals_[i].begin_s) * intervals_[i].num_jobs;
  }

  const std::vector<ElasticInterval>& intervals_;
  std::vector<double> sums_;
};

}  // namespace

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  spread.mean = Mean(values);
  spread.p50 = NearestRank(values, 0.5);
  spread.p95 = NearestRank(values, 0.95);
  spread.p99 = NearestRank(values, 0.99);
  spread.max = *std::ranges::max_element(values);
  return spread;
}

size_t SizeClassOf(uint32_t requested_gpus) {
  constexpr std::array kMost = {1u, 4u, 8u, 32u};
  return static_cast<size_t>(std::ranges::lower_bound(kMost, requested_gpus) - kMost.begin());
}

std::vector<double> FinishTimeUnfairness(const ElasticResult& result, const ElasticCluster& cluster) {
  const JobCount count(result.intervals);
  std::vector<double> all(result.jobs.size());
  for (size_t j = 0; j < all.size(); ++j) {
    const ElasticJobResult& job = result.jobs[j];
    if (!job.completion_s || job.alone_s <= 0) continue;
    const double neighbours = std::max(1.0, count.MeanBetween(job.submission_s, *job.completion_s));
    const double stretch = std::max(1.0, job.requested_gpus * neighbours / cluster.num_gpus());
    all[j] = job.jct_s() / (job.alone_s * stretch);
  }
  return all;
}

namespace {

// What is gathered of all jobs before it is ranked.
struct Samples {
  std::vector<double> jcts;
  std::vector<double> first_waits;
  std::array<std::vector<double>, kSizeClasses.size()> first_waits_by_size;
  std::vector<double> waits;
  std::vector<double> restarts;
  std::vector<double> stops;
  std::vector<double> unfairness;
  std::array<std::vector<double>, kForecastShares.size()> forecast_errors;

  void Add(const ElasticJobResult& job) {
    if (job.completion_s) jcts.push_back(job.jct_s());
    if (job.first_start_s) {
      first_waits.push_back(*job.first_start_s - job.submission_s);
      first_waits_by_size[SizeClassOf(job.requested_gpus)].push_back(first_waits.back());
    }
    waits.push_back(job.waited_s);
    restarts.push_back(job.num_restarts);
    stops.push_back(job.num_stops);
    for (size_t i = 0; i < forecast_errors.size(); ++i) {
      if (job.forecast_errors[i]) forecast_errors[i].push_back(std::abs(*job.forecast_errors[i]));
    }
  }
};

}  // namespace

std::map<std::string, TenantSummary> SummarizeTenants(std::span<const ElasticResult> results) {
  std::map<std::string, TenantSummary> summaries;
  std::map<std::string, Samples> samples;
  for (const ElasticResult& result : results) {
    for (const ElasticJobResult& job : result.jobs) {
      samples[job.tenant].Add(job);
      TenantSummary& summary = summaries[job.tenant];
      ++summary.num_jobs;
      summary.gpu_hours += job.attained_gpu_s / 3600;
    }
  }
  for (auto& [name, summary] : summaries) {
    summary.jct_s = SpreadOf(samples[name].jcts);
    summary.first_wait_s = SpreadOf(samples[name].first_waits);
  }
  return summaries;
}

ElasticSummary SummarizeRun(const ElasticResult& result, const ElasticCluster& cluster) {
  return SummarizeRuns(std::span(&result, 1), cluster);
}

ElasticSummary SummarizeRuns(std::span<const ElasticResult> results, const ElasticCluster& cluster) {
  ElasticSummary summary;
  Samples samples;
  double time_s = 0;
  for (const ElasticResult& result : results) {
    double makespan_s = 0;
    for (const ElasticJobResult& job : result.jobs) {
      samples.Add(job);
      makespan_s = std::max(makespan_s, job.completion_s.value_or(0));
      if (!job.completion_s) summary.unfinished.push_back(job.name);
      summary.lost_gpu_hours += job.lost_gpu_s / 3600;
      summary.gpu_hours += job.attained_gpu_s / 3600;
    }
    for (const double rho : FinishTimeUnfairness(result, cluster)) {
      if (rho > 0) samples.unfairness.push_back(rho);
    }
    summary.makespan_s = std::max(summary.makespan_s, makespan_s);
    time_s += makespan_s;
  }
  summary.jct_s = SpreadOf(samples.jcts);
  summary.first_wait_s = SpreadOf(samples.first_waits);
  summary.wait_s = SpreadOf(samples.waits);
  for (size_t c = 0; c < kSizeClasses.size(); ++c) {
    summary.first_wait_by_size_s[c] = SpreadOf(samples.first_waits_by_size[c]);
  }
  summary.restarts = SpreadOf(samples.restarts);
  summary.stops = SpreadOf(samples.stops);
  summary.unfairness = SpreadOf(samples.unfairness);
  for (size_t i = 0; i < kForecastShares.size(); ++i) {
    summary.forecast_error[i] = SpreadOf(samples.forecast_errors[i]);
  }
  const auto unfair = std::ranges::count_if(samples.unfairness, [](double rho) { return rho > 1; });
  const auto num_judged = static_cast<double>(std::max<size_t>(samples.unfairness.size(), 1));
  summary.unfair_share = static_cast<double>(unfair) / num_judged;
  if (time_s > 0) summary.gpu_utilization = summary.gpu_hours * 3600 / (time_s * cluster.num_gpus());
  return summary;
}

}  // namespace fairlead::sim
