#include "scheduling/sia/sia.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "scheduling/gpu_types.h"
#include "scheduling/job_sizes.h"
#include "scheduling/node_pool.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::sia {

Status SiaOptions::Validate() const {
  if (power < 0 && idle_cost > 0 && round_s > 0) return OkStatus();
  return InvalidArgument(fmt::format(
      "sia: power is {}, idle_cost {}, round_s {}; expected below 0, above 0 and above 0", power, idle_cost, round_s));
}

namespace {

constexpr double kMostCost = 3000;

uint32_t TypeHeld(const AllocationSnapshot& snapshot, const AllocationJob& job) {
  return snapshot.nodes[job.current.front().node].gpu_type;
}

// [type] of the largest node.
std::vector<uint32_t> GpusPerNode(const AllocationSnapshot& snapshot) {
  std::vector<uint32_t> most(CountGpusOfTypes(snapshot).size());
  for (const NodeCapacity& node : snapshot.nodes) most[node.gpu_type] = std::max(most[node.gpu_type], node.num_gpus);
  return most;
}

// As far as is known; 0 = unknown.
double GoodputOf(const AllocationJob& job, uint32_t type, uint32_t size) {
  if (!job.type_goodput.empty()) return type < job.type_goodput.size() ? job.type_goodput[type][size] : 0;
  double goodput = job.sizes[size].iteration_s > 0 ? 1 / job.sizes[size].iteration_s : 0;
  if (!job.goodput.empty()) goodput = job.goodput[size];
  if (job.type_speeds.empty()) return goodput;
  const auto first = std::ranges::find_if(job.type_speeds, [](double speed) { return speed > 0; });
  return first != job.type_speeds.end() && type < job.type_speeds.size() ? goodput * job.type_speeds[type] / *first : 0;
}

// r in the notation.
double RestartFactor(const AllocationJob& job, SimTime now) {
  const double age_s = (now - job.submission).seconds().value();
  if (age_s < job.restart_cost_s || age_s + job.restart_cost_s <= 0) return 1;
  return std::max(age_s - job.num_restarts * job.restart_cost_s, 0.0) / (age_s + job.restart_cost_s);
}

double CostOf(double gain, double power) { return std::min(std::round(100 * std::pow(gain, power)) / 100, kMostCost); }

// A configuration that a job may have, with its goodput.
struct Candidate {
  uint32_t type = 0;
  uint32_t size = 0;
  double goodput = 0;
};

std::vector<Candidate> ListCandidates(const AllocationJob& job,
                                      const std::vector<std::vector<uint32_t>>& configurations) {
  std::vector<Candidate> listed;
  const auto num_sizes = CountSizesUpToDouble(job);
  const auto list = [&](bool any_size) {
    for (uint32_t t = 0; t < configurations.size(); ++t) {
      for (uint32_t s = 0; s < num_sizes; ++s) {
        const uint32_t gpus = job.sizes[s].num_gpus;
        if (any_size || std::ranges::binary_search(configurations[t], gpus))
          listed.push_back({t, s, GoodputOf(job, t, s)});
      }
    }
  };
  list(false);
  if (listed.empty()) list(true);
  return listed;
}

}  // namespace

std::vector<std::vector<uint32_t>> ListConfigurations(const AllocationSnapshot& snapshot) {
  const std::vector<uint32_t> per_node = GpusPerNode(snapshot);
  std::vector<std::vector<uint32_t>> configurations(per_node.size());
  for (uint32_t t = 0; t < per_node.size(); ++t) {
    const auto num_nodes = static_cast<uint32_t>(std::ranges::count_if(
        snapshot.nodes, [&](const NodeCapacity& node) { return node.gpu_type == t && node.num_gpus == per_node[t]; }));
    for (uint32_t k = 1; k < per_node[t]; k *= 2) configurations[t].push_back(k);
    for (uint32_t n = 1; n <= num_nodes && per_node[t] > 0; ++n) configurations[t].push_back(n * per_node[t]);
  }
  return configurations;
}

JobOptions WeighConfigurations(const AllocationJob& job, const AllocationSnapshot& snapshot,
                               const std::vector<std::vector<uint32_t>>& configurations, double power) {
  std::vector<Candidate> candidates = ListCandidates(job, configurations);
  const bool is_known = std::ranges::any_of(candidates, [](const Candidate& c) { return c.goodput > 0; });
  if (is_known) {
    std::erase_if(candidates, [](const Candidate& c) { return c.goodput <= 0; });
  } else {
    std::erase_if(candidates, [&](const Candidate& c) { return c.size != candidates.front().size; });
    for (Candidate& candidate : candidates) candidate.goodput = 1;
  }
  double least = 0;
  for (const Candidate& c : candidates) least = least > 0 ? std::min(least, c.goodput) : c.goodput;
  const std::optional<uint32_t> current = FindCurrentSize(job);
  JobOptions weighed;
  for (const Candidate& c : candidates) {
    const bool is_current = current == c.size && TypeHeld(snapshot, job) == c.type;
    const double factor = job.is_running() && !is_current ? RestartFactor(job, snapshot.now) : 1;
    const double gpus = job.sizes[c.size].num_gpus;
    weighed.options.push_back({c.type, gpus, CostOf(factor * c.goodput / least, power)});
    weighed.sizes.push_back(c.size);
  }
  return weighed;
}

