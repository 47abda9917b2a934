#include "diagnosis/c4d/wait_blame.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {

double WaitBlame::TotalWait(std::span<const double> arrivals) {
  const double last = *std::max_element(arrivals.begin(), arrivals.end());
  double total = 0;
  for (const double arrival : arrivals) total += last - arrival;
  return total;
}

void WaitBlame::Count(Tally& tally, std::span<const double> arrivals) {
  const auto last = std::max_element(arrivals.begin(), arrivals.end());
  double total = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const double wait = *last - arrivals[i];
    tally.out[i] += wait;
    total += wait;
  }
  tally.in[static_cast<size_t>(last - arrivals.begin())] += total / static_cast<double>(arrivals.size() - 1);
  ++tally.operations;
}

void WaitBlame::Add(const CompletedOperation& operation, std::span<const double> arrivals) {
  if (arrivals.size() < 2) return;
  Tally& tally = tallies_[operation.communicator];
  if (tally.ranks.size() != arrivals.size()) {
    tally = {};
    for (const RankInstants& rank : operation.ranks) tally.ranks.push_back(rank.rank);
    tally.in.assign(arrivals.size(), 0);
    tally.out.assign(arrivals.size(), 0);
  }
  // It takes the place of the least of those spared, which counts then, or counts itself.
  const double total_wait = TotalWait(arrivals);
  Spared& least = tally.spared.front();
  if (total_wait <= least.total_wait) {
    Count(tally, arrivals);
    return;
  }
  if (least.total_wait >= 0) Count(tally, least.arrivals);
  least.total_wait = total_wait;
  least.arrivals.assign(arrivals.begin(), arrivals.end());
  std::sort(tally.spared.begin(), tally.spared.end(),
            [](const Spared& a, const Spared& b) { return a.total_wait < b.total_wait; });
}

WaitBlame::Blame WaitBlame::Take() {
  Blame blame{std::vector<double>(num_ranks_, 0.0), std::vector<bool>(num_ranks_, false)};
  std::vector<double> out(num_ranks_, 0.0);
  for (auto& [communicator, tally] : tallies_) {
    for (size_t i = 0; tally.operations >= operations_min_ && i < tally.ranks.size(); ++i) {
      const size_t rank = tally.ranks[i].index();
      blame.seconds[rank] = std::max(blame.seconds[rank], tally.in[i]);
      blame.is_known[rank] = true;
      out[rank] += tally.out[i];
    }
    std::fill(tally.in.begin(), tally.in.end(), 0.0);
    std::fill(tally.out.begin(), tally.out.end(), 0.0);
    tally.operations = 0;
    for (Spared& spared : tally.spared) spared.total_wait = -1;
  }
  for (size_t rank = 0; rank < num_ranks_; ++rank) blame.seconds[rank] -= out[rank];
  return blame;
}

}  // namespace fairlead::diagnosis::c4d
