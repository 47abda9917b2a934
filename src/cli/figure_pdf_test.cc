#include "cli/figure_pdf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "report/figure_data.h"
#include "report/html_page.h"
#include "report/svg_figure.h"

namespace fairlead::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string SomeFigure() {
  report::SvgFigure figure(400, 200, "A title", "and a description");
  figure.AddBox({10, 20, 30, 40}, "series s1 dot", "a tooltip");
  figure.AddText({100, 120}, "1\u20134 \u00b5s <right>", "tick");
  return report::FiguresOf(report::RenderPage("page", report::RenderFigure({"", figure.Finish(), ""}, "")))[0].svg;
}

// What its text says is read in tests/e2e/figure_folder.py.
TEST(FigurePdf, IsOnePageAndTheSameBytesEachTime) {
  const auto pdf = RenderPdf(SomeFigure());
  ASSERT_TRUE(pdf.ok()) << pdf.status().message();
  EXPECT_TRUE(pdf->starts_with("%PDF-"));
  EXPECT_THAT(*pdf, HasSubstr("/MediaBox [ 0 0 300 150 ]")) << "points, of 4/3 pixels";
  EXPECT_THAT(*pdf, HasSubstr("/FontFile2")) << "fonts are within";
  EXPECT_THAT(*pdf, Not(HasSubstr("/Subtype /Image"))) << "vectors";
  EXPECT_EQ(*RenderPdf(SomeFigure()), *pdf);
}

TEST(FigurePdf, WhatCannotBeDrawnIsSaidToBeSo) {
  const auto none = RenderPdf("<svg");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("rsvg-convert can't draw a figure"));
  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  const auto missing = RenderPdf(SomeFigure());
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.status().message(), HasSubstr("install librsvg2-bin"));
}

}  // namespace
}  // namespace fairlead::cli
