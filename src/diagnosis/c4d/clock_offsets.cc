#include "diagnosis/c4d/clock_offsets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/c4d/dense_numbers.h"
#include "diagnosis/c4d/robust_statistics.h"

namespace fairlead::diagnosis::c4d {

namespace {

// No rank can leave before all have arrived.
bool IsLeftTogether(model::OperationKind kind) {
  switch (kind) {
    case model::OperationKind::kAllReduce:
    case model::OperationKind::kAllGather:
    case model::OperationKind::kReduceScatter:
    case model::OperationKind::kAllToAll:
    case model::OperationKind::kBarrier:
      return true;
    default:
      return false;
  }
}

}  // namespace

ClockOffsets::ClockOffsets(const model::JobLayout& layout) {
  DenseNumbers<HostId> hosts;
  for (const model::RankPlace& place : layout.ranks) host_of_.push_back(hosts.Of(place.host));
  hosts_.resize(hosts.size());
}

void ClockOffsets::AddEstimate(Host& host, double estimate) {
  host.estimates[host.num_estimates++ % kKept] = estimate;
  const size_t kept = std::min<size_t>(host.num_estimates, kKept);
  std::array<double, kKept> sorted = host.estimates;
  host.offset = MedianInPlace(std::span(sorted).first(kept));
}

Seconds ClockOffsets::ErrorBoundOf(model::RankId rank) const {
  const Host& host = hosts_[host_of_[rank.index()]];
  if (host.num_estimates == 0) return Seconds(std::numeric_limits<double>::infinity());
  double bound = 0;
  for (size_t i = 0; i < std::min<size_t>(host.num_estimates, kKept); ++i) {
    bound = std::max(bound, std::abs(host.estimates[i] - host.offset));
  }
  return Seconds(bound);
}

void ClockOffsets::Add(const CompletedOperation& operation) {
  if (!IsLeftTogether(operation.kind) || operation.ranks.empty()) return;
  const SimTime origin = operation.ranks.front().finished;
  departures_.clear();
  for (const RankInstants& rank : operation.ranks) {
    departures_.push_back({host_of_[rank.rank.index()], (rank.finished - origin).seconds().value()});
  }
  std::sort(departures_.begin(), departures_.end(),
            [](const Departure& a, const Departure& b) { return a.host != b.host ? a.host < b.host : a.end < b.end; });
  size_t num_hosts = 0;
  for (size_t i = 0, end = 0; i < departures_.size(); i = end) {
    while (end < departures_.size() && departures_[end].host == departures_[i].host) ++end;
    departures_[num_hosts++] = departures_[i + (end - i) / 2];
  }
  departures_.resize(num_hosts);
  if (num_hosts < 2) return;
  scratch_.clear();
  for (const Departure& departure : departures_) {
    const Host& host = hosts_[departure.host];
    if (host.num_estimates > 0) scratch_.push_back(departure.end - host.offset);
  }
  if (scratch_.empty()) {
    for (const Departure& departure : departures_) scratch_.push_back(departure.end);
  }
  const double reference = MedianInPlace(scratch_);
  for (const Departure& departure : departures_) AddEstimate(hosts_[departure.host], departure.end - reference);
}

}  // namespace fairlead::diagnosis::c4d
