#include "cli/command_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace fairlead::cli {
namespace {

using Args = std::vector<std::string>;

class CommandNamesTest : public testing::Test {
 protected:
  CommandNamesTest() {
    app_.require_subcommand(1);
    CLI::App* lab = app_.add_subcommand("lab");
    lab->require_subcommand(1);
    lab->add_subcommand("up")->add_option("--run-dir", text_);
    lab->add_subcommand("down");
    app_.add_subcommand("explain")->add_option("job", text_);
  }

  std::string Complaint(const Args& args) const { return std::string(CheckCommandNames(app_, args).message()); }

  std::string text_;
  CLI::App app_{"", "fairlead"};
};

TEST_F(CommandNamesTest, WhatLeadsToACommandIsFine) {
  EXPECT_TRUE(CheckCommandNames(app_, Args{"lab", "up"}).ok());
  EXPECT_TRUE(CheckCommandNames(app_, Args{"lab", "up", "anything", "--else"}).ok());
  EXPECT_TRUE(CheckCommandNames(app_, Args{"explain", "lab"}).ok());
  EXPECT_TRUE(CheckCommandNames(app_, Args{"--version"}).ok());
  EXPECT_TRUE(CheckCommandNames(app_, Args{"lab", "--help"}).ok());
}

TEST_F(CommandNamesTest, AMistypedWordIsNamed) {
  EXPECT_EQ(Complaint({"lba", "up"}), "'lba' is not a command of `fairlead`; did you mean 'lab'?");
  EXPECT_EQ(Complaint({"lab", "donw"}), "'donw' is not a command of `fairlead lab`; did you mean 'down'?");
  EXPECT_EQ(Complaint({"lab", "sideways"}), "'sideways' is not a command of `fairlead lab`; it has up, down");
  EXPECT_EQ(Complaint({"lab"}), "`fairlead lab` needs a command: up, down; see fairlead lab --help");
  EXPECT_EQ(Complaint({}), "`fairlead` needs a command: lab, explain; see fairlead --help");
}

TEST_F(CommandNamesTest, AMistypedOptionIsOneOfTheCommand) {
  const Args args = {"lab", "up", "--rundir=x"};
  EXPECT_EQ(DescribeUnknown(app_, args, Args{"--rundir=x"}),
            "`fairlead lab up` has no option '--rundir'; did you mean '--run-dir'?");
  EXPECT_EQ(DescribeUnknown(app_, args, Args{"more", "--rn-dir"}),
            "`fairlead lab up` has no option '--rn-dir'; did you mean '--run-dir'?");
  EXPECT_EQ(DescribeUnknown(app_, args, Args{"--nothing-like-it"}),
            "`fairlead lab up` has no option '--nothing-like-it'");
  EXPECT_EQ(DescribeUnknown(app_, args, Args{"more"}), "`fairlead lab up` takes no arguments, found 'more'");
  EXPECT_EQ(DescribeUnknown(app_, Args{"explain", "a", "b"}, Args{"b"}),
            "`fairlead explain` takes only job; 'b' is one too many");
}

}  // namespace
}  // namespace fairlead::cli
