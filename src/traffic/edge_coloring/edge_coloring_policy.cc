#include "traffic/edge_coloring/edge_coloring_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "traffic/candidate_finder.h"
#include "traffic/edge_coloring/bipartite_coloring.h"

namespace fairlead::traffic::edge_coloring {
namespace {

constexpr size_t kMostPaths = 128;

// Of the first port of the GPU's NIC.
NodeId LeafOf(const topology::Fabric& fabric, GpuId gpu) {
  for (const LinkId link : fabric.links_from(fabric.node_of(fabric.nic_of(gpu)))) {
    if (fabric.tier(link) == topology::LinkTier::kHostLeaf) return fabric.destination(link);
  }
  FL_CHECK_MSG(false, "a NIC without a leaf");
  return {};
}

// The connections of all jobs, and which flows they carry.
class Connections {
 public:
  explicit Connections(const topology::Fabric& fabric) : fabric_(fabric) {}

  // Flows of one phase between the same GPUs are several connections; those of other phases use them again.
  void BeginJob() { known_.clear(); }
  void BeginPhase() { num_between_.clear(); }

  // The connection of a flow between GPUs of two leaves.
  uint32_t Of(const model::FlowDemand& flow) {
    const uint32_t number = num_between_[{flow.source, flow.destination}]++;
    const auto [place, is_new] =
        known_.try_emplace({flow.source, flow.destination, number}, static_cast<uint32_t>(edges_.size()));
    if (is_new) edges_.push_back({NumberOf(flow.source), NumberOf(flow.destination)});
    return place->second;
  }

  const std::vector<BipartiteEdge>& edges() const { return edges_; }

 private:
  uint32_t NumberOf(GpuId gpu) {
    return leaves_.try_emplace(LeafOf(fabric_, gpu), static_cast<uint32_t>(leaves_.size())).first->second;
  }

  const topology::Fabric& fabric_;
  std::map<NodeId, uint32_t> leaves_;
  std::vector<BipartiteEdge> edges_;
  std::map<std::tuple<GpuId, GpuId, uint32_t>, uint32_t> known_;  // of the job
  std::map<std::pair<GpuId, GpuId>, uint32_t> num_between_;       // of the phase
};

constexpr uint32_t kNoConnection = ~0u;

// [flow] its connection, where it leaves its leaf.
std::vector<uint32_t> FindConnections(const topology::Fabric& fabric, const model::Iteration& iteration,
                                      Connections* all) {
  std::vector<uint32_t> connections(iteration.flows.size(), kNoConnection);
  all->BeginJob();
  for (const model::CommunicationPhase& phase : iteration.phases) {
    all->BeginPhase();
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const model::FlowDemand& flow = iteration.flows[f];
      if (fabric.host_of(flow.source) == fabric.host_of(flow.destination)) continue;
      if (LeafOf(fabric, flow.source) == LeafOf(fabric, flow.destination)) continue;
      connections[f] = all->Of(flow);
    }
  }
  return connections;
}

}  // namespace

TrafficPlan EdgeColoringPolicy::Plan(const TrafficSnapshot& snapshot) const {
  const topology::Fabric& fabric = snapshot.router->fabric();
  Connections all(fabric);
  std::vector<std::vector<uint32_t>> connections;  // [job][flow]
  for (const JobView& job : snapshot.jobs) connections.push_back(FindConnections(fabric, *job.iteration, &all));
  const std::vector<uint32_t> colors = ColorEdges(all.edges());
  const uint32_t num_colors = colors.empty() ? 0 : std::ranges::max(colors) + 1;
  CandidateFinder finder(*snapshot.router, kMostPaths);
  TrafficPlan plan;
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const JobView& job = snapshot.jobs[j];
    JobPlan& mine = plan.jobs.emplace_back();
    mine.id = job.id;
    size_t num_cut_off = 0;
    for (size_t f = 0; f < job.iteration->flows.size(); ++f) {
      const topology::PathCandidates candidates = finder.Find(job.iteration->flows[f]);
      num_cut_off += candidates.size() == 0 ? 1 : 0;
      const uint32_t color = connections[j][f] == kNoConnection ? 0 : colors[connections[j][f]];
      mine.paths.push_back(candidates.size() == 0 ? model::Path() : candidates.Path(color % candidates.size()));
    }
    const auto num_apart = std::ranges::count_if(connections[j], [](uint32_t c) { return c != kNoConnection; });
    mine.reason =
        fmt::format("{} flows between leaves on paths by {} colours of all connections; one level for all jobs",
                    num_apart, num_colors);
    if (num_cut_off > 0) mine.reason += fmt::format("; {} flows cut off by failures", num_cut_off);
  }
  return plan;
}

}  // namespace fairlead::traffic::edge_coloring
