#include "traffic/edge_coloring/bipartite_coloring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/random.h"

namespace fairlead::traffic::edge_coloring {
namespace {

TEST(ColorEdgesTest, NoEdgesNoColors) {
  EXPECT_TRUE(ColorEdges({}).empty());
  EXPECT_EQ(MaxDegree({}), 0u);
}

// The third edge wants colour 0, which sink 0 has on the first one: the path of the first two exchanges 0 and 1.
TEST(ColorEdgesTest, ASquareNeedsTwoColors) {
  const std::vector<BipartiteEdge> edges = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  EXPECT_THAT(ColorEdges(edges), testing::ElementsAre(1, 0, 0, 1));
}

// Source 0 lacks the colour 1, sink 1 only 0, which source 0 has: the path 1-2 exchanges them.
TEST(ColorEdgesTest, APathExchangesItsColors) {
  const std::vector<BipartiteEdge> edges = {{0, 0}, {1, 2}, {1, 1}, {0, 1}};
  const std::vector<uint32_t> colors = ColorEdges(edges);
  EXPECT_NE(colors[2], colors[3]);
  EXPECT_NE(colors[0], colors[3]);
  EXPECT_NE(colors[1], colors[2]);
  EXPECT_LT(std::ranges::max(colors), 2u);
}

// Koenig: as many colours as the greatest degree, also with parallel edges.
TEST(ColorEdgesTest, NeedsAsManyColorsAsTheGreatestDegree) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const uint64_t num_nodes = 1 + random.Below(12);
    std::vector<BipartiteEdge> edges(random.Below(150));
    for (BipartiteEdge& edge : edges) {
      edge = {static_cast<uint32_t>(random.Below(num_nodes)), static_cast<uint32_t>(random.Below(num_nodes))};
    }
    const std::vector<uint32_t> colors = ColorEdges(edges);
    ASSERT_EQ(colors.size(), edges.size());
    std::set<std::tuple<int, uint32_t, uint32_t>> seen;  // side, node, colour
    for (size_t e = 0; e < edges.size(); ++e) {
      EXPECT_TRUE(seen.emplace(0, edges[e].source, colors[e]).second);
      EXPECT_TRUE(seen.emplace(1, edges[e].sink, colors[e]).second);
      EXPECT_LT(colors[e], MaxDegree(edges));
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::edge_coloring
