#include "scheduling/aiturbo/packing.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "scheduling/aiturbo/restart_budget.h"
#include "scheduling/job_sizes.h"
#include "scheduling/node_pool.h"

namespace fairlead::scheduling::aiturbo {
namespace {

class Packer {
 public:
  Packer(const AllocationSnapshot& snapshot, const ServiceOrder& order, double restart_factor, double restart_budget,
         AllocationPlan* plan)
      : snapshot_(snapshot),
        order_(order),
        restart_factor_(restart_factor),
        budget_(restart_budget),
        plan_(*plan),
        pool_(snapshot.nodes) {
    for (const NodeCapacity& node : snapshot.nodes) node_gpus_ = std::max(node_gpus_, node.num_gpus);
  }

  void Run() {
    for (const uint32_t j : order_) KeepNodes(j);
    for (const uint32_t j : LargestFirst()) Place(j);
    for (const uint32_t j : order_) Consolidate(j);
  }

 private:
  void KeepNodes(uint32_t j) {
    const AllocationJob& job = snapshot_.jobs[j];
    JobGrant& grant = plan_.jobs[j];
    if (!job.is_running() || grant.resources != CurrentResources(job)) return;
    if (pool_.TakeShares(job.current)) grant.nodes = job.current;
  }

  ServiceOrder LargestFirst() const {
    ServiceOrder open;
    for (const uint32_t j : order_) {
      if (!plan_.jobs[j].resources.empty() && plan_.jobs[j].nodes.empty()) open.push_back(j);
    }
    std::ranges::stable_sort(open, std::greater<>(), [&](uint32_t j) { return plan_.jobs[j].resources.num_gpus; });
    return open;
  }

  void Place(uint32_t j) {
    JobGrant& grant = plan_.jobs[j];
    auto shares = pool_.TakeDense(grant.resources, LeastCoresPerGpu(snapshot_.jobs[j], grant));
    if (!shares) return;
    grant.nodes = std::move(*shares);
    if (grant.nodes.size() > 1 && grant.resources.num_gpus <= node_gpus_) Cut(j);
  }

  // Runs smaller in one node where that is faster than larger on several.
  void Cut(uint32_t j) {
    const AllocationJob& job = snapshot_.jobs[j];
    JobGrant& grant = plan_.jobs[j];
    const auto size = std::ranges::find(job.sizes, grant.resources, &JobSize::resources);
    if (!job.is_predictable || grant.config || size == job.sizes.end()) return;
    pool_.Release(grant.nodes);
    for (auto k = static_cast<size_t>(size - job.sizes.begin()); k-- > 0;) {
      const JobSize& smaller = job.sizes[k];
      if (smaller.iteration_s <= 0 || smaller.iteration_s >= size->iteration_s + CrossingSeconds(job)) continue;
      // As before, if it was cut before.
      const bool stays = smaller.resources() == CurrentResources(job) && pool_.TakeShares(job.current);
      auto shares = stays ? std::optional(job.current) : pool_.TakeDense(smaller.resources());
      if (shares && shares->size() == 1) {
        grant.resources = smaller.resources();
        grant.nodes = std::move(*shares);
        return;
      }
      if (shares) pool_.Release(*shares);
    }
    pool_.TakeShares(grant.nodes);
  }

  void Consolidate(uint32_t j) {
    const AllocationJob& job = snapshot_.jobs[j];
    JobGrant& grant = plan_.jobs[j];
    if (grant.nodes.size() < 2 || grant.resources.num_gpus > node_gpus_ || !job.is_predictable) return;
    if (grant.nodes != job.current || grant.config) return;
    if (budget_.IsSpent(job)) return;
    const double saved_s = job.remaining_iterations * CrossingSeconds(job);
    if (saved_s <= restart_factor_ * job.restart_cost_s) return;
    pool_.Release(grant.nodes);
    auto shares = pool_.TakeDense(grant.resources);
    if (shares && shares->size() == 1) {
      grant.nodes = std::move(*shares);
      return;
    }
    if (shares) pool_.Release(*shares);
    pool_.TakeShares(grant.nodes);
  }

  // What an iteration takes longer for lying on more than one node; 0 where no size tells.
  double CrossingSeconds(const AllocationJob& job) const {
    const auto across = std::ranges::upper_bound(job.sizes, node_gpus_, {}, &JobSize::num_gpus);
    if (across == job.sizes.begin() || across == job.sizes.end()) return 0;
    const JobSize& inside = *std::prev(across);
    if (inside.iteration_s <= 0 || across->iteration_s <= 0) return 0;
    return std::max(0.0, across->iteration_s - inside.iteration_s * inside.num_gpus / across->num_gpus);
  }

  const AllocationSnapshot& snapshot_;
  const ServiceOrder& order_;
  const double restart_factor_;
  const RestartBudget budget_;
  AllocationPlan& plan_;
  NodePool pool_;
  uint32_t node_gpus_ = 0;  // of the largest node
};

}  // namespace

void PackNodes(const AllocationSnapshot& snapshot, const ServiceOrder& order, double restart_factor,
               AllocationPlan* plan, double restart_budget) {
  Packer(snapshot, order, restart_factor, restart_budget, plan).Run();
}

}  // namespace fairlead::scheduling::aiturbo
