// Does a trace look like a profile? Each published marginal distribution against what the trace has.
//
// Method      quantiles and counts by relative error; laws as a whole by the Kolmogorov-Smirnov distance (greatest
//             distance of the cumulative shares); labels by total variation (share of jobs that would have to change
//             label). The trace is taken as if every job started when it is submitted.
// Bands       run-time and size quantiles 5 %, laws 0.05, daily arrivals 15 %, concurrency 10 % in the mean and 30 % in
//             the maximum. Numbers that depend on the length of the trace are judged only where it has the profile's
//             days.
// Reference   acceptance of generated traces for the Lingjun data set.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "trace/trace.h"
#include "trace/trace_profile.h"

namespace fairlead::trace {

enum class FitMeasure {
  kRelativeError,      // |ours / published - 1|
  kKolmogorovSmirnov,  // greatest |difference of cumulative shares|
  kTotalVariation,     // half the sum of |differences of shares|
};

// "relative error", …
std::string_view FitMeasureName(FitMeasure measure);

struct FitRow {
  std::string marginal = {};  // "run time", "arrivals", …
  std::string quantity = {};  // "p95", "whole law", …
  std::string unit = {};      // "min", …; may be empty
  // NaN where the row compares whole laws.
  double published = std::numeric_limits<double>::quiet_NaN();
  double ours = std::numeric_limits<double>::quiet_NaN();
  FitMeasure measure = FitMeasure::kRelativeError;
  double distance = 0;
  double band = 0;  // the row is inside when distance <= band
  bool is_judged = true;
  std::string note = {};  // why it is not judged, or what else to know

  bool is_inside() const { return !is_judged || distance <= band; }
};

struct GoodnessOfFit {
  std::string trace;
  std::string profile;
  uint64_t num_jobs = 0;
  uint64_t num_gpu_jobs = 0;
  uint32_t num_days = 0;
  std::vector<FitRow> rows;

  size_t num_judged() const;
  size_t num_outside() const;
  bool is_inside() const { return num_outside() == 0; }
};

// Errors: kInvalidArgument for a trace without jobs. Cost: O(n log n).
Result<GoodnessOfFit> MeasureFit(const Trace& trace, const TraceProfile& profile);

}  // namespace fairlead::trace
