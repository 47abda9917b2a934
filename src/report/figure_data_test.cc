#include "report/figure_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/bar_figure.h"
#include "report/heat_map_figure.h"
#include "report/host_schedule_figure.h"
#include "report/html_page.h"
#include "report/html_style.h"
#include "report/line_figure.h"
#include "report/markup_check.h"
#include "report/schedule_figure.h"
#include "report/wait_graph_figure.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;

// Other programs know none of CSS's variables, and colours by class come through the colour of text.
TEST(FigureDataTest, LightColorsAreThoseOfThePage) {
  EXPECT_EQ(WithLightColors("<svg><style>.a { fill: var(--s1); stroke: var(--page) }</style></svg>"),
            "<svg><style>.a { fill: #0072b2; stroke: #ffffff }</style></svg>");
  EXPECT_EQ(WithLightColors("none var(--nowhere)"), "none ");
  EXPECT_EQ(WithLightColors("var(--s1"), "#0072b2");
  const std::string style = WithLightColors(PageStyle());
  EXPECT_EQ(style.find("var("), std::string::npos);
  EXPECT_THAT(style, HasSubstr(".s1 { color: #0072b2; }"));
}

TEST(FigureDataTest, EveryKindOfFigureHasItsNumbers) {
  LineFigure line;
  line.title = "Lines, \"quoted\"";
  line.x_label = "time";
  line.y_label = "busy";
  line.series.resize(1);
  line.series[0].label = "a,b <c>";
  line.series[0].points = {{0, 0.5}, {1, std::nan("")}, {2, 1.0 / 3}};
  FitAxes(&line);
  BarFigure bar;
  bar.title = "Bars";
  bar.series = {"ours"};
  bar.groups = {{.label = "two\nlines", .values = {4}, .marks = {5}}};
  HeatMapFigure heat;
  heat.title = "Heat";
  heat.row_labels = {"r0", "r1"};
  heat.column_labels = {"c0"};
  heat.panels = {{.heading = "p", .cells = {{.row = 1, .column = 0, .heat = 0.25, .tooltip = "", .marked = true}}}};
  ScheduleFigure schedule;
  schedule.title = "Schedule";
  schedule.end_s = 10;
  schedule.lanes = {{.label = "job", .blocks = {{.begin_s = 1, .end_s = 2, .text = "8 GPUs"}}}};

  std::string body;
  for (const std::string& svg : {Draw(line), Draw(bar), Draw(heat), Draw(schedule)})
    body += RenderFigure({"", svg, ""}, "");
  const std::vector<FigureFile> files = FiguresOf(RenderPage("page", body));
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(files[0].name, "01-lines-quoted");
  EXPECT_EQ(files[0].csv,
            "series,time,busy,low,high\n\"a,b <c>\",0,0.5,,\n\"a,b <c>\",1,,,\n\"a,b <c>\",2,0.333333,,\n");
  EXPECT_EQ(files[1].csv, "group,series,value,mark\ntwo lines,ours,4,5\n");
  EXPECT_EQ(files[2].csv, "panel,row,column,row_name,column_name,value,marked\np,1,0,r1,c0,0.25,1\n");
  EXPECT_EQ(files[3].csv, "lane,begin,end,height,text\njob,1,2,1,8 GPUs\n");
  for (const FigureFile& file : files) {
    EXPECT_EQ(FindMarkupError(file.svg), "") << file.name;
    EXPECT_THAT(file.svg, HasSubstr("<style>"));
    EXPECT_THAT(file.svg, HasSubstr("xmlns="));
  }
}

TEST(FigureDataTest, ScheduleOfHostsHasItsNumbers) {
  HostScheduleFigure hosts;
  hosts.title = "Hosts";
  hosts.end_s = 10;
  hosts.hosts = {"h0", "h1"};
  hosts.jobs = {"gpt"};
  hosts.runs = {{.job = 0, .hosts = {0, 1}, .begin_s = 1, .end_s = 4}};
  hosts.closures = {{.host = 1, .begin_s = 4, .end_s = 12, .what = "isolated"}};
  hosts.marks = {{.host = 1, .at_s = 3.5, .what = "hangs"}};
  const auto files = FiguresOf(RenderPage("page", RenderFigure({"", Draw(hosts), ""}, "")));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(
      files[0].csv,
      "host,kind,begin,end,text\nh0,job,1,4,gpt\nh1,job,1,4,gpt\nh1,closed,4,12,isolated\nh1,mark,3.5,3.5,hangs\n");
  EXPECT_EQ(FindMarkupError(files[0].svg), "");
}

TEST(FigureDataTest, WaitsHaveTheirNodesAndEdges) {
  WaitGraphFigure waits;
  waits.title = "Waits";
  waits.waits.nodes = {{.ranks = {model::RankId(1)}, .label = {}, .num_operations = 1, .is_culprit = true},
                       {.ranks = {}, .label = "all_reduce 17, \"x\"", .num_operations = 1},
                       {.ranks = {model::RankId(0)}, .label = {}, .num_operations = 1},
                       {.ranks = {model::RankId(5)}, .label = {}, .num_operations = 0}};
  waits.waits.edges = {{2, 1}, {1, 0}};
  const auto files = FiguresOf(RenderPage("page", RenderFigure({"", Draw(waits), ""}, "")));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].csv,
            "node,label,is_operation,is_culprit,waits_for\n0,rank 1,0,1,\n1,\"all_reduce 17, \"\"x\"\"\",1,0,0\n"
            "2,rank 0,0,0,1\n3,rank 5,0,0,\n");
  EXPECT_EQ(FindMarkupError(files[0].svg), "");
}

TEST(FigureDataTest, FramesOfAHeatMapAreThere) {
  HeatMapFigure heat;
  heat.title = "Heat";
  heat.row_labels = {"r0", "r1"};
  heat.column_labels = {"c0"};
  heat.panels = {{.heading = "p", .cells = {{.row = 1, .column = 0, .heat = 0.25, .tooltip = ""}}}};
  heat.marked_rows = {1};
  heat.marked_columns = {0};
  const auto files = FiguresOf(RenderPage("page", RenderFigure({"", Draw(heat), ""}, "")));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].csv,
            "panel,row,column,row_name,column_name,value,marked\np,1,0,r1,c0,0.25,0\n,1,,r1,,,1\n,,0,,c0,,1\n");
}

TEST(FigureDataTest, APageWithoutFiguresHasNone) {
  EXPECT_TRUE(FiguresOf(RenderPage("page", "<p>text</p>\n")).empty());
  EXPECT_TRUE(FiguresOf("<svg never closed").empty());
  EXPECT_TRUE(FiguresOf("").empty());
}

TEST(PlaceInPageTest, NeedsNoEscaping) {
  EXPECT_EQ(PlaceInPage("job", "7 gpt"), "job=7%20gpt");
  EXPECT_EQ(PlaceInPage("link", "leaf0->spine1#2"), "link=leaf0-%3Espine1%232");
  EXPECT_EQ(PlaceInPage("job", "\"<"), "job=%22%3C");
}

}  // namespace
}  // namespace fairlead::report
