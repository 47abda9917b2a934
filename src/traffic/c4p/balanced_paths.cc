#include "traffic/c4p/balanced_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "traffic/c4p/path_allocator.h"

namespace fairlead::traffic::c4p {
namespace {

// One flow of a job that uses the network between hosts.
struct NetworkFlow {
  uint32_t flow = 0;
  QueuePairRequest request;
  ReservationId reservation;
};

class Balancing {
 public:
  Balancing(const TrafficSnapshot& snapshot, const BalancingOptions& options, JobSurvey* survey)
      : snapshot_(snapshot),
        options_(options),
        survey_(*survey),
        catalogue_(snapshot.router->fabric()),
        allocator_(&catalogue_),
        order_(survey->size()),
        flows_(survey->size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return view(a).arrival_order < view(b).arrival_order; });
    if (snapshot_.health != nullptr) TakeOverHealth();
  }

  void Run() {
    for (uint32_t p = 0; p < survey_.size(); ++p) ListFlows(p);
    for (const uint32_t p : order_) AdoptInForce(p);
    for (const uint32_t p : order_) {
      if (options_.adapts || view(p).paths.empty()) AllocateRest(p);
    }
    if (options_.adapts && IsUneven()) allocator_.BalanceAll();
    for (uint32_t p = 0; p < survey_.size(); ++p) WritePaths(p);
  }

 private:
  const JobView& view(uint32_t p) const { return survey_.view(snapshot_, p); }
  bool IsNetwork(LinkId link) const { return topology::IsNetwork(catalogue_.fabric().tier(link)); }

  bool IsUneven() const { return !snapshot_.changed_links.empty() || allocator_.Imbalance() > options_.max_imbalance; }

  void TakeOverHealth() {
    for (size_t l = 0; l < snapshot_.health->size(); ++l) {
      allocator_.SetHealth(LinkId(l), (*snapshot_.health)[LinkId(l)]);
    }
  }

  void ListFlows(uint32_t p) {
    const topology::Fabric& fabric = catalogue_.fabric();
    const std::vector<model::FlowDemand>& flows = view(p).iteration->flows;
    const double solo_s = survey_.profiles[p].solo_time().value();
    for (uint32_t f = 0; f < flows.size(); ++f) {
      const model::FlowDemand& flow = flows[f];
      if (fabric.host_of(flow.source) == fabric.host_of(flow.destination)) continue;
      // The QPs of a connection follow one another; the first one gives it its name.
      const QueuePairRequest request{.connection = f - flow.queue_pair,
                                     .queue_pair = flow.queue_pair,
                                     .num_queue_pairs = flow.num_queue_pairs,
                                     .source = fabric.nic_of(flow.source),
                                     .destination = fabric.nic_of(flow.destination),
                                     .weight = flow.bytes.value() / solo_s};
      flows_[p].push_back({f, request, ReservationId()});
    }
  }

  void AdoptInForce(uint32_t p) {
    const std::span<const model::Path> in_force = view(p).paths;
    if (in_force.empty()) return;
    for (NetworkFlow& mine : flows_[p]) {
      const model::Path& path = in_force[mine.flow];
      const auto first = std::find_if(path.begin(), path.end(), [&](LinkId link) { return IsNetwork(link); });
      const auto last = std::find_if(first, path.end(), [&](LinkId link) { return !IsNetwork(link); });
      const std::span<const LinkId> route(first, last);
      if (catalogue_.IsUsable(route)) mine.reservation = allocator_.Adopt(view(p).id, mine.request, route);
    }
  }

  void AllocateRest(uint32_t p) {
    std::vector<QueuePairRequest> batch;
    for (const NetworkFlow& mine : flows_[p]) {
      if (!mine.reservation.valid()) batch.push_back(mine.request);
    }
    const std::vector<ReservationId> ids = allocator_.Allocate(view(p).id, batch);
    auto next = ids.begin();
    for (NetworkFlow& mine : flows_[p]) {
      if (!mine.reservation.valid()) mine.reservation = *next++;
    }
  }

  // The survey's paths know the way from GPU to NIC and from NIC to GPU.
  void WritePaths(uint32_t p) {
    survey_.plan_of(p).balances_shares = options_.adapts;
    std::vector<model::Path>& paths = survey_.plan_of(p).paths;
    for (const NetworkFlow& mine : flows_[p]) {
      model::Path& path = paths[mine.flow];
      if (!mine.reservation.valid() || path.empty()) continue;
      const auto first = std::find_if(path.begin(), path.end(), [&](LinkId link) { return IsNetwork(link); });
      const auto last = std::find_if(first, path.end(), [&](LinkId link) { return !IsNetwork(link); });
      const auto route = allocator_.reservation(mine.reservation).route();
      model::Path chosen(path.begin(), first);
      chosen.insert(chosen.end(), route.begin(), route.end());
      chosen.insert(chosen.end(), last, path.end());
      path = std::move(chosen);
    }
  }

  const TrafficSnapshot& snapshot_;
  const BalancingOptions& options_;
  JobSurvey& survey_;
  PathCatalogue catalogue_;
  PathAllocator allocator_;
  std::vector<uint32_t> order_;                  // participants, first to last
  std::vector<std::vector<NetworkFlow>> flows_;  // [participant]
};

}  // namespace

Status BalancingOptions::Validate() const {
  if (max_imbalance >= 1) return OkStatus();
  return InvalidArgument(fmt::format("c4p: max_imbalance: expected >= 1, found {}", max_imbalance));
}

BalancedPaths::BalancedPaths(BalancingOptions options) : options_(options) { FL_CHECK(options_.Validate().ok()); }

void BalancedPaths::ChoosePaths(const TrafficSnapshot& snapshot, const LinkTable&, std::span<const double>,
                                JobSurvey* survey) const {
  Balancing(snapshot, options_, survey).Run();
}

}  // namespace fairlead::traffic::c4p
