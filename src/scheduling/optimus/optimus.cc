#include "scheduling/optimus/optimus.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <vector>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::optimus {
namespace {

// What a job could get next.
struct Increment {
  Resources resources;  // all it would have then
  std::optional<PsWorkerConfig> config;
  uint32_t size = 0;  // [sizes]
  UnitOperation operation = UnitOperation::kAddGpu;
  double gain = 0;
};

// One server and one worker of the kind that was asked for: Optimus changes numbers, not kinds.
PsWorkerConfig SmallestConfig(const PsWorkerJob& job) {
  PsWorkerConfig config = job.config;
  config.num_ps = job.limits.min.num_ps;
  config.num_workers = job.limits.min.num_workers;
  config.num_gpus = job.config.num_gpus > 0 ? std::max(1u, job.limits.min.num_gpus) : job.limits.min.num_gpus;
  return config;
}

class Growth {
 public:
  explicit Growth(const AllocationSnapshot& snapshot)
      : snapshot_(snapshot),
        total_(TotalCapacity(snapshot)),
        room_(total_),
        sizes_(snapshot.jobs.size()),
        places_(snapshot.jobs.size()) {}

  void GiveSmallest(const ServiceOrder& order, AllocationPlan* plan) {
    for (uint32_t place = 0; place < order.size(); ++place) places_[order[place]] = place;
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot_.jobs[j];
      JobGrant& grant = plan->jobs[j];
      std::optional<PsWorkerConfig> config;
      Resources least = job.sizes.front().resources();
      if (job.has_configs()) {
        config = SmallestConfig(*job.ps_worker);
        least = {config->num_gpus, config->num_cores()};
      }
      if (!least.Fits(room_)) continue;
      grant.resources = least;
      grant.config = config;
      room_ = room_ - least;
      Offer(j, grant);
    }
  }

  void GiveRest(AllocationPlan* plan) {
    while (!offers_.empty()) {
      const auto [increment, j, place] = offers_.top();
      offers_.pop();
      JobGrant& grant = plan->jobs[j];
      const Resources more = increment.resources - grant.resources;
      if (!more.Fits(room_)) continue;
      room_ = room_ - more;
      grant.resources = increment.resources;
      grant.config = increment.config;
      grant.reason.applied = increment.operation;
      grant.reason.score = increment.gain;
      sizes_[j] = increment.size;
      Offer(j, grant);
    }
  }

 private:
  struct Entry {
    Increment increment;
    uint32_t job;
    uint32_t place;  // in the order of submission
  };
  struct Worse {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.increment.gain != b.increment.gain ? a.increment.gain < b.increment.gain : a.place > b.place;
    }
  };

  void Offer(uint32_t j, const JobGrant& grant) {
    const AllocationJob& job = snapshot_.jobs[j];
    if (!job.is_predictable) return;
    const std::optional<Increment> increment = grant.config ? NextConfig(job, *grant.config) : NextSize(job, sizes_[j]);
    if (increment && increment->gain > 0) offers_.push({*increment, j, places_[j]});
  }

  std::optional<Increment> NextSize(const AllocationJob& job, uint32_t size) const {
    if (size + 1 >= job.sizes.size()) return std::nullopt;
    const double now_s = job.sizes[size].iteration_s;
    const double then_s = job.sizes[size + 1].iteration_s;
    if (now_s <= 0 || then_s <= 0) return std::nullopt;
    return Increment{job.sizes[size + 1].resources(), std::nullopt, size + 1, UnitOperation::kAddGpu,
                     (now_s - then_s) * job.remaining_iterations};
  }

  std::optional<Increment> NextConfig(const AllocationJob& job, const PsWorkerConfig& config) const {
    std::optional<Increment> best;
    const double now_s = job.ps_worker->iteration_s(config);
    for (const UnitOperation op : {UnitOperation::kAddPs, UnitOperation::kAddWorker}) {
      PsWorkerLimits limits = job.ps_worker->limits;
      limits.worker_brings_gpu |= config.num_gpus > 0;
      const auto changed = Apply(op, config, limits);
      if (!changed) continue;
      const Resources resources{changed->num_gpus, changed->num_cores()};
      const double share = DominantShare(resources - Resources{config.num_gpus, config.num_cores()}, total_);
      const double gain = (now_s - job.ps_worker->iteration_s(*changed)) * job.remaining_iterations / share;
      if (!best || gain > best->gain) best = Increment{resources, changed, 0, op, gain};
    }
    return best;
  }

  const AllocationSnapshot& snapshot_;
  const Resources total_;
  Resources room_;
  std::vector<uint32_t> sizes_;   // [jobs]
  std::vector<uint32_t> places_;  // [jobs] in the order of submission
  std::priority_queue<Entry, std::vector<Entry>, Worse> offers_;
};

class Optimus : public AllocationPolicy {
 public:
  explicit Optimus(const OptimusOptions& options) : options_(options) {}
  std::string_view name() const override { return "optimus"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    Growth growth(snapshot);
    growth.GiveSmallest(order, &plan);
    growth.GiveRest(&plan);
    FinishPlan(snapshot, order, PlacingOrder::kSmallestFirst, &plan);
    plan.next_wake_up = snapshot.now + SimDuration::FromSeconds(Seconds(options_.round_s));
    return plan;
  }

  const OptimusOptions options_;
};

}  // namespace

std::unique_ptr<AllocationPolicy> CreateOptimus(const OptimusOptions& options) {
  return std::make_unique<Optimus>(options);
}

}  // namespace fairlead::scheduling::optimus
