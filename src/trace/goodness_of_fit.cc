#include "trace/goodness_of_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/statistics.h"
#include "trace/arrival_process.h"
#include "trace/concurrency.h"

namespace fairlead::trace {

namespace {

constexpr double kQuantileBand = 0.05;
constexpr double kLawBand = 0.05;
constexpr double kArrivalBand = 0.15;
constexpr double kMeanBand = 0.1;
constexpr double kMaxBand = 0.3;

struct Percentile {
  double probability;
  std::string_view name;
};
// Sizes take few values: p99 lies between two of them and depends on single jobs.
constexpr Percentile kSizePercentiles[] = {{0.1, "p10"}, {0.25, "p25"}, {0.5, "p50"}, {0.75, "p75"},
                                           {0.9, "p90"}, {0.95, "p95"}, {1, "max"}};

FitRow Compare(std::string_view marginal, std::string quantity, std::string unit, double published, double ours,
               double band) {
  FitRow row{.marginal = std::string(marginal), .quantity = std::move(quantity), .unit = std::move(unit)};
  row.published = published;
  row.ours = ours;
  row.distance = published == 0 ? (ours == 0 ? 0.0 : HUGE_VAL) : std::abs(ours / published - 1);
  row.band = band;
  return row;
}

FitRow CompareLaws(std::string_view marginal, FitMeasure measure, double distance) {
  FitRow row{.marginal = std::string(marginal), .quantity = "whole law"};
  row.measure = measure;
  row.distance = distance;
  row.band = kLawBand;
  return row;
}

FitRow Unjudged(FitRow row, std::string note) {
  row.is_judged = false;
  row.note = std::move(note);
  return row;
}

// Kolmogorov-Smirnov distance of a sample from a law. `cdf` is right-continuous; `step_below(x)` is its limit from
// the left. Ties in the sample are one step.
template <class Cdf, class CdfBelow>
double LawDistance(const std::vector<double>& sorted, const Cdf& cdf, const CdfBelow& cdf_below) {
  const auto count = static_cast<double>(sorted.size());
  double distance = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    distance = std::max(distance, std::abs(static_cast<double>(i) / count - cdf_below(sorted[i])));
    distance = std::max(distance, std::abs(static_cast<double>(end) / count - cdf(sorted[i])));
    i = end;
  }
  return distance;
}

class FitBuilder {
 public:
  FitBuilder(const Trace& trace, const TraceProfile& profile) : trace_(trace), profile_(profile) {
    fit_.trace = trace.title;
    fit_.profile = profile.name;
    fit_.num_jobs = trace.jobs.size();
    fit_.num_days = NumDays(trace.jobs);
    for (const TraceJob& job : trace.jobs) fit_.num_gpu_jobs += job.gpus > 0;
    has_all_days_ = fit_.num_days == profile.num_days();
    // A trace that leaves out jobs without GPUs can't be compared where all jobs are counted.
    has_other_jobs_ = fit_.num_gpu_jobs < fit_.num_jobs;
  }

  GoodnessOfFit Build() && {
    AddArrivals();
    AddHours();
    AddRunTimes();
    AddSizes();
    AddModels();
    AddConcurrency();
    return std::move(fit_);
  }

 private:
  // Judged only where the jobs of the trace are all jobs.
  void AddForAllJobs(FitRow row) {
    fit_.rows.push_back(has_other_jobs_
                            ? std::move(row)
                            : Unjudged(std::move(row), "published for all jobs; the trace has GPU jobs only"));
  }

  void AddArrivals() {
    const uint32_t num_days = std::min(fit_.num_days, profile_.num_days());
    std::vector<double> ours(num_days);
    for (const TraceJob& job : trace_.jobs) {
      const auto day = static_cast<size_t>(job.submit_s / kSecondsPerDay);
      if (day < num_days) ++ours[day];
    }
    double total = 0, published_total = 0;
    for (uint32_t day = 0; day < num_days; ++day) {
      total += ours[day];
      published_total += profile_.arrivals_per_day[day];
    }
    AddForAllJobs(Compare("arrivals", CountDays(num_days), "jobs", published_total, total, kArrivalBand));
    for (uint32_t day = 0; day < num_days; ++day) {
      AddForAllJobs(Compare("arrivals", fmt::format("day {}", day), "jobs", profile_.arrivals_per_day[day], ours[day],
                            kArrivalBand));
    }
    const double share = static_cast<double>(fit_.num_gpu_jobs) / static_cast<double>(fit_.num_jobs);
    AddForAllJobs(
        Compare("arrivals", "share of GPU jobs", "", profile_.gpu_jobs / profile_.jobs, share, kQuantileBand));
  }

