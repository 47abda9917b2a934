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
#include "scheduling/aiturbo/length_guess.h"
#include "scheduling/aiturbo/packing.h"
#include "scheduling/aiturbo/restart_budget.h"
#include "scheduling/aiturbo/size_planner.h"
#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

Status AiturboOptions::Validate() const {
  if (!(knee_efficiency > 0 && knee_efficiency <= 1)) {
    return InvalidArgument(fmt::format("aiturbo: knee_efficiency is {}; expected above 0, at most 1", knee_efficiency));
  }
  for (const double value : {price_factor, fill_min, hold_s, hold_doubling, restart_factor, restart_budget, age,
                             min_run_s, patience_s, max_wait_s, aged_share}) {
    if (!(value >= 0)) return InvalidArgument(fmt::format("aiturbo: an option is {}; expected 0 or more", value));
  }
  if (!(stay_factor >= 1)) {
    return InvalidArgument(fmt::format("aiturbo: stay_factor is {}; expected 1 or more", stay_factor));
  }
  if (!(fairness >= 0 && fairness <= 1)) {
    return InvalidArgument(fmt::format("aiturbo: fairness is {}; expected 0 to 1", fairness));
  }
  if (round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("aiturbo: round_s is {}; expected more than 0", round_s));
}

namespace {

// Jobs that wait ask for up to so many times the cluster when it has a bad day; more is a cluster that can't keep up.
// Higher: under lasting overload long jobs end sooner, and the mean is higher.
constexpr double kUsualCrowd = 2;

// A job runs for at least so many times what its start has cost. Higher: fewer restarts, short jobs wait longer.
constexpr double kRestartsToRun = 2;

// Places that go before all others, whatever the score.
enum class Precedence : uint8_t {
  kProtected,  // must not be stopped yet
  kAged,       // has waited for longer than any job should
  kSpent,      // runs, and has been restarted as often as it may
  kByScore,
};

class Aiturbo : public AllocationPolicy {
 public:
  explicit Aiturbo(const AiturboOptions& options) : options_(options) {}
  std::string_view name() const override { return "aiturbo"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const AllocationSnapshot guessed = GuessLengths(snapshot);  // for sizes; the order is of what is known
    const std::vector<JobMenu> menus = BuildMenus(guessed);
    std::vector<uint32_t> wanted = WantedSizes(guessed, menus);
    LimitByGuess(snapshot, menus, &wanted);
    Score(snapshot, menus, wanted, &plan);
    size_t num_first = 0;
    const ServiceOrder order = Order(snapshot, menus, wanted, &plan, &num_first);
    const SizeRules rules{options_.fill_min,      options_.restart_factor, options_.hold_s,
                          options_.hold_doubling, options_.restart_budget, num_first};
    PlanSizes(guessed, order, menus, wanted, rules, &plan);
    PackNodes(guessed, order, options_.restart_factor, &plan, options_.restart_budget);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    NoteStarts(snapshot, &plan);
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

  // A guess is no reason to take from others: a running job of unknown length wants no more than it has, and grows into
  // what is free. One that takes turns changes too seldom for that.
  void LimitByGuess(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus,
                    std::vector<uint32_t>* wanted) const {
    const RestartBudget budget(options_.restart_budget);
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const auto current = menus[j].current();
      if (!current || snapshot.jobs[j].is_predictable || budget.TakesTurns(snapshot.jobs[j])) continue;
      uint32_t& choice = (*wanted)[j];
      if (menus[j].size(*current).resources().Fits(menus[j].size(choice).resources())) choice = *current;
    }
  }

  void Score(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus, const std::vector<uint32_t>& wanted,
             AllocationPlan* plan) const {
    std::vector<std::optional<double>> keys(snapshot.jobs.size());
    const double patience_s = PatienceSeconds(snapshot, menus);
    size_t num_predictable = 0;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const JobSize& size = menus[j].size(wanted[j]);
      const double service = RemainingSeconds(snapshot.jobs[j], size) * snapshot.units.Of(size.resources()) /
                             PreferenceOf(snapshot, snapshot.jobs[j], patience_s);
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

  // By how many times less a job counts to have left.
  double PreferenceOf(const AllocationSnapshot& snapshot, const AllocationJob& job, double patience_s) const {
    const double stays = job.weight * (job.is_running() ? options_.stay_factor : 1);
    if (patience_s <= 0) return stays;
    return stays * (1 + (snapshot.now - job.submission).seconds().value() / patience_s);
  }

  // Where many wait, and for long, an hour says less about a job.
  double PatienceSeconds(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus) const {
    double waiting = 0;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      if (!snapshot.jobs[j].is_running()) waiting += snapshot.units.Of(menus[j].size(menus[j].requested()).resources());
    }
    return options_.patience_s * std::max(1.0, waiting / (kUsualCrowd * snapshot.units.Of(TotalCapacity(snapshot))));
  }

  double MinRunSeconds(const AllocationJob& job) const {
    return std::max(options_.min_run_s, kRestartsToRun * job.restart_cost_s);
  }

