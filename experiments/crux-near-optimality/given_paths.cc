#include "experiments/crux-near-optimality/given_paths.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "experiments/crux-near-optimality/case_search.h"
#include "experiments/crux-near-optimality/decisions.h"
#include "experiments/crux-near-optimality/group_simulation.h"
#include "experiments/crux-near-optimality/random_case.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

constexpr double kSlowOversubscription = 8;

PathChoice ChooseGiven(GivenPaths given, uint64_t seed) {
  PathChoice choice{};
  if (given != GivenPaths::kHashed) return choice;
  Random random(CombineHash(seed, 1));
  for (uint8_t& spine : choice) spine = static_cast<uint8_t>(random.Below(kNumSpines));
  return choice;
}

// GPU-seconds of compute of all orders, each job on a level of its own.
class OrderSearch {
 public:
  OrderSearch(const RandomCase& searched, const PathChoice& choice)
      : simulation_(searched), choice_(choice), groups_(simulation_.FindGroups(choice)) {}

  double BusyGpuSeconds(const JobOrder& order) {
    double busy = 0;
    for (const std::vector<uint32_t>& group : groups_) {
      Levels levels{};
      JobOrder members;
      for (const uint32_t job : order) {
        if (std::ranges::find(group, job) == group.end()) continue;
        levels[job] = static_cast<uint8_t>(members.size());
        members.push_back(job);
      }
      // A job that never leaves its host is in no order, and alone in its group.
      const auto [entry, is_new] = busy_.try_emplace(members.empty() ? group : members, 0.0);
      if (is_new) entry->second = simulation_.BusyGpuSeconds(group, choice_, levels);
      busy += entry->second;
    }
    return busy;
  }

 private:
  GroupSimulation simulation_;
  PathChoice choice_;
  std::vector<std::vector<uint32_t>> groups_;
  std::map<JobOrder, double> busy_;  // of a group, by the order of its jobs
};

// One case on one choice of paths.
class GivenPathsRunner {
 public:
  GivenPathsRunner(const RandomCase& drawn, CaseSearch* search, const Decisions& decisions, const PathChoice& choice)
      : search_(search),
        decisions_(decisions),
        choice_(choice),
        orders_(drawn, choice),
        utilizations_(search->Utilizations(choice)),
        best_levels_(std::ranges::max(utilizations_)) {}

  GivenPathsResult Run() {
    GivenPathsResult result;
    result.own_cut.fill(std::numeric_limits<double>::quiet_NaN());
    TryAllOrders(&result);
    const std::array<std::pair<GivenOrder, Method>, 5> methods = {{{GivenOrder::kCrux, Method::kCrux},
                                                                   {GivenOrder::kIntensity, Method::kIntensity},
                                                                   {GivenOrder::kTacclStar, Method::kTacclStar},
                                                                   {GivenOrder::kSincronia, Method::kSincronia},
                                                                   {GivenOrder::kVarys, Method::kVarys}}};
    for (const auto& [given, method] : methods) {
      const auto place = static_cast<size_t>(given);
      const JobOrder order = decisions_.OrderJobs(method, choice_);
      result.order[place] = ErrorOfOrder(order);
      result.best_cut[place] = ErrorOf(RangeOfOrder(order).second);
      result.own_cut[place] = ErrorOf(search_->Utilization(choice_, decisions_.CompressOrder(method, order, choice_)));
    }
    CompareLevels(&result);
    return result;
  }

 private:
  double ErrorOf(double utilization) const { return 1 - utilization / best_levels_; }
  double ErrorOfOrder(const JobOrder& order) { return 1 - orders_.BusyGpuSeconds(order) / best_order_; }

  // Utilizations of the level vectors that compress `order`, worst and best.
  std::pair<double, double> RangeOfOrder(const JobOrder& order) const {
    const auto pairs = decisions_.SharingPairs(order, choice_);
    const std::vector<Levels>& all = CaseSearch::AllLevels();
    std::pair<double, double> range(1, 0);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto keeps_order = [&](const auto& pair) { return all[i][pair.first] <= all[i][pair.second]; };
      if (!std::ranges::all_of(pairs, keeps_order)) continue;
      range.first = std::min(range.first, utilizations_[i]);
      range.second = std::max(range.second, utilizations_[i]);
    }
    return range;
  }

  // Sets what is best, and the rows of all orders together.
  void TryAllOrders(GivenPathsResult* result) {
    JobOrder order = decisions_.participants();
    double sum = 0;
    double worst = std::numeric_limits<double>::infinity();
    double sum_of_cuts = 0;
    double worst_cut = 0;
    double count = 0;
    do {
      const double busy = orders_.BusyGpuSeconds(order);
      best_order_ = std::max(best_order_, busy);
      worst = std::min(worst, busy);
      sum += busy;
      const double cut_error = ErrorOf(RangeOfOrder(order).second);
      sum_of_cuts += cut_error;
      worst_cut = std::max(worst_cut, cut_error);
      ++count;
    } while (std::ranges::next_permutation(order).found);
    constexpr auto kRandom = static_cast<size_t>(GivenOrder::kRandom);
    constexpr auto kWorst = static_cast<size_t>(GivenOrder::kWorst);
    result->order[kRandom] = 1 - sum / count / best_order_;
    result->order[kWorst] = 1 - worst / best_order_;
    result->best_cut[kRandom] = sum_of_cuts / count;
    result->best_cut[kWorst] = worst_cut;
  }

  void CompareLevels(GivenPathsResult* result) const {
    const JobOrder order = decisions_.OrderJobs(Method::kCrux, choice_);
    const std::array<std::pair<GivenLevels, Method>, 3> rules = {{{GivenLevels::kCompression, Method::kCrux},
                                                                  {GivenLevels::kEqualGroups, Method::kVarys},
                                                                  {GivenLevels::kTopRanks, Method::kSincronia}}};
    for (const auto& [given, method] : rules) {
      result->levels[static_cast<size_t>(given)] =
          ErrorOf(search_->Utilization(choice_, decisions_.CompressOrder(method, order, choice_)));
    }
    result->levels[static_cast<size_t>(GivenLevels::kWorst)] = ErrorOf(RangeOfOrder(order).first);
  }

  CaseSearch* search_;
  const Decisions& decisions_;
  PathChoice choice_;
  OrderSearch orders_;
  std::span<const double> utilizations_;
  double best_levels_ = 0;
  double best_order_ = 0;  // GPU-seconds
};

}  // namespace

std::array<GivenPathsResult, kNumGivenPaths> RunGivenPaths(uint64_t seed) {
  std::array<GivenPathsResult, kNumGivenPaths> results;
  for (size_t i = 0; i < kNumGivenPaths; ++i) {
    const auto given = static_cast<GivenPaths>(i);
    const RandomCase drawn = given == GivenPaths::kSlowUplinks ? DrawCase(seed, kSlowOversubscription) : DrawCase(seed);
    CaseSearch search(drawn);
    const Decisions decisions(drawn);
    results[i] = GivenPathsRunner(drawn, &search, decisions, ChooseGiven(given, seed)).Run();
  }
  return results;
}

}  // namespace fairlead::experiments::crux_near_optimality
