// The delay matrix and the graph of which ranks wait for which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.h"
#include "report/delay_matrix_figure.h"
#include "report/markup_check.h"
#include "report/wait_graph_figure.h"

namespace fairlead::report {
namespace {

using model::RankId;
using testing::HasSubstr;

// All ranks send to all; rank `slow` sends three times as slowly.
DelayMatrixFigure MakeDelays(uint32_t num_ranks, uint32_t gpus_per_host, uint32_t slow) {
  DelayMatrixFigure figure;
  figure.title = "Delays <of> job 4";
  for (uint32_t rank = 0; rank < num_ranks; ++rank) figure.host_of.push_back(rank / gpus_per_host);
  for (uint32_t host = 0; host <= figure.host_of.back(); ++host)
    figure.host_names.push_back("h" + std::to_string(host));
  for (uint32_t source = 0; source < num_ranks; ++source) {
    for (uint32_t destination = 0; destination < num_ranks; ++destination) {
      if (source != destination) figure.cells.push_back({source, destination, source == slow ? 3e-10 : 1e-10});
    }
  }
  figure.marked_sources = {slow};
  return figure;
}

TEST(DelayMatrixFigureTest, SmallOnesShowRanks) {
  const HeatMapFigure map = ArrangeDelays(MakeDelays(8, 4, 5));
  EXPECT_EQ(map.row_labels.size(), 8u);
  EXPECT_EQ(map.panels[0].cells.size(), 56u);
  EXPECT_EQ(map.marked_rows, (std::vector<size_t>{5}));
  EXPECT_TRUE(map.marked_columns.empty());
  for (const HeatCell& cell : map.panels[0].cells) {
    // The scale ends at the slowest, three times the median.
    EXPECT_NEAR(cell.heat, cell.row == 5 ? 1.0 : 1e-3, 1e-9);
  }
  const std::string svg = Draw(MakeDelays(8, 4, 5));
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_THAT(svg, HasSubstr("rank 5 to rank 0: 3 times the median"));
}

TEST(DelayMatrixFigureTest, LargeOnesShowHostsAndKeepWhatIsSlow) {
  DelayMatrixFigure figure = MakeDelays(512, 8, 511);
  figure.marked_pairs = {{511, 8}};
  const HeatMapFigure map = ArrangeDelays(figure);
  EXPECT_EQ(map.row_labels.size(), 64u);
  EXPECT_EQ(map.row_labels[63], "h63");
  EXPECT_EQ(map.marked_rows, (std::vector<size_t>{63}));
  EXPECT_LE(map.panels[0].cells.size(), map.num_tooltips_max);
  for (const HeatCell& cell : map.panels[0].cells) {
    EXPECT_EQ(cell.heat == 1.0, cell.row == 63) << cell.row;
    EXPECT_EQ(cell.marked, cell.row == 63 && cell.column == 1);
  }
  figure.num_lines_max = 10;
  EXPECT_EQ(ArrangeDelays(figure).row_labels.front(), "h0 – h6");  // 64 hosts in groups of 7
  EXPECT_EQ(FindMarkupError(Draw(figure)), "");
}

TEST(DelayMatrixFigureTest, NothingMeasured) {
  DelayMatrixFigure figure = MakeDelays(8, 8, 0);
  figure.cells.clear();
  EXPECT_EQ(FindMarkupError(Draw(figure)), "");
  EXPECT_EQ(FindMarkupError(Draw(DelayMatrixFigure())), "");
}

// Ranks 0 .. n-1 but one are inside operation n and wait for the one that never came.
WaitGraphFigure MakeHang(uint32_t num_ranks, uint32_t missing) {
  WaitGraphFigure figure;
  figure.title = "Who waits for whom";
  model::WaitPicture& waits = figure.waits;
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    waits.nodes.push_back({.ranks = {RankId(rank)}, .label = "", .is_culprit = rank == missing});
    if (rank != missing) waits.edges.emplace_back(rank, num_ranks);
  }
  waits.nodes.push_back({.ranks = {}, .label = "all_reduce 17", .num_operations = 1});
  waits.edges.emplace_back(num_ranks, missing);
  return figure;
}

TEST(WaitGraphFigureTest, AlikeIsOneNode) {
  const model::WaitPicture folded = model::Fold(MakeHang(1024, 5).waits, 40);
  ASSERT_EQ(folded.nodes.size(), 3u);
  EXPECT_EQ(LabelOf(folded.nodes[0]), "1,023 ranks: 0–4, 6–1023");
  EXPECT_EQ(LabelOf(folded.nodes[1]), "rank 5");
  EXPECT_EQ(LabelOf(folded.nodes[2]), "all_reduce 17");
  EXPECT_TRUE(folded.nodes[1].is_culprit);
  EXPECT_EQ(model::LayersOf(folded), (std::vector<size_t>{2, 0, 1}));
  const std::string svg = Draw(MakeHang(1024, 5));
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_THAT(svg, HasSubstr("node culprit"));
}

TEST(WaitGraphFigureTest, NeverTooManyAndNothingIsLost) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    WaitGraphFigure figure;
    const uint64_t num_nodes = 1 + random.Below(120);
    for (uint32_t node = 0; node < num_nodes; ++node) {
      model::WaitNode one{.ranks = {RankId(node)}, .label = "", .is_culprit = random.Below(30) == 0};
      if (random.Below(3) == 0) one = {.ranks = {}, .label = "n<" + std::to_string(node), .num_operations = 1};
      figure.waits.nodes.push_back(std::move(one));
    }
    for (uint64_t n = random.Below(3 * num_nodes); n > 0; --n) {
      figure.waits.edges.emplace_back(random.Below(num_nodes), random.Below(num_nodes));
    }
    figure.num_nodes_max = 2 + random.Below(60);
    const model::WaitPicture folded = model::Fold(figure.waits, figure.num_nodes_max);
    ASSERT_LE(folded.nodes.size(), figure.num_nodes_max) << seed;
    const auto is_culprit = [](const model::WaitNode& node) { return node.is_culprit; };
    const auto num_culprits = std::count_if(figure.waits.nodes.begin(), figure.waits.nodes.end(), is_culprit);
    const auto num_shown = std::count_if(folded.nodes.begin(), folded.nodes.end(), is_culprit);
    ASSERT_EQ(num_shown, std::min<ptrdiff_t>(num_culprits, static_cast<ptrdiff_t>(figure.num_nodes_max))) << seed;
    for (const auto& [from, to] : folded.edges) ASSERT_TRUE(from < folded.nodes.size() && to < folded.nodes.size());
    // Each layer hangs on the one before it.
    const std::vector<size_t> layers = model::LayersOf(folded);
    for (size_t node = 0; node < layers.size(); ++node) {
      const bool leads_on = std::any_of(folded.edges.begin(), folded.edges.end(), [&](const auto& edge) {
        return edge.first == node && layers[edge.second] + 1 == layers[node];
      });
      ASSERT_TRUE(layers[node] == 0 || leads_on) << seed;
    }
    ASSERT_EQ(FindMarkupError(Draw(figure)), "") << seed;
  }
}

TEST(WaitGraphFigureTest, CirclesAndNothing) {
  WaitGraphFigure figure;
  EXPECT_EQ(FindMarkupError(Draw(figure)), "");
  figure.waits.nodes = {{.ranks = {RankId(0)}, .label = ""}, {.ranks = {RankId(1)}, .label = ""}};
  figure.waits.edges = {{0, 1}, {1, 0}};
  EXPECT_EQ(model::LayersOf(figure.waits), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(FindMarkupError(Draw(figure)), "");
}

}  // namespace
}  // namespace fairlead::report
