// Edge colouring: paths that keep all connections of the cluster apart as far as spines allow ("perfect paths").
//
// Problem     hashing sends several connections of one leaf over one spine while others are idle. What would paths win
//             that know all connections?
// Method      connections between leaves are the edges of a bipartite multigraph, source leaf x destination leaf.
//             Coloured so that no two of a leaf share a colour, they take path number colour modulo paths. The flows of
//             one job between the same two GPUs in several phases are one connection; those of other phases count as if
//             they were sent at once.
// Guarantees  where every leaf has one cable to each of S spines, and all are well: no cable carries more than
//             ceil(D / S) connections, D the most that a leaf sends or receives: no choice of paths does better.
// Cost        O(links of all paths + connections * (leaves + D)).
// Differs     all connections are coloured again at every plan, and may move: nobody pays for that here. Links that are
//             down leave some leaves fewer paths, and three tiers have links above the leaves' spines: paths are then
//             spread, but nothing is promised. Of a bonded NIC the first port says which leaf it has.
// Reference   MonkeyTree, arXiv 2602.08296 (its "perfect paths"); specification "rivals and fabrics", section 5.
#pragma once

#include "traffic/traffic_policy.h"

namespace fairlead::traffic::edge_coloring {

class EdgeColoringPolicy final : public TrafficPolicy {
 public:
  std::string_view name() const override { return "edge-coloring"; }
  // One level for all jobs.
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
};

}  // namespace fairlead::traffic::edge_coloring
