#include "sim/finish_bounds.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace fairlead::sim {

namespace {

// What would happen later never happens: simulations end long before, and twice this is still a number.
constexpr int64_t kEndOfTimeNs = 4'000'000'000'000'000'000;
// Longer least iterations are cut to this, so that sums of them stay numbers.
constexpr double kLongestIterationS = 1e9;
constexpr int64_t kLongestIterationNs = 1'000'000'000'000'000'000;

int64_t ComputeLeastIterationNs(const IterationClock& clock, const DomainNetwork& network, uint32_t j) {
  int64_t blocking = 0;
  int64_t tail = 0;  // of this phase and those after it
  int64_t least = clock.total_ns;
  for (size_t p = clock.start_ns.size(); p-- > 0;) {
    double seconds = 0;
    for (const FluidVariable& variable : network.VariablesOf(j, static_cast<uint32_t>(p))) {
      if (variable.top_rate > 0) seconds = std::max(seconds, variable.bytes / variable.top_rate);
    }
    // A link of which hardly anything is left would make more nanoseconds than there are numbers.
    seconds = std::min(seconds, kLongestIterationS);
    // Rounding of completions to the nanosecond may make the phase one shorter.
    const int64_t sending_ns = std::max<int64_t>(0, SimDuration::FromSeconds(Seconds(seconds)).ns() - 1);
    const int64_t phase_ns = std::min(sending_ns + clock.latency_ns[p], kLongestIterationNs);
    tail = std::min(tail + phase_ns, kLongestIterationNs);
    if (clock.blocks[p]) blocking = std::min(blocking + phase_ns, kLongestIterationNs);
    least = std::max(least, clock.start_ns[p] + tail);
  }
  return std::max<int64_t>(1, std::max(least, clock.total_ns + blocking));
}

}  // namespace

FinishBounds::FinishBounds(std::span<JobState* const> jobs, const DomainTime& time, const DomainNetwork& network)
    : jobs_(jobs), time_(&time) {
  FL_CHECK(!jobs_.empty());
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    least_iteration_ns_.push_back(ComputeLeastIterationNs(jobs_[j]->clock, network, j));
    began_before_.push_back(jobs_[j]->iteration_start < time_->now());
    if (least_iteration_ns_[j] > least_iteration_ns_[slowest_job_]) slowest_job_ = j;
  }
}

SimTime FinishBounds::Promise(int64_t next_event_ns) {
  if (next_event_ns > kEndOfTimeNs) return SimTime::Never();
  const int64_t next_ns = time_->At(next_event_ns).ns();
  int64_t bound = kNeverNs;
  for (uint32_t j = 0; j < jobs_.size(); ++j) bound = std::min(bound, BoundNs(j, next_ns));
  if (bound == kNeverNs) return SimTime::Never();
  bound = std::max(bound, next_ns);
  promised_ns_ = std::max(promised_ns_, bound);
  return SimTime(bound);
}

// Simulated time, as is `next_event_ns`; kNeverNs where it is beyond the end of time.
int64_t FinishBounds::BoundNs(uint32_t j, int64_t next_event_ns) const {
  const JobState& job = *jobs_[j];
  if (job.num_iterations == 0) return kNeverNs;
  const bool began_before = began_before_[j] != 0;
  const uint64_t left = job.num_iterations - job.iterations_done - (began_before ? 1 : 0);
  const int64_t from = began_before ? next_event_ns : job.iteration_start.ns();
  const double rest_ns = static_cast<double>(left) * static_cast<double>(least_iteration_ns_[j]);
  if (rest_ns > static_cast<double>(kEndOfTimeNs)) return kNeverNs;
  return from + static_cast<int64_t>(left) * least_iteration_ns_[j];
}

int64_t FinishBounds::SlackNs(uint32_t j) const {
  constexpr int64_t kUnlimitedNs = std::numeric_limits<int64_t>::max() / 4;
  return std::clamp(BoundNs(j, time_->now().ns()) - promised_ns_, int64_t{0}, kUnlimitedNs);
}

}  // namespace fairlead::sim
