// Where a value lies in a figure, and which values get a label.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fairlead::report {

// A stretch of values or of pixels; `high` may lie below `low` (the y axis of a figure points up, its pixels down).
struct Interval {
  double low = 0;
  double high = 1;

  double length() const { return high - low; }
};

// Maps values to pixels linearly. An empty domain maps everything to the middle.
class LinearScale {
 public:
  LinearScale(Interval domain, Interval range) : domain_(domain), range_(range) {}

  double operator()(double value) const {
    const double share = domain_.length() == 0 ? 0.5 : (value - domain_.low) / domain_.length();
    return range_.low + share * range_.length();
  }

 private:
  Interval domain_;
  Interval range_;
};

struct Tick {
  double value = 0;
  std::string label;
};

// Round numbers (1, 2 or 5 times a power of ten apart) inside the domain: at most `num_max` (>= 2) of them.
// Labels have as many decimals as the step needs, and `suffix`.
std::vector<Tick> PlanTicks(Interval domain, size_t num_max, const std::string& suffix = "");

// The same for seconds, at full minutes, hours or days: "30 min", "6 h", "2 d". Zero is "0".
std::vector<Tick> PlanTimeTicks(Interval domain_s, size_t num_max);

}  // namespace fairlead::report
