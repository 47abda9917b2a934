#include "scheduling/gavel/gavel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "scheduling/job_sizes.h"
#include "scheduling/node_pool.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::gavel {

Status GavelOptions::Validate() const {
  if (round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format("gavel: round_s is {}; expected more than 0", round_s));
}

namespace {

// A job on a type of GPU.
struct Candidate {
  uint32_t job = 0;
  uint32_t type = 0;
  double priority = 0;
};

std::vector<double> CountGpus(const AllocationSnapshot& snapshot) {
  std::vector<double> counts(1);
  for (const NodeCapacity& node : snapshot.nodes) {
    if (node.gpu_type >= counts.size()) counts.resize(node.gpu_type + 1);
    counts[node.gpu_type] += node.num_gpus;
  }
  return counts;
}

double RoundsOn(const JobMemory& memory, uint32_t type) {
  return type < memory.rounds_on_type.size() ? memory.rounds_on_type[type] : 0;
}

std::vector<Candidate> RankCandidates(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                                      const GavelShares& shares) {
  std::vector<Candidate> candidates;
  for (uint32_t place = 0; place < order.size(); ++place) {
    const uint32_t j = order[place];
    for (uint32_t t = 0; t < shares.shares[place].size(); ++t) {
      const double share = shares.shares[place][t];
      if (share <= 1e-9) continue;
      const double rounds = RoundsOn(snapshot.jobs[j].memory, t);
      // Never served there: before all others, larger shares first.
      candidates.push_back({j, t, rounds > 0 ? share / (1 + rounds) : 1e6 + share});
    }
  }
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::priority);
  return candidates;
}

class Gavel : public AllocationPolicy {
 public:
  explicit Gavel(const GavelOptions& options) : options_(options) {}
  std::string_view name() const override { return "gavel"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    const bool begins_round = BeginsRound(snapshot);
    if (begins_round) {
      plan.memory.last_round = snapshot.now;
      GiveRound(snapshot, order, &plan);
    } else {
      KeepAndAdd(snapshot, order, &plan);
    }
    FinishPlan(snapshot, order, PlacingOrder::kByService, &plan);
    plan.next_wake_up = *plan.memory.last_round + SimDuration::FromSeconds(Seconds(options_.round_s));
    return plan;
  }

  bool BeginsRound(const AllocationSnapshot& snapshot) const {
    if (!snapshot.memory.last_round) return true;
    return (snapshot.now - *snapshot.memory.last_round).seconds().value() >= options_.round_s;
  }

  // [order]: the optimum is not unique, and CLP's depends on the order.
  static std::vector<GavelJob> DescribeJobs(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                                            size_t num_types) {
    std::vector<GavelJob> jobs;
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot.jobs[j];
      GavelJob described;
      described.num_gpus = RequestedSize(job).num_gpus;
      described.weight = job.weight > 0 ? job.weight : 1;
      described.speeds.assign(job.type_speeds.begin(), job.type_speeds.end());
      described.speeds.resize(num_types, job.type_speeds.empty() ? 1 : 0);
      jobs.push_back(std::move(described));
    }
    return jobs;
  }

  static void GiveRound(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) {
    const std::vector<double> counts = CountGpus(snapshot);
    // CLP failing on this problem would be our fault; then the round falls back to first come, first served.
    const auto shares = SolveMaxMinShares(DescribeJobs(snapshot, order, counts.size()), counts);
    std::vector<NodePool> pools = PoolsByType(snapshot, counts.size());
    if (shares.ok()) {
      for (const Candidate& candidate : RankCandidates(snapshot, order, *shares)) {
        Serve(snapshot.jobs[candidate.job], candidate, &pools[candidate.type], &plan->jobs[candidate.job]);
      }
    }
    GiveRest(snapshot, order, &pools, plan);
  }

  // Jobs without a share, or that didn't fit in their turn: the rest, in order of submission.
  static void GiveRest(const AllocationSnapshot& snapshot, const ServiceOrder& order, std::vector<NodePool>* pools,
                       AllocationPlan* plan) {
    for (const uint32_t j : order) {
      for (uint32_t t = 0; t < pools->size(); ++t) {
        const auto& speeds = snapshot.jobs[j].type_speeds;
        if (speeds.empty() || (t < speeds.size() && speeds[t] > 0)) {
          Serve(snapshot.jobs[j], {j, t, 0}, &(*pools)[t], &plan->jobs[j]);
        }
      }
    }
  }

  // One pool for each type: the other nodes are empty in it.
  static std::vector<NodePool> PoolsByType(const AllocationSnapshot& snapshot, size_t num_types) {
    std::vector<NodePool> pools;
    for (uint32_t t = 0; t < num_types; ++t) {
      IdVector<HostId, NodeCapacity> nodes = snapshot.nodes;
      for (NodeCapacity& node : nodes) {
        if (node.gpu_type != t) node = {0, 0, t};
      }
      pools.emplace_back(nodes);
    }
    return pools;
  }

  static void Serve(const AllocationJob& job, const Candidate& candidate, NodePool* pool, JobGrant* grant) {
    if (!grant->resources.empty()) return;
    const Resources wanted = RequestedSize(job).resources();
    if (!job.current.empty() && CurrentResources(job) == wanted && pool->TakeShares(job.current)) {
      grant->nodes = job.current;
    } else if (auto shares = pool->Take(wanted, LeastCoresPerGpu(job, *grant))) {
      grant->nodes = std::move(*shares);
    } else {
      return;
    }
    grant->resources = wanted;
    grant->reason.score = candidate.priority;
    auto& rounds = grant->memory.rounds_on_type;
    rounds.resize(std::max<size_t>(rounds.size(), candidate.type + 1));
    rounds[candidate.type] += 1;
  }

  // Between rounds no job is stopped; free resources go to waiting jobs.
  static void KeepAndAdd(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) {
    std::vector<NodePool> pools = PoolsByType(snapshot, CountGpus(snapshot).size());
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot.jobs[j];
      if (!job.is_running()) continue;
      const uint32_t type = snapshot.nodes[job.current.front().node].gpu_type;
      if (!pools[type].TakeShares(job.current)) continue;
      plan->jobs[j].nodes = job.current;
      plan->jobs[j].resources = CurrentResources(job);
    }
    GiveRest(snapshot, order, &pools, plan);
  }

  const GavelOptions options_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateGavel(const GavelOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Gavel>(options));
}

}  // namespace fairlead::scheduling::gavel
