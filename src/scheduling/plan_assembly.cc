#include "scheduling/plan_assembly.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "base/check.h"
#include "scheduling/job_sizes.h"
#include "scheduling/node_pool.h"

namespace fairlead::scheduling {
namespace {

ServiceOrder OrderOfPlacing(const AllocationSnapshot& snapshot, const ServiceOrder& order, PlacingOrder placing,
                            const AllocationPlan& plan) {
  ServiceOrder placed;
  for (const uint32_t j : placing == PlacingOrder::kSmallestFirst ? BySubmission(snapshot) : order) {
    if (!plan.jobs[j].resources.empty() && plan.jobs[j].nodes.empty()) placed.push_back(j);
  }
  if (placing == PlacingOrder::kSmallestFirst) {
    std::ranges::stable_sort(placed, {}, [&](uint32_t j) {
      return std::pair(plan.jobs[j].resources.num_gpus, plan.jobs[j].resources.num_cores);
    });
  }
  return placed;
}

void AssignNodes(const AllocationSnapshot& snapshot, const ServiceOrder& order, PlacingOrder placing,
                 AllocationPlan* plan) {
  NodePool pool(snapshot.nodes);
  for (const JobGrant& grant : plan->jobs) {
    FL_CHECK_MSG(pool.TakeShares(grant.nodes), "a policy gives nodes away twice");
  }
  for (const uint32_t j : order) {
    const AllocationJob& job = snapshot.jobs[j];
    JobGrant& grant = plan->jobs[j];
    if (!grant.nodes.empty() || !job.is_running() || grant.resources != CurrentResources(job)) continue;
    if (pool.TakeShares(job.current)) grant.nodes = job.current;
  }
  for (const uint32_t j : OrderOfPlacing(snapshot, order, placing, *plan)) {
    JobGrant& grant = plan->jobs[j];
    if (auto shares = pool.Take(grant.resources, LeastCoresPerGpu(snapshot.jobs[j], grant))) {
      grant.nodes = std::move(*shares);
      continue;
    }
    grant.resources = {};
    grant.reason.cause = PendingCause::kScattered;
  }
}

Change ChangeOf(const AllocationJob& job, const JobGrant& grant) {
  if (grant.nodes.empty()) return job.is_running() ? Change::kStopped : Change::kPending;
  if (!job.is_running()) return Change::kStarted;
  const bool other_config = grant.config && job.ps_worker != nullptr && *grant.config != job.ps_worker->config;
  if (grant.resources != CurrentResources(job) || other_config) return Change::kResized;
  return grant.nodes == job.current ? Change::kKept : Change::kMoved;
}

PendingCause CauseOf(const AllocationJob& job, const Resources& total, const Resources& left) {
  const Resources least = job.sizes.front().resources();
  if (!least.Fits(total)) return PendingCause::kTooLarge;
  const Resources wanted = RequestedSize(job).resources();
  if (wanted.num_gpus > left.num_gpus) return PendingCause::kNoGpus;
  return wanted.num_cores > left.num_cores ? PendingCause::kNoCores : PendingCause::kNoGpus;
}

double IterationSeconds(const AllocationJob& job, const JobGrant& grant) {
  if (grant.config && job.has_configs()) {
    return job.ps_worker->iteration_s(*grant.config);
  }
  const auto size = std::ranges::find(job.sizes, grant.resources, &JobSize::resources);
  return size == job.sizes.end() ? 0 : size->iteration_s;
}

// When jobs that run are expected to end, soonest first: time and what they then give back.
using Departures = std::vector<std::pair<SimTime, Resources>>;

Departures ExpectFinishes(const AllocationSnapshot& snapshot, AllocationPlan* plan) {
  Departures departures;
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const AllocationJob& job = snapshot.jobs[j];
    JobGrant& grant = plan->jobs[j];
    if (grant.nodes.empty() || !job.is_predictable) continue;
    const double iteration_s = IterationSeconds(job, grant);
    const double left_s =
        job.remaining_iterations * iteration_s + (grant.reason.change == Change::kKept ? 0 : job.restart_cost_s);
    if (iteration_s <= 0 || left_s > kFarAwayS) continue;
    grant.reason.expected_finish = snapshot.now + SimDuration::FromSeconds(Seconds(left_s));
    departures.emplace_back(*grant.reason.expected_finish, grant.resources);
  }
  std::ranges::sort(departures, {}, &Departures::value_type::first);
  return departures;
}

// Waiting jobs take, in order, what departures give back; none overtakes. A lower bound where jobs are stopped or end
// unexpectedly; unknown once departures run out.
void ExpectStarts(const ServiceOrder& order, const AllocationSnapshot& snapshot, const Departures& departures,
                  Resources room, AllocationPlan* plan) {
  size_t next = 0;
  SimTime when = snapshot.now;
  for (const uint32_t j : order) {
    JobGrant& grant = plan->jobs[j];
    if (!grant.nodes.empty() || grant.reason.cause == PendingCause::kTooLarge) continue;
    const Resources wanted = RequestedSize(snapshot.jobs[j]).resources();
    while (!wanted.Fits(room) && next < departures.size()) {
      when = std::max(when, departures[next].first);
      room = room + departures[next++].second;
    }
    if (!wanted.Fits(room)) return;
    grant.reason.expected_start = when;
    room = room - wanted;
  }
}

}  // namespace

