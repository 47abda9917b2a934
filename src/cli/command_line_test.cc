#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/temporary_folder.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/command.h"
#include "cli/sibling_programs.h"
#include "experiment/experiment.h"

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

int RunArguments(std::vector<std::string> args, std::span<const Experiment> experiments) {
  std::vector<char*> argv;
  argv.reserve(args.size());
  for (std::string& word : args) argv.push_back(word.data());
  return RunSiblingCommandLine(static_cast<int>(argv.size()), argv.data(), [&](CLI::App& app, Invocation* invocation) {
    AddExperimentCommands(app, experiments, invocation);
  });
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
  EXPECT_EQ(RunArguments({"fairlead", "experiment", "run", "all", "--json", path}, experiments), kExitInternal);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["experiment"], "first");
  EXPECT_EQ(json[1]["experiment"], "last");
  EXPECT_EQ(RunArguments({"fairlead", "experiment", "run", "away"}, experiments), kExitUnavailable);
  EXPECT_EQ(RunArguments({"fairlead", "experiment", "run", "last"}, experiments), kExitOk);
}

TEST(CommandLineTest, AProgramOfOneCommandIsCalledWithOrWithoutItsName) {
  const std::vector<Experiment> experiments = {{"only", kPaper, Answer}};
  EXPECT_EQ(RunArguments({"fairlead-experiment", "experiment", "run", "only"}, experiments), kExitOk);
  EXPECT_EQ(RunArguments({"fairlead-experiment", "run", "only"}, experiments), kExitOk);
  EXPECT_EQ(RunArguments({"fairlead-experiment", "--help"}, experiments), kExitOk);
  EXPECT_EQ(RunArguments({"fairlead-experiment", "--version"}, experiments), kExitOk);
  EXPECT_EQ(RunArguments({"fairlead-experiment"}, experiments), kExitBadInput);
  EXPECT_EQ(RunArguments({"fairlead-experiment", "sim", "run"}, experiments), kExitBadInput);
}

TEST(CommandLineTest, FairleadDescribesEachSiblingAsItDoesItself) {
  const std::vector<Experiment> experiments;
  CLI::App app;
  Invocation invocation;
  AddAgentCommands(app, &invocation);
  AddAuditCommands(app, &invocation);
  AddCertCommands(app, &invocation);
  AddControllerCommand(app, &invocation);
  AddDiagCommands(app, &invocation);
  AddClusterCommands(app, &invocation);
  AddDoctorCommand(app, &invocation);
  AddExperimentCommands(app, experiments, &invocation);
  AddFabricCommands(app, &invocation);
  AddLabCommands(app, &invocation);
  AddPredictCommands(app, &invocation);
  AddSchedCommands(app, &invocation);
  AddSimChaosCommand(app, &invocation);
  AddTraceCommands(app, &invocation);
  std::map<std::string, std::string> said, listed;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() != "sim") said[command->get_name()] = command->get_description();
  }
  said["sim chaos"] = app.get_subcommand("sim")->get_subcommand("chaos")->get_description();
  for (const SiblingCommand& sibling : SiblingCommands()) listed[std::string(sibling.path)] = sibling.summary;
  EXPECT_EQ(listed, said);
}

TEST(CommandLineTest, ASiblingThatIsNotThereIsNamed) {
  for (const SiblingCommand& sibling : SiblingCommands()) {
    std::vector<std::string> args = sibling.words();
    args.insert(args.begin(), "fairlead");
    std::vector<char*> argv;
    argv.reserve(args.size() + 1);
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    const Status status = RunSibling(static_cast<int>(args.size()), argv.data());  // none lies beside the test
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_NE(status.message().find(sibling.program()), std::string::npos) << status.message();
  }
  char sim[] = "sim", run[] = "run", chaos[] = "chaos";
  char* argv[] = {sim, sim, run, chaos, nullptr};
  EXPECT_TRUE(RunSibling(4, argv).ok());
  EXPECT_TRUE(RunSibling(2, argv).ok());
  EXPECT_TRUE(RunSibling(1, argv).ok());
}

TEST(JoinArgumentsTest, ShellsTakeThemApartAgain) {
  EXPECT_EQ(JoinArguments(std::vector<std::string>{"a", "", "b c", "it's", "$HOME", "x=1"}),
            "a '' 'b c' 'it'\\''s' '$HOME' x=1");
  EXPECT_EQ(JoinArguments({}), "");
}

}  // namespace
}  // namespace fairlead::cli
