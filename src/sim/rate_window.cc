#include "sim/rate_window.h"

#include <algorithm>

namespace fairlead::sim {

namespace {

struct JobRate {
  double iterations_per_ns = 0;
  double spread = 0;
};

// Of the iterations that end after `from_ns`; nothing when they are too few.
std::optional<JobRate> RateSince(const std::vector<int64_t>& ends, int64_t from_ns) {
  const auto first = std::lower_bound(ends.begin(), ends.end(), from_ns);
  const auto num_iterations = static_cast<size_t>(ends.end() - first) - (first == ends.end() ? 0 : 1);
  if (num_iterations < RateWindow::kMinIterations * 3 / 4) return std::nullopt;
  const auto part = static_cast<ptrdiff_t>(num_iterations / 3);
  double shortest = 0, longest = 0;
  for (ptrdiff_t p = 0; p < 3; ++p) {
    const auto length = static_cast<double>(first[(p + 1) * part] - first[p * part]);
    shortest = p == 0 ? length : std::min(shortest, length);
    longest = std::max(longest, length);
  }
  const auto whole = static_cast<double>(ends.back() - *first);
  return JobRate{.iterations_per_ns = static_cast<double>(num_iterations) / whole,
                 .spread = (longest - shortest) / longest};
}

}  // namespace

std::optional<SettledRates> RateWindow::Look(int64_t now_ns) {
  if (now_ns < next_look_ns_) return std::nullopt;
  const int64_t length_ns = now_ns - begin_ns_;
  SettledRates rates;
  for (const std::vector<int64_t>& ends : ends_) {
    const auto rate = RateSince(ends, begin_ns_ + length_ns / 4);
    if (!rate) return std::nullopt;
    if (rate->spread > kSettledSpread) {
      next_look_ns_ = now_ns + length_ns / 2;
      return std::nullopt;
    }
    rates.iterations_per_ns.push_back(rate->iterations_per_ns);
    rates.spread = std::max(rates.spread, rate->spread);
  }
  return rates;
}

}  // namespace fairlead::sim
