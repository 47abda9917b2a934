#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/temporary_folder.h"
#include "cli/command.h"

namespace fairlead::cli {
namespace {

using experiment::Experiment;
using experiment::Outcome;
using experiment::RunContext;

constexpr std::string_view kPaper = "title: t\npaper: p\nseed: 5\nrows:\n  - {name: a, unit: s}\n";

Result<Outcome> Answer(const RunContext&) {
  Outcome outcome;
  outcome.Set("a", 1);
  return outcome;
}

int RunWords(std::vector<std::string> words, std::span<const Experiment> experiments) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return RunCommandLine(static_cast<int>(argv.size()), argv.data(), experiments);
}

TEST(CommandLineTest, OneExperimentThatFailsLosesNoOther) {
  const std::vector<Experiment> experiments = {
      {"first", kPaper, Answer},
      {"broken", kPaper,
       [](const RunContext&) -> Result<Outcome> {
         FL_CHECK_MSG(false, "as the test wants it");
         return Outcome();
       }},
      {"away", kPaper, [](const RunContext&) -> Result<Outcome> { return Unavailable("no lab"); }},
      {"last", kPaper, Answer},
  };
  const TemporaryFolder folder;
  const std::string path = folder.File("r.json");
  EXPECT_EQ(RunWords({"fairlead", "experiment", "run", "all", "--json", path}, experiments), kExitInternal);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["experiment"], "first");
  EXPECT_EQ(json[1]["experiment"], "last");
  EXPECT_EQ(RunWords({"fairlead", "experiment", "run", "away"}, experiments), kExitUnavailable);
  EXPECT_EQ(RunWords({"fairlead", "experiment", "run", "last"}, experiments), kExitOk);
}

TEST(JoinWordsTest, ShellsTakeThemApartAgain) {
  EXPECT_EQ(JoinWords(std::vector<std::string>{"a", "", "b c", "it's", "$HOME", "x=1"}),
            "a '' 'b c' 'it'\\''s' '$HOME' x=1");
  EXPECT_EQ(JoinWords({}), "");
}

}  // namespace
}  // namespace fairlead::cli
