#include "slurm/job_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace fairlead::slurm {
namespace {

using testing::HasSubstr;
using State = ScriptCheck::State;

constexpr char kGood[] =
    "#!/bin/bash\n"
    "#SBATCH -N 2-8 --ntasks-per-node=4   # of four GPUs\n"
    "#SBATCH --gpus-per-node 4\n"
    "\n"
    "# a comment\n"
    "#SBATCH --comment='{\"APS\": {}, \"fairlead\": {\"steps\": 9000}}' --open-mode=append\n"
    "#SBATCH --signal=B:SIGUSR1@60\n"
    "trap 'scancel --signal=USR1 $SLURM_JOB_ID' USR1\n"
    "srun train & wait; wait\n";

std::map<std::string, ScriptCheck> Check(const std::string& script) {
  const auto checks = CheckJobScript(script);
  EXPECT_TRUE(checks.ok()) << checks.status().message();
  std::map<std::string, ScriptCheck> by_name;
  for (const ScriptCheck& check : *checks) by_name[check.name] = check;
  EXPECT_EQ(by_name.size(), 9u);
  return by_name;
}

std::string Changed(std::string_view from, std::string_view to) {
  std::string script = kGood;
  const size_t at = script.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return script.replace(at, from.size(), to);
}

TEST(JobScriptTest, AScriptThatKeepsTheContract) {
  const auto checks = Check(kGood);
  for (const auto& [name, check] : checks) {
    EXPECT_EQ(check.state, State::kKept) << name << ": " << check.found;
    EXPECT_EQ(check.helps, "") << name;
  }
  EXPECT_EQ(Check(kGood)["nodes"].line, 2u);
  EXPECT_EQ(Check(kGood)["nodes"].found, "2 to 8");
  EXPECT_EQ(Check(kGood)["opt-in"].line, 6u);
  EXPECT_TRUE(IsContractKept(*CheckJobScript(kGood)));
}

TEST(JobScriptTest, OptionsAsSbatchReadsThem) {
  for (const char* same : {"-N2-8", "-N=2-8", "--nodes=2-8", "--nodes 2-8", "-N 3 -N 2-8", "-N '2-8'"}) {
    EXPECT_EQ(Check(Changed("-N 2-8", same))["nodes"].state, State::kKept) << same;
  }
  EXPECT_EQ(Check(Changed("trap '", "exec train #"))["checkpoint"].state, State::kKept);
  EXPECT_EQ(Check(Changed("#SBATCH -N", "##SBATCH -N"))["nodes"].state, State::kBroken);
  EXPECT_EQ(Check(Changed("#SBATCH -N", "#SBATCHX -N"))["nodes"].state, State::kBroken);
  EXPECT_EQ(Check(Changed("#SBATCH -N", " #SBATCH -N"))["nodes"].state, State::kBroken);
  EXPECT_EQ(Check(Changed("-N 2-8", "# -N 2-8"))["nodes"].state, State::kBroken) << "behind a #";
}

TEST(JobScriptTest, WhatBreaksTheContractAndWhichLineHelps) {
  struct Case {
    const char *from, *to, *check, *found, *helps;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"-N 2-8", "", "nodes", "no number of nodes", "#SBATCH --nodes=2-8"},
           {"-N 2-8", "-N 4", "nodes", "no range: '4'", "#SBATCH --nodes=2-8"},
           {"-N 2-8", "-N 8-2", "nodes", "'8-2'", "#SBATCH --nodes=2-8"},
           {"-N 2-8", "-N 0-2", "nodes", "'0-2'", "#SBATCH --nodes=2-8"},
           {"-N 2-8", "-N 2-99999999999999999999", "nodes", "no range", "#SBATCH --nodes=2-8"},
           {"--ntasks-per-node=4", "-n 8 --ntasks-per-node=4", "tasks", "all tasks", "take -n out"},
           {"--ntasks-per-node=4", "", "tasks", "not said", "#SBATCH --ntasks-per-node=4"},
           {"--ntasks-per-node=4", "--ntasks-per-node=x", "tasks", "'x'", "#SBATCH --ntasks-per-node=4"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --array=1-3", "requeue", "array", "take --array out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --no-requeue", "requeue", "--no-requeue", "--requeue"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 -x h3", "start", "--exclude says", "take --exclude out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 -d singleton", "start", "--dependency", "--dependency out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --contiguous", "start", "--contiguous says",
            "--contiguous out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --switches=1@60", "start", "--switches says", "--switches out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --spread-job", "start", "--spread-job says", "out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --gpus-per-socket=2", "start", "--gpus-per-socket", "out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --oversubscribe", "start", "beside whom",
            "--oversubscribe out"},
           {"--ntasks-per-node=4", "--ntasks-per-node=4 --exclusive=user", "start", "--exclusive=user says", "out"},
           {"\n\n", "\n#SBATCH hetjob\n#SBATCH -N 3 -n 7\n", "requeue", "heterogeneous", "take hetjob"},
           {"\"fairlead\"", "\"fairleads\"", "opt-in", "does not say", "--comment=fairlead"},
           {"--open-mode=append", "", "output", "empty the file", "--open-mode=append"},
           {"--open-mode=append", "--open-mode=truncate", "output", "truncate", "--open-mode=append"},
           {"trap '", "true '", "checkpoint", "die of SIGUSR1", "trap"},
           {"\n\n", "\necho early\n", "order", "not read", "up"}}) {
    const auto checks = Check(Changed(one.from, one.to));
    EXPECT_EQ(checks.at(one.check).state, State::kBroken) << one.to;
    EXPECT_THAT(checks.at(one.check).found, HasSubstr(one.found)) << one.to;
    EXPECT_THAT(checks.at(one.check).helps, HasSubstr(one.helps)) << one.to;
  }
  EXPECT_EQ(Check(Changed("\n\n", "\necho early\n"))["order"].line, 6u);
  EXPECT_EQ(Check(Changed("--ntasks-per-node=4", "--ntasks-per-node=4 --exclusive"))["start"].state, State::kKept);
  const std::string parts = Changed("#SBATCH --signal", "#SBATCH hetjob\n#SBATCH -N 3 -n 7\n#SBATCH --signal");
  EXPECT_EQ(Check(parts)["nodes"].state, State::kKept) << "those of the second part are not its first one's";
  EXPECT_EQ(Check(parts)["requeue"].line, 7u);
  EXPECT_EQ(Check(Changed("#SBATCH --signal=B:SIGUSR1@60\n", ""))["signal"].state, State::kBetter);
  EXPECT_EQ(Check(Changed("B:SIGUSR1@60", "TERM@60"))["signal"].state, State::kBetter);
  EXPECT_TRUE(IsContractKept(*CheckJobScript(Changed("#SBATCH --signal=B:SIGUSR1@60\n", ""))));
}

