#include "trace/quota_slots.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fairlead::trace {

namespace {

constexpr size_t kTries = 64;
constexpr double kBinSeconds = 60;

// Jobs and GPUs in each minute.
class Occupancy {
 public:
  Occupancy(const QuotaLimits& limits, double end_s)
      : limits_(limits), jobs_(static_cast<size_t>(end_s / kBinSeconds) + 1), gpus_(jobs_.size()) {}

  // By how much, relative to the limits, a job would exceed them at worst.
  double Excess(double begin_s, double run_time_s, uint32_t gpus) const {
    double jobs_max = 0, gpus_max = 0;
    const auto [first, last] = Bins(begin_s, run_time_s);
    for (size_t bin = first; bin < last; ++bin) {
      jobs_max = std::max(jobs_max, jobs_[bin]);
      gpus_max = std::max(gpus_max, gpus_[bin]);
    }
    double excess = 0;
    if (limits_.jobs > 0) excess += std::max(0.0, (jobs_max + 1) / limits_.jobs - 1);
    if (limits_.gpus > 0) excess += std::max(0.0, (gpus_max + gpus) / limits_.gpus - 1);
    return excess;
  }

  void Add(double begin_s, double run_time_s, uint32_t gpus) {
    const auto [first, last] = Bins(begin_s, run_time_s);
    for (size_t bin = first; bin < last; ++bin) {
      jobs_[bin] += 1;
      gpus_[bin] += gpus;
    }
  }

 private:
  std::pair<size_t, size_t> Bins(double begin_s, double run_time_s) const {
    const auto bin_of = [this](double second) {
      return std::min(jobs_.size() - 1, static_cast<size_t>(second / kBinSeconds));
    };
    return {bin_of(begin_s), bin_of(begin_s + run_time_s) + 1};
  }

  QuotaLimits limits_;
  std::vector<double> jobs_;
  std::vector<double> gpus_;
};

// Jobs by GPU-time, the greatest first; ties by index.
std::vector<size_t> ByDemand(std::span<const double> run_times_s, std::span<const uint32_t> gpus) {
  std::vector<size_t> order(gpus.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return run_times_s[a] * gpus[a] > run_times_s[b] * gpus[b]; });
  return order;
}

}  // namespace

std::vector<size_t> AssignMoments(std::span<const double> moments_s, std::span<const double> run_times_s,
                                  std::span<const uint32_t> gpus, const QuotaLimits& limits, double end_s,
                                  Random* random) {
  std::vector<size_t> free(moments_s.size());
  std::iota(free.begin(), free.end(), size_t{0});
  Occupancy occupancy(limits, end_s);
  std::vector<size_t> assigned(gpus.size());
  for (const size_t job : ByDemand(run_times_s, gpus)) {
    size_t best = 0;
    double best_excess = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < kTries && best_excess > 0; ++i) {
      const size_t candidate = random->Below(free.size());
      const double excess = occupancy.Excess(moments_s[free[candidate]], run_times_s[job], gpus[job]);
      if (excess >= best_excess) continue;
      best = candidate;
      best_excess = excess;
    }
    assigned[job] = free[best];
    occupancy.Add(moments_s[free[best]], run_times_s[job], gpus[job]);
    free[best] = free.back();
    free.pop_back();
  }
  return assigned;
}

}  // namespace fairlead::trace
