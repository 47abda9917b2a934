#include "traffic/cassini/unified_circle.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::traffic::cassini {
namespace {

// Excesses that differ by less, in slots, are equal.
constexpr double kTie = 1e-9;
constexpr uint32_t kRandomRestarts = 2;
constexpr uint32_t kMaxSweeps = 20;

// Demands on the circle while jobs are shifted.
class Circle {
 public:
  Circle(uint32_t perimeter, std::span<const Burst> jobs) : jobs_(jobs), demand_(perimeter, 0.0) {
    FL_CHECK(perimeter >= 1);
    for (const Burst& job : jobs) {
      FL_CHECK(job.repeats >= 1 && job.repeats <= perimeter && job.length <= perimeter / job.repeats);
      FL_CHECK(job.demand > 0);
    }
  }

  void Clear() { std::fill(demand_.begin(), demand_.end(), 0.0); }
  void Add(size_t job, uint32_t shift) { AddDemand(jobs_[job], shift, jobs_[job].demand); }
  void Remove(size_t job, uint32_t shift) { AddDemand(jobs_[job], shift, -jobs_[job].demand); }
  // The smallest shift that adds least excess to what is on the circle; the job itself must not be.
  uint32_t FindBestShift(size_t job);
  double TotalExcess() const;

 private:
  // Where the k-th period of a job begins; periods need not be whole slots.
  size_t PeriodBegin(const Burst& burst, uint32_t k) const { return size_t{k} * demand_.size() / burst.repeats; }
  size_t Wrap(size_t slot) const { return slot >= demand_.size() ? slot % demand_.size() : slot; }
  void AddDemand(const Burst& burst, uint32_t shift, double demand);
  void FoldAddedExcess(const Burst& burst, size_t width);

  std::span<const Burst> jobs_;
  std::vector<double> demand_;  // [slot], of the link
  std::vector<double> folded_;  // [slot after the burst's unshifted begin]: excess that it adds there; scratch
};

void Circle::AddDemand(const Burst& burst, uint32_t shift, double demand) {
  for (uint32_t k = 0; k < burst.repeats; ++k) {
    const size_t first = Wrap(PeriodBegin(burst, k) + burst.begin + shift);
    const size_t end = first + burst.length;
    for (size_t slot = first; slot < std::min(end, demand_.size()); ++slot) demand_[slot] += demand;
    for (size_t slot = demand_.size(); slot < end; ++slot) demand_[slot - demand_.size()] += demand;
  }
}

void Circle::FoldAddedExcess(const Burst& burst, size_t width) {
  folded_.assign(width, 0.0);
  for (uint32_t k = 0; k < burst.repeats; ++k) {
    size_t slot = Wrap(PeriodBegin(burst, k) + burst.begin);
    for (double& added : folded_) {
      added += std::max(0.0, demand_[slot] + burst.demand - 1) - std::max(0.0, demand_[slot] - 1);
      if (++slot == demand_.size()) slot = 0;
    }
  }
}

uint32_t Circle::FindBestShift(size_t job) {
  const Burst& burst = jobs_[job];
  const size_t num_shifts = (demand_.size() + burst.repeats - 1) / burst.repeats;
  FoldAddedExcess(burst, num_shifts + burst.length);
  double cost = std::accumulate(folded_.begin(), folded_.begin() + burst.length, 0.0);
  double least = cost;
  size_t best = 0;
  for (size_t shift = 1; shift < num_shifts; ++shift) {
    cost += folded_[shift + burst.length - 1] - folded_[shift - 1];
    if (cost >= least - kTie) continue;
    least = cost;
    best = shift;
  }
  return static_cast<uint32_t>(best);
}

// Four sums, since one would wait for each addition to end before the next.
double Circle::TotalExcess() const {
  constexpr size_t kSums = 4;
  std::array<double, kSums> excess = {};
  const size_t in_fours = demand_.size() / kSums * kSums;
  for (size_t slot = 0; slot < in_fours; slot += kSums) {
    for (size_t i = 0; i < kSums; ++i) excess[i] += std::max(0.0, demand_[slot + i] - 1);
  }
  for (size_t slot = in_fours; slot < demand_.size(); ++slot) excess[0] += std::max(0.0, demand_[slot] - 1);
  return (excess[0] + excess[1]) + (excess[2] + excess[3]);
}

struct Solution {
  std::vector<uint32_t> shifts;
  double excess = std::numeric_limits<double>::infinity();
};

// Puts one job after the other where it hurts least, greatest mean demand first.
std::vector<uint32_t> InsertOneByOne(std::span<const Burst> jobs, Circle* circle) {
  const auto mean_demand = [&](uint32_t j) { return jobs[j].demand * jobs[j].length * jobs[j].repeats; };
  std::vector<uint32_t> order(jobs.size() - 1);
  std::iota(order.begin(), order.end(), 1u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return mean_demand(a) > mean_demand(b); });
  std::vector<uint32_t> shifts(jobs.size(), 0);
  circle->Clear();
  circle->Add(0, 0);
  for (const uint32_t job : order) {
    shifts[job] = circle->FindBestShift(job);
    circle->Add(job, shifts[job]);
  }
  return shifts;
}

