// How long an iteration of a job takes at each of its sizes, as far as that is known: from a profile
// (contended_speed.h), or from nothing but what was measured (measured_speed.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace fairlead::prediction {

class JobSpeed {
 public:
  virtual ~JobSpeed() = default;

  virtual size_t num_sizes() const = 0;
  // The job's iterations took `iteration` on average over `measured_for`, on so many GPUs and hosts. Measurements that
  // say nothing are passed over: of a size that is none of the job's, times that are not positive and finite.
  virtual void Observe(uint32_t num_gpus, uint32_t num_hosts, Seconds iteration, Seconds measured_for) = 0;
  // Seconds of an iteration at the index-th size, in its densest placement; > 0.
  virtual Seconds Predict(size_t index) const = 0;
  // Typical relative error of Predict: root mean square of ln(measured / predicted before).
  virtual double relative_error() const = 0;
};

// What measurements weigh against what was known: half after kHalfLife of measuring.
inline double WeightOf(Seconds measured_for) {
  constexpr double kHalfLifeS = 600;
  return 1 - std::exp2(-measured_for.value() / kHalfLifeS);
}

// Root mean square of ln(measured / predicted before), weighted as above.
class PredictionError {
 public:
  void Add(Seconds measured, Seconds predicted, double weight) {
    const double error = std::log(measured / predicted);
    squared_ += (num_ == 0 ? 1 : weight) * (error * error - squared_);
    ++num_;
  }
  bool is_known() const { return num_ > 0; }
  double value() const { return std::sqrt(squared_); }

 private:
  double squared_ = 0;
  uint64_t num_ = 0;
};

}  // namespace fairlead::prediction
