// Accounts over simulated time in equal bins: busy GPUs, running jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sim_time.h"

namespace fairlead::sim {

// Adds amounts that are spread evenly over an interval to equal bins over [0, end).
class BinnedSum {
 public:
  BinnedSum(SimTime end, size_t num_bins) : bin_ns_(BinLength(end, num_bins)), bins_(num_bins, 0.0) {}

  // `amount` in total, spread evenly over [from, to); parts outside the bins are dropped. from == to: all in one bin.
  void Add(SimTime from, SimTime to, double amount) { Spread(from, to, amount, bins_, bin_ns_); }

  int64_t bin_ns() const { return bin_ns_; }
  const std::vector<double>& bins() const { return bins_; }

  static int64_t BinLength(SimTime end, size_t num_bins) {
    return (end.ns() + static_cast<int64_t>(num_bins) - 1) / static_cast<int64_t>(num_bins);
  }

  // The same for bins kept elsewhere. Cost: O(bins touched).
  template <class T>
  static void Spread(SimTime from, SimTime to, double amount, std::vector<T>& bins, int64_t bin_ns) {
    if (bins.empty()) return;
    const auto last = static_cast<int64_t>(bins.size()) - 1;
    const int64_t length = to.ns() - from.ns();
    int64_t bin = from.ns() / bin_ns;
    if (length <= 0 || (to.ns() - 1) / bin_ns == bin) {
      if (bin <= last) bins[static_cast<size_t>(bin)] += static_cast<T>(amount);
      return;
    }
    int64_t position = from.ns();
    while (position < to.ns() && bin <= last) {
      const int64_t next = (bin + 1) * bin_ns < to.ns() ? (bin + 1) * bin_ns : to.ns();
      bins[static_cast<size_t>(bin)] +=
          static_cast<T>(amount * static_cast<double>(next - position) / static_cast<double>(length));
      position = next;
      ++bin;
    }
  }

 private:
  int64_t bin_ns_;
  std::vector<double> bins_;
};

}  // namespace fairlead::sim
