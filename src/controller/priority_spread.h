// How much of a measured priority is noise.
//
// Problem     a job is measured again every few seconds, and each time its priority is a little another one. Which
//             differences between jobs mean something follows from how much each differs from itself.
// Method      mean and variance of ln(priority) over the last measurements, older ones weighing less and less. The half
//             width of the interval around one value is their deviation times the quantile of Student's distribution,
//             which is wide as long as there are few of them.
// Guarantees  0 for the first value: there is nothing to compare it with. Scaling all priorities changes nothing.
// Differs     the paper measures a job once, alone, and takes that for exact.
// Limits      windows of measurements overlap, so values that follow one another are more alike than independent ones.
// Reference   Welford, 1962; base/student_t.h.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace fairlead::controller {

class PrioritySpread {
 public:
  // Values that count, about. More: calmer, and slower to believe that a job has changed.
  static constexpr uint32_t kMemory = 16;

  // Args: priority > 0, finite; others are passed over.
  void Add(FlopPerSecond priority);
  // Values before are of something else: another path, another job.
  void Forget() { *this = {}; }
  // Half width, in ln(priority), of the interval that one value leaves with the given probability on one side of it.
  // Args: 0 < error_probability <= 0.5.
  double HalfWidth(double error_probability) const;

 private:
  uint32_t num_values_ = 0;  // at most kMemory
  double mean_ = 0;
  double sum_of_squares_ = 0;  // of deviations, weighted: num_values_ times the variance
};

}  // namespace fairlead::controller
