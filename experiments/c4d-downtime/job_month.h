// A month of a job that faults interrupt: what is lost, and to what.
//
//     runs ---- fault ---- detected ---- diagnosed, isolated ---- initialized ---- runs, from its last checkpoint ----
//
// Method      simulated fault by fault: faults are a Poisson process while the job runs; a checkpoint is complete every
//             `checkpoint_interval` of running time, and work done since the last one is repeated.
// Guarantees  lost work + detection + isolation + initialization + useful work = the month. Cost: O(faults).
// Reference   Dong et al., C4, HPCA 2025, Table 3; docs/spec/c4.md section 8.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/random.h"

namespace fairlead::experiments::c4d_downtime {

// The rows of the table's causes.
enum class Cause : uint8_t { kGpu, kOther };
inline constexpr size_t kNumCauses = 2;

// Seconds that one fault takes.
struct FaultTimes {
  double detection_s = 0;
  double isolation_s = 0;  // diagnosis included
};

struct MonthSetting {
  double month_s = 30 * 86400.0;
  std::array<double, kNumCauses> faults_per_month = {};  // that the job runs through
  double checkpoint_interval_s = 600;
  double initialization_s = 195;
  // What a fault of the cause takes; called once for each.
  std::function<FaultTimes(Cause, Random&)> times;
};

// Shares of the month.
struct MonthLoss {
  double lost_work = 0;
  double detection = 0;
  std::array<double, kNumCauses> isolation = {};
  double initialization = 0;
  double useful = 0;
  uint64_t num_faults = 0;

  double isolation_sum() const { return isolation[0] + isolation[1]; }
  double total() const { return lost_work + detection + isolation_sum() + initialization; }
};

MonthLoss SimulateMonth(const MonthSetting& setting, Random& random);

}  // namespace fairlead::experiments::c4d_downtime
