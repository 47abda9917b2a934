// The circle of some jobs: slots that are short enough for their iterations, a perimeter on which their periods fit,
// and their bursts on it.
//
// A job's iteration is one burst: period = its time alone, the bytes of a link spread over its communication time from
// start_fraction * compute_time on. Slots have 1 ms, or a 50th of a thousandth of the longest period if that is more;
// the perimeter has at most 50,000 of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sim_time.h"
#include "base/units.h"
#include "traffic/cassini/unified_circle.h"
#include "traffic/gpu_intensity.h"

namespace fairlead::traffic::cassini {

class JobCircle {
 public:
  // How much longer than wanted a period on the circle may be; of the period.
  static constexpr double kTolerance = 0.05;

  // Args: jobs: at least one, none null; must outlive this. stretch >= 1: periods are as many times as long as alone.
  JobCircle(std::vector<const JobProfile*> jobs, double stretch);

  uint32_t perimeter() const { return perimeter_; }
  int64_t slot_ns() const { return slot_ns_; }
  Seconds length() const { return SimDuration(int64_t{perimeter_} * slot_ns_).seconds(); }

  Seconds WantedPeriod(size_t job) const { return stretch_ * jobs_[job]->solo_time(); }
  SimDuration PeriodOf(size_t job) const { return SimDuration(int64_t{perimeter_} * slot_ns_ / bursts_[job].repeats); }
  // Whether the circle holds its period within the tolerance.
  bool Fits(size_t job) const;
  // Args: demand: of the link, > 0.
  Burst BurstOf(size_t job, double demand) const;
  // The same bytes spread over all of the time: for a job that does not fit.
  Burst MeanBurstOf(size_t job, double demand) const;

 private:
  uint32_t SlotsOf(Seconds time) const;
  uint32_t PeriodSlots(size_t job) const;
  Burst MakeBurst(size_t job) const;
  double slot_s() const { return static_cast<double>(slot_ns_) * 1e-9; }

  std::vector<const JobProfile*> jobs_;
  double stretch_;
  int64_t slot_ns_;
  uint32_t perimeter_;
  std::vector<Burst> bursts_;  // [job]
};

}  // namespace fairlead::traffic::cassini
