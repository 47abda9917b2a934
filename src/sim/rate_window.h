// Finds the mean speed of jobs that never repeat themselves, so that the rest of a long stretch need not be simulated.
//
// Problem     Jobs with unrelated periods drift past each other: the state of their domain never returns, so no period
//             can be skipped (period_detector.h). Over days their mean speeds are what counts.
// Method      Iteration ends are written down. Once every job has kMinIterations of them and kMinLength has passed, the
//             first quarter is dropped (the transient) and the rest is cut into three parts with equally many
//             iterations of each job. The speeds have settled when the three means of every job lie within
//             kSettledSpread of each other; otherwise the window grows by half, and is looked at again.
// Guarantees  none on the error: a beat much longer than the window goes unseen. The test of a whole day in
//             trace_accuracy_test.cc measures it; the spread is reported with the result.
// Differs     the page's rule is a fixed window of max(20 iterations of the slowest, 60 s); ours is the least that is
//             accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlead::sim {

struct SettledRates {
  std::vector<double> iterations_per_ns;  // [job]
  double spread = 0;                      // greatest relative difference between parts, over jobs
};

class RateWindow {
 public:
  static constexpr size_t kMinIterations = 20;
  static constexpr int64_t kMinLengthNs = 60'000'000'000;
  static constexpr double kSettledSpread = 0.0075;

  RateWindow(size_t num_jobs, int64_t begin_ns)
      : begin_ns_(begin_ns), next_look_ns_(begin_ns + kMinLengthNs), ends_(num_jobs) {}

  // An iteration of the job has ended. Instants must not go back.
  void Add(size_t job, int64_t end_ns) { ends_[job].push_back(end_ns); }

  // The speeds, when they have settled. Cost: O(jobs x log iterations), and O(1) between looks.
  std::optional<SettledRates> Look(int64_t now_ns);

 private:
  int64_t begin_ns_;
  int64_t next_look_ns_;
  std::vector<std::vector<int64_t>> ends_;  // [job]
};

}  // namespace fairlead::sim
