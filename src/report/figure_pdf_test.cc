#include "report/figure_pdf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/figure_data.h"
#include "report/html_page.h"
#include "report/line_figure.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// As readers do: the table of objects says where each begins, and a stream is as long as it says.
void ExpectWhole(const std::string& pdf) {
  ASSERT_TRUE(pdf.starts_with("%PDF-1.4\n"));
  ASSERT_TRUE(pdf.ends_with("%%EOF\n"));
  const size_t named = pdf.rfind("startxref\n");
  ASSERT_NE(named, std::string::npos);
  const size_t table = std::stoul(pdf.substr(named + 10));
  ASSERT_EQ(pdf.compare(table, 7, "xref\n0 "), 0);
  const size_t count = std::stoul(pdf.substr(table + 7));
  const size_t first = pdf.find('\n', table + 7) + 1;
  for (size_t i = 1; i < count; ++i) {
    const size_t place = std::stoul(pdf.substr(first + 20 * i, 10));
    const std::string begin = fmt::format("{} 0 obj\n", i);
    EXPECT_EQ(pdf.compare(place, begin.size(), begin), 0) << i;
  }
  const size_t stream = pdf.find("stream\n") + 7;
  const size_t length = std::stoul(pdf.substr(pdf.find("/Length ") + 8));
  EXPECT_EQ(pdf.compare(stream + length, 9, "endstream"), 0);
  EXPECT_EQ(CountOf(pdf, "\nq\n"), CountOf(pdf, "\nQ\n"));
  EXPECT_EQ(CountOf(pdf, "BT\n"), CountOf(pdf, "ET\n"));
}

TEST(FigurePdf, DrawsWhatTheFigureHas) {
  SvgFigure figure(400, 200, "A title", "and a description");
  figure.AddBox({10, 20, 30, 40}, "series s1 dot", "a tooltip");
  figure.AddLine({0, 1}, {2, 3.5}, "grid");
  figure.AddPath("M1 2L3 4H5V6C1 2 3 4 5 6Z", "series s2 curve");
  figure.AddDot({50, 60}, 5, "mark");
  figure.AddText({100, 120}, "left (\\) & <right>", "tick");
  figure.AddVerticalText({7, 8}, "up", "axis-label");
  figure.AddPath("M1 1L2 2", "series s1 band");
  figure.AddBox({1, 1, 1, 1}, "off");
  const std::string pdf = RenderPdf(figure.Finish());
  ExpectWhole(pdf);
  EXPECT_THAT(pdf, HasSubstr("/MediaBox [0 0 300 150]")) << "points, of 4/3 pixels";
  // --s1 is #0072b2, of the light page.
  EXPECT_THAT(pdf, HasSubstr("0 0.447 0.698 rg\n10 20 30 40 re\nf\n"));
  EXPECT_THAT(pdf, HasSubstr("0 1 m 2 3.5 l\nS\n"));
  EXPECT_THAT(pdf, HasSubstr("2 w\n1 j\n1 2 m\n3 4 l\n5 4 l\n5 6 l\n1 2 3 4 5 6 c\nh\nS\n"));
  EXPECT_THAT(pdf, HasSubstr("55 60 m\n"));
  EXPECT_THAT(pdf, HasSubstr("/F1 12 Tf\n1 0 0 -1 100 120 Tm\n(left \\(\\\\\\) & <right>) Tj"));
  EXPECT_THAT(pdf, HasSubstr("/F2 12 Tf\n0 -1 -1 0 7 "));
  EXPECT_THAT(pdf, HasSubstr("/O16 gs\n")) << "bands are translucent";
  EXPECT_THAT(pdf, HasSubstr("/O16 << /ca 0.16 /CA 0.16 >>"));
  EXPECT_THAT(pdf, Not(HasSubstr("1 1 1 1 re"))) << "what is not displayed";
  for (const char* unseen : {"tooltip", "description", "A title"}) EXPECT_THAT(pdf, Not(HasSubstr(unseen)));
  EXPECT_EQ(pdf, RenderPdf([] {
              SvgFigure again(400, 200, "A title", "and a description");
              again.AddBox({10, 20, 30, 40}, "series s1 dot", "a tooltip");
              again.AddLine({0, 1}, {2, 3.5}, "grid");
              again.AddPath("M1 2L3 4H5V6C1 2 3 4 5 6Z", "series s2 curve");
              again.AddDot({50, 60}, 5, "mark");
              again.AddText({100, 120}, "left (\\) & <right>", "tick");
              again.AddVerticalText({7, 8}, "up", "axis-label");
              again.AddPath("M1 1L2 2", "series s1 band");
              again.AddBox({1, 1, 1, 1}, "off");
              return again.Finish();
            }()));
}

TEST(FigurePdf, TextsAreWhereTheirEndsAre) {
  SvgFigure figure(100, 100, "t", "d");
  // Helvetica: M 833, i 222 thousandths; at 12 pixels 10 and 2.7.
  figure.AddText({50, 10}, "M", "tick", Anchor::kEnd);
  figure.AddText({50, 20}, "i", "tick", Anchor::kMiddle);
  figure.AddTextRow({90, 30}, std::vector<SvgFigure::StyledText>{{"M", "tick"}, {"i", "tick"}}, 4);
  const std::string pdf = RenderPdf(figure.Finish());
  ExpectWhole(pdf);
  EXPECT_THAT(pdf, HasSubstr("1 0 0 -1 40.004 10 Tm\n(M) Tj"));
  EXPECT_THAT(pdf, HasSubstr("1 0 0 -1 48.668 20 Tm\n(i) Tj"));
  EXPECT_THAT(pdf, HasSubstr("1 0 0 -1 73.34 30 Tm\n(M) Tj"));  // 90 - 10 - 4 - 2.7
  EXPECT_THAT(pdf, HasSubstr("1 0 0 -1 87.336 30 Tm\n(i) Tj"));
}

TEST(FigurePdf, CharactersThatItsFontLacksAreMarked) {
  SvgFigure figure(100, 100, "t", "d");
  figure.AddText({0, 10}, "1\u20134 \u00b5s \u2026 \u2264 \u4e2d\U0001f600", "tick");
  EXPECT_THAT(RenderPdf(figure.Finish()), HasSubstr("(1\\2264 \\265s \\205 ? ?"
                                                    "?) Tj"));
}

TEST(FigurePdf, WhatIsNoFigureIsNone) {
  for (const char* none : {"", "<svg", "<svg>", "<svg viewBox=\"0 0 x\">", "<svg viewBox=\"0 0 0 5\"></svg>", "text"}) {
    EXPECT_EQ(RenderPdf(none), "") << none;
  }
  ExpectWhole(RenderPdf("<svg viewBox=\"0 0 10 10\"><text x=\"1\" y=\"2\">never ended"));
  ExpectWhole(RenderPdf("<svg viewBox=\"0 0 10 10\"><path d=\"M\"/><path/><rect class=\"s1 dot\"/><tspan><g>"));
}

TEST(FigurePdf, FiguresAsFilesHaveOne) {
  LineFigure line;
  line.title = "Lines";
  line.series.resize(1);
  line.series[0].label = "ours";
  line.series[0].points = {{0, 0}, {1, 1}};
  FitAxes(&line);
  const auto files = FiguresOf(RenderPage("page", RenderFigure({"", Draw(line), ""}, "")));
  ASSERT_EQ(files.size(), 1u);
  const std::string pdf = RenderPdf(files[0].svg);
  ExpectWhole(pdf);
  EXPECT_THAT(pdf, HasSubstr("(ours) Tj"));
}

}  // namespace
}  // namespace fairlead::report
