#include "agent/job_profiler.h"

#include <algorithm>

#include "agent/period_estimator.h"
#include "base/check.h"

namespace fairlead::agent {

namespace {

// Time in which something was sent; a bin counts in proportion where it carries less than a full one may.
Seconds BusyTime(const WindowCounters& counters) {
  const auto busy =
      std::count_if(counters.series.begin(), counters.series.end(), [](float bytes) { return bytes > 0; });
  return counters.bin * static_cast<double>(busy);
}

}  // namespace

std::optional<model::MeasuredProfile> MeasureProfile(const WindowCounters& counters) {
  FL_CHECK(counters.length.value() > 0);
  const auto period = EstimatePeriod(counters.series, counters.bin);
  if (!period) return std::nullopt;
  const double num_iterations = counters.length / period->period;
  model::MeasuredProfile profile;
  profile.iteration_time = period->period;
  const Seconds stalled = counters.stalled * (1 / num_iterations);
  profile.compute_time = std::max(Seconds(0), period->period - stalled);
  const Seconds hidden = BusyTime(counters) * (1 / num_iterations) - stalled;
  if (profile.compute_time.value() > 0) {
    profile.start_fraction = std::clamp(1 - hidden / profile.compute_time, 0.0, 1.0);
  }
  profile.work = counters.flop * (1 / num_iterations);
  for (const Bytes bytes : counters.flow_bytes) profile.flow_bytes.push_back(bytes * (1 / num_iterations));
  return profile;
}

bool IsSilent(const WindowCounters& counters) {
  return std::all_of(counters.flow_bytes.begin(), counters.flow_bytes.end(),
                     [](Bytes bytes) { return bytes.value() <= 0; });
}

model::MeasuredProfile WholeWindowProfile(const WindowCounters& counters) {
  return {.iteration_time = counters.length,
          .compute_time = counters.length,
          .start_fraction = 1,
          .work = counters.flop,
          .flow_bytes = counters.flow_bytes};
}

}  // namespace fairlead::agent