  Precedence PrecedenceOf(const AllocationSnapshot& snapshot, const AllocationJob& job) const {
    if (!job.is_running()) return Precedence::kByScore;
    const bool is_young = (snapshot.now - job.running_since).seconds().value() < MinRunSeconds(job);
    const bool has_right =
        job.memory.start == StartKind::kAged || (!job.is_predictable && job.memory.start != StartKind::kBackfilled);
    if (is_young && has_right) return Precedence::kProtected;
    // Jobs of known length have turns instead.
    const bool is_spent = !job.is_predictable && RestartBudget(options_.restart_budget).IsSpent(job);
    return is_spent && job.memory.start != StartKind::kBackfilled ? Precedence::kSpent : Precedence::kByScore;
  }

  static double WaitedSeconds(const AllocationSnapshot& snapshot, const AllocationJob& job) {
    return (snapshot.now - job.waiting_since).seconds().value();
  }

  bool IsAged(const AllocationSnapshot& snapshot, const AllocationJob& job) const {
    return !job.is_running() &&
           WaitedSeconds(snapshot, job) >= std::max(options_.max_wait_s, options_.age * job.executed_s);
  }

  // Lets aged jobs go first, longest waiting first, as long as they and those that did so lately have no more than
  // their share; one may always, whatever its size.
  void PutAgedFirst(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus,
                    const std::vector<uint32_t>& wanted, std::vector<Precedence>* precedences) const {
    const auto units_of = [&](uint32_t j, uint32_t choice) {
      return snapshot.units.Of(menus[j].size(choice).resources());
    };
    const double total = snapshot.units.Of(TotalCapacity(snapshot));
    const double limit = options_.aged_share * total;
    double held = 0;
    std::vector<uint32_t> aged;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const bool is_kept = (*precedences)[j] == Precedence::kProtected &&
                           snapshot.jobs[j].memory.start == StartKind::kAged && menus[j].current();
      if (is_kept) held += units_of(j, *menus[j].current());
      if (IsAged(snapshot, snapshot.jobs[j])) aged.push_back(j);
    }
    std::ranges::stable_sort(aged, {}, [&](uint32_t j) { return snapshot.jobs[j].waiting_since; });
    // None that could start is passed over, or small ones would keep a large one waiting.
    for (const uint32_t j : aged) {
      const double more = units_of(j, wanted[j]);
      if (more > total) continue;  // until nodes come back
      if (held > 0 && held + more > limit) break;
      held += more;
      (*precedences)[j] = Precedence::kAged;
    }
  }

  // How each job that starts does so, for the times to come.
  static void NoteStarts(const AllocationSnapshot& snapshot, AllocationPlan* plan) {
    bool has_aged = false;
    for (const JobGrant& grant : plan->jobs) has_aged |= grant.nodes.empty() && grant.reason.was_promoted;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      const AllocationJob& job = snapshot.jobs[j];
      JobGrant& grant = plan->jobs[j];
      grant.memory.stopped_by_policy = grant.nodes.empty() && (job.is_running() || job.memory.stopped_by_policy);
      if (grant.nodes.empty()) {
        grant.memory.start = StartKind::kUsual;
      } else if (!job.is_running()) {
        grant.memory.start = grant.reason.was_promoted ? StartKind::kAged
                             : has_aged                ? StartKind::kBackfilled
                                                       : StartKind::kUsual;
      }
    }
  }

  // Args: by_submission: all jobs.
  void MixInSubmission(const ServiceOrder& by_submission, AllocationPlan* plan) const {
    if (options_.fairness <= 0) return;
    for (size_t place = 0; place < by_submission.size(); ++place) {
      double& score = plan->jobs[by_submission[place]].reason.score;
      score = (1 - options_.fairness) * score + options_.fairness * static_cast<double>(place + 1);
    }
  }

  // Writes how many jobs go before those that have to save restarts.
  ServiceOrder Order(const AllocationSnapshot& snapshot, const std::vector<JobMenu>& menus,
                     const std::vector<uint32_t>& wanted, AllocationPlan* plan, size_t* num_first) const {
    std::vector<Precedence> precedences;
    for (const AllocationJob& job : snapshot.jobs) precedences.push_back(PrecedenceOf(snapshot, job));
    PutAgedFirst(snapshot, menus, wanted, &precedences);
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      plan->jobs[j].reason.was_promoted = precedences[j] == Precedence::kAged;
    }
    *num_first = static_cast<size_t>(
        std::ranges::count_if(precedences, [](Precedence precedence) { return precedence <= Precedence::kAged; }));
    ServiceOrder order = BySubmission(snapshot);
    MixInSubmission(order, plan);
    // Aged jobs go by how long they wait.
    std::ranges::stable_sort(order, {}, [&](uint32_t j) {
      const bool is_aged = precedences[j] == Precedence::kAged;
      const double key = is_aged ? snapshot.jobs[j].waiting_since.seconds().value() : plan->jobs[j].reason.score;
      return std::tuple(precedences[j], key);
    });
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