std::vector<uint32_t> DrawShifts(uint32_t perimeter, std::span<const Burst> jobs, Random* random) {
  std::vector<uint32_t> shifts(jobs.size(), 0);
  for (size_t j = 1; j < jobs.size(); ++j) {
    shifts[j] = static_cast<uint32_t>(random->Below(perimeter / jobs[j].repeats));
  }
  return shifts;
}

// Coordinate descent: every job but the first is moved to its best shift until a sweep improves nothing.
Solution Improve(std::span<const Burst> jobs, std::vector<uint32_t> shifts, Circle* circle) {
  circle->Clear();
  for (size_t j = 0; j < jobs.size(); ++j) circle->Add(j, shifts[j]);
  Solution best{shifts, circle->TotalExcess()};
  for (uint32_t sweep = 0; sweep < kMaxSweeps && best.excess > kTie; ++sweep) {
    for (size_t j = 1; j < jobs.size(); ++j) {
      circle->Remove(j, shifts[j]);
      shifts[j] = circle->FindBestShift(j);
      circle->Add(j, shifts[j]);
    }
    const double excess = circle->TotalExcess();
    if (excess >= best.excess - kTie) break;
    best = {shifts, excess};
  }
  return best;
}

// How much longer than it would be alone the most stretched period becomes, as a factor.
double GreatestStretch(std::span<const uint32_t> periods, uint32_t perimeter) {
  double greatest = 1;
  for (const uint32_t period : periods) {
    const uint32_t repeats = perimeter / period;
    greatest = std::max(greatest, perimeter / (static_cast<double>(repeats) * period));
  }
  return greatest;
}

}  // namespace

// On the best circle some period fits exactly: a smaller one would stretch all periods less otherwise.
uint32_t FindPerimeter(std::span<const uint32_t> all_periods, uint32_t most) {
  std::vector<uint32_t> periods(all_periods.begin(), all_periods.end());
  std::sort(periods.begin(), periods.end());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  FL_CHECK(!periods.empty() && periods.front() >= 1 && periods.back() <= most);
  const uint32_t longest = periods.back();
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t period : periods) {
    for (uint32_t perimeter = (longest + period - 1) / period * period; perimeter <= most; perimeter += period) {
      const double stretch = GreatestStretch(periods, perimeter);
      if (stretch > least || (stretch == least && perimeter >= best)) continue;
      least = stretch;
      best = perimeter;
      if (stretch == 1) break;  // of this period's multiples a greater one can't be better
    }
  }
  return best;
}

double TotalExcess(uint32_t perimeter, std::span<const Burst> jobs, std::span<const uint32_t> shifts) {
  FL_CHECK(jobs.size() == shifts.size());
  Circle circle(perimeter, jobs);
  for (size_t j = 0; j < jobs.size(); ++j) circle.Add(j, shifts[j]);
  return circle.TotalExcess();
}

double Score(uint32_t perimeter, std::span<const Burst> jobs, std::span<const uint32_t> shifts) {
  return 1 - TotalExcess(perimeter, jobs, shifts) / perimeter;
}

std::vector<uint32_t> FindShifts(uint32_t perimeter, std::span<const Burst> jobs) {
  std::vector<uint32_t> none(jobs.size(), 0);
  if (jobs.size() < 2) return none;
  Circle circle(perimeter, jobs);
  Solution best = Improve(jobs, std::move(none), &circle);
  if (jobs.size() == 2) return best.shifts;
  const auto try_from = [&](std::vector<uint32_t> start) {
    if (best.excess <= kTie) return;
    Solution candidate = Improve(jobs, std::move(start), &circle);
    if (candidate.excess < best.excess - kTie) best = std::move(candidate);
  };
  try_from(InsertOneByOne(jobs, &circle));
  Random random(0);
  for (uint32_t restart = 0; restart < kRandomRestarts; ++restart) try_from(DrawShifts(perimeter, jobs, &random));
  return best.shifts;
}

}  // namespace fairlead::traffic::cassini
