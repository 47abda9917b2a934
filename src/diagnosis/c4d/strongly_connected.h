// Which nodes of a directed graph reach each other.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlead::diagnosis::c4d {

// edges[node]: where its edges lead.
using Digraph = std::vector<std::vector<uint32_t>>;

struct StrongComponents {
  uint32_t count = 0;
  std::vector<uint32_t> of;  // [node] component, numbered so that edges lead to lower or equal ones
};

// Tarjan's algorithm without recursion. Cost: O(nodes + edges).
StrongComponents FindStrongComponents(const Digraph& edges);

// The components without an edge to another one that can be reached from `starts`; members ascending, components by
// their lowest member.
std::vector<std::vector<uint32_t>> FindReachableSinks(const Digraph& edges, const std::vector<uint32_t>& starts);

}  // namespace fairlead::diagnosis::c4d
