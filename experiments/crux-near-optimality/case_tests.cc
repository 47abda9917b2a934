#include "experiments/crux-near-optimality/case_tests.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "experiments/crux-near-optimality/case_search.h"
#include "experiments/crux-near-optimality/random_case.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

class CaseRunner {
 public:
  explicit CaseRunner(const RandomCase& random_case) : search_(random_case), decisions_(random_case) {}

  CaseResult Run() {
    CaseResult result;
    FindOptimum();
    result.optimum = optimum_;
    for (size_t m = 0; m < kNumMethods; ++m) {
      const auto method = static_cast<Method>(m);
      result.utilization[0][m] = TestPaths(method);
      result.utilization[1][m] = TestAssignment(method);
      result.utilization[2][m] = TestCompression(method);
    }
    result.num_simulations = search_.num_simulations();
    return result;
  }

 private:
  double BestOfPaths(const PathChoice& choice) { return std::ranges::max(search_.Utilizations(choice)); }

  void FindOptimum() {
    for (const PathChoice& choice : search_.choices()) {
      const double utilization = BestOfPaths(choice);
      if (utilization <= optimum_ * (1 + kTie)) continue;
      optimum_ = utilization;
      best_choice_ = choice;
    }
    best_order_ = decisions_.participants();
    while (BestOfOrder(best_order_, best_choice_) < optimum_ * (1 - kTie)) {
      FL_CHECK_MSG(std::ranges::next_permutation(best_order_).found, "every level vector compresses some order");
    }
  }

  // Utilizations of the level vectors that compress `order`, best and worst.
  std::pair<double, double> RangeOfOrder(const JobOrder& order, const PathChoice& choice) {
    const auto pairs = decisions_.SharingPairs(order, choice);
    const std::vector<Levels>& all = CaseSearch::AllLevels();
    const std::span<const double> utilizations = search_.Utilizations(choice);
    double best = 0;
    double worst = 1;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto keeps_order = [&](const auto& pair) { return all[i][pair.first] <= all[i][pair.second]; };
      if (!std::ranges::all_of(pairs, keeps_order)) continue;
      best = std::max(best, utilizations[i]);
      worst = std::min(worst, utilizations[i]);
    }
    return {best, worst};
  }
  double BestOfOrder(const JobOrder& order, const PathChoice& choice) { return RangeOfOrder(order, choice).first; }

  double TestPaths(Method method) {
    if (method == Method::kSincronia || method == Method::kVarys) return kUnknown;
    if (method != Method::kWorst) return BestOfPaths(decisions_.ChoosePaths(method));
    double worst = optimum_;
    for (const PathChoice& choice : search_.choices()) worst = std::min(worst, BestOfPaths(choice));
    return worst;
  }

  double TestAssignment(Method method) {
    if (method == Method::kWorst) return WorstOrder();
    double best = 0;
    for (const PathChoice& choice : search_.choices()) {
      best = std::max(best, BestOfOrder(decisions_.OrderJobs(method, choice), choice));
    }
    return best;
  }

  double WorstOrder() {
    double worst = optimum_;
    JobOrder order = decisions_.participants();
    do {
      double best = 0;
      for (const PathChoice& choice : search_.choices()) best = std::max(best, BestOfOrder(order, choice));
      worst = std::min(worst, best);
    } while (std::ranges::next_permutation(order).found);
    return worst;
  }

  double TestCompression(Method method) {
    if (method == Method::kWorst) return RangeOfOrder(best_order_, best_choice_).second;
    return search_.Utilization(best_choice_, decisions_.CompressOrder(method, best_order_, best_choice_));
  }

  CaseSearch search_;
  Decisions decisions_;
  double optimum_ = 0;
  PathChoice best_choice_{};
  JobOrder best_order_;
};

}  // namespace

CaseResult RunCase(uint64_t seed) {
  const RandomCase drawn = DrawCase(seed);
  CaseResult result = CaseRunner(drawn).Run();
  result.num_rejected = drawn.num_rejected;
  return result;
}

}  // namespace fairlead::experiments::crux_near_optimality
