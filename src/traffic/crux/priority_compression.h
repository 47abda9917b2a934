// Priority compression: fits the total order of job priorities into the few levels a switch offers, losing as little
// cluster-wide GPU utilization as possible.
//
// Problem     contention DAG: u -> v when u outranks v and they share a link. Cut it into K ordered levels,
//             no edge pointing from a lower to a higher level, so that the weight of edges inside a level is least.
// Notation    K -> num_levels;  w_e -> Edge::weight: GPU intensity of the edge's upper job;  m -> num_orders
//             a_1..a_n -> order;  f[i][k] -> cut_: most weight that k blocks cut among the first i jobs of an order;
//             g[i][k] -> start_: where the last of these blocks starts
// Method      1. split the DAG into connected components: nothing ties the levels of one to those of another
//             2. per component: m random topological orders, and one sorted by depth
//             3. best cut of each order into K consecutive blocks by dynamic programming
//                  f[i][k] = max over j <= i of f[j][k-1] + weight from a_1..a_j into a_{j+1}..a_i
//             4. keep the best. Cuts of topological orders into blocks are exactly the valid cuts (Theorems 2 and 3),
//             so sampling is sound.
// Cost        O(orders * n^2 * K + edges) time, O(n * K + n^2 / 32 + edges) space. See BM_Compress/jobs:200.
// Guarantees  level[u] <= level[v] for every edge u -> v;  loss + cut = total weight;  no loss for K >= n;  loss
//             never grows with K;  same input and seed, same output.
// Differs     Algorithm 1 as printed builds its prefix sums up to column K only; here they cover all columns, one row
//             at a time. Its lower bound g(i-1, k) is right, since the edges into one more job only grow with j, but
//             does not make the search constant. Weights are scaled to integers, so that rounding can't break ties.
//             Weights below 0 are ours; the lower bound does not hold for them and is left out.
//             Ours: the components and the depth-sorted order (both off in paper mode); isolated jobs get the level
//             of their rank in equal-size groups.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 4.3, Algorithm 1 and Appendix B.
// Oracle      priority_compression_reference: exhaustive, n <= 8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace fairlead::traffic::crux {

// Two jobs that share a link, by their ranks in the total order (0 = most urgent).
struct Edge {
  uint32_t upper = 0;  // < lower
  uint32_t lower = 0;
  // What is lost when both get one level: the intensity of the upper job, FLOP/s. Finite; below 0 where it wins.
  double weight = 0;

  friend bool operator==(const Edge&, const Edge&) = default;
};

// Nodes are ranks 0 .. num_jobs-1. At most one edge per pair.
struct ContentionDag {
  uint32_t num_jobs = 0;
  std::vector<Edge> edges;

  double total_weight() const;
};

struct CompressionOptions {
  // Random topological orders per component, m of the paper. >= 1 unless try_depth_order. More: closer to the optimum,
  // slower; with 8 jobs and 3 levels one order keeps 97.7 % of the optimal weight, ten keep 99.9 %.
  uint32_t num_orders = 10;
  // Tries one more order, sorted by longest-path depth, then by intensity, descending. It loses nothing whenever the
  // longest chain of contending jobs fits the levels.
  bool try_depth_order = true;
  // Compresses connected components one by one. Off: all jobs in one order, as printed.
  bool split_components = true;

  static CompressionOptions Paper() { return {10, false, false}; }
  Status Validate() const;
};

struct Compression {
  std::vector<uint32_t> levels;  // [rank], 0 = most important, < num_levels
  double loss = 0;               // weight of the edges inside a level
};

// Args: num_levels >= 1.
// Paper: section 4.3.
Compression CompressPriorities(const ContentionDag& dag, uint32_t num_levels, const CompressionOptions& options,
                               uint64_t seed);

// The best cut of one topological order into num_levels consecutive blocks: block of each job of the order, [position].
// Args: order, ranks such that every edge leads from an earlier to a later one; jobs outside of it are ignored.
// Paper: Algorithm 1, the dynamic program.
std::vector<uint32_t> CutOrder(const ContentionDag& dag, std::span<const uint32_t> order, uint32_t num_levels);

}  // namespace fairlead::traffic::crux
