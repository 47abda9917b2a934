#include "traffic/ethereal/ethereal_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "traffic/candidate_finder.h"

namespace fairlead::traffic::ethereal {
namespace {

constexpr size_t kMostPaths = 128;

// Flows that are dealt out together: of one phase, from one NIC to one leaf, of equal size, with as many paths.
using GroupKey = std::tuple<uint32_t, NicId, NodeId, double, size_t>;

// The leaf before the destination's NIC.
NodeId LastLeaf(const topology::Fabric& fabric, const topology::PathCandidates& candidates) {
  const model::Path path = candidates.Path(0);
  const auto last =
      std::find_if(path.rbegin(), path.rend(), [&](LinkId link) { return topology::IsNetwork(fabric.tier(link)); });
  return fabric.source(*last);
}

}  // namespace

SplitPlan PlanSplit(uint32_t num_flows, uint32_t num_paths) {
  FL_CHECK(num_flows >= 1 && num_paths >= 1);
  const uint32_t rest = num_flows % num_paths;
  if (rest == 0) return {num_flows, 1, num_flows};
  const uint32_t parts = num_paths / std::gcd(rest, num_paths);
  return {num_flows - rest, parts, num_flows + rest * (parts - 1)};
}

FlowRouter::Routes EtherealRouter::RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const {
  const model::Iteration& iteration = *job.iteration;
  const topology::Fabric& fabric = snapshot.router->fabric();
  CandidateFinder finder(*snapshot.router, kMostPaths);
  Routes routes;
  routes.paths.resize(iteration.flows.size());
  std::map<GroupKey, std::vector<uint32_t>> groups;
  size_t num_cut_off = 0;
  for (uint32_t p = 0; p < iteration.phases.size(); ++p) {
    const model::CommunicationPhase& phase = iteration.phases[p];
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const model::FlowDemand& flow = iteration.flows[f];
      const topology::PathCandidates candidates = finder.Find(flow);
      if (candidates.size() == 1) routes.paths[f] = candidates.Path(0);
      if (candidates.size() == 0) ++num_cut_off;
      if (candidates.size() <= 1) continue;
      groups[{p, fabric.nic_of(flow.source), LastLeaf(fabric, candidates), flow.bytes.value(), candidates.size()}]
          .push_back(f);
    }
  }
  size_t num_sent = 0;
  size_t num_grouped = 0;
  for (const auto& [key, flows] : groups) {
    const auto num_paths = std::get<size_t>(key);
    const SplitPlan split = PlanSplit(static_cast<uint32_t>(flows.size()), static_cast<uint32_t>(num_paths));
    size_t next = 0;
    for (size_t i = 0; i < flows.size(); ++i) {
      const topology::PathCandidates candidates = finder.Find(iteration.flows[flows[i]]);
      const uint32_t parts = i < split.num_whole ? 1 : split.parts_of_rest;
      model::Path& mine = routes.paths[flows[i]];
      for (uint32_t part = 0; part < parts; ++part) {
        const model::Path path = candidates.Path(next++ % num_paths);
        mine.insert(mine.end(), path.begin(), path.end());
      }
    }
    num_sent += split.num_flows_sent;
    num_grouped += flows.size();
  }
  routes.reason =
      fmt::format("{} flows with a choice of paths dealt out as {} whole flows and parts", num_grouped, num_sent);
  if (num_cut_off > 0) routes.reason += fmt::format("; {} flows cut off by failures", num_cut_off);
  return routes;
}

}  // namespace fairlead::traffic::ethereal
