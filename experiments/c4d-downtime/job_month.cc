#include "experiments/c4d-downtime/job_month.h"

#include <algorithm>
#include <cmath>

namespace fairlead::experiments::c4d_downtime {

namespace {

// Subtracts time from the remaining month.
class Clock {
 public:
  explicit Clock(double left_s) : left_s_(left_s) {}

  bool is_over() const { return left_s_ <= 0; }
  // Returns how much of it there was.
  double Spend(double seconds) {
    const double spent = std::min(seconds, left_s_);
    left_s_ -= spent;
    return spent;
  }

 private:
  double left_s_;
};

}  // namespace

MonthLoss SimulateMonth(const MonthSetting& setting, Random& random) {
  MonthLoss seconds;
  Clock clock(setting.month_s);
  const double rate = (setting.faults_per_month[0] + setting.faults_per_month[1]) / setting.month_s;
  while (!clock.is_over()) {
    const double until_fault = rate > 0 ? -std::log(1 - random.Uniform()) / rate : setting.month_s;
    const double ran = clock.Spend(until_fault);
    seconds.useful += ran;
    if (clock.is_over()) break;
    ++seconds.num_faults;
    const double since_checkpoint = std::fmod(ran, setting.checkpoint_interval_s);
    seconds.useful -= since_checkpoint;
    seconds.lost_work += since_checkpoint;
    const bool is_gpu =
        random.Uniform() * (setting.faults_per_month[0] + setting.faults_per_month[1]) < setting.faults_per_month[0];
    const Cause cause = is_gpu ? Cause::kGpu : Cause::kOther;
    const FaultTimes times = setting.times(cause, random);
    seconds.detection += clock.Spend(times.detection_s);
    seconds.isolation[static_cast<size_t>(cause)] += clock.Spend(times.isolation_s);
    seconds.initialization += clock.Spend(setting.initialization_s);
  }
  for (double* part : {&seconds.lost_work, &seconds.detection, &seconds.isolation[0], &seconds.isolation[1],
                       &seconds.initialization, &seconds.useful}) {
    *part /= setting.month_s;
  }
  return seconds;
}

}  // namespace fairlead::experiments::c4d_downtime
