#include "experiments/crux-examples/compression_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "traffic/crux/priority_compression.h"
#include "traffic/level_groups.h"

namespace fairlead::experiments::crux_examples {
namespace {

using traffic::crux::CompressionOptions;
using traffic::crux::ContentionDag;

// A figure: jobs by rank, the edges between them, and the levels there are.
struct CompressionExample {
  std::string name;
  std::vector<std::string> jobs;  // [rank]
  ContentionDag dag;
  uint32_t num_levels = 0;
};

// Figure 13: J1 and J2 share a link, J3 and J4 another one. The figure gives no intensities; ours are 4, 3, 2, 1.
CompressionExample Figure13() { return {"fig 13", {"J1", "J2", "J3", "J4"}, {4, {{0, 1, 4}, {2, 3, 2}}}, 2}; }

// Figure 14: priorities J1 = 5, J5 = 4, J4 = 3, J2 = 2, J3 = 1, treated as intensities.
CompressionExample Figure14() {
  return {"fig 14",
          {"J1", "J5", "J4", "J2", "J3"},
          {5, {{0, 1, 5}, {0, 2, 5}, {0, 3, 5}, {0, 4, 5}, {1, 2, 4}, {3, 4, 2}}},
          3};
}

double WeightCut(const ContentionDag& dag, const std::vector<uint32_t>& levels) {
  double weight = 0;
  for (const auto& edge : dag.edges) weight += levels[edge.upper] != levels[edge.lower] ? edge.weight : 0;
  return weight;
}

// Every order that Kahn's algorithm can draw, with its probability.
struct WeightedOrder {
  std::vector<uint32_t> ranks;
  double probability = 1;
};

std::vector<uint32_t> ReadyJobs(const ContentionDag& dag, const std::vector<uint32_t>& placed) {
  const auto is_placed = [&](uint32_t job) { return std::ranges::find(placed, job) != placed.end(); };
  std::vector<uint32_t> ready;
  for (uint32_t job = 0; job < dag.num_jobs; ++job) {
    const bool waits =
        std::ranges::any_of(dag.edges, [&](const auto& edge) { return edge.lower == job && !is_placed(edge.upper); });
    if (!waits && !is_placed(job)) ready.push_back(job);
  }
  return ready;
}

std::vector<WeightedOrder> AllTopologicalOrders(const ContentionDag& dag) {
  std::vector<WeightedOrder> orders = {{}};
  for (uint32_t position = 0; position < dag.num_jobs; ++position) {
    std::vector<WeightedOrder> longer;
    for (const WeightedOrder& order : orders) {
      const std::vector<uint32_t> ready = ReadyJobs(dag, order.ranks);
      for (const uint32_t job : ready) {
        longer.push_back({order.ranks, order.probability / static_cast<double>(ready.size())});
        longer.back().ranks.push_back(job);
      }
    }
    orders = std::move(longer);
  }
  return orders;
}

// The best cut of each order: how many reach all of the weight, and how likely one is drawn.
void AddOrders(const CompressionExample& example, experiment::Outcome* outcome) {
  const double total = example.dag.total_weight();
  double num_optimal = 0;
  double probability = 0;
  double least = total;
  for (const WeightedOrder& order : AllTopologicalOrders(example.dag)) {
    const std::vector<uint32_t> blocks = CutOrder(example.dag, order.ranks, example.num_levels);
    std::vector<uint32_t> levels(example.dag.num_jobs);
    for (size_t i = 0; i < blocks.size(); ++i) levels[order.ranks[i]] = blocks[i];
    const double weight = WeightCut(example.dag, levels);
    least = std::min(least, weight);
    if (weight < total) continue;
    num_optimal += 1;
    probability += order.probability;
  }
  outcome->Set(example.name + ": optimal orders", num_optimal);
  outcome->Set(example.name + ": chance of one random order", probability);
  outcome->Set(example.name + ": weight of the worst order", least);
}

// Levels as the paper counts them: the highest is the most important.
void AddLevels(const CompressionExample& example, const std::string& method, const std::vector<uint32_t>& levels,
               experiment::Outcome* outcome) {
  for (size_t rank = 0; rank < levels.size(); ++rank) {
    outcome->Set(fmt::format("{}, {}: level of {}", example.name, method, example.jobs[rank]),
                 example.num_levels - 1 - levels[rank]);
  }
  outcome->Set(fmt::format("{}, {}: weight cut", example.name, method), WeightCut(example.dag, levels));
}

void AddCrux(const CompressionExample& example, uint64_t seed, experiment::Outcome* outcome) {
  const auto compression = CompressPriorities(example.dag, example.num_levels, CompressionOptions::Paper(), seed);
  AddLevels(example, "crux", compression.levels, outcome);
  outcome->Set(example.name + ", crux: loss", compression.loss);
}

// A rival's levels follow from ranks alone.
void AddRival(const CompressionExample& example, const std::string& method, traffic::LevelRule rule,
              experiment::Outcome* outcome) {
  std::vector<uint32_t> levels;
  for (uint32_t rank = 0; rank < example.dag.num_jobs; ++rank) {
    levels.push_back(traffic::LevelOfRank(rule, rank, example.dag.num_jobs, example.num_levels));
  }
  AddLevels(example, method, levels, outcome);
}

}  // namespace

void AddCompressionExamples(uint64_t seed, experiment::Outcome* outcome) {
  for (const CompressionExample& example : {Figure13(), Figure14()}) {
    AddCrux(example, seed, outcome);
    AddOrders(example, outcome);
  }
  AddRival(Figure13(), "sincronia", traffic::LevelRule::kTopRanks, outcome);
  AddRival(Figure13(), "varys", traffic::LevelRule::kEqualGroups, outcome);
}

}  // namespace fairlead::experiments::crux_examples