std::optional<uint32_t> LeastCoresPerGpu(const AllocationJob& job, const JobGrant& grant) {
  if (grant.config) return grant.config->cores_per_worker;
  // Sizes of a policy that knows no configurations: workers are as they were asked for.
  if (job.ps_worker != nullptr) return job.ps_worker->config.cores_per_worker;
  return std::nullopt;
}

AllocationPlan BeginPlan(const AllocationSnapshot& snapshot) {
  AllocationPlan plan;
  plan.memory = snapshot.memory;
  plan.jobs.resize(snapshot.jobs.size());
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    plan.jobs[j].memory = snapshot.jobs[j].memory;
    plan.jobs[j].reason.queue = snapshot.jobs[j].memory.queue;
  }
  return plan;
}

ServiceOrder BySubmission(const AllocationSnapshot& snapshot) {
  ServiceOrder order(snapshot.jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return CameFirst(snapshot.jobs[a], snapshot.jobs[b]); });
  return order;
}

void KeepRunning(const AllocationSnapshot& snapshot, const ServiceOrder& order, Resources* room, AllocationPlan* plan) {
  for (const uint32_t j : order) {
    const AllocationJob& job = snapshot.jobs[j];
    const Resources held = CurrentResources(job);
    if (held.empty() || !held.Fits(*room)) continue;
    plan->jobs[j].resources = held;
    if (job.ps_worker != nullptr) plan->jobs[j].config = job.ps_worker->config;
    *room = *room - held;
  }
}

void GrantRequested(const AllocationSnapshot& snapshot, const ServiceOrder& order, bool strict, Resources* room,
                    AllocationPlan* plan) {
  const Resources total = TotalCapacity(snapshot);
  bool is_blocked = false;
  for (const uint32_t j : order) {
    const AllocationJob& job = snapshot.jobs[j];
    JobGrant& grant = plan->jobs[j];
    if (!grant.resources.empty()) continue;
    const Resources wanted = RequestedSize(job).resources();
    if (is_blocked && wanted.Fits(total)) {
      grant.reason.cause = PendingCause::kBehind;
    } else if (wanted.Fits(*room)) {
      grant.resources = wanted;
      *room = *room - wanted;
    } else if (strict && wanted.Fits(total)) {
      // A job that never fits would block all others forever.
      is_blocked = true;
    }
    if (job.ps_worker != nullptr && !grant.resources.empty()) grant.config = job.ps_worker->config;
  }
}

void FinishPlan(const AllocationSnapshot& snapshot, const ServiceOrder& order, PlacingOrder placing,
                AllocationPlan* plan) {
  FL_CHECK(order.size() == snapshot.jobs.size());
  AssignNodes(snapshot, order, placing, plan);
  const Resources total = TotalCapacity(snapshot);
  Resources left = total;
  for (const JobGrant& grant : plan->jobs) left = left - grant.resources;
  uint32_t position = 0;
  for (const uint32_t j : order) {
    JobGrant& grant = plan->jobs[j];
    grant.reason.order = ++position;
    grant.reason.change = ChangeOf(snapshot.jobs[j], grant);
    if (!grant.nodes.empty()) {
      grant.reason.cause = PendingCause::kNone;
    } else if (grant.reason.cause == PendingCause::kNone) {
      grant.reason.cause = CauseOf(snapshot.jobs[j], total, left);
    }
  }
  ExpectStarts(order, snapshot, ExpectFinishes(snapshot, plan), left, plan);
}

}  // namespace fairlead::scheduling
