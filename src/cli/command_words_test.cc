#include "cli/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace fairlead::cli {
namespace {

using testing::HasSubstr;

using Words = std::vector<std::string>;

class CommandWordsTest : public testing::Test {
 protected:
  CommandWordsTest() {
    app_.require_subcommand(1);
    CLI::App* lab = app_.add_subcommand("lab");
    lab->require_subcommand(1);
    lab->add_subcommand("up")->add_option("--run-dir", text_);
    lab->add_subcommand("down");
    app_.add_subcommand("explain")->add_option("job", text_);
  }

  std::string Complaint(const Words& words) const { return std::string(CheckCommandWords(app_, words).message()); }

  std::string text_;
  CLI::App app_{"", "fairlead"};
};

TEST_F(CommandWordsTest, WhatLeadsToACommandIsFine) {
  EXPECT_TRUE(CheckCommandWords(app_, Words{"lab", "up"}).ok());
  EXPECT_TRUE(CheckCommandWords(app_, Words{"lab", "up", "anything", "--else"}).ok());
  EXPECT_TRUE(CheckCommandWords(app_, Words{"explain", "lab"}).ok());
  EXPECT_TRUE(CheckCommandWords(app_, Words{"--version"}).ok());
  EXPECT_TRUE(CheckCommandWords(app_, Words{"lab", "--help"}).ok());
}

TEST_F(CommandWordsTest, AMistypedWordIsNamed) {
  EXPECT_EQ(Complaint({"lba", "up"}), "'lba' is not a command of `fairlead`; did you mean 'lab'?");
  EXPECT_EQ(Complaint({"lab", "donw"}), "'donw' is not a command of `fairlead lab`; did you mean 'down'?");
  EXPECT_EQ(Complaint({"lab", "sideways"}), "'sideways' is not a command of `fairlead lab`; it has up, down");
  EXPECT_EQ(Complaint({"lab"}), "`fairlead lab` needs a command: up, down; see fairlead lab --help");
  EXPECT_EQ(Complaint({}), "`fairlead` needs a command: lab, explain; see fairlead --help");
}

TEST_F(CommandWordsTest, AMistypedOptionIsOneOfTheCommand) {
  const Words words = {"lab", "up", "--rundir=x"};
  EXPECT_EQ(DidYouMeanOption(app_, words, Words{"--rundir=x"}), "; did you mean '--run-dir'?");
  EXPECT_EQ(DidYouMeanOption(app_, words, Words{"more", "--rn-dir"}), "; did you mean '--run-dir'?");
  EXPECT_EQ(DidYouMeanOption(app_, words, Words{"--nothing-like-it"}), "");
  EXPECT_EQ(DidYouMeanOption(app_, words, Words{"more"}), "");
}

}  // namespace
}  // namespace fairlead::cli
