#include "scheduling/aiturbo/aiturbo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduling/aiturbo/ballots.h"
#include "scheduling/aiturbo/congestion_price.h"
#include "scheduling/aiturbo/job_menu.h"
#include "scheduling/aiturbo/packing.h"
#include "scheduling/aiturbo/size_planner.h"
#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

Status AiturboOptions::Validate() const {
  if (!(knee_efficiency > 0 && knee_efficiency <= 1)) {
    return InvalidArgument(fmt::format("aiturbo: knee_efficiency is {}; expected above 0, at most 1", knee_efficiency));
  }
  for (const double value : {price_factor, fill_min, hold_s, restart_factor, age, min_run_s}) {
    if (!(value >= 0)) return InvalidArgument(fmt::format("aiturbo: an option is {}; expected 0 or more", value));
  }
  if (round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("aiturbo: round_s is {}; expected more than 0", round_s));
}

namespace {

// Places that go before all others, whatever the score.
enum class Precedence : uint8_t {
  kProtected,  // must not be stopped yet
  kPromoted,   // has waited long
  kByScore,
};

class Aiturbo : public AllocationPolicy {
 public:
  explicit Aiturbo(const AiturboOptions& options) : options_(options) {}
  std::string_view name() const override { return "aiturbo"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const std::vector<JobMenu> menus = BuildMenus(snapshot);
    const std::vector<uint32_t> wanted = WantedSizes(snapshot, menus);
    Score(snapshot, menus, wanted, &plan);
    const ServiceOrder order = Order(snapshot, &plan);
    const SizeRules rules{options_.fill_min, options_.restart_factor, options_.hold_s};
    PlanSizes(snapshot, order, menus, wanted, rules, &plan);
    PackNodes(snapshot, order, options_.restart_factor, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    plan.next_wake_up = snapshot.now + SimDuration::FromSeconds(Seconds(options_.round_s));
    return plan;
  }

  std::vector<uint32_t> WantedSizes(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus) const {
    if (options_.price_factor > 0) return PriceSizes(snapshot, menus, options_.price_factor);
    std::vector<uint32_t> wanted;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const AllocationJob& job = snapshot.jobs[j];
      const bool has_knee = job.is_predictable && job.ps_worker == nullptr;
      wanted.push_back(has_knee ? FindKnee(job, options_.knee_efficiency, snapshot.units) : menus[j].requested());
    }
    return wanted;
  }

  void Score(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus, const std::vector<uint32_t>& wanted,
             AllocationPlan* plan) const {
    std::vector<std::optional<double>> keys(snapshot.jobs.size());
    size_t num_predictable = 0;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const JobSize& size = menus[j].size(wanted[j]);
      const double service = RemainingSeconds(snapshot.jobs[j], size) * snapshot.units.Of(size.resources());
      // A predictable job of unknown speed counts as unpredictable.
      if (std::isfinite(service)) keys[j] = service;
      num_predictable += keys[j].has_value() ? 1 : 0;
    }
    const std::vector<uint32_t> by_service = LevelPositions(snapshot);
    const std::vector<std::optional<uint32_t>> by_remaining = PositionsByKey(snapshot, keys);
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      JobReason& reason = plan->jobs[j].reason;
      reason.service_position = by_service[j];
      reason.remaining_position = by_remaining[j];
      reason.score = by_service[j];
      if (!by_remaining[j]) {
        if (options_.borda) reason.score *= 2;
        continue;
      }
      const double stretched = StretchPosition(*by_remaining[j], snapshot.jobs.size(), num_predictable);
      reason.score = options_.borda ? reason.score + stretched : stretched;
    }
  }

  Precedence PrecedenceOf(const AllocationSnapshot& snapshot, const AllocationJob& job) const {
    if (job.is_running()) {
      const double ran_s = (snapshot.now - job.running_since).seconds().value();
      return !job.is_predictable && ran_s < options_.min_run_s ? Precedence::kProtected : Precedence::kByScore;
    }
    if (job.executed_s <= 0 || job.memory.promoted_this_stop) return Precedence::kByScore;
    const double waited_s = (snapshot.now - job.waiting_since).seconds().value();
    const bool is_due = waited_s > std::max(options_.min_run_s, options_.age * job.executed_s);
    return is_due ? Precedence::kPromoted : Precedence::kByScore;
  }

  ServiceOrder Order(const AllocationSnapshot& snapshot, AllocationPlan* plan) const {
    std::vector<Precedence> precedences;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const AllocationJob& job = snapshot.jobs[j];
      precedences.push_back(PrecedenceOf(snapshot, job));
      const bool is_promoted = precedences.back() == Precedence::kPromoted;
      plan->jobs[j].reason.was_promoted = is_promoted;
      plan->jobs[j].memory.promoted_this_stop = !job.is_running() && (is_promoted || job.memory.promoted_this_stop);
    }
    ServiceOrder order = BySubmission(snapshot);
    std::ranges::stable_sort(order, {},
                             [&](uint32_t j) { return std::tuple(precedences[j], plan->jobs[j].reason.score); });
    return order;
  }

  const AiturboOptions options_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateAiturbo(const AiturboOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Aiturbo>(options));
}

}  // namespace fairlead::scheduling::aiturbo
