#include "report/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "report/number_format.h"

namespace fairlead::report {
namespace {

struct TimeUnit {
  double seconds;
  const char* symbol;
  // Steps that read well in this unit.
  std::array<double, 5> steps;
};

constexpr std::array<TimeUnit, 4> kTimeUnits = {{{1, "s", {1, 2, 5, 10, 30}},
                                                 {60, "min", {1, 2, 5, 10, 30}},
                                                 {3600, "h", {1, 2, 3, 6, 12}},
                                                 {86400, "d", {1, 2, 5, 7, 14}}}};

// Every value needs at least this distance for at most `num_max` ticks.
double LeastStep(Interval domain, size_t num_max) { return domain.length() / static_cast<double>(num_max - 1); }

// 1, 2 or 5 times a power of ten, at least `least`.
double RoundStep(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Multiples of `step` inside the domain. `step` is large enough that they are few.
std::vector<double> Multiples(Interval domain, double step) {
  std::vector<double> values;
  const double slack = step * 1e-9;
  for (double k = std::ceil((domain.low - slack) / step); k * step <= domain.high + slack; ++k)
    values.push_back(k * step);
  return values;
}

bool IsDrawable(Interval domain) {
  return std::isfinite(domain.low) && std::isfinite(domain.high) && domain.length() > 0;
}

}  // namespace

std::vector<Tick> PlanTicks(Interval domain, size_t num_max, const std::string& suffix) {
  FL_CHECK(num_max >= 2);
  if (!IsDrawable(domain)) return {};
  const double step = RoundStep(LeastStep(domain, num_max));
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  std::vector<Tick> ticks;
  for (const double value : Multiples(domain, step)) ticks.push_back({value, FormatFixed(value, digits) + suffix});
  return ticks;
}

std::vector<Tick> PlanTimeTicks(Interval domain_s, size_t num_max) {
  FL_CHECK(num_max >= 2);
  if (!IsDrawable(domain_s)) return {};
  const double least = LeastStep(domain_s, num_max);
  if (least < 1) return PlanTicks(domain_s, num_max, " s");
  const TimeUnit* unit = nullptr;
  double step = 0;
  for (const TimeUnit& candidate : kTimeUnits) {
    for (const double factor : candidate.steps) {
      if (unit == nullptr && factor * candidate.seconds >= least) {
        unit = &candidate;
        step = factor * candidate.seconds;
      }
    }
  }
  if (unit == nullptr) {
    unit = &kTimeUnits.back();
    step = RoundStep(least / unit->seconds) * unit->seconds;
  }
  std::vector<Tick> ticks;
  for (const double value : Multiples(domain_s, step)) {
    ticks.push_back({value, value == 0 ? "0" : FormatFixed(value / unit->seconds, 0) + " " + unit->symbol});
  }
  return ticks;
}

}  // namespace fairlead::report
