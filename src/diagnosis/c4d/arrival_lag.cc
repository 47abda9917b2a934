#include "diagnosis/c4d/arrival_lag.h"

namespace fairlead::diagnosis::c4d {

void ArrivalsByStart(const CompletedOperation& operation, const ClockOffsets& offsets, std::vector<double>& arrivals) {
  arrivals.clear();
  for (const RankInstants& rank : operation.ranks) {
    const Seconds after_first = (rank.started - operation.ranks.front().started).seconds();
    arrivals.push_back(after_first.value() - offsets.OffsetOf(rank.rank).value());
  }
}

void ArrivalsByTimeInside(const CompletedOperation& operation, std::vector<double>& arrivals) {
  arrivals.clear();
  for (const RankInstants& rank : operation.ranks) {
    arrivals.push_back(-(rank.finished - rank.started).seconds().value());
  }
}

}  // namespace fairlead::diagnosis::c4d
