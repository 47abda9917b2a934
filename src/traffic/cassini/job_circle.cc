#include "traffic/cassini/job_circle.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead::traffic::cassini {
namespace {

constexpr int64_t kQuantumNs = 1'000'000;
constexpr uint32_t kMostSlots = 50'000;
// Iterations beyond can't be expressed in nanoseconds on a circle.
constexpr Seconds kLongestIteration(1e6);
// What rounding leaves of a whole number of slots.
constexpr double kSlotRounding = 1e-6;

}  // namespace

JobCircle::JobCircle(std::vector<const JobProfile*> jobs, double stretch) : jobs_(std::move(jobs)), stretch_(stretch) {
  Seconds longest;
  for (size_t j = 0; j < jobs_.size(); ++j) longest = std::max(longest, WantedPeriod(j));
  longest = std::min(longest, kLongestIteration);
  slot_ns_ = kQuantumNs * std::max<int64_t>(1, static_cast<int64_t>(std::ceil(longest.value() / 50 - kSlotRounding)));
  std::vector<uint32_t> periods;
  for (size_t j = 0; j < jobs_.size(); ++j) periods.push_back(PeriodSlots(j));
  perimeter_ = FindPerimeter(periods, kMostSlots);
  for (size_t j = 0; j < jobs_.size(); ++j) bursts_.push_back(MakeBurst(j));
}

uint32_t JobCircle::SlotsOf(Seconds time) const {
  return static_cast<uint32_t>(std::llround(std::min(time, kLongestIteration).value() / slot_s()));
}

uint32_t JobCircle::PeriodSlots(size_t job) const {
  const Seconds wanted = std::min(WantedPeriod(job), kLongestIteration);
  return std::max(1u, static_cast<uint32_t>(std::ceil(wanted.value() / slot_s() - kSlotRounding)));
}

Burst JobCircle::MakeBurst(size_t job) const {
  const JobProfile& profile = *jobs_[job];
  Burst burst;
  burst.repeats = perimeter_ / PeriodSlots(job);
  burst.begin = SlotsOf(profile.start_fraction * profile.compute_time);
  burst.length = std::clamp(SlotsOf(profile.communication_time), 1u, perimeter_ / burst.repeats);
  return burst;
}

bool JobCircle::Fits(size_t job) const {
  const Seconds wanted = WantedPeriod(job);
  return wanted <= kLongestIteration && PeriodOf(job).seconds() <= (1 + kTolerance) * wanted;
}

Burst JobCircle::BurstOf(size_t job, double demand) const {
  Burst burst = bursts_[job];
  burst.demand = demand;
  return burst;
}

Burst JobCircle::MeanBurstOf(size_t job, double demand) const {
  const JobProfile& profile = *jobs_[job];
  return {.repeats = 1,
          .begin = 0,
          .length = perimeter_,
          .demand = demand * (profile.communication_time / (stretch_ * profile.solo_time()))};
}

}  // namespace fairlead::traffic::cassini
