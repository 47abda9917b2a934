#include "sim/elastic/elastic_metrics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::sim {
namespace {

constexpr double kSmallGpuHours = 1;
constexpr double kLargeGpuHours = 10;
constexpr double kBalanced = 0.4;

size_t SizeClass(const ElasticJobResult& job) {
  const double gpu_hours = job.attained_gpu_s / 3600;
  return gpu_hours < kSmallGpuHours ? 0 : gpu_hours <= kLargeGpuHours ? 1 : 2;
}

void SummarizeTimes(const ElasticResult& result, ElasticMetrics* metrics) {
  std::vector<double> jcts;
  double counts[3] = {0, 0, 0};
  for (const ElasticJobResult& job : result.jobs) {
    if (!job.completion_s) continue;
    jcts.push_back(job.jct_s());
    metrics->mean_jct_s += job.jct_s();
    metrics->mean_jct_by_size_s[SizeClass(job)] += job.jct_s();
    counts[SizeClass(job)] += 1;
    metrics->makespan_s = std::max(metrics->makespan_s, *job.completion_s);
    if (job.alone_s > 0) metrics->worst_slowdown = std::max(metrics->worst_slowdown, job.jct_s() / job.alone_s);
  }
  if (jcts.empty()) return;
  metrics->mean_jct_s /= static_cast<double>(jcts.size());
  for (size_t c = 0; c < 3; ++c) metrics->mean_jct_by_size_s[c] /= std::max(counts[c], 1.0);
  metrics->median_jct_s = NearestRank(jcts, 0.5);
  metrics->p95_jct_s = NearestRank(jcts, 0.95);
  metrics->p99_jct_s = NearestRank(jcts, 0.99);
}

// Parts of the cluster in use during one interval.
struct Use {
  double gpus = 0;
  double cores = 0;

  double gap() const { return std::abs(gpus - cores); }
};

Use PartOf(const ElasticCluster& cluster, double gpus, double cores) {
  const auto all_cores = static_cast<double>(cluster.num_cores());
  return {gpus / cluster.num_gpus(), all_cores > 0 ? cores / all_cores : 0};
}

void SummarizeUse(const ElasticResult& result, const ElasticCluster& cluster, double use_until_s,
                  ElasticMetrics* metrics) {
  const double end_s = std::min(metrics->makespan_s, use_until_s);
  double time = 0;
  for (size_t i = 0; i < result.intervals.size(); ++i) {
    const ElasticInterval& interval = result.intervals[i];
    const double left = std::max(0.0, end_s - interval.begin_s);
    const double length =
        i + 1 < result.intervals.size() ? std::min(left, result.intervals[i + 1].begin_s - interval.begin_s) : left;
    const Use held = PartOf(cluster, interval.gpus, interval.cores);
    const Use busy = PartOf(cluster, interval.busy.gpus, interval.busy.cores);
    time += length;
    metrics->gpu_utilization += held.gpus * length;
    metrics->core_utilization += held.cores * length;
    metrics->gpu_busy += busy.gpus * length;
    metrics->core_busy += busy.cores * length;
    if (held.gap() < kBalanced) metrics->balanced_share += length;
    if (busy.gap() < kBalanced) metrics->busy_balanced_share += length;
  }
  if (time <= 0) return;
  for (double* mean : {&metrics->gpu_utilization, &metrics->core_utilization, &metrics->gpu_busy, &metrics->core_busy,
                       &metrics->balanced_share, &metrics->busy_balanced_share}) {
    *mean /= time;
  }
}

}  // namespace

UtilizationGaps CollectGaps(const ElasticResult& result, const ElasticCluster& cluster, double use_until_s) {
  UtilizationGaps gaps;
  for (const ElasticInterval& interval : result.intervals) {
    if (interval.begin_s >= use_until_s) break;
    gaps.held.push_back(PartOf(cluster, interval.gpus, interval.cores).gap());
    gaps.busy.push_back(PartOf(cluster, interval.busy.gpus, interval.busy.cores).gap());
  }
  std::ranges::sort(gaps.held);
  std::ranges::sort(gaps.busy);
  return gaps;
}

ElasticMetrics Summarize(const ElasticResult& result, const ElasticCluster& cluster, double use_until_s) {
  ElasticMetrics metrics;
  const double num_jobs = std::max<double>(static_cast<double>(result.jobs.size()), 1);
  SummarizeTimes(result, &metrics);
  SummarizeUse(result, cluster, use_until_s, &metrics);
  for (const ElasticJobResult& job : result.jobs) {
    metrics.mean_first_wait_s += (job.first_start_s.value_or(job.submission_s) - job.submission_s) / num_jobs;
    metrics.mean_wait_s += job.waited_s / num_jobs;
    metrics.restarts_per_job += job.num_restarts / num_jobs;
    metrics.stops_per_job += job.num_stops / num_jobs;
    metrics.gpu_hours += job.attained_gpu_s / 3600;
    metrics.num_unfinished += job.completion_s ? 0 : 1;
    metrics.num_unknown_placements += job.num_unknown_placements;
  }
  return metrics;
}

}  // namespace fairlead::sim
