// Colours the edges of a bipartite multigraph so that no two of one node share a colour, with as few colours as the
// greatest degree (Koenig).
//
// Method      edge by edge: a colour that both ends lack; where there is none, the path from the sink that alternates
//             between one that the source lacks and one that the sink lacks exchanges the two. It never reaches the
//             source, because the graph is bipartite.
// Cost        O(edges * (nodes + degree)) time, O(nodes * degree) space.
// Guarantees  colours below the greatest degree. Same edges in the same order, same colours.
// Oracle      the definition (bipartite_coloring_test.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::traffic::edge_coloring {

struct BipartiteEdge {
  uint32_t source = 0;  // a source and a sink of one number are different nodes
  uint32_t sink = 0;
};

// Greatest number of edges of a node; 0 without edges.
uint32_t MaxDegree(std::span<const BipartiteEdge> edges);

// [edge] colours from 0 on.
std::vector<uint32_t> ColorEdges(std::span<const BipartiteEdge> edges);

}  // namespace fairlead::traffic::edge_coloring
