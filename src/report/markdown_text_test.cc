#include "report/markdown_text.h"

#include <gtest/gtest.h>

namespace fairlead::report {
namespace {

TEST(MarkdownTextTest, PlainTextStaysAsItIs) {
  for (const char* text : {"ecmp against crux: -0.20 (-0.20 to -0.20), 1.07x slower", "leaf0->spine0 50 %",
                           "my_job_name", "a | b", "5 * 3", "~5 min", "AT&T & co", "C:\\temp", "[2] as published",
                           "99.5 of 100", "- a bullet", "* another one", "größe_2"}) {
    EXPECT_EQ(MarkdownLine(text), text);
  }
}

TEST(MarkdownTextTest, WhatWouldBeMarkupIsEscaped) {
  EXPECT_EQ(MarkdownLine("*bold* `code` <job>"), "\\*bold\\* \\`code\\` \\<job>");
  EXPECT_EQ(MarkdownLine("_begin and end_ of"), "\\_begin and end\\_ of");
  EXPECT_EQ(MarkdownLine("~~gone~~"), "\\~\\~gone\\~\\~");
  EXPECT_EQ(MarkdownLine("&lt; and &#60;"), "\\&lt; and \\&#60;");
  EXPECT_EQ(MarkdownLine("[text](http://x)"), "\\[text](http://x)");
  EXPECT_EQ(MarkdownLine("\\*"), "\\\\\\*");
}

TEST(MarkdownTextTest, WhatWouldBeABlockIsEscaped) {
  EXPECT_EQ(MarkdownLine("# 1"), "\\# 1");
  EXPECT_EQ(MarkdownLine("> quote"), "\\> quote");
  EXPECT_EQ(MarkdownLine("+ item"), "\\+ item");
  EXPECT_EQ(MarkdownLine("---"), "\\---");
  EXPECT_EQ(MarkdownLine("3. place"), "3\\. place");
  EXPECT_EQ(MarkdownLine("3) place"), "3\\) place");
  EXPECT_EQ(MarkdownLine("[1]: http://x"), "\\[1]: http://x");
}

TEST(MarkdownTextTest, PipesEndCellsOnly) {
  EXPECT_EQ(MarkdownCell("a | b"), "a \\| b");
  EXPECT_EQ(MarkdownCell("# 1"), "# 1");
}

}  // namespace
}  // namespace fairlead::report
