// Finds out when a set of jobs repeats itself, so that whole periods can be skipped.
//
// Problem     Training is periodic. If the state of a domain (phases, compute progress, bytes left) at two instants is
//             the same, everything between them will happen again, shifted in time: rates depend on the state only.
// Method      A snapshot at each iteration end of the anchor job (the slowest) is compared with the last kMaxLag ones.
//               exact       the states agree to the nanosecond: skip as many periods as fit
//               converging  the distance to the state `lag` places back at least halves from one iteration of the
//               anchor
//                           to the next: the states approach a cycle; what is still to come is less than twice the
//                           distance (geometric series), which must be below kConvergedFraction of the period
//               otherwise   no skipping. A state that drifts at constant speed (two periods that are nearly, not
//                           quite, equal) is never skipped: it would hide the beat between them.
// Cost        O(lag x state) per anchor iteration; most comparisons end at the first number.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace fairlead::sim {

// The state of a domain at one instant.
struct DomainSnapshot {
  int64_t local_ns = 0;
  std::vector<uint64_t> discrete;    // must be equal: phases, running flags
  std::vector<int64_t> progress_ns;  // [job]
  std::vector<double> left_ns;       // [variable] bytes left over its top rate; 0 when idle
};

// One period found: the state at `snapshot` places back repeats.
struct Period {
  size_t lag = 0;  // in anchor iterations, >= 1
  int64_t length_ns = 0;
  double error_ns = 0;  // bound on how much later or earlier each later period ends; 0 when exact
};

class PeriodDetector {
 public:
  static constexpr size_t kMaxLag = 48;
  static constexpr double kExactNs = 0.5;
  static constexpr double kConvergedFraction = 1e-5;

  // Adds the state at an anchor iteration and looks for a period that ends here.
  std::optional<Period> Observe(DomainSnapshot snapshot);

 private:
  std::deque<DomainSnapshot> history_;  // oldest first
  std::vector<double> last_distance_;   // [lag] when compared at the anchor iteration before; < 0: no match then
};

// Largest difference of two states in nanoseconds; nothing when they differ in kind.
std::optional<double> Distance(const DomainSnapshot& a, const DomainSnapshot& b, double give_up_above_ns);

}  // namespace fairlead::sim
