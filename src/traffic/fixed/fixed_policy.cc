#include "traffic/fixed/fixed_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "traffic/default_paths.h"

namespace fairlead::traffic::fixed {
namespace {

// Paths through a switch are looked for among so many.
constexpr size_t kMostPaths = 4096;

bool Passes(const topology::Fabric& fabric, std::span<const LinkId> links, NodeId node) {
  return std::any_of(links.begin(), links.end(), [&](LinkId link) { return fabric.destination(link) == node; });
}

// Leaves `path` as it is where the pin says nothing about it.
void PinFlow(const topology::Router& router, const Pin& pin, const model::FlowDemand& flow, model::Path* path) {
  const uint64_t num_paths = router.CountPaths(flow.source, flow.destination);
  if (num_paths == 0) return;
  if (pin.path) {
    path->clear();
    router.AppendPath(flow.source, flow.destination, *pin.path % num_paths, path);
  } else if (pin.via.valid()) {
    const topology::PathCandidates candidates = router.FindCandidates(flow.source, flow.destination, kMostPaths);
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!Passes(router.fabric(), candidates.middle(i), pin.via)) continue;
      *path = candidates.Path(i);
      return;
    }
  }
}

std::string Describe(const topology::Fabric& fabric, const Pin* pin) {
  if (pin == nullptr) return "nothing given: paths of the hashes, level 0";
  if (pin->path) return fmt::format("given: path {} of each flow, level {}", *pin->path, pin->level);
  if (pin->via.valid()) return fmt::format("given: through {}, level {}", fabric.NodeName(pin->via), pin->level);
  return fmt::format("given: level {}; paths of the hashes", pin->level);
}

}  // namespace

TrafficPlan FixedPolicy::Plan(const TrafficSnapshot& snapshot) const {
  TrafficPlan plan;
  plan.jobs.reserve(snapshot.jobs.size());
  for (const JobView& job : snapshot.jobs) {
    const auto found =
        std::find_if(options_.pins.begin(), options_.pins.end(), [&](const Pin& pin) { return pin.job == job.id; });
    const Pin* pin = found == options_.pins.end() ? nullptr : &*found;
    JobPlan& mine = plan.jobs.emplace_back();
    mine.id = job.id;
    mine.paths = DefaultPaths(snapshot, job);
    mine.reason = Describe(snapshot.router->fabric(), pin);
    if (pin == nullptr) continue;
    for (size_t f = 0; f < mine.paths.size(); ++f) {
      PinFlow(*snapshot.router, *pin, job.iteration->flows[f], &mine.paths[f]);
    }
    mine.level = mine.priority_rank = std::min(pin->level, snapshot.num_levels - 1);
  }
  return plan;
}

}  // namespace fairlead::traffic::fixed
