#include "diagnosis/c4d/collective_waits.h"

#include <algorithm>

#include "diagnosis/c4d/arrival_lag.h"

namespace fairlead::diagnosis::c4d {

CollectiveWaits::CollectiveWaits(const model::JobLayout& layout, uint32_t operations_min)
    : num_ranks_(layout.ranks.size()),
      offsets_(layout),
      by_time_inside_(layout, operations_min),
      by_start_(layout, operations_min),
      exchanges_(layout) {}

bool CollectiveWaits::IsPlausible(const CompletedOperation& operation) const {
  if (IsTransfer(operation.kind)) return false;
  return operation.ranks.size() >= 2 &&
         std::all_of(operation.ranks.begin(), operation.ranks.end(), [this](const RankInstants& rank) {
           return rank.rank.index() < num_ranks_ && rank.started <= rank.finished;
         });
}

void CollectiveWaits::Add(const CompletedOperation& operation) {
  if (!IsPlausible(operation)) return;
  offsets_.Add(operation);
  ArrivalsByTimeInside(operation, arrivals_);
  by_time_inside_.Add(operation, arrivals_);
  ArrivalsByStart(operation, offsets_, arrivals_);
  by_start_.Add(operation, arrivals_);
}

void CollectiveWaits::Add(const model::RankReport& report) {
  exchanges_.Add(report, [this](const CompletedOperation& exchange) { Add(exchange); });
}

}  // namespace fairlead::diagnosis::c4d
