#include "sim/job_profiling.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim {
namespace {

ProfilingError CompareWithTruth(const model::MeasuredProfile& measured, const JobState& state,
                                const agent::WindowCounters& counters) {
  // The mean iteration in the window, from what the counters counted: whole iterations and parts alike.
  const double iterations = counters.flop / state.iteration->work;
  double true_bytes = 0, measured_bytes = 0;
  for (size_t f = 0; f < counters.flow_bytes.size(); ++f) {
    if (counters.flow_bytes[f].value() <= 0) continue;
    true_bytes += state.iteration->flows[f].bytes.value();
    measured_bytes += measured.flow_bytes[f].value();
  }
  return {.window_s = counters.length.value(),
          .iteration_time = measured.iteration_time.value() * iterations / counters.length.value() - 1,
          .work = measured.work / state.iteration->work - 1,
          .bytes = measured_bytes / true_bytes - 1};
}

}  // namespace

void JobProfiling::Begin(JobState* job, const std::vector<TransferRoute>& routes, SimTime now) {
  const SimTime from = std::max(now, job->iteration_start);
  window_ = std::make_unique<ProfilingWindow>(job, routes, fabric_, from);
  end_ = from + length_;
}

std::optional<JobProfiling::Measured> JobProfiling::Read(const JobState& job, SimTime now) {
  const agent::WindowCounters counters = window_->Read(now);
  const bool is_silent = agent::IsSilent(counters);
  const auto measured = is_silent ? agent::WholeWindowProfile(counters) : agent::MeasureProfile(counters);
  if (!measured && now - window_->from() < length_max_) {
    end_ = now + (now - window_->from());
    return std::nullopt;
  }
  // A job without a visible period counts as one long iteration.
  Measured result{job.id, measured ? *measured : agent::WholeWindowProfile(counters)};
  if (measured && !is_silent) result.error = CompareWithTruth(*measured, job, counters);
  Reset();
  return result;
}

void JobProfiling::Cancel(JobId job) {
  if (window_ != nullptr && window_->job() == job) Reset();
}

void JobProfiling::Reset() {
  window_.reset();
  end_ = SimTime::Never();
}

}  // namespace fairlead::sim
