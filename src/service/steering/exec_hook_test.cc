#include "service/steering/exec_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::service {
namespace {

using testing::HasSubstr;

ExecHookOutcome RunHook(std::vector<std::string> command, std::string_view input = "") {
  const auto outcome = RunExecHook({.command = std::move(command)}, input);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : ExecHookOutcome();
}

TEST(ExecHookTest, GivesTheInputAndTakesTheOutput) {
  const ExecHookOutcome outcome = RunHook({"sh", "-c", "cat; echo to stderr >&2"}, "{\"action\": \"isolate\"}\n");
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.output, "{\"action\": \"isolate\"}\nto stderr\n");
}

TEST(ExecHookTest, TellsHowTheProgramEnded) {
  EXPECT_EQ(RunHook({"sh", "-c", "exit 3"}).exit_code, 3);
  EXPECT_EQ(RunHook({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
  EXPECT_FALSE(RunHook({"false"}).ok());
}

// 8 MiB both ways: more than any buffer between, so that writing without reading would wait forever.
TEST(ExecHookTest, LargeTextsPassBothWaysAtOnce) {
  const std::string input(8 << 20, 'x');
  const ExecHookOutcome outcome = RunHook({"cat"}, input);
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.output, input.substr(0, size_t{64} * 1024));
}

TEST(ExecHookTest, AProgramNeedNotReadItsInput) {
  const std::string input(8 << 20, 'x');
  EXPECT_TRUE(RunHook({"true"}, input).ok());
  EXPECT_EQ(RunHook({"sh", "-c", "exec 0<&-; echo done"}, input).output, "done\n");
}

// The outcome of a script that says "begun" and does not end on its own, once it has had the time to print it: on a
// busy machine a shell may take longer to start than a deadline that is short enough for a test.
ExecHookOutcome RunPastDeadline(const std::string& script, std::chrono::milliseconds grace) {
  for (std::chrono::milliseconds deadline{100};; deadline *= 4) {
    const auto outcome = RunExecHook({.command = {"sh", "-c", script}, .deadline = deadline, .grace = grace}, "");
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    if (!outcome.ok()) return {};
    if (!outcome->output.empty() || deadline > std::chrono::minutes(1)) return *outcome;
  }
}

TEST(ExecHookTest, TheDeadlineEndsTheProgramAndItsChildren) {
  const ExecHookOutcome outcome =
      RunPastDeadline("echo begun; sleep 600; echo not reached", std::chrono::milliseconds(60'000));
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.exit_code, 128 + 15);
  EXPECT_EQ(outcome.output, "begun\n");
}

TEST(ExecHookTest, ProcessesThatIgnoreTheRequestToEndAreKilled) {
  const ExecHookOutcome outcome =
      RunPastDeadline("trap '' TERM; echo begun; while :; do sleep 1; done", std::chrono::milliseconds(100));
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.exit_code, 128 + 9);
}

// The child keeps the output open; the program itself has ended.
TEST(ExecHookTest, AChildInTheBackgroundIsNotWaitedFor) {
  const ExecHookOutcome outcome = RunHook({"sh", "-c", "sleep 600 & echo begun; kill $! "});
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.output, "begun\n");
}

TEST(ExecHookTest, NothingOfOursIsOpenInTheProgram) {
  // 0, 1, 2, and the folder that ls reads.
  EXPECT_EQ(RunHook({"sh", "-c", "ls /proc/self/fd | wc -l"}).output, "4\n");
}

TEST(ExecHookTest, AProgramThatIsNotThereIsAnError) {
  const auto outcome = RunExecHook({.command = {"no-such-hook"}}, "");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(outcome.status().message(), HasSubstr("can't start 'no-such-hook': No such file or directory"));
  EXPECT_EQ(RunExecHook({}, "").status().code(), StatusCode::kInvalidArgument);
}

TEST(ExecHookTest, ErrorsAreKeptApartWhereThatIsAsked) {
  ExecHookOptions options;
  options.command = {"sh", "-c", "echo out; echo err >&2; head -c 300000 /dev/zero | tr '\\0' x >&2; echo more"};
  options.separates_errors = true;
  options.output_bytes_max = 200'000;
  const auto outcome = RunExecHook(options, "");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->output, "out\nmore\n");
  EXPECT_EQ(outcome->errors.size(), 200'000u);
  EXPECT_EQ(outcome->errors.substr(0, 5), "err\nx");
  options.command = {"head", "-c", "300000", "/dev/zero"};
  EXPECT_EQ(RunExecHook(options, "")->output.size(), 200'000u);
}

}  // namespace
}  // namespace fairlead::service
