#include "scheduling/aiturbo/size_planner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <span>

#include "base/check.h"
#include "scheduling/aiturbo/restart_budget.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class Planner {
 public:
  Planner(const AllocationSnapshot& snapshot, const ServiceOrder& order, std::span<const JobMenu> menus,
          const std::vector<uint32_t>& wanted, const SizeRules& rules, AllocationPlan* plan)
      : snapshot_(snapshot),
        order_(order),
        menus_(menus),
        wanted_(wanted),
        rules_(rules),
        budget_(rules.restart_budget),
        plan_(*plan),
        room_(TotalCapacity(snapshot)),
        given_(snapshot.jobs.size(), kNone),
        backs_off_(snapshot.jobs.size()),
        places_(snapshot.jobs.size()) {
    for (const AllocationJob& job : snapshot.jobs) total_weight_ += job.weight;
    for (uint32_t place = 0; place < order.size(); ++place) places_[order[place]] = place;
  }

  void Run() {
    const auto first = std::span(order_).first(rules_.num_first);
    const auto rest = std::span(order_).subspan(rules_.num_first);
    for (const uint32_t j : first) GrantFirst(j);
    GrantTurns(rest);
    for (const uint32_t j : rest) GrantWanted(j);
    std::vector<uint32_t> growing;
    for (const uint32_t j : order_) {
      if (MayGrow(j)) growing.push_back(j);
    }
    Fill(growing);
    if (rules_.restart_factor > 0) Restrain();
    for (uint32_t j = 0; j < given_.size(); ++j) {
      if (given_[j] == kNone) continue;
      plan_.jobs[j].resources = ResourcesAt(j, given_[j]);
      plan_.jobs[j].config = menus_[j].config(given_[j]);
    }
  }

 private:
  const AllocationJob& Job(uint32_t j) const { return snapshot_.jobs[j]; }
  double SecondsAt(uint32_t j, uint32_t choice) const { return menus_[j].size(choice).iteration_s; }
  Resources ResourcesAt(uint32_t j, uint32_t choice) const {
    return choice == kNone ? Resources{} : menus_[j].size(choice).resources();
  }
  // With what the job has given back.
  bool Fits(uint32_t j, uint32_t choice) const {
    return ResourcesAt(j, choice).Fits(room_ + ResourcesAt(j, given_[j]));
  }
  bool IsFirst(uint32_t j) const { return places_[j] < rules_.num_first; }
  // At its size, or at the one that it wants while it waits.
  double LeftSeconds(uint32_t j) const {
    return Job(j).remaining_iterations * SecondsAt(j, menus_[j].current().value_or(wanted_[j]));
  }
  bool HasToSave(uint32_t j) const {
    if (!Job(j).is_predictable || Job(j).memory.start == StartKind::kBackfilled) return false;
    if (!Job(j).is_running() && !Job(j).memory.stopped_by_policy) return false;
    return budget_.HasToSave(Job(j), LeftSeconds(j));
  }
  bool TakesTurns(uint32_t j) const { return Job(j).is_predictable && budget_.TakesTurns(Job(j)); }
  bool IsInTurn(uint32_t j) const {
    return menus_[j].current() && TakesTurns(j) && HasToSave(j) &&
           SecondsSinceChange(j) < budget_.TurnSeconds(Job(j), LeftSeconds(j));
  }
  double SecondsSinceChange(uint32_t j) const { return (snapshot_.now - Job(j).resized_at).seconds().value(); }
  // Each `doubling` restarts double the hold.
  double HoldSeconds(uint32_t j, double doubling) const {
    if (doubling <= 0) return rules_.hold_s;
    return rules_.hold_s * std::exp2(Job(j).num_restarts / doubling);
  }
  // Whether a job that runs stays as it is instead of taking `choice`.
  bool IsHeld(uint32_t j, uint32_t choice) const {
    if (!menus_[j].current()) return false;
    if (!Job(j).is_predictable) return budget_.IsSpent(Job(j));
    const double resized_s = SecondsSinceChange(j);
    if (!HasToSave(j)) return resized_s < HoldSeconds(j, rules_.hold_doubling);
    const double saved_s = LeftSeconds(j) - Job(j).remaining_iterations * SecondsAt(j, choice);
    if (budget_.IsOverdue(Job(j), resized_s, LeftSeconds(j), saved_s)) return resized_s < rules_.hold_s;
    if (budget_.IsEscape(Job(j), saved_s)) return resized_s < HoldSeconds(j, rules_.hold_doubling / 2);
    return resized_s < std::max(rules_.hold_s, budget_.PaceSeconds(Job(j), LeftSeconds(j)));
  }

  void Give(uint32_t j, uint32_t choice) {
    room_ = room_ + ResourcesAt(j, given_[j]) - ResourcesAt(j, choice);
    given_[j] = choice;
  }

  double FairShare(uint32_t j) const {
    return Job(j).weight / total_weight_ * static_cast<double>(TotalCapacity(snapshot_).num_gpus);
  }

  // A job that starts before others have what they want claims its fair share, or its smallest size if that is more.
  void GrantFirst(uint32_t j) {
    if (Job(j).is_running() || !Job(j).is_predictable) return GrantWanted(j);
    const uint64_t least = std::max<uint64_t>(menus_[j].size(0).num_gpus, 1);
    Resources most = ResourcesAt(j, wanted_[j]);
    most.num_gpus = std::min(most.num_gpus, std::max(least, static_cast<uint64_t>(FairShare(j))));
    if (const auto claim = FastestWithin(j, most)) Give(j, *claim);
  }

  // What the turns of all have, the longest first; each as much of its size as is left.
  void GrantTurns(std::span<const uint32_t> jobs) {
    std::vector<uint32_t> turns;
    for (const uint32_t j : jobs) {
      if (TakesTurns(j)) turn_room_ += TurnGpus(FairShare(j));
      if (IsInTurn(j)) turns.push_back(j);
    }
    if (turn_room_ > 0) turn_room_ = std::max(turn_room_, 1.0);
    std::ranges::stable_sort(turns, {}, [&](uint32_t j) { return Job(j).running_since; });
    for (const uint32_t j : turns) {
      Resources most = ResourcesAt(j, *menus_[j].current());
      const bool is_kept = most.num_gpus <= StayGpus(turn_room_) || (turn_room_ >= 1 && budget_.IsSpent(Job(j)));
      const bool is_whole = is_kept && Fits(j, *menus_[j].current());
      most.num_gpus = is_kept ? LessGpus(most.num_gpus) : static_cast<uint64_t>(turn_room_);
      const auto part = is_whole ? menus_[j].current() : FastestWithin(j, most);
      if (!part || ResourcesAt(j, *part).empty()) continue;
      Give(j, *part);
      TakeTurn(j);
    }
  }
  void TakeTurn(uint32_t j) {
    turn_room_ = std::max(0.0, turn_room_ - static_cast<double>(ResourcesAt(j, given_[j]).num_gpus));
    has_turns_ = true;
  }

  // A job that waits and has to save starts as it wants to, or not at all; and if it needs a turn, only if there is
  // one, or nobody else has any.
  void StartSaving(uint32_t j) {
    if (!Fits(j, wanted_[j])) return;
    const bool has_room = static_cast<double>(ResourcesAt(j, wanted_[j]).num_gpus) <= turn_room_;
    if (TakesTurns(j) && has_turns_ && !has_room) return;
    Give(j, wanted_[j]);
    if (TakesTurns(j)) TakeTurn(j);
  }

  // A job that has to save and can't keep what it has: its turn's part, or half of it at once, if that is worth a
  // restart.
  void BackOff(uint32_t j) {
    backs_off_[j] = true;
    if (given_[j] != kNone) return;
    Resources most = ResourcesAt(j, *menus_[j].current());
    most.num_gpus = LessGpus(most.num_gpus);
    const auto less = FastestWithin(j, most);
    if (less && !IsCrumb(ResourcesAt(j, *less).num_gpus, ResourcesAt(j, wanted_[j]).num_gpus)) Give(j, *less);
  }

  void GrantWanted(uint32_t j) {
    const bool saves = !IsFirst(j) && HasToSave(j);
    uint32_t wanted = wanted_[j];
    const auto current = menus_[j].current();
    if (saves && !current) return StartSaving(j);
    if (saves && !Fits(j, *current)) return BackOff(j);
    if (IsHeld(j, wanted) && Fits(j, *current)) {
      plan_.jobs[j].reason.was_held = *current != wanted;
      wanted = *current;
    }
    if (Fits(j, wanted)) {
      Give(j, wanted);
    } else if (saves) {
      Give(j, *current);
    } else if (Job(j).is_predictable) {
      if (const auto smaller = FastestWithin(j, ResourcesAt(j, wanted))) Give(j, *smaller);
    } else if (Fits(j, menus_[j].requested())) {
      Give(j, menus_[j].requested());
    }
  }

  // The fastest choice that fits and takes no more than `most`; one of unknown time only if there is no other.
  std::optional<uint32_t> FastestWithin(uint32_t j, const Resources& most) const {
    std::optional<uint32_t> best;
    const auto sizes = menus_[j].sizes();
    for (uint32_t k = 0; k < sizes.size(); ++k) {
      if (!sizes[k].resources().Fits(most) || !Fits(j, k)) continue;
      const bool is_faster = best && sizes[k].iteration_s > 0 &&
                             (sizes[*best].iteration_s <= 0 || sizes[k].iteration_s < sizes[*best].iteration_s);
      if (!best || is_faster) best = k;
    }
    return best;
  }

  bool MayGrow(uint32_t j) const {
    return given_[j] != kNone && Job(j).is_predictable && !backs_off_[j] && !IsHeld(j, given_[j]);
  }

  // A faster choice, and what it speeds the job up by for each unit of resources.
  struct Offer {
    double speed_up = 0;
    uint32_t place = 0;
    uint32_t job = 0;
    uint32_t choice = 0;
    bool operator<(const Offer& b) const { return speed_up != b.speed_up ? speed_up < b.speed_up : place > b.place; }
  };

  // GPUs more, or as many as the cores are worth; at least a little, as a faster choice may even take less.
  double Growth(uint32_t j, uint32_t choice) const {
    const ResourceUnits& units = snapshot_.units;
    const double more = units.Of(ResourcesAt(j, choice)) - units.Of(ResourcesAt(j, given_[j]));
    return std::max(units.gpu > 0 ? more / units.gpu : more, kLeastGrowth);
  }

  // The faster choice with most speed-up a unit that fits; nothing where all are too little, or unknown. Not only the
  // next size: T is seldom convex (at 8 GPUs a job may be no faster than at 7, and by a third at 11).
  std::optional<Offer> BestGrowth(uint32_t j) const {
    const double now_s = SecondsAt(j, given_[j]);
    if (now_s <= 0) return std::nullopt;
    Offer best{0, places_[j], j, given_[j]};
    for (const uint32_t k : menus_[j].useful()) {
      if (SecondsAt(j, k) >= now_s || !Fits(j, k)) continue;
      const double speed_up = (now_s / SecondsAt(j, k) - 1) / Growth(j, k);
      if (speed_up < rules_.fill_min || speed_up <= best.speed_up) continue;
      best.speed_up = speed_up;
      best.choice = k;
    }
    if (best.choice == given_[j]) return std::nullopt;
    return best;
  }

  void Fill(const std::vector<uint32_t>& jobs) {
    std::priority_queue<Offer> offers;
    const auto offer = [&](uint32_t j) {
      if (const auto growth = BestGrowth(j)) offers.push(*growth);
    };
    for (const uint32_t j : jobs) offer(j);
    while (!offers.empty() && !room_.empty()) {
      const Offer top = offers.top();
      offers.pop();
      if (Fits(top.job, top.choice)) Give(top.job, top.choice);
      offer(top.job);
    }
  }

  bool Changes(uint32_t j) const {
    return menus_[j].current() && given_[j] != kNone && given_[j] != menus_[j].current();
  }
  bool Shrinks(uint32_t j) const {
    return Changes(j) && ResourcesAt(j, given_[j]).Fits(ResourcesAt(j, *menus_[j].current()));
  }
  bool Grows(uint32_t j) const { return Changes(j) && !Shrinks(j); }
  bool Starts(uint32_t j) const { return !Job(j).is_running() && given_[j] != kNone; }

  // Seconds that a growth saves, less what it must save.
  double GrowthSurplus(uint32_t j) const {
    const double saved = SecondsAt(j, *menus_[j].current()) - SecondsAt(j, given_[j]);
    return Job(j).remaining_iterations * saved - rules_.restart_factor * Job(j).restart_cost_s;
  }

  // As it is, if that is still possible.
  void Keep(uint32_t j) {
    if (!Fits(j, *menus_[j].current())) return;
    Give(j, *menus_[j].current());
    plan_.jobs[j].reason.was_held = true;
  }

  void Restrain();

  static constexpr double kLeastGrowth = 1e-3;

  const AllocationSnapshot& snapshot_;
  const ServiceOrder& order_;
  const std::span<const JobMenu> menus_;
  const std::vector<uint32_t>& wanted_;
  const SizeRules& rules_;
  const RestartBudget budget_;
  AllocationPlan& plan_;
  Resources room_;
  std::vector<uint32_t> given_;  // [jobs] choice of the menu, or kNone
  double total_weight_ = 0;
  double turn_room_ = 0;          // GPUs for turns that nobody has yet
  bool has_turns_ = false;        // somebody has
  std::vector<bool> backs_off_;   // [jobs] lost some of what it had now, to save restarts
  std::vector<uint32_t> places_;  // [jobs] in the order
};

