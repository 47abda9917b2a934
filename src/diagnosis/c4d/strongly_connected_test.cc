#include "diagnosis/c4d/strongly_connected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace fairlead::diagnosis::c4d {
namespace {

// reaches[a][b]: b can be reached from a; every node reaches itself.
std::vector<std::vector<bool>> Closure(const Digraph& edges) {
  const size_t n = edges.size();
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (size_t a = 0; a < n; ++a) {
    reaches[a][a] = true;
    for (const uint32_t b : edges[a]) reaches[a][b] = true;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) reaches[a][b] = reaches[a][b] || (reaches[a][k] && reaches[k][b]);
    }
  }
  return reaches;
}

// By definition: reachable groups of nodes that reach one another and nothing else.
std::vector<std::vector<uint32_t>> SinksByDefinition(const Digraph& edges, const std::vector<uint32_t>& starts) {
  const auto reaches = Closure(edges);
  std::vector<std::vector<uint32_t>> sinks;
  for (uint32_t a = 0; a < edges.size(); ++a) {
    const bool is_reachable = std::any_of(starts.begin(), starts.end(), [&](uint32_t s) { return reaches[s][a]; });
    std::vector<uint32_t> group;
    bool is_sink = is_reachable;
    for (uint32_t b = 0; b < edges.size(); ++b) {
      if (reaches[a][b] && reaches[b][a]) group.push_back(b);
      is_sink = is_sink && (!reaches[a][b] || reaches[b][a]);
    }
    if (is_sink && group.front() == a) sinks.push_back(group);
  }
  return sinks;
}

TEST(StronglyConnectedTest, SinksAreThoseOfTheDefinition) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Digraph edges(1 + random.Below(9));
    const uint64_t num_edges = random.Below(2 * edges.size());
    for (uint64_t e = 0; e < num_edges; ++e) {
      edges[random.Below(edges.size())].push_back(static_cast<uint32_t>(random.Below(edges.size())));
    }
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < edges.size(); ++i) {
      if (random.Below(3) == 0) starts.push_back(i);
    }
    auto sinks = FindReachableSinks(edges, starts);
    for (auto& sink : sinks) std::sort(sink.begin(), sink.end());
    std::sort(sinks.begin(), sinks.end());
    EXPECT_EQ(sinks, SinksByDefinition(edges, starts)) << "seed " << seed;
  }
}

// A recursion over as many ranks as a large job has would not fit on the stack.
TEST(StronglyConnectedTest, LongChainsEndAtTheirEnd) {
  constexpr uint32_t kNodes = 200'000;
  Digraph edges(kNodes);
  for (uint32_t i = 0; i + 1 < kNodes; ++i) edges[i].push_back(i + 1);
  EXPECT_EQ(FindReachableSinks(edges, {0}), (std::vector<std::vector<uint32_t>>{{kNodes - 1}}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
