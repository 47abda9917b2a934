#include "report/figure_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/bar_figure.h"
#include "report/heat_map_figure.h"
#include "report/html_page.h"
#include "report/line_figure.h"
#include "report/markup_check.h"
#include "report/schedule_figure.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;

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
