#include "scheduling/srtf/srtf.h"

#include <algorithm>
#include <cmath>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::srtf {
namespace {

class Srtf : public AllocationPolicy {
 public:
  explicit Srtf(Key key) : key_(key) {}
  std::string_view name() const override { return key_ == Key::kTime ? "srtf" : "srsf"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) {
      plan.jobs[j].reason.score = KeyOf(snapshot.jobs[j], snapshot.units);
    }
    ServiceOrder order = BySubmission(snapshot);
    std::ranges::stable_sort(order, {}, [&](uint32_t j) { return plan.jobs[j].reason.score; });
    Resources room = TotalCapacity(snapshot);
    GrantRequested(snapshot, order, false, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    return plan;
  }

  double KeyOf(const AllocationJob& job, const ResourceUnits& units) const {
    const JobSize& size = RequestedSize(job);
    const double units_of_key = key_ == Key::kTime ? 1 : units.Of(size.resources());
    const double remaining_s = RemainingSeconds(job, size);
    if (std::isfinite(remaining_s)) return remaining_s * units_of_key;
    // As much as it has had, in whole levels: by the exact time two jobs would take turns, a restart each.
    const double level = std::floor(std::log(std::max(job.executed_s / kFirstLevelS, 1.0)) / std::log(kLevelFactor));
    return kFirstLevelS * std::pow(kLevelFactor, level) * units_of_key;
  }

  static constexpr double kFirstLevelS = 600;
  static constexpr double kLevelFactor = 4;

  const Key key_;
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreateSrtf(Key key) { return std::make_unique<Srtf>(key); }

}  // namespace fairlead::scheduling::srtf
