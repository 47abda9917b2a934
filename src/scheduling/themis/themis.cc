#include "scheduling/themis/themis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduling/job_sizes.h"
#include "scheduling/share_rounds.h"

namespace fairlead::scheduling::themis {

Status ThemisOptions::Validate() const {
  if (round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("themis: round_s is {}; expected more than 0", round_s));
}

namespace {

constexpr double kFewestSeconds = 600;  // that a job of unknown length has left
constexpr double kTolerance = 1e-9;     // of z at the optimum
constexpr int kMostSolves = 60;

bool IsCounted(const ThemisJob& job) {
  return job.remaining > 0 && job.isolated_speed > 0 && std::ranges::max(job.speeds) > 0;
}

// d in the notation.
double IsolatedTotal(const ThemisJob& job) { return job.isolated_s + job.remaining / job.isolated_speed; }

std::vector<ShareJob> NeedsAt(double rho, const std::vector<ThemisJob>& jobs) {
  std::vector<ShareJob> needs;
  for (const ThemisJob& job : jobs) {
    const double need = IsCounted(job) ? job.remaining / (rho * IsolatedTotal(job) - job.age_s) : 0;
    needs.push_back({job.num_gpus, job.speeds, need});
  }
  return needs;
}

// Between these the optimum lies: below the first a job's time is up, the second is that of equal shares.
std::pair<double, double> Bracket(const std::vector<ThemisJob>& jobs) {
  double low = 0;
  double high = 0;
  for (const ThemisJob& job : jobs) {
    if (!IsCounted(job)) continue;
    low = std::max(low, job.age_s / IsolatedTotal(job));
    high = std::max(high, (job.age_s + job.remaining / job.isolated_speed) / IsolatedTotal(job));
  }
  return {low, high};
}

}  // namespace

double IsolatedSpeed(double num_gpus, const std::vector<double>& speeds, const std::vector<double>& counts,
                     size_t num_jobs) {
  double speed = 0;
  double time = 0;
  for (size_t t = 0; t < counts.size(); ++t) {
    const double share = counts[t] / (static_cast<double>(num_jobs) * std::max(num_gpus, 1.0));
    speed += share * speeds[t];
    time += share;
  }
  return speed / std::max(time, 1.0);
}

Result<TypeShares> SolveFinishTimeShares(const std::vector<ThemisJob>& jobs, const std::vector<double>& counts) {
  auto [low, high] = Bracket(jobs);
  FL_ASSIGN_OR_RETURN(TypeShares best, SolveLargestMultiple(NeedsAt(high, jobs), counts));
  double excess_low = -1;  // of z over 1
  double excess_high = best.value - 1;
  for (int i = 1; i < kMostSolves && excess_high > kTolerance; ++i) {
    const double rho = low + (high - low) * excess_low / (excess_low - excess_high);
    if (!(rho > low && rho < high)) break;
    FL_ASSIGN_OR_RETURN(TypeShares shares, SolveLargestMultiple(NeedsAt(rho, jobs), counts));
    const double excess = shares.value - 1;
    if (excess >= -kTolerance) {
      high = rho;
      excess_high = excess;
      best = std::move(shares);
      excess_low /= 2;  // Illinois: the other end has stood still
    } else {
      low = rho;
      excess_low = excess;
    }
  }
  best.value = high;
  return best;
}

namespace {

class Themis : public ShareRounds {
 public:
  explicit Themis(const ThemisOptions& options) : ShareRounds(options.round_s) {}
  std::string_view name() const override { return "themis"; }

 private:
  void BeginRound(const AllocationSnapshot& snapshot, const std::vector<double>& counts,
                  AllocationPlan* plan) const override {
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      const AllocationJob& job = snapshot.jobs[j];
      IsolatedProgress& isolated = plan->jobs[j].memory.isolated;
      const std::vector<double> speeds = SpeedsOnTypes(job, counts);
      const double remaining = RemainingIterations(job, speeds);
      if (isolated.speed > 0) isolated.done_s += std::max(isolated.remaining - remaining, 0.0) / isolated.speed;
      isolated.remaining = remaining;
      isolated.speed = IsolatedSpeed(RequestedSize(job).num_gpus, speeds, counts, snapshot.jobs.size());
    }
  }

  Result<TypeShares> SolveShares(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                                 const std::vector<double>& counts, const AllocationPlan& plan) const override {
    std::vector<ThemisJob> jobs;
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot.jobs[j];
      const IsolatedProgress& isolated = plan.jobs[j].memory.isolated;
      jobs.push_back({.num_gpus = static_cast<double>(RequestedSize(job).num_gpus),
                      .speeds = SpeedsOnTypes(job, counts),
                      .remaining = isolated.remaining,
                      .age_s = (snapshot.now - job.submission).seconds().value(),
                      .isolated_s = isolated.done_s,
                      .isolated_speed = isolated.speed});
    }
    return SolveFinishTimeShares(jobs, counts);
  }

  static double RemainingIterations(const AllocationJob& job, const std::vector<double>& speeds) {
    const bool has_speed = !job.type_speeds.empty() || RequestedSize(job).iteration_s > 0;
    if (job.is_predictable && has_speed) return job.remaining_iterations;
    return std::max(job.executed_s, kFewestSeconds) * std::ranges::max(speeds);
  }
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateThemis(const ThemisOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Themis>(options));
}

}  // namespace fairlead::scheduling::themis
