#include "scheduling/share_rounds.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/random.h"
#include "scheduling/gpu_types.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling {
namespace {

constexpr double kInitialRounds = 0.5;  // that each job counts as having had
constexpr double kLeastShare = 1e-9;    // below it a share is 0

// A job on a type of GPU.
struct Candidate {
  uint32_t job = 0;
  uint32_t type = 0;
  double priority = 0;
  double share = 0;
};

// Tells sets of jobs apart.
uint64_t DigestJobs(const AllocationSnapshot& snapshot, const ServiceOrder& order) {
  uint64_t digest = order.size();
  for (const uint32_t j : order) digest = CombineHash(digest, snapshot.jobs[j].id.value());
  return digest;
}

double RoundsOn(const JobMemory& memory, uint32_t type) {
  return kInitialRounds + (type < memory.rounds_on_type.size() ? memory.rounds_on_type[type] : 0);
}

std::vector<Candidate> RankCandidates(const AllocationPlan& plan, const ServiceOrder& order, size_t num_types) {
  std::vector<double> rounds(num_types);
  for (const JobGrant& grant : plan.jobs) {
    for (uint32_t t = 0; t < num_types; ++t) rounds[t] += RoundsOn(grant.memory, t);
  }
  std::vector<Candidate> candidates;
  for (const uint32_t j : order) {
    const JobMemory& memory = plan.jobs[j].memory;
    for (uint32_t t = 0; t < memory.type_shares.size() && t < num_types; ++t) {
      const double share = memory.type_shares[t];
      if (share > kLeastShare) candidates.push_back({j, t, share * rounds[t] / RoundsOn(memory, t), share});
    }
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::pair(a.priority, a.share) > std::pair(b.priority, b.share);
  });
  return candidates;
}

void Serve(const AllocationJob& job, const Candidate& candidate, NodePool* pool, JobGrant* grant) {
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

// Jobs without a share, or that didn't fit in their turn: the rest, in order of submission.
void GiveRest(const AllocationSnapshot& snapshot, const ServiceOrder& order, std::vector<NodePool>* pools,
              AllocationPlan* plan) {
  for (const uint32_t j : order) {
    for (uint32_t t = 0; t < pools->size(); ++t) {
      const auto& speeds = snapshot.jobs[j].type_speeds;
      if (speeds.empty() || (t < speeds.size() && speeds[t] > 0)) {
        Serve(snapshot.jobs[j], {.job = j, .type = t}, &(*pools)[t], &plan->jobs[j]);
      }
    }
  }
}

void KeepAndAdd(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) {
  std::vector<NodePool> pools = PoolsByType(snapshot, CountGpusOfTypes(snapshot).size());
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

}  // namespace

std::vector<double> SpeedsOnTypes(const AllocationJob& job, const std::vector<double>& counts) {
  const JobSize& requested = RequestedSize(job);
  std::vector<double> speeds(job.type_speeds.begin(), job.type_speeds.end());
  const double everywhere = requested.iteration_s > 0 ? 1 / requested.iteration_s : 1;
  speeds.resize(counts.size(), job.type_speeds.empty() ? everywhere : 0);
  for (size_t t = 0; t < counts.size(); ++t) {
    if (requested.num_gpus > counts[t]) speeds[t] = 0;
  }
  return speeds;
}

bool ShareRounds::IsRoundOver(const AllocationSnapshot& snapshot) const {
  if (!snapshot.memory.last_round) return true;
  return (snapshot.now - *snapshot.memory.last_round).seconds().value() >= round_s_;
}

AllocationPlan ShareRounds::Plan(const AllocationSnapshot& snapshot) const {
  AllocationPlan plan = BeginPlan(snapshot);
  const ServiceOrder order = BySubmission(snapshot);
  if (IsRoundOver(snapshot)) {
    plan.memory.last_round = snapshot.now;
    GiveRound(snapshot, order, &plan);
  } else {
    KeepAndAdd(snapshot, order, &plan);
  }
  FinishPlan(snapshot, order, PlacingOrder::kByService, &plan);
  plan.next_wake_up = *plan.memory.last_round + SimDuration::FromSeconds(Seconds(round_s_));
  return plan;
}

void ShareRounds::GiveRound(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) const {
  const std::vector<double> counts = CountGpusOfTypes(snapshot);
  BeginRound(snapshot, counts, plan);
  if (const uint64_t digest = DigestJobs(snapshot, order); snapshot.memory.shared_jobs != digest) {
    plan->memory.shared_jobs = digest;
    RenewShares(snapshot, order, counts, plan);
  }
  std::vector<NodePool> pools = PoolsByType(snapshot, counts.size());
  for (const Candidate& candidate : RankCandidates(*plan, order, counts.size())) {
    Serve(snapshot.jobs[candidate.job], candidate, &pools[candidate.type], &plan->jobs[candidate.job]);
  }
  GiveRest(snapshot, order, &pools, plan);
}

void ShareRounds::RenewShares(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                              const std::vector<double>& counts, AllocationPlan* plan) const {
  // CLP failing on this problem would be our fault; then the rounds go by submission until jobs come or go.
  auto solved = SolveShares(snapshot, order, counts, *plan);
  for (size_t place = 0; place < order.size(); ++place) {
    JobMemory& memory = plan->jobs[order[place]].memory;
    memory.rounds_on_type.clear();
    memory.type_shares = solved.ok() ? std::move(solved->shares[place]) : std::vector<double>();
  }
}

}  // namespace fairlead::scheduling
