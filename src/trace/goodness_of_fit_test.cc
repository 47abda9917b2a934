#include "trace/goodness_of_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trace/trace_generator.h"

namespace fairlead::trace {
namespace {

const TraceProfile& LingjunProfile() {
  static const TraceProfile kProfile = BuiltInTraceProfile("lingjun-2023").value();
  return kProfile;
}

const Trace& Generated() {
  static const Trace kTrace = GenerateTrace(LingjunProfile(), LingjunProfile().generator).value();
  return kTrace;
}

const FitRow& RowOf(const GoodnessOfFit& fit, std::string_view marginal, std::string_view quantity,
                    std::string_view unit = "") {
  for (const FitRow& row : fit.rows) {
    if (row.marginal == marginal && row.quantity == quantity && (unit.empty() || row.unit == unit)) return row;
  }
  ADD_FAILURE() << "no row " << marginal << " " << quantity;
  return fit.rows.front();
}

// Each change is one that a row must notice.
TEST(GoodnessOfFitTest, EachMarginalNoticesItsOwnDistortion) {
  const auto fit_of = [](auto&& change) {
    Trace trace = Generated();
    change(&trace.jobs);
    return MeasureFit(trace, LingjunProfile()).value();
  };
  const GoodnessOfFit longer = fit_of([](std::vector<TraceJob>* jobs) {
    for (TraceJob& job : *jobs) job.duration_s *= 2;
  });
  EXPECT_NEAR(RowOf(longer, "run time", "p90").distance, 1, 0.05);
  EXPECT_FALSE(RowOf(longer, "run time", "p90").is_inside());
  EXPECT_FALSE(RowOf(longer, "at once", "mean", "GPU jobs").is_inside());
  EXPECT_TRUE(RowOf(longer, "GPUs per job", "p50").is_inside());

  const GoodnessOfFit larger = fit_of([](std::vector<TraceJob>* jobs) {
    for (TraceJob& job : *jobs) job.gpus *= 2, job.gpus_per_host *= 2;
  });
  EXPECT_FALSE(RowOf(larger, "GPUs per job", "p50").is_inside());
  EXPECT_FALSE(RowOf(larger, "GPUs per job", "whole law").is_inside());
  EXPECT_NEAR(RowOf(larger, "at once", "mean", "GPUs").ours,
              2 * RowOf(fit_of([](auto*) {}), "at once", "mean", "GPUs").ours, 1e-6);

  const GoodnessOfFit renamed = fit_of([](std::vector<TraceJob>* jobs) {
    for (TraceJob& job : *jobs) job.model = job.model == "cognitive" ? "llama" : job.model;
  });
  // 1067 of 5180 jobs would have to change their label.
  EXPECT_NEAR(RowOf(renamed, "model label", "whole law").distance, 1067.0 / 5180, 0.001);

  const GoodnessOfFit at_night = fit_of([](std::vector<TraceJob>* jobs) {
    for (TraceJob& job : *jobs) job.submit_s = std::floor(job.submit_s / kSecondsPerDay) * kSecondsPerDay + 82'800;
  });
  // All jobs at 23 h: nearly nothing of the published law is left for that hour.
  EXPECT_GT(RowOf(at_night, "hour of arrival", "whole law").distance, 0.95);
  EXPECT_TRUE(RowOf(at_night, "arrivals", "day 3").is_inside());
}

TEST(GoodnessOfFitTest, WhatTheTraceCannotShowIsNotJudged) {
  Trace gpu_jobs = Generated();
  std::erase_if(gpu_jobs.jobs, [](const TraceJob& job) { return job.gpus == 0; });
  const GoodnessOfFit fit = MeasureFit(gpu_jobs, LingjunProfile()).value();
  EXPECT_FALSE(RowOf(fit, "run time", "p50").is_judged);
  EXPECT_TRUE(RowOf(fit, "GPUs per job", "p50").is_judged);
  EXPECT_TRUE(fit.is_inside()) << fit.num_outside();

  Trace short_trace = Generated();
  std::erase_if(short_trace.jobs, [](const TraceJob& job) { return job.submit_s >= 3 * kSecondsPerDay; });
  const GoodnessOfFit three_days = MeasureFit(short_trace, LingjunProfile()).value();
  EXPECT_FALSE(RowOf(three_days, "at once", "mean", "GPUs").is_judged);
  EXPECT_EQ(RowOf(three_days, "arrivals", "3 days").published, 82 + 74 + 280);
}

TEST(GoodnessOfFitTest, OneJobAndNoJob) {
  Trace trace;
  EXPECT_FALSE(MeasureFit(trace, LingjunProfile()).ok());
  trace.jobs = {{.id = "a", .submit_s = 1e9, .duration_s = 1e9, .gpus = 1, .gpus_per_host = 1, .model = "x"}};
  const GoodnessOfFit fit = MeasureFit(trace, LingjunProfile()).value();
  EXPECT_FALSE(fit.is_inside());
  EXPECT_NEAR(RowOf(fit, "model label", "whole law").distance, 1, 1e-12) << "a label that nobody published";
}

}  // namespace
}  // namespace fairlead::trace
