#include "scheduling/srtf/srtf.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

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
    std::vector<std::tuple<double, double>> keys;  // [jobs]
    for (const AllocationJob& job : snapshot.jobs) keys.emplace_back(KeyOf(job, snapshot.units), job.attained_service);
    ServiceOrder order = BySubmission(snapshot);
    std::ranges::stable_sort(order, {}, [&](uint32_t j) {
      const auto& [remaining, attained] = keys[j];
      return std::tuple(remaining, remaining < std::numeric_limits<double>::infinity() ? 0 : attained);
    });
    for (const uint32_t j : order) plan.jobs[j].reason.score = std::get<0>(keys[j]);
    Resources room = TotalCapacity(snapshot);
    GrantRequested(snapshot, order, false, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    return plan;
  }

  double KeyOf(const AllocationJob& job, const ResourceUnits& units) const {
    const JobSize& size = RequestedSize(job);
    return RemainingSeconds(job, size) * (key_ == Key::kTime ? 1 : units.Of(size.resources()));
  }

  const Key key_;
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreateSrtf(Key key) { return std::make_unique<Srtf>(key); }

}  // namespace fairlead::scheduling::srtf
