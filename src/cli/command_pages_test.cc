#include "cli/command_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/shell_completion.h"

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Command SmallTree() {
  Command run = {.path = "fairlead sim run",
                 .summary = "Run it.",
                 .footer = "Example: fairlead sim run x.yaml",
                 .options = {{.names = {"SCENARIO"},
                              .value = {.type = "TEXT", .choices = {}, .range = {}},
                              .help = "File",
                              .fallback = "",
                              .variable = "",
                              .is_positional = true,
                              .is_required = true},
                             {.names = {"--policy"},
                              .value = {.type = "TEXT", .choices = {"ecmp", "crux"}, .range = {}},
                              .help = "Policies | all",
                              .fallback = "",
                              .variable = "",
                              .is_repeatable = true},
                             {.names = {"-j", "--json"},
                              .value = {.type = "FILE", .choices = {}, .range = {}},
                              .help = ".json",
                              .fallback = "-",
                              .variable = "OUT"}},
                 .commands = {}};
  Command sim = {.path = "fairlead sim", .summary = "Simulate.", .footer = "", .options = {}, .commands = {run}};
  return {.path = "fairlead", .summary = "All.", .footer = "", .options = {}, .commands = {sim}};
}

TEST(CommandPagesTest, ManPagesHaveEveryCommandAndOption) {
  const auto pages = ManPages(SmallTree(), "1.2");
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].first, "fairlead.1");
  EXPECT_THAT(pages[0].second, HasSubstr(".BR fairlead\\-sim (1)\nSimulate."));
  EXPECT_EQ(pages[1].first, "fairlead-sim.1");
  EXPECT_THAT(pages[1].second, HasSubstr(".SS fairlead sim run"));
  EXPECT_THAT(pages[1].second, HasSubstr(".B \\-j, \\-\\-json FILE\n\\&.json (default \\-; environment OUT)"));
  EXPECT_THAT(pages[1].second, HasSubstr("fairlead sim run [OPTIONS] SCENARIO"));
}

TEST(CommandPagesTest, TheReferenceHasEveryCommandAndOption) {
  const std::string page = CommandReferencePage(SmallTree());
  EXPECT_THAT(page, HasSubstr("#### fairlead sim run\n\nRun it.\n\n    fairlead sim run [OPTIONS] SCENARIO\n"));
  EXPECT_THAT(page, HasSubstr("| `--policy TEXT` | Policies \\| all | repeatable; one of ecmp, crux |"));
  EXPECT_THAT(page, HasSubstr("    Example: fairlead sim run x.yaml\n"));
}

TEST(ShellCompletionTest, ScriptsNameCommandsOptionsAndChoices) {
  for (const std::string& script :
       {BashCompletion(SmallTree()), ZshCompletion(SmallTree()), FishCompletion(SmallTree())}) {
    EXPECT_THAT(script, HasSubstr("ecmp crux"));
    EXPECT_THAT(script, HasSubstr("json"));
    EXPECT_THAT(script, HasSubstr("fairlead-sim"));
    EXPECT_THAT(script, Not(HasSubstr("SCENARIO")));
  }
}

}  // namespace
}  // namespace fairlead::cli
