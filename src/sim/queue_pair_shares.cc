#include "sim/queue_pair_shares.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::sim {

namespace {

constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

// Periods without a change after which shares are settled: the mean of a second has long forgotten what was before.
constexpr uint32_t kLooksUntilSettled = 8;

}  // namespace

QueuePairShares::QueuePairShares(JobState* job, uint64_t seed)
    : job_(job), places_(job->transfers.size(), Place{kNowhere, 0}) {
  for (uint32_t t = 0; t < job->transfers.size(); ++t) {
    const model::FlowDemand& flow = job->iteration->flows[job->transfers[t].flows.front()];
    if (flow.num_queue_pairs == 1) continue;
    FL_CHECK_MSG(job->transfers[t].flows.size() == 1, "queue pairs move on their own");
    if (flow.queue_pair == 0) {
      const uint64_t mine = CombineHash(CombineHash(seed, job->id.value()), connections_.size());
      connections_.push_back({{}, 0, traffic::c4p::ShareBalancer(flow.num_queue_pairs, mine)});
    }
    Connection& connection = connections_.back();
    FL_CHECK(connection.transfers.size() == flow.queue_pair);
    places_[t] = {static_cast<uint32_t>(connections_.size() - 1), flow.queue_pair};
    connection.transfers.push_back(t);
    connection.bytes += job->transfers[t].bytes;
  }
  next_look_ = SimTime::Never();
}

bool QueuePairShares::HasSomethingToDo(const model::Iteration& iteration) {
  return std::any_of(iteration.flows.begin(), iteration.flows.end(),
                     [](const model::FlowDemand& flow) { return flow.num_queue_pairs > 1; });
}

void QueuePairShares::RecordPart(uint32_t transfer, double bytes, SimDuration took, SimTime now) {
  const Place place = places_[transfer];
  if (place.connection == kNowhere || bytes <= 0 || took.ns() <= 0) return;
  connections_[place.connection].balancer.RecordPart(place.queue_pair, Bytes(bytes), took.seconds(), now);
}

bool QueuePairShares::Look(SimTime now) {
  bool has_changed = false;
  bool has_news = false;
  for (Connection& connection : connections_) {
    const traffic::c4p::RebalanceOutcome outcome = connection.balancer.Rebalance();
    has_news |= outcome != traffic::c4p::RebalanceOutcome::kNoNews;
    if (outcome != traffic::c4p::RebalanceOutcome::kMoved) continue;
    has_changed = true;
    for (size_t q = 0; q < connection.transfers.size(); ++q) {
      job_->SetTransferBytes(connection.transfers[q], connection.bytes * connection.balancer.shares()[q]);
    }
  }
  // A long iteration may be silent for many periods.
  if (has_changed) looks_without_change_ = 0;
  if (!has_changed && has_news) ++looks_without_change_;
  next_look_ = looks_without_change_ >= kLooksUntilSettled
                   ? SimTime::Never()
                   : now + SimDuration::FromSeconds(connections_.front().balancer.NextPeriod());
  return has_changed;
}

void QueuePairShares::Wake(SimTime now) {
  looks_without_change_ = 0;
  if (next_look_ < SimTime::Never()) return;
  next_look_ = now + SimDuration::FromSeconds(connections_.front().balancer.NextPeriod());
}

}  // namespace fairlead::sim