  void AddHours() {
    std::vector<double> shares(24);
    for (const TraceJob& job : trace_.jobs) {
      shares[static_cast<size_t>(std::fmod(job.submit_s, kSecondsPerDay) / 3600)] += 1;
    }
    const std::vector<double> weights = profile_.DrawnHourWeights();
    double sum = 0, published_sum = 0, distance = 0, all_weights = 0;
    for (const double weight : weights) all_weights += weight;
    for (size_t hour = 0; hour < 24; ++hour) {
      sum += shares[hour] / static_cast<double>(fit_.num_jobs);
      published_sum += weights[hour] / all_weights;
      distance = std::max(distance, std::abs(sum - published_sum));
    }
    fit_.rows.push_back(CompareLaws("hour of arrival", FitMeasure::kKolmogorovSmirnov, distance));
  }

  void AddRunTimes() {
    std::vector<double> minutes;
    for (const TraceJob& job : trace_.jobs) minutes.push_back(job.duration_s / 60);
    std::sort(minutes.begin(), minutes.end());
    const RunTimeLaw& law = profile_.run_time_minutes;
    for (size_t i = 1; i < law.probabilities().size(); ++i) {
      const double p = law.probabilities()[i];
      AddForAllJobs(Compare("run time", p == 1 ? "max" : fmt::format("p{:g}", 100 * p), "min", law.values()[i],
                            NearestRank(minutes, p), kQuantileBand));
    }
    const auto cdf = [&](double value) { return law.Cdf(value); };
    AddForAllJobs(CompareLaws("run time", FitMeasure::kKolmogorovSmirnov, LawDistance(minutes, cdf, cdf)));
  }

  void AddSizes() {
    std::vector<double> sizes;
    for (const TraceJob& job : trace_.jobs) {
      if (job.gpus > 0) sizes.push_back(job.gpus);
    }
    if (sizes.empty()) return;
    std::sort(sizes.begin(), sizes.end());
    const SizeTable& table = profile_.gpus_per_job;
    for (const Percentile& p : kSizePercentiles) {
      fit_.rows.push_back(Compare("GPUs per job", std::string(p.name), "GPUs", table.Quantile(p.probability),
                                  NearestRank(sizes, p.probability), kQuantileBand));
    }
    const auto cdf = [&](double size) { return table.Cdf(size); };
    const auto cdf_below = [&](double size) { return table.Cdf(size - 0.5); };
    fit_.rows.push_back(
        CompareLaws("GPUs per job", FitMeasure::kKolmogorovSmirnov, LawDistance(sizes, cdf, cdf_below)));
  }

  void AddModels() {
    std::map<std::string_view, double> difference;
    double published_jobs = 0;
    for (const ModelCount& model : profile_.models) published_jobs += model.jobs;
    for (const ModelCount& model : profile_.models) difference[model.name] -= model.jobs / published_jobs;
    for (const TraceJob& job : trace_.jobs) difference[job.model] += 1 / static_cast<double>(fit_.num_jobs);
    double distance = 0;
    for (const auto& [name, share] : difference) distance += std::abs(share) / 2;
    AddForAllJobs(CompareLaws("model label", FitMeasure::kTotalVariation, distance));
  }

  void AddConcurrency() {
    const Concurrency c = MeasureConcurrency(trace_.jobs, std::max(1u, fit_.num_days) * kSecondsPerDay);
    const PublishedConcurrency& published = profile_.concurrency;
    const auto add = [&](std::string quantity, std::string unit, double theirs, double ours, double band) {
      FitRow row = Compare("at once", std::move(quantity), std::move(unit), theirs, ours, band);
      fit_.rows.push_back(has_all_days_
                              ? std::move(row)
                              : Unjudged(std::move(row), fmt::format("published for {}, the trace has {}",
                                                                     CountDays(profile_.num_days()), fit_.num_days)));
    };
    add("mean", "GPU jobs", published.jobs_mean, c.jobs_mean, kMeanBand);
    add("mean", "GPUs", published.gpus_mean, c.gpus_mean, kMeanBand);
    add("max", "GPU jobs", published.jobs_max, static_cast<double>(c.jobs_max), kMaxBand);
    add("max", "GPUs", published.gpus_max, static_cast<double>(c.gpus_max), kMaxBand);
  }

  const Trace& trace_;
  const TraceProfile& profile_;
  bool has_all_days_ = false;
  bool has_other_jobs_ = false;
  GoodnessOfFit fit_;
};

}  // namespace

std::string_view FitMeasureName(FitMeasure measure) {
  switch (measure) {
    case FitMeasure::kRelativeError:
      return "relative error";
    case FitMeasure::kKolmogorovSmirnov:
      return "Kolmogorov-Smirnov";
    case FitMeasure::kTotalVariation:
      return "total variation";
  }
  return "";
}

size_t GoodnessOfFit::num_judged() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const FitRow& r) { return r.is_judged; }));
}

size_t GoodnessOfFit::num_outside() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const FitRow& r) { return !r.is_inside(); }));
}

Result<GoodnessOfFit> MeasureFit(const Trace& trace, const TraceProfile& profile) {
  if (trace.jobs.empty())
    return InvalidArgument(fmt::format("{}: has no jobs; there is nothing to compare", trace.title));
  return FitBuilder(trace, profile).Build();
}

}  // namespace fairlead::trace
