// Waits of ranks as a figure: ranks and operations in layers, arrows from the waiting to the awaited one, so that the
// common cause is at the right end.
//
// Readable at any size: nodes of one kind that wait for the same and are waited for by the same are one; if there are
// still too many, those farthest from the culprits are one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::report {

struct WaitNode {
  std::string label;
  bool is_operation = false;  // else a rank
  uint32_t rank = 0;          // of ranks
  bool is_culprit = false;    // never part of another node, unless there are too many of them
};

struct WaitGraphFigure {
  std::string title;
  std::string description;
  std::vector<WaitNode> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // from the waiting to the awaited one, by index
  size_t num_nodes_max = 40;                         // 2 or more
  double width = 1080;
};

// The same graph with at most num_nodes_max nodes. Cost: O((nodes + edges) log).
WaitGraphFigure Fold(const WaitGraphFigure& figure);

// [node] distance from the nearest culprit, or where there is none from the nearest node that waits for nothing; nodes
// that don't lead there follow, first the one with the least index.
std::vector<size_t> LayersOf(const WaitGraphFigure& figure);

// Folds and draws.
std::string Draw(const WaitGraphFigure& figure);

}  // namespace fairlead::report
