#include "traffic/crux/certain_order.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace fairlead::traffic::crux {

void KeepOrderWhereUncertain(std::span<const double> uncertainties, std::span<const uint32_t> levels,
                             PriorityOrder* order) {
  const size_t num_jobs = order->jobs.size();
  FL_CHECK(uncertainties.size() == num_jobs && levels.size() == num_jobs);
  if (std::all_of(uncertainties.begin(), uncertainties.end(), [](double u) { return u == 0; })) return;
  const auto is_certain = [&](uint32_t a, uint32_t b) {
    const double difference = std::log(order->jobs[a].priority.value()) - std::log(order->jobs[b].priority.value());
    return difference > std::hypot(uncertainties[a], uncertainties[b]);
  };
  // In the order of P, which breaks ties between levels.
  std::vector<uint32_t> left = order->by_rank;
  std::vector<uint32_t> num_before(num_jobs);  // of those left
  for (const uint32_t a : left) {
    for (const uint32_t b : left) num_before[b] += is_certain(a, b) ? 1 : 0;
  }
  for (uint32_t rank = 0; rank < num_jobs; ++rank) {
    auto next = left.end();
    for (auto job = left.begin(); job != left.end(); ++job) {
      if (num_before[*job] == 0 && (next == left.end() || levels[*job] < levels[*next])) next = job;
    }
    FL_CHECK(next != left.end());
    const uint32_t taken = *next;
    left.erase(next);
    for (const uint32_t b : left) num_before[b] -= is_certain(taken, b) ? 1 : 0;
    order->by_rank[rank] = taken;
    order->jobs[taken].rank = rank;
  }
}

}  // namespace fairlead::traffic::crux
