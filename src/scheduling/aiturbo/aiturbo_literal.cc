#include "scheduling/aiturbo/aiturbo_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduling/aiturbo/ballots.h"
#include "scheduling/aiturbo/unit_gains.h"
#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

Status LiteralOptions::Validate() const {
  if (!(round_s > 0)) {
    return InvalidArgument(fmt::format("aiturbo-literal: round_s is {}; expected more than 0", round_s));
  }
  if (level_limits[0] > 0 && level_limits[1] > level_limits[0]) return OkStatus();
  return InvalidArgument(fmt::format("aiturbo-literal: level limits {} and {}; expected positive, ascending",
                                     level_limits[0], level_limits[1]));
}

namespace {

class AiturboLiteral : public AllocationPolicy {
 public:
  explicit AiturboLiteral(const LiteralOptions& options) : options_(options) {}
  std::string_view name() const override { return "aiturbo-literal"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const bool changes_resources = IsRound(snapshot);
    if (snapshot.trigger == Trigger::kRound && !changes_resources) return KeepAll(snapshot);
    std::vector<std::optional<UnitGains>> gains;
    for (const AllocationJob& job : snapshot.jobs) gains.push_back(ComputeUnitGains(job, snapshot.units));
    Vote(snapshot, gains, &plan);
    if (changes_resources) plan.memory.last_round = snapshot.now;
    std::vector<Configuration> configurations;
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      configurations.push_back(Configure(snapshot.jobs[j], gains[j], changes_resources, &plan.jobs[j]));
      SetLevel(snapshot.jobs[j], changes_resources, &plan.jobs[j]);
    }
    const ServiceOrder order = Order(snapshot, plan);
    GrantWhole(snapshot, order, configurations, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    plan.next_wake_up = NextRound(plan.memory);
    return plan;
  }

  // Asked between two rounds without an event.
  AllocationPlan KeepAll(const AllocationSnapshot& snapshot) const {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    Resources room = TotalCapacity(snapshot);
    KeepRunning(snapshot, order, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    plan.next_wake_up = NextRound(plan.memory);
    return plan;
  }

  SimTime NextRound(const ClusterMemory& memory) const {
    return memory.last_round.value_or(SimTime()) + SimDuration::FromSeconds(Seconds(options_.round_s));
  }

  bool IsRound(const AllocationSnapshot& snapshot) const {
    if (snapshot.trigger == Trigger::kFlip || !snapshot.memory.last_round) return true;
    return (snapshot.now - *snapshot.memory.last_round).seconds().value() >= options_.round_s;
  }

  static void Vote(const AllocationSnapshot& snapshot, const std::vector<std::optional<UnitGains>>& gains,
                   AllocationPlan* plan) {
    const std::vector<uint32_t> by_service = ServicePositions(snapshot);
    const GainBallot by_gain = RankByGain(snapshot, gains);
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      JobReason& reason = plan->jobs[j].reason;
      reason.service_position = by_service[j];
      reason.remaining_position = by_gain.positions[j];
      if (!gains[j]) {
        reason.score = 2.0 * by_service[j];
        continue;
      }
      reason.gains = gains[j]->gains;
      const size_t queue_length =
          gains[j]->queue == GainQueue::kIncrease ? by_gain.num_increasing : by_gain.num_decreasing;
      reason.score = by_service[j] + StretchPosition(*by_gain.positions[j], snapshot.jobs.size(), queue_length);
    }
  }

  static Configuration Configure(const AllocationJob& job, const std::optional<UnitGains>& gains,
                                 bool changes_resources, JobGrant* grant) {
    Configuration configuration = CurrentConfiguration(job);
    if (changes_resources && gains && gains->is_applied) {
      // The operation was possible when its gain was computed.
      configuration = ApplyTo(job, configuration, gains->best->operation).value();
      grant->reason.applied = gains->best->operation;
    }
    if (configuration.config) {
      grant->memory.config = configuration.config;
    } else {
      grant->memory.size = configuration.size;
    }
    return configuration;
  }

  void SetLevel(const AllocationJob& job, bool changes_resources, JobGrant* grant) const {
    if (changes_resources) grant->memory.score += grant->reason.score;
    const double key = options_.accumulate_score ? grant->memory.score : job.attained_service;
    const auto& limits = options_.level_limits;
    const auto level = static_cast<uint32_t>(std::ranges::upper_bound(limits, key) - limits.begin());
    grant->memory.queue = level;
    grant->reason.queue = level;
  }

  static ServiceOrder Order(const AllocationSnapshot& snapshot, const AllocationPlan& plan) {
    ServiceOrder order = BySubmission(snapshot);
    std::ranges::stable_sort(
        order, {}, [&](uint32_t j) { return std::tuple(plan.jobs[j].reason.queue, plan.jobs[j].reason.score); });
    return order;
  }

  static void GrantWhole(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                         const std::vector<Configuration>& configurations, AllocationPlan* plan) {
    Resources room = TotalCapacity(snapshot);
    for (const uint32_t j : order) {
      const Resources demand = ResourcesOf(snapshot.jobs[j], configurations[j]);
      if (!demand.Fits(room)) continue;
      room = room - demand;
      plan->jobs[j].resources = demand;
      plan->jobs[j].config = configurations[j].config;
    }
  }

  const LiteralOptions options_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateAiturboLiteral(const LiteralOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<AiturboLiteral>(options));
}

}  // namespace fairlead::scheduling::aiturbo
