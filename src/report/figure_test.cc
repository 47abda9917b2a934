// Axes, curves, heat maps and the layout of links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "report/axis.h"
#include "report/bar_figure.h"
#include "report/heat_map_figure.h"
#include "report/host_schedule_figure.h"
#include "report/html_style.h"
#include "report/line_figure.h"
#include "report/link_matrix.h"
#include "report/markup_check.h"
#include "report/schedule_figure.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> LabelsOf(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  labels.reserve(ticks.size());
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(AxisTest, RoundTicks) {
  EXPECT_EQ(LabelsOf(PlanTicks({0, 1}, 6)), (std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(LabelsOf(PlanTicks({1, 4.2}, 7, "x")), (std::vector<std::string>{"1x", "2x", "3x", "4x"}));
  EXPECT_EQ(LabelsOf(PlanTicks({0, 2500}, 6)),
            (std::vector<std::string>{"0", "500", "1,000", "1,500", "2,000", "2,500"}));
  EXPECT_TRUE(PlanTicks({3, 3}, 5).empty());
  EXPECT_TRUE(PlanTicks({0, std::nan("")}, 5).empty());
}

TEST(AxisTest, FitsTheCurvesFromZeroOn) {
  LineFigure figure;
  figure.series.resize(2);
  figure.series[0].points = {{1, 5}, {2, std::nan("")}};
  figure.series[1].points = {{4, 2}};
  FitAxes(&figure);
  EXPECT_EQ(figure.x_domain.low, 0);
  EXPECT_EQ(figure.x_domain.high, 4);
  EXPECT_EQ(figure.y_domain.high, 5);
  EXPECT_EQ(LabelsOf(figure.y_ticks), (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  figure.series.clear();
  FitAxes(&figure);
  EXPECT_TRUE(figure.x_ticks.empty());
  EXPECT_THAT(Draw(figure), HasSubstr("</svg>"));
}

TEST(LineFigureTest, EachSeriesHasAColourOfItsOwnOnLightAndDarkScreens) {
  const std::string style(PageStyle());
  const size_t dark = style.find("prefers-color-scheme: dark");
  std::set<std::string> colours[2];
  for (size_t i = 0; i < kNumSeriesColors; ++i) {
    const std::string name = "--s" + std::to_string(i);
    EXPECT_THAT(style, HasSubstr(".s" + std::to_string(i) + " { color: var(" + name + "); }"));
    const size_t light_at = style.find(name + ": #");
    const size_t dark_at = style.find(name + ": #", dark);
    ASSERT_LT(light_at, dark);
    ASSERT_NE(dark_at, std::string::npos);
    colours[0].insert(style.substr(light_at + name.size(), 9));
    colours[1].insert(style.substr(dark_at + name.size(), 9));
  }
  EXPECT_EQ(colours[0].size(), kNumSeriesColors);
  EXPECT_EQ(colours[1].size(), kNumSeriesColors);
}

TEST(AxisTest, TimeTicksAreAtFullUnits) {
  EXPECT_EQ(LabelsOf(PlanTimeTicks({0, 36 * 3600}, 10)),
            (std::vector<std::string>{"0", "6 h", "12 h", "18 h", "24 h", "30 h", "36 h"}));
  EXPECT_EQ(LabelsOf(PlanTimeTicks({0, 14 * 86400}, 8)),
            (std::vector<std::string>{"0", "2 d", "4 d", "6 d", "8 d", "10 d", "12 d", "14 d"}));
  EXPECT_EQ(LabelsOf(PlanTimeTicks({0, 100}, 5)), (std::vector<std::string>{"0", "30 s", "60 s", "90 s"}));
}

TEST(AxisTest, TicksAreFewEvenAndInside) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const double low = random.Uniform(-10, 10) * std::pow(10, random.Uniform(-3, 6));
    const Interval domain{low, low + std::pow(10, random.Uniform(-2, 8))};
    const size_t num_max = 2 + random.Below(10);
    for (const std::vector<Tick>& ticks : {PlanTicks(domain, num_max), PlanTimeTicks({0, domain.length()}, num_max)}) {
      ASSERT_LE(ticks.size(), num_max);
      std::set<std::string> labels;
      for (size_t t = 0; t < ticks.size(); ++t) {
        labels.insert(ticks[t].label);
        if (t >= 2) {
          const double step = ticks[1].value - ticks[0].value;
          ASSERT_NEAR(ticks[t].value - ticks[t - 1].value, step, 1e-6 * std::abs(step));
        }
      }
      ASSERT_EQ(labels.size(), ticks.size());  // no two ticks read the same
    }
    for (const Tick& tick : PlanTicks(domain, num_max)) {
      ASSERT_GE(tick.value, domain.low - 1e-6 * domain.length());
      ASSERT_LE(tick.value, domain.high + 1e-6 * domain.length());
    }
  }
}

TEST(AxisTest, ScaleMapsEndsToEnds) {
  const LinearScale scale({10, 20}, {300, 100});
  EXPECT_DOUBLE_EQ(scale(10), 300);
  EXPECT_DOUBLE_EQ(scale(20), 100);
  EXPECT_DOUBLE_EQ(scale(12.5), 250);
  EXPECT_DOUBLE_EQ(LinearScale({5, 5}, {0, 8})(5), 4);
}

TEST(SvgTest, CoordinatesAndPaths) {
  EXPECT_EQ(FormatCoordinate(12.04), "12");
  EXPECT_EQ(FormatCoordinate(3.26), "3.3");
  EXPECT_EQ(FormatCoordinate(-0.04), "0");
  EXPECT_EQ(FormatCoordinate(-0.26), "-0.3");
  const std::vector<Point> points = {{0, 1}, {2, 3}, {4, 5}};
  EXPECT_EQ(LinePath(points), "M0 1L2 3L4 5");
  EXPECT_EQ(LinePath(points, true), "M0 1H2V3H4V5");
  EXPECT_EQ(BandPath(std::vector<Point>{{0, 1}, {2, 1}}, std::vector<Point>{{0, 9}, {2, 9}}), "M0 1L2 1L2 9L0 9Z");
  EXPECT_EQ(LinePath({}), "");
}

TEST(SvgTest, EscapesEveryName) {
  const std::string evil = "</title><script>alert('1')</script> & \" \xff";
  SvgFigure svg(10, 10, evil, evil);
  svg.AddBox({0, 0, 1, 1}, "cell", evil);
  svg.AddDot({0, 0}, 1, "mark", evil);
  svg.AddText({0, 0}, evil, "tick", Anchor::kEnd);
  svg.AddVerticalText({0, 0}, evil, "tick");
  const std::string text = svg.Finish();
  EXPECT_EQ(FindMarkupError(text), "");
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_EQ(EscapeMarkup("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
}

TEST(MarkupCheckTest, FindsWhatIsWrong) {
  EXPECT_EQ(FindMarkupError("<p class=\"a>b\">x<br>&amp;<i/></p>"), "");
  for (const char* broken : {"<p>", "</p>", "<p></i>", "<p><i></p></i>", "<p class=a></p>", "a & b", "<p"}) {
    EXPECT_NE(FindMarkupError(broken), "") << broken;
  }
}

LineFigure MakeLineFigure() {
  LineFigure figure;
  figure.x_domain = {0, 10};
  figure.y_domain = {0, 1};
  LineSeries series;
  series.label = "a<b";
  const double nan = std::nan("");
  series.points = {{0, 0.1}, {1, nan}, {2, 0.2}, {3, 0.3}, {4, nan}, {5, nan}, {6, 7.0}, {7, 0.4}};
  series.band_low = {0, nan, 0, 0, nan, nan, 0, 0};
  series.band_high = {1, nan, 1, 1, nan, nan, 1, 1};
  figure.series = {series};
  return figure;
}

TEST(LineFigureTest, GapsSplitTheCurve) {
  const std::string svg = Draw(MakeLineFigure());
  EXPECT_EQ(FindMarkupError(svg), "");
  // Stretches: point 0 alone (a dot), points 2-3, points 6-7.
  EXPECT_EQ(Count(svg, " curve\""), 2u);
  EXPECT_EQ(Count(svg, " dot\""), 1u);
  EXPECT_EQ(Count(svg, " band\""), 3u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
}

TEST(LineFigureTest, LabelsNeverOverlap) {
  LineFigure figure = MakeLineFigure();
  figure.height = 300;
  figure.series.assign(7, figure.series[0]);
  for (LineSeries& series : figure.series) series.label = "same end";
  const std::string svg = Draw(figure);
  // The heights of the labels, read back: 15 pixels apart.
  std::vector<double> heights;
  for (size_t at = svg.find("curve-label"); at != std::string::npos; at = svg.find("curve-label", at + 1)) {
    const size_t y = svg.rfind("y=\"", at) + 3;
    heights.push_back(std::stod(svg.substr(y, svg.find('"', y) - y)));
  }
  ASSERT_EQ(heights.size(), 7u);
  std::sort(heights.begin(), heights.end());
  for (size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14.9);
  EXPECT_LE(heights.back(), 300);
}

TEST(LineFigureTest, MomentsAreMarkedAndLabelsThatOverlapLeftOut) {
  LineFigure figure = MakeLineFigure();
  figure.x_domain = {0, 100};
  figure.marks = {{20, "leaf0 down"}, {21, "leaf1 down"}, {70, "leaf0 up"}, {101, "beyond"}};
  figure.notches = {5, 50, 200};
  const std::string svg = Draw(figure);
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_EQ(Count(svg, "class=\"event\""), 3u);
  EXPECT_EQ(Count(svg, "class=\"notch\""), 2u);
  EXPECT_THAT(svg, HasSubstr("leaf0 down"));
  EXPECT_THAT(svg, Not(HasSubstr("leaf1 down")));
  EXPECT_THAT(svg, HasSubstr("leaf0 up"));
}

TEST(LineFigureTest, NoFigureHasAColourTwice) {
  LineFigure figure = MakeLineFigure();
  figure.title = "Load";
  for (const size_t num_series : {1, 8, 9, 15, 16, 30}) {
    figure.series.assign(num_series, figure.series[0]);
    for (size_t i = 0; i < num_series; ++i) figure.series[i].label = std::to_string(i);
    for (size_t i = 1; i < num_series; ++i) figure.series[i].color = (i - 1) % (kNumSeriesColors - 1) + 1;
    figure.series[0].color = 0;
    std::set<std::string> shown;
    for (const LineFigure& one : SplitByColors(figure)) {
      std::set<size_t> colors;
      EXPECT_EQ(one.series[0].label, "0") << "what all are compared with";
      for (const LineSeries& series : one.series) {
        EXPECT_TRUE(colors.insert(series.color).second) << num_series;
        shown.insert(series.label);
      }
      EXPECT_EQ(one.x_domain.high, figure.x_domain.high);
      EXPECT_EQ(one.y_domain.high, figure.y_domain.high);
    }
    EXPECT_EQ(shown.size(), num_series);
  }
}

HeatMapFigure MakeHeatMap(size_t num_rows, size_t num_columns) {
  HeatMapFigure figure;
  figure.row_labels.assign(num_rows, "row");
  figure.column_labels.assign(num_columns, "c");
  figure.scale_label = "load";
  figure.panels.resize(2);
  for (size_t row = 0; row < num_rows; ++row) {
    for (size_t column = 0; column < num_columns; ++column) {
      figure.panels[0].cells.push_back({row, column, 0.5, "tip <&>", row == column});
    }
  }
  return figure;
}

TEST(HeatMapTest, SmallOnesHaveTooltipsLargeOnesAreCompact) {
  const std::string small = Draw(MakeHeatMap(10, 10));
  EXPECT_EQ(FindMarkupError(small), "");
  EXPECT_EQ(Count(small, "tip &lt;&amp;&gt;"), 100u);
  EXPECT_EQ(Count(small, "class=\"mark\""), 10u);
  const std::string large = Draw(MakeHeatMap(100, 61));
  EXPECT_EQ(FindMarkupError(large), "");
  EXPECT_EQ(Count(large, "tip"), 0u);
  EXPECT_EQ(Count(large, "z\" class=\"cell h5\""), 1u);  // 0.5 of ten steps
  EXPECT_LT(large.size(), 6100u * 40);
}

TEST(HeatMapTest, ColoursCoverTheScale) {
  HeatMapFigure figure = MakeHeatMap(1, 5);
  const std::vector<double> heats = {0, 1e-6, 1, 42, std::nan("")};
  for (size_t i = 0; i < heats.size(); ++i) figure.panels[0].cells[i].heat = heats[i];
  figure.scale_label.clear();  // no legend, so that only cells count
  const std::string svg = Draw(figure);
  EXPECT_EQ(Count(svg, "cell h0\""), 2u);  // nothing, and unknown
  EXPECT_EQ(Count(svg, "cell h1\""), 1u);  // the least is visible
  EXPECT_EQ(Count(svg, "cell h10\""), 2u);
  EXPECT_EQ(FindMarkupError(Draw(HeatMapFigure())), "");
}

std::vector<sim::LinkResult> MakeLinks(const std::vector<std::string>& names) {
  std::vector<sim::LinkResult> links(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    links[i].id = LinkId(i);
    links[i].name = names[i];
  }
  return links;
}

LinkMatrix Arrange(const std::vector<sim::LinkResult>& links, topology::LinkTier tier) {
  std::vector<const sim::LinkResult*> pointers;
  pointers.reserve(links.size());
  for (const sim::LinkResult& link : links) pointers.push_back(&link);
  return ArrangeLinks(pointers, tier);
}

TEST(LinkMatrixTest, LeavesAreRowsSpinesAreColumns) {
  // Three leaves, two spines; leaf10 sorts after leaf2.
  std::vector<std::string> names;
  for (const char* leaf : {"leaf10", "leaf2", "leaf0"}) {
    for (const char* spine : {"spine0", "spine1"}) {
      names.push_back(std::string(leaf) + "->" + spine);
      names.push_back(std::string(spine) + "->" + leaf);
    }
  }
  const std::vector<sim::LinkResult> links = MakeLinks(names);
  const LinkMatrix matrix = Arrange(links, topology::LinkTier::kLeafSpine);
  EXPECT_EQ(matrix.rows, (std::vector<std::string>{"leaf0", "leaf2", "leaf10"}));
  EXPECT_EQ(matrix.num_columns, 4u);
  ASSERT_EQ(matrix.spans.size(), 2u);
  EXPECT_EQ(matrix.spans[0].label, "leaf to spine");
  EXPECT_EQ(matrix.spans[1].label, "spine to leaf");
  // The second link is spine0->leaf10: third row, first of the columns that enter.
  EXPECT_EQ(matrix.cells[1].row, 2u);
  EXPECT_EQ(matrix.cells[1].column, 2u);
}

TEST(LinkMatrixTest, HostLinksHaveTheirLeafAsRow) {
  const std::vector<sim::LinkResult> links =
      MakeLinks({"h0/nic0->leaf0", "leaf0->h0/nic0", "h1/nic0->leaf0", "h2/nic0->leaf1", "h3/nic1->leaf1"});
  const LinkMatrix matrix = Arrange(links, topology::LinkTier::kHostLeaf);
  EXPECT_EQ(matrix.rows, (std::vector<std::string>{"leaf0", "leaf1"}));
  EXPECT_EQ(matrix.spans[0].label, "leaf to host");
}

TEST(LinkMatrixTest, EveryLinkHasItsOwnCell) {
  Random random(5);
  const char* kinds[] = {"leaf", "spine", "h1/nic", "x", ""};
  for (int i = 0; i < 2000; ++i) {
    std::set<std::string> names;
    for (uint64_t n = 1 + random.Below(30); n > 0; --n) {
      std::string name = kinds[random.Below(5)] + std::to_string(random.Below(4));
      const std::string peer = kinds[random.Below(5)] + std::to_string(random.Below(4));
      const char* ends[] = {"", "#1", "#2"};
      if (random.Below(8) != 0) name.append("->").append(peer).append(ends[random.Below(3)]);
      names.insert(std::move(name));
    }
    const std::vector<sim::LinkResult> links = MakeLinks({names.begin(), names.end()});
    const LinkMatrix matrix =
        Arrange(links, random.Below(2) == 0 ? topology::LinkTier::kHostLeaf : topology::LinkTier::kLeafSpine);
    std::set<std::pair<size_t, size_t>> used;
    for (const LinkCell& cell : matrix.cells) {
      ASSERT_LT(cell.row, matrix.rows.size());
      ASSERT_LT(cell.column, matrix.num_columns);
      ASSERT_TRUE(used.emplace(cell.row, cell.column).second) << cell.link->name;
    }
    ASSERT_EQ(used.size(), links.size());
  }
  EXPECT_EQ(ArrangeLinks({}, topology::LinkTier::kLeafSpine).num_columns, 0u);
}

TEST(NaturalOrderTest, IsATotalOrder) {
  EXPECT_TRUE(NaturalLess("leaf2", "leaf10"));
  EXPECT_TRUE(NaturalLess("leaf2->spine9", "leaf2->spine10"));
  EXPECT_TRUE(NaturalLess("a", "a0"));
  EXPECT_FALSE(NaturalLess("x", "x"));
  Random random(7);
  const auto draw = [&random] {
    std::string text;
    for (uint64_t n = random.Below(6); n > 0; --n) text += "01a-2"[random.Below(5)];
    return text;
  };
  for (int i = 0; i < 200000; ++i) {
    const std::string a = draw(), b = draw(), c = draw();
    ASSERT_EQ(NaturalLess(a, b) + NaturalLess(b, a) + (a == b), 1) << a << ' ' << b;
    if (NaturalLess(a, b) && NaturalLess(b, c)) {
      ASSERT_TRUE(NaturalLess(a, c)) << a << ' ' << b << ' ' << c;
    }
  }
}

TEST(BarFigureTest, OneBarPerNumberAndLabelsOnLinesOfTheirOwn) {
  BarFigure figure;
  figure.title = "bars <b>";
  figure.series = {"a", "b"};
  figure.groups = {{"one\ntwo", {0.25, 2}, {}}, {"three", {std::nan(""), 0.5}, {0.75, std::nan("")}}};
  figure.mark_label = "paper";
  const std::string svg = Draw(figure);
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_EQ(Count(svg, "<rect"), 5u);  // three known numbers, one known mark, and the mark in the legend
  for (const char* label : {">one<", ">two<", ">three<"}) EXPECT_THAT(svg, HasSubstr(label));
}

// Each row is one text, which the browser lays out; the bars begin below the last row.
TEST(BarFigureTest, ALegendThatIsTooLongHasSeveralRows) {
  BarFigure figure;
  figure.width = 400;
  figure.y_label = "share of runs";
  figure.series = {"non_comm_hang", "non_comm_slow", "comm_hang", "comm_slow"};
  figure.groups = {{"all", {1, 1, 1, 1}, {}}};
  figure.y_domain = {0, 1};
  const std::string svg = Draw(figure);
  EXPECT_EQ(FindMarkupError(svg), "");
  // 400 less margins of 64 and the label's 86 are 250: a long name, 130 with its gap, a long and a short one, 225, and
  // the other short one.
  EXPECT_EQ(Count(svg, " class=\"end\">"), 3u);
  EXPECT_EQ(Count(svg, "<tspan"), 4u);
  for (const char* row : {"y=\"12\"", "y=\"26\"", "y=\"40\""}) EXPECT_THAT(svg, HasSubstr(row));
  EXPECT_EQ(Count(svg, "y=\"62\" width"), 4u);  // 34 and two rows of 14
}

TEST(ScheduleFigureTest, BlocksAreCutAtTheEndOfTheAxis) {
  ScheduleFigure figure;
  figure.title = "schedule";
  figure.end_s = 10;
  figure.lanes = {{"job", 1, false, {{0, 2}, {8, 20}, {12, 14}}}};
  const std::string svg = Draw(figure);
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_EQ(Count(svg, "<rect"), 2u);  // the third begins after the end
  EXPECT_THAT(svg, HasSubstr("job: 8 s to 10 s"));
}

TEST(HostScheduleFigureTest, ARunIsABoxOnEachOfItsHosts) {
  HostScheduleFigure figure;
  figure.title = "hosts";
  figure.end_s = 10;
  figure.hosts = {"h0", "h1", "h2"};
  figure.jobs = {"gpt", "bert"};
  figure.runs = {{0, {0, 1}, 0, 4}, {1, {2}, 3, 20}, {0, {0, 2}, 11, 12}};
  figure.closures = {{1, 4, 10, "isolated"}};
  figure.marks = {{1, 3, "frozen"}};
  const std::string svg = Draw(figure);
  EXPECT_EQ(FindMarkupError(svg), "");
  // Two of the legend, two of the first run, one of the second, none of the third, which begins after the end, and the
  // closure.
  EXPECT_EQ(Count(svg, "<rect"), 6u);
  EXPECT_THAT(svg, HasSubstr("gpt on 2 hosts: 0 s to 4 s"));
  EXPECT_THAT(svg, HasSubstr("bert on 1 host: 3 s to 10 s"));
  EXPECT_THAT(svg, HasSubstr("h1 frozen: 3 s"));
}

}  // namespace
}  // namespace fairlead::report
