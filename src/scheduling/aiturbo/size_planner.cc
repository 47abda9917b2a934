#include "scheduling/aiturbo/size_planner.h"

#include <algorithm>
#include <optional>
#include <queue>

#include "base/check.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class Planner {
 public:
  Planner(const AllocationSnapshot& snapshot, const ServiceOrder& order, const std::vector<uint32_t>& wanted,
          const SizeRules& rules, AllocationPlan* plan)
      : snapshot_(snapshot),
        order_(order),
        wanted_(wanted),
        rules_(rules),
        plan_(*plan),
        room_(TotalCapacity(snapshot)),
        given_(snapshot.jobs.size(), kNone),
        current_(snapshot.jobs.size(), kNone),
        places_(snapshot.jobs.size()) {
    for (uint32_t place = 0; place < order.size(); ++place) places_[order[place]] = place;
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) current_[j] = FindCurrentSize(snapshot.jobs[j]).value_or(kNone);
  }

  void Run() {
    for (const uint32_t j : order_) GrantWanted(j);
    std::vector<uint32_t> growing;
    for (const uint32_t j : order_) {
      if (MayGrow(j)) growing.push_back(j);
    }
    Fill(growing);
    if (rules_.restart_factor > 0) Restrain();
    for (uint32_t j = 0; j < given_.size(); ++j) {
      if (given_[j] == kNone) continue;
      plan_.jobs[j].resources = SizeOf(j, given_[j]);
      if (Job(j).ps_worker != nullptr) plan_.jobs[j].config = Job(j).ps_worker->config;
    }
  }

 private:
  const AllocationJob& Job(uint32_t j) const { return snapshot_.jobs[j]; }
  Resources SizeOf(uint32_t j, uint32_t size) const {
    return size == kNone ? Resources{} : Job(j).sizes[size].resources();
  }
  bool IsHeld(uint32_t j) const {
    return current_[j] != kNone && Job(j).is_predictable &&
           (snapshot_.now - Job(j).resized_at).seconds().value() < rules_.hold_s;
  }

  void Give(uint32_t j, uint32_t size) {
    room_ = room_ + SizeOf(j, given_[j]) - SizeOf(j, size);
    given_[j] = size;
  }

  void GrantWanted(uint32_t j) {
    uint32_t wanted = wanted_[j];
    if (IsHeld(j) && SizeOf(j, current_[j]).Fits(room_)) {
      plan_.jobs[j].reason.was_held = current_[j] != wanted;
      wanted = current_[j];
    }
    if (SizeOf(j, wanted).Fits(room_)) {
      Give(j, wanted);
    } else if (Job(j).is_predictable) {
      if (const auto smaller = FindLargestFitting(Job(j), room_, wanted)) Give(j, *smaller);
    }
  }

  bool MayGrow(uint32_t j) const {
    return given_[j] != kNone && Job(j).is_predictable && Job(j).ps_worker == nullptr && !IsHeld(j);
  }

  // T(n) / T(n+1) - 1 of the next size; nothing where it is too little, or unknown.
  std::optional<double> NextSpeedUp(uint32_t j) const {
    const auto& sizes = Job(j).sizes;
    if (given_[j] + 1 >= sizes.size()) return std::nullopt;
    const double now_s = sizes[given_[j]].iteration_s;
    const double then_s = sizes[given_[j] + 1].iteration_s;
    if (now_s <= 0 || then_s <= 0 || now_s / then_s - 1 < rules_.fill_min) return std::nullopt;
    return now_s / then_s - 1;
  }

  void Fill(const std::vector<uint32_t>& jobs) {
    struct Offer {
      double speed_up;
      uint32_t place;
      uint32_t job;
      bool operator<(const Offer& b) const { return speed_up != b.speed_up ? speed_up < b.speed_up : place > b.place; }
    };
    std::priority_queue<Offer> offers;
    const auto offer = [&](uint32_t j) {
      if (const auto speed_up = NextSpeedUp(j)) offers.push({*speed_up, places_[j], j});
    };
    for (const uint32_t j : jobs) offer(j);
    while (!offers.empty() && !room_.empty()) {
      const uint32_t j = offers.top().job;
      offers.pop();
      if (!(SizeOf(j, given_[j] + 1) - SizeOf(j, given_[j])).Fits(room_)) continue;
      Give(j, given_[j] + 1);
      offer(j);
    }
  }

  bool Grows(uint32_t j) const { return current_[j] != kNone && given_[j] != kNone && given_[j] > current_[j]; }
  bool Shrinks(uint32_t j) const { return current_[j] != kNone && given_[j] != kNone && given_[j] < current_[j]; }
  bool Starts(uint32_t j) const { return !Job(j).is_running() && given_[j] != kNone; }

  // Seconds that a growth saves, less what it must save.
  double GrowthSurplus(uint32_t j) const {
    const auto& sizes = Job(j).sizes;
    const double saved = Job(j).remaining_iterations * (sizes[current_[j]].iteration_s - sizes[given_[j]].iteration_s);
    return saved - rules_.restart_factor * Job(j).restart_cost_s;
  }

  void Keep(uint32_t j) {
    Give(j, current_[j]);
    plan_.jobs[j].reason.was_held = true;
  }

  void Restrain();

  const AllocationSnapshot& snapshot_;
  const ServiceOrder& order_;
  const std::vector<uint32_t>& wanted_;
  const SizeRules& rules_;
  AllocationPlan& plan_;
  Resources room_;
  std::vector<uint32_t> given_;    // [jobs] index into sizes, or kNone
  std::vector<uint32_t> current_;  // [jobs] likewise
  std::vector<uint32_t> places_;   // [jobs] in the order
};

void Planner::Restrain() {
  // Growths that don't pay.
  for (const uint32_t j : order_) {
    if (Grows(j) && GrowthSurplus(j) < 0) Keep(j);
  }
  // What is free now may spare shrinkages; the jobs of best order first.
  for (const uint32_t j : order_) {
    if (Shrinks(j) && (SizeOf(j, current_[j]) - SizeOf(j, given_[j])).Fits(room_)) Keep(j);
  }
  // What then is free starts waiting jobs, at most at the size that they want.
  for (const uint32_t j : order_) {
    if (given_[j] == kNone && !room_.empty()) GrantWanted(j);
  }
  std::vector<uint32_t> changing;
  for (const uint32_t j : order_) {
    if (MayGrow(j) && (Starts(j) || Grows(j) || Shrinks(j))) changing.push_back(j);
  }
  Fill(changing);
}

}  // namespace

void PlanSizes(const AllocationSnapshot& snapshot, const ServiceOrder& order, const std::vector<uint32_t>& wanted,
               const SizeRules& rules, AllocationPlan* plan) {
  FL_CHECK(order.size() == snapshot.jobs.size() && wanted.size() == snapshot.jobs.size());
  Planner(snapshot, order, wanted, rules, plan).Run();
}

}  // namespace fairlead::scheduling::aiturbo
