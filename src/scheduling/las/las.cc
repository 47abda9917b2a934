#include "scheduling/las/las.h"

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::las {
namespace {

class Las : public AllocationPolicy {
 public:
  explicit Las(const ServiceQueueOptions& options) : options_(options) {}
  std::string_view name() const override { return "tiresias"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    UpdateQueues(snapshot, options_, &plan);
    const ServiceOrder order = ByQueue(snapshot, plan);
    Resources room = TotalCapacity(snapshot);
    GrantRequested(snapshot, order, false, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kByService, &plan);
    return plan;
  }

  const ServiceQueueOptions options_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateLas(const ServiceQueueOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Las>(options));
}

}  // namespace fairlead::scheduling::las
