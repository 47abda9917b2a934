#include "experiments/packet-level/twin_errors.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace fairlead::experiments::packet_level {

double TwinErrors::mean() const { return Mean(of_messages); }
double TwinErrors::p99() const { return NearestRank(of_messages, 0.99); }

double AllArrived(const TwinTimes& times) { return *std::ranges::max_element(times.finish_s); }

TwinErrors Compare(const TwinTimes& real, const TwinTimes& told) {
  TwinErrors errors;
  for (size_t m = 0; m < real.finish_s.size(); ++m) {
    const double real_s = real.finish_s[m] - real.ready_s[m];
    const double told_s = told.finish_s[m] - told.ready_s[m];
    errors.of_messages.push_back(100 * std::abs(told_s - real_s) / real_s);
  }
  errors.total = 100 * (AllArrived(told) / AllArrived(real) - 1);
  return errors;
}

TwinErrors Merge(const std::vector<TwinErrors>& draws) {
  TwinErrors merged;
  for (const TwinErrors& draw : draws) {
    merged.of_messages.insert(merged.of_messages.end(), draw.of_messages.begin(), draw.of_messages.end());
    merged.total += draw.total / static_cast<double>(draws.size());
  }
  return merged;
}

}  // namespace fairlead::experiments::packet_level
