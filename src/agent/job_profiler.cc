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

// What one iteration of the window is when it has so many.
model::MeasuredProfile ProfileOf(const WindowCounters& counters, double num_iterations) {
  model::MeasuredProfile profile;
  profile.iteration_time = counters.length * (1 / num_iterations);
  const Seconds stalled = counters.stalled * (1 / num_iterations);
  profile.compute_time = std::max(Seconds(0), profile.iteration_time - stalled);
  const Seconds hidden = BusyTime(counters) * (1 / num_iterations) - stalled;
  if (profile.compute_time.value() > 0) {
    profile.start_fraction = std::clamp(1 - hidden / profile.compute_time, 0.0, 1.0);
  }
  profile.work = counters.flop * (1 / num_iterations);
  for (const Bytes bytes : counters.flow_bytes) profile.flow_bytes.push_back(bytes * (1 / num_iterations));
  return profile;
}

}  // namespace

std::optional<model::MeasuredProfile> MeasureProfile(const WindowCounters& counters) {
  FL_CHECK(counters.length.value() > 0);
  auto period = EstimatePeriod(counters.series, counters.bin, counters.resolution);
  // Noise of a stream without a break seems to repeat now and then, but worse than computing does.
  const auto of_gpus = EstimatePeriod(counters.busy_series, counters.bin, counters.busy_resolution);
  if (of_gpus && (!period || of_gpus->correlation > period->correlation)) period = of_gpus;
  if (!period) return std::nullopt;
  return ProfileOf(counters, counters.length / period->period);
}

bool IsSilent(const WindowCounters& counters) {
  return std::all_of(counters.flow_bytes.begin(), counters.flow_bytes.end(),
                     [](Bytes bytes) { return bytes.value() <= 0; });
}

model::MeasuredProfile WholeWindowProfile(const WindowCounters& counters) {
  model::MeasuredProfile profile = ProfileOf(counters, 1);
  profile.is_period_known = false;
  return profile;
}

}  // namespace fairlead::agent
