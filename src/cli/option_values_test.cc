// Values of options: pauses, numbers, names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/named_choice.h"
#include "cli/number_options.h"
#include "cli/pause_option.h"
#include "cli/text_lines.h"

namespace fairlead::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PauseOptionTest, APauseIsTwoInstantsInOrder) {
  const auto pause = ParsePauseSeconds("600-900.5");
  ASSERT_TRUE(pause.ok());
  EXPECT_EQ(pause->from.value(), 600);
  EXPECT_EQ(pause->until.value(), 900.5);
  EXPECT_TRUE(ParsePauseSeconds("0-1e7").ok());
}

TEST(PauseOptionTest, AllElseIsRefusedWithWhatWasFound) {
  for (const char* text : {"", "600", "-", "600-", "-900", "900-600", "600-600", "-1-5", "0-2e7", "1-inf", "nan-5",
                           "600-900s", "600--900", "6 00-900"}) {
    const auto pause = ParsePauseSeconds(text);
    ASSERT_FALSE(pause.ok()) << text;
    EXPECT_THAT(std::string(pause.status().message()), HasSubstr("--pause " + std::string(text) + ": expected FROM-"));
  }
}

// What the library says of one option; empty: it is fine.
std::string ErrorOf(CLI::App& app, const std::string& text) {
  try {
    app.parse(std::vector<std::string>{text, "--x"});  // CLI11 wants the last one first
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(NumberOptionsTest, WhatIsNoFiniteNumberIsRefusedBeforeItsRange) {
  CLI::App app;
  double value = 0;
  app.add_option("--x", value)->check(CLI::Range(0.0, 1e12));
  CheckNumberOptions(&app);
  EXPECT_EQ(ErrorOf(app, "8999999999"), "");
  EXPECT_EQ(value, 8'999'999'999);
  for (const char* text : {"nan", "inf", "-inf", "9.1e9", "1e300"}) {
    EXPECT_THAT(ErrorOf(app, text), HasSubstr("expected a finite number of at most 9e+09, found")) << text;
  }
  EXPECT_THAT(ErrorOf(app, "-5"), HasSubstr("not in range"));
  EXPECT_NE(ErrorOf(app, "five"), "");
}

TEST(NumberOptionsTest, MinusZeroIsZeroAlsoInSubcommands) {
  CLI::App app;
  double value = 1;
  app.add_subcommand("run", "")->add_option("--x", value);
  CheckNumberOptions(&app);
  app.parse(std::vector<std::string>{"-0", "--x", "run"});
  EXPECT_FALSE(std::signbit(value));
}

TEST(NumberOptionsTest, OptionsOfOtherTypesAreLeftAlone) {
  CLI::App app;
  std::string value;
  app.add_option("--x", value);
  CheckNumberOptions(&app);
  EXPECT_EQ(ErrorOf(app, "nan"), "");
  EXPECT_EQ(value, "nan");
}

TEST(NamedChoiceTest, ATypingErrorGetsAnAnswer) {
  CLI::App app;
  std::string value;
  app.add_option("--x", value)->check(OneOf({"ecmp", "crux", "c4p"}));
  EXPECT_EQ(ErrorOf(app, "crux"), "");
  EXPECT_THAT(ErrorOf(app, "curx"), HasSubstr("expected one of ecmp, crux, c4p, found 'curx'; did you mean 'crux'?"));
  EXPECT_THAT(ErrorOf(app, "CRUX"), HasSubstr("found 'CRUX'"));
  EXPECT_THAT(ErrorOf(app, "spain"), HasSubstr("found 'spain'"));
  EXPECT_THAT(app.help(), HasSubstr("{ecmp,crux,c4p}"));
}

TEST(TextLinesTest, ABreakAtTheEndBeginsNoLine) {
  EXPECT_THAT(LinesOf(""), IsEmpty());
  EXPECT_THAT(LinesOf("a"), ElementsAre("a"));
  EXPECT_THAT(LinesOf("a\n"), ElementsAre("a"));
  EXPECT_THAT(LinesOf("\na\n\nb"), ElementsAre("", "a", "", "b"));
}

}  // namespace
}  // namespace fairlead::cli