namespace {

// What a job is to have.
struct Chosen {
  uint32_t job = 0;
  uint32_t type = 0;
  Resources resources;
  bool is_kept = false;  // as now
};

// Places the jobs of one type.
class Placing {
 public:
  Placing(const AllocationSnapshot& snapshot, const NodePool& pool, uint32_t gpus_per_node)
      : snapshot_(snapshot), pool_(pool), gpus_per_node_(gpus_per_node) {}

  void Place(std::vector<Chosen> chosen, AllocationPlan* plan) const {
    std::ranges::stable_sort(chosen, [](const Chosen& a, const Chosen& b) {
      return std::tuple(b.resources.num_gpus, b.is_kept) < std::tuple(a.resources.num_gpus, a.is_kept);
    });
    std::vector<Chosen> kept_first = chosen;
    std::ranges::stable_partition(kept_first, &Chosen::is_kept);
    if (!TryPlace(kept_first, plan)) TryPlace(chosen, plan);
  }

 private:
  // Returns whether all are placed on as few nodes as possible.
  bool TryPlace(const std::vector<Chosen>& chosen, AllocationPlan* plan) const {
    NodePool pool = pool_;
    bool is_dense = true;
    for (const Chosen& c : chosen) {
      const AllocationJob& job = snapshot_.jobs[c.job];
      JobGrant& grant = plan->jobs[c.job];
      grant.nodes.clear();
      grant.resources = {};
      if (c.is_kept && pool.TakeShares(job.current)) {
        grant.nodes = job.current;
      } else if (auto shares = pool.TakeDense(c.resources, LeastCoresPerGpu(job, grant))) {
        grant.nodes = std::move(*shares);
      }
      if (!grant.nodes.empty()) grant.resources = c.resources;
      is_dense &= grant.nodes.size() == FewestNodes(c.resources);
    }
    return is_dense;
  }

  size_t FewestNodes(const Resources& resources) const {
    return std::max<size_t>(1, (resources.num_gpus + gpus_per_node_ - 1) / std::max(gpus_per_node_, 1u));
  }

  const AllocationSnapshot& snapshot_;
  const NodePool& pool_;
  const uint32_t gpus_per_node_;
};

class Sia : public AllocationPolicy {
 public:
  explicit Sia(const SiaOptions& options) : options_(options) {}
  std::string_view name() const override { return "sia"; }

 private:
  AllocationPlan Plan(const AllocationSnapshot& snapshot) const override {
    AllocationPlan plan = BeginPlan(snapshot);
    const ServiceOrder order = BySubmission(snapshot);
    const std::vector<Chosen> chosen = Choose(snapshot, order, &plan);
    const std::vector<uint32_t> per_node = GpusPerNode(snapshot);
    const std::vector<NodePool> pools = PoolsByType(snapshot, per_node.size());
    for (uint32_t t = 0; t < per_node.size(); ++t) {
      std::vector<Chosen> of_type;
      std::ranges::copy_if(chosen, std::back_inserter(of_type), [&](const Chosen& c) { return c.type == t; });
      Placing(snapshot, pools[t], per_node[t]).Place(std::move(of_type), &plan);
    }
    for (uint32_t j = 0; j < snapshot.jobs.size(); ++j) RememberLargestSize(snapshot.jobs[j], &plan.jobs[j].memory);
    FinishPlan(snapshot, order, PlacingOrder::kByService, &plan);
    plan.next_wake_up = snapshot.now + SimDuration::FromSeconds(Seconds(options_.round_s));
    return plan;
  }

  // In order of service.
  std::vector<Chosen> Choose(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                             AllocationPlan* plan) const {
    std::vector<double> counts = CountGpusOfTypes(snapshot);
    const auto configurations = ListConfigurations(snapshot);
    std::vector<Chosen> chosen;
    std::vector<uint32_t> asked;
    std::vector<JobOptions> weighed;
    std::vector<std::vector<AssignmentOption>> options;
    for (const uint32_t j : order) {
      const AllocationJob& job = snapshot.jobs[j];
      const Resources held = CurrentResources(job);
      if (job.is_restarting && job.is_running() && held.num_gpus <= counts[TypeHeld(snapshot, job)]) {
        counts[TypeHeld(snapshot, job)] -= static_cast<double>(held.num_gpus);
        chosen.push_back({j, TypeHeld(snapshot, job), held, true});
        continue;
      }
      asked.push_back(j);
      weighed.push_back(WeighConfigurations(job, snapshot, configurations, options_.power));
      options.push_back(weighed.back().options);
    }
    // CBC failing on this problem would be our fault; then nobody but the restarting jobs runs in this round.
    const Result<Assignment> solved = SolveAssignment(options, options_.idle_cost, counts);
    const Assignment assignment = solved.ok() ? *solved : Assignment(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      if (!assignment[i]) continue;
      const AllocationJob& job = snapshot.jobs[asked[i]];
      const AssignmentOption& option = options[i][*assignment[i]];
      const uint32_t size = weighed[i].sizes[*assignment[i]];
      const bool is_kept = FindCurrentSize(job) == size && TypeHeld(snapshot, job) == option.gpu_type;
      chosen.push_back({asked[i], option.gpu_type, job.sizes[size].resources(), is_kept});
      plan->jobs[asked[i]].reason.score = option.cost;
    }
    return chosen;
  }

  const SiaOptions options_;
};

}  // namespace

Result<std::unique_ptr<AllocationPolicy>> CreateSia(const SiaOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<AllocationPolicy>(std::make_unique<Sia>(options));
}

}  // namespace fairlead::scheduling::sia