void Planner::Restrain() {
  // Growths that don't pay.
  for (const uint32_t j : order_) {
    if (Grows(j) && GrowthSurplus(j) < 0) Keep(j);
  }
  // What is free now may spare shrinkages; the jobs of best order first.
  for (const uint32_t j : order_) {
    if (Shrinks(j)) Keep(j);
  }
  // What then is free starts waiting jobs, at most at the size that they want.
  for (const uint32_t j : order_) {
    if (given_[j] == kNone && !room_.empty()) GrantWanted(j);
  }
  std::vector<uint32_t> changing;
  for (const uint32_t j : order_) {
    if (MayGrow(j) && (Starts(j) || Changes(j))) changing.push_back(j);
  }
  Fill(changing);
}

}  // namespace

void PlanSizes(const AllocationSnapshot& snapshot, const ServiceOrder& order, std::span<const JobMenu> menus,
               const std::vector<uint32_t>& wanted, const SizeRules& rules, AllocationPlan* plan) {
  FL_CHECK(order.size() == snapshot.jobs.size() && wanted.size() == snapshot.jobs.size());
  FL_CHECK(menus.size() == snapshot.jobs.size() && rules.num_first <= order.size());
  Planner(snapshot, order, menus, wanted, rules, plan).Run();
}

}  // namespace fairlead::scheduling::aiturbo
