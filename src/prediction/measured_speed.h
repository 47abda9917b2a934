// Speed of a job that nobody has profiled: what its own iterations took at the sizes that it has had.
//
// Problem     sizes are chosen before most of them were tried. A job that begins has none that was, and each further
//             one costs a restart.
// Notation    k, k0 -> GPUs of a size, of the smallest;  T(k) -> seconds of an iteration;  a, b -> what is shared out
//             among the GPUs, what is not;  r -> kPriorShare;  p -> kPriorWeight
// Method      a measured size is what was measured, newer measurements weighing more (job_speed.h). Others follow
//             T(k) = a k0 / k + b, a, b >= 0: least squares of the relative errors of the measured sizes and of
//             p (b - r a) / T, the guess that a job is by nature neither perfectly parallel nor far from it.
//             Before the first measurement T(k0) is 1 s: the shape is the guess, and the scale is of no meaning.
// Cost        O(sizes) per measurement, O(1) per prediction.
// Guarantees  T > 0; between unmeasured sizes it does not grow with k. One measurement sets the scale of all sizes.
// Limits      an iteration has to be the same work at each size (the global batch stays).
// Differs     the paper's speed models are fitted to a job's own runs at several sizes (speed_model.h), which a job
//             that has just begun has not had.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "prediction/job_speed.h"

namespace fairlead::prediction {

// What is known of one size.
struct MeasuredSize {
  uint32_t num_gpus = 0;
  Seconds iteration;
  Seconds measured_for;  // in all

  friend bool operator==(const MeasuredSize&, const MeasuredSize&) = default;
};

class MeasuredSpeed final : public JobSpeed {
 public:
  // Args: sizes in GPUs, ascending, > 0. Errors: kInvalidArgument: they are not, or there are none.
  static Result<MeasuredSpeed> Create(std::vector<uint32_t> sizes);

  size_t num_sizes() const override { return sizes_.size(); }
  void Observe(uint32_t num_gpus, uint32_t num_hosts, Seconds iteration, Seconds measured_for) override;
  Seconds Predict(size_t index) const override;
  double relative_error() const override { return error_.is_known() ? error_.value() : kErrorUnmeasured; }

  // The sizes that were measured, ascending: what Observe() of a new one makes it know as much.
  std::vector<MeasuredSize> measured() const;

  static constexpr double kErrorUnmeasured = 0.3;

 private:
  explicit MeasuredSpeed(std::vector<uint32_t> sizes);
  void Fit();

  std::vector<uint32_t> sizes_;
  std::vector<MeasuredSize> measured_;  // [size]; not measured: 0 s
  double shared_ = 0;                   // a
  double constant_ = 0;                 // b
  PredictionError error_;
};

}  // namespace fairlead::prediction
