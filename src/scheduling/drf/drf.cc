#include "scheduling/drf/drf.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::drf {
namespace {

double WeightedShare(const AllocationJob& job, const Resources& held, const Resources& total) {
  const double dominant = DominantShare(held, total);
  return job.weight > 0 ? dominant / job.weight : dominant;
}

class Drf : public AllocationPolicy {
 public:
  std::string_view name() const override { return "drf"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    Fill(snapshot, order, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    return plan;
  }

  static void Fill(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) {
    const Resources total = TotalCapacity(snapshot);
    Resources room = total;
    std::vector<uint32_t> num_given(snapshot.jobs.size());  // sizes up to this one, exclusive
    using Entry = std::pair<double, uint32_t>;              // weighted share, place in `order`
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> poorest;
    for (uint32_t place = 0; place < order.size(); ++place) poorest.emplace(0, place);
    while (!poorest.empty()) {
      const uint32_t place = poorest.top().second;
      poorest.pop();
      const uint32_t j = order[place];
      const AllocationJob& job = snapshot.jobs[j];
      JobGrant& grant = plan->jobs[j];
      if (num_given[j] == job.sizes.size()) continue;
      const Resources next = job.sizes[num_given[j]].resources();
      if (!(next - grant.resources).Fits(room)) continue;
      room = room - (next - grant.resources);
      grant.resources = next;
      ++num_given[j];
      grant.reason.score = WeightedShare(job, next, total);
      poorest.emplace(grant.reason.score, place);
    }
  }
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreateDrf() { return std::make_unique<Drf>(); }

}  // namespace fairlead::scheduling::drf
