#include "traffic/crux/priority_assignment.h"

#include <algorithm>
#include <numeric>

namespace fairlead::traffic::crux {
namespace {

BytesPerSecond NetworkRate(const JobProfile& job) { return job.network_bytes / job.solo_time(); }

uint32_t FindReference(std::span<const JobProfile> jobs) {
  uint32_t best = 0;
  for (uint32_t j = 1; j < jobs.size(); ++j) {
    if (jobs[j].is_period_known != jobs[best].is_period_known) {
      if (jobs[j].is_period_known) best = j;
      continue;
    }
    const BytesPerSecond mine = NetworkRate(jobs[j]);
    const BytesPerSecond most = NetworkRate(jobs[best]);
    if (mine > most || (mine == most && jobs[j].id < jobs[best].id)) best = j;
  }
  return best;
}

LinkJob OnSharedLink(const JobProfile& job) {
  LinkJob result;
  result.compute_time = job.compute_time;
  result.link_time = job.communication_time;
  result.start_fraction = job.start_fraction;
  return result;
}

}  // namespace

PriorityOrder AssignPriorities(std::span<const JobProfile> jobs, const CorrectionOptions& options) {
  CorrectionCache corrections(options);
  return AssignPrioritiesCached(jobs, &corrections);
}

PriorityOrder AssignPrioritiesCached(std::span<const JobProfile> jobs, CorrectionCache* corrections) {
  PriorityOrder order;
  order.jobs.resize(jobs.size());
  if (jobs.empty()) return order;
  order.reference = FindReference(jobs);
  const LinkJob reference = OnSharedLink(jobs[order.reference]);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    AssignedPriority& assigned = order.jobs[j];
    assigned.correction.factor = 1;
    const bool is_comparable = jobs[j].is_period_known && jobs[order.reference].is_period_known;
    if (corrections->options().enabled && j != order.reference && is_comparable) {
      assigned.correction = corrections->Find(reference, OnSharedLink(jobs[j]));
    }
    assigned.priority = assigned.correction.factor.value_or(1) * jobs[j].intensity;
  }
  RankByPriority(jobs, &order);
  return order;
}

void RankByPriority(std::span<const JobProfile> jobs, PriorityOrder* order) {
  const auto priority = [&](uint32_t j) { return order->jobs[j].priority; };
  order->by_rank.resize(jobs.size());
  std::iota(order->by_rank.begin(), order->by_rank.end(), 0u);
  std::sort(order->by_rank.begin(), order->by_rank.end(), [&](uint32_t a, uint32_t b) {
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    return jobs[a].id < jobs[b].id;
  });
  for (uint32_t rank = 0; rank < jobs.size(); ++rank) order->jobs[order->by_rank[rank]].rank = rank;
}

}  // namespace fairlead::traffic::crux