// The line that helps does, put before the rest.
TEST(JobScriptTest, WhatHelpsHelps) {
  std::string script = "#!/bin/bash\nexec train\n";
  const auto broken = *CheckJobScript(script);
  for (const ScriptCheck& check : broken) {
    if (check.helps.starts_with("#SBATCH ")) script.insert(script.find('\n') + 1, check.helps + "\n");
  }
  const auto mended = *CheckJobScript(script);
  for (const ScriptCheck& check : mended) EXPECT_EQ(check.state, State::kKept) << check.name << script;
}

TEST(JobScriptTest, WhatIsNoScript) {
  const std::vector<std::string> texts = {std::string(),
                                          std::string("\x7f"
                                                      "ELF"),
                                          std::string("#SBATCH -N 2-8\n"), std::string("#!/bin/sh\n\0", 11)};
  for (const std::string& text : texts) {
    EXPECT_EQ(CheckJobScript(text).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(JobScriptTest, Garbage) {
  EXPECT_TRUE(rc::check([] {
    std::string script = kGood;
    const auto changes = *rc::gen::container<std::vector<std::pair<uint16_t, char>>>(
        rc::gen::pair(rc::gen::inRange<uint16_t>(0, 400), rc::gen::arbitrary<char>()));
    for (const auto& [at, c] : changes) script[at % script.size()] = c;
    const auto checks = CheckJobScript(script);
    if (!checks.ok()) return;
    RC_ASSERT(checks->size() == 9u);
    for (const ScriptCheck& check : *checks) {
      for (const char c : check.found) RC_ASSERT(c >= ' ' && c <= '~');
    }
  }));
}

}  // namespace
}  // namespace fairlead::slurm
