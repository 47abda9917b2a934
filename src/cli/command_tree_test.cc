#include "cli/command_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/named_choice.h"

namespace fairlead::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CommandTreeTest, WhatAnOptionTakes) {
  EXPECT_EQ(ParseOptionValue("UINT").type, "N");
  EXPECT_EQ(ParseOptionValue("FILE").type, "FILE");
  EXPECT_EQ(ParseOptionValue("HOST:PORT").type, "HOST:PORT");
  const OptionValue number = ParseOptionValue("UINT:INT in [1 - 10000] Excludes: --draw");
  EXPECT_EQ(number.type, "N");
  EXPECT_EQ(number.range, "1 to 10000");
  EXPECT_THAT(number.choices, IsEmpty());
  EXPECT_EQ(ParseOptionValue("FLOAT:FLOAT in [0.001 - 1e+09]").range, "0.001 to 1e+09");
  EXPECT_THAT(ParseOptionValue("TEXT:{ecmp,crux+c4p}").choices, ElementsAre("ecmp", "crux+c4p"));
}

TEST(CommandTreeTest, ATreeSurvivesItsDescription) {
  CLI::App app{"All.", "fairlead"};
  CLI::App* sim = app.add_subcommand("sim", "Simulate.");
  CLI::App* run = sim->add_subcommand("run", "Run \"it\".");
  std::string scenario;
  std::vector<std::string> policies;
  bool exact = false;
  uint32_t seeds = 5;
  run->add_option("SCENARIO", scenario, "File")->required();
  run->add_option("-p,--policy", policies, "Policies")->check(OneOf({"ecmp", "crux"}));
  run->add_option("--seeds", seeds, "Draws")->check(CLI::Range(1, 9))->capture_default_str()->envname("SEEDS");
  run->add_flag("--exact", exact, "All of it");
  run->add_flag("--secret", exact, "Not for help")->group("");
  run->footer("Example: x");
  const auto read = ReadCommand(WriteCommand(DescribeCommands(app)));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->commands.size(), 1u);
  const Command& command = read->commands[0].commands.at(0);
  EXPECT_EQ(command.path, "fairlead sim run");
  EXPECT_EQ(command.name(), "run");
  EXPECT_EQ(command.summary, "Run \"it\".");
  EXPECT_EQ(command.footer, "Example: x");
  ASSERT_EQ(command.options.size(), 5u);  // the first is --help
  EXPECT_THAT(command.options[1].names, ElementsAre("SCENARIO"));
  EXPECT_TRUE(command.options[1].is_positional && command.options[1].is_required);
  EXPECT_THAT(command.options[2].names, ElementsAre("-p", "--policy"));
  EXPECT_THAT(command.options[2].value.choices, ElementsAre("ecmp", "crux"));
  EXPECT_TRUE(command.options[2].is_repeatable);
  EXPECT_EQ(command.options[3].value.range, "1 to 9");
  EXPECT_EQ(command.options[3].fallback, "5");
  EXPECT_EQ(command.options[3].variable, "SEEDS");
  EXPECT_EQ(command.options[4].value.type, "");
  EXPECT_FALSE(ReadCommand("{}").ok());
  EXPECT_FALSE(ReadCommand("no JSON").ok());
}

TEST(NamedChoiceTest, TheNearestNameIsOffered) {
  const CLI::Validator choice = OneOf({"ecmp", "crux"});
  std::string value = "crux";
  EXPECT_EQ(choice(value), "");
  value = "curx";
  EXPECT_EQ(choice(value), "expected one of ecmp, crux, found 'curx'; did you mean 'crux'?");
}

}  // namespace
}  // namespace fairlead::cli
