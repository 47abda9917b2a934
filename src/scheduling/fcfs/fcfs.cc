#include "scheduling/fcfs/fcfs.h"

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::fcfs {
namespace {

class Fcfs : public AllocationPolicy {
 public:
  explicit Fcfs(Misfit misfit) : misfit_(misfit) {}
  std::string_view name() const override { return misfit_ == Misfit::kBlocks ? "fcfs" : "fcfs-skip"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    Resources room = TotalCapacity(snapshot);
    KeepRunning(snapshot, order, &room, &plan);
    GrantRequested(snapshot, order, misfit_ == Misfit::kBlocks, &room, &plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    return plan;
  }

  const Misfit misfit_;
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreateFcfs(Misfit misfit) { return std::make_unique<Fcfs>(misfit); }

}  // namespace fairlead::scheduling::fcfs
