#include "cli/steering_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace fairlead::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SteeringCommandOptions ParseSteering(std::vector<std::string> args) {
  CLI::App app;
  SteeringCommandOptions options;
  AddSteeringOptions(&app, &options);
  std::ranges::reverse(args);  // CLI11 wants the last one first
  app.parse(args);
  return options;
}

service::LiveActionsOptions ActionsOf(std::vector<std::string> args) {
  return ToLiveActionsOptions(ParseSteering(std::move(args)), false).value();
}

TEST(SteeringOptionsTest, NothingIsDoneUnlessItIsAskedFor) {
  EXPECT_EQ(ActionsOf({}).steering.steering.mode, controller::SteeringMode::kObserve);
  EXPECT_EQ(ActionsOf({"--steer", "recommend"}).steering.steering.mode, controller::SteeringMode::kRecommend);
  EXPECT_EQ(ActionsOf({"--steer", "act"}).steering.steering.mode, controller::SteeringMode::kAct);
  EXPECT_THROW(ParseSteering({"--steer", "Act"}), CLI::ValidationError);
  EXPECT_FALSE(ActionsOf({}).health.may_be_acted_upon);
  EXPECT_TRUE(ActionsOf({"--health-events-act"}).health.may_be_acted_upon);
}

// The command line promises what the core does without it.
TEST(SteeringOptionsTest, DefaultsAreThoseOfSteering) {
  const controller::SteeringOptions mine = ActionsOf({}).steering.steering;
  const controller::SteeringOptions core;
  EXPECT_EQ(mine.max_hosts_per_job_hour, core.max_hosts_per_job_hour);
  EXPECT_EQ(mine.max_job_share_per_day, core.max_job_share_per_day);
  EXPECT_EQ(mine.max_cluster_share_per_day, core.max_cluster_share_per_day);
  EXPECT_EQ(mine.hold_off, core.hold_off);
  EXPECT_EQ(mine.min_confidence, core.min_confidence);
}

TEST(SteeringOptionsTest, LimitsReachTheCore) {
  const controller::SteeringOptions steering =
      ActionsOf({"--max-hosts-per-hour", "7", "--max-job-share", "0.5", "--max-cluster-share", "0.25", "--hold-off",
                 "12.5", "--min-confidence", "0.75"})
          .steering.steering;
  EXPECT_EQ(steering.max_hosts_per_job_hour, 7u);
  EXPECT_EQ(steering.max_job_share_per_day, 0.5);
  EXPECT_EQ(steering.max_cluster_share_per_day, 0.25);
  EXPECT_EQ(steering.hold_off, SimDuration(12'500'000'000));
  EXPECT_EQ(steering.min_confidence, 0.75);
  EXPECT_THROW(ParseSteering({"--max-job-share", "1.01"}), CLI::ValidationError);
}

TEST(SteeringOptionsTest, AHookIsAProgramWithArguments) {
  EXPECT_THAT(ActionsOf({"--hook", "/bin/hook --cluster 'two words'"}).steering.hook.command,
              ElementsAre("/bin/hook", "--cluster", "two words"));
  EXPECT_TRUE(ActionsOf({}).steering.hook.command.empty());
  const auto blank = ToLiveActionsOptions(ParseSteering({"--hook", "  "}), false);
  ASSERT_FALSE(blank.ok());
  EXPECT_THAT(std::string(blank.status().message()), HasSubstr("--hook: expected a program"));
}

// An attempt must not end before its program is killed.
TEST(SteeringOptionsTest, AttemptsLastLongerThanTheirPrograms) {
  const auto usual = controller::SteeringOptions().attempts;
  const auto quick = ActionsOf({"--hook-deadline", "1", "--hook-long-deadline", "1"}).steering;
  EXPECT_EQ(quick.steering.attempts.deadline, usual.deadline);
  EXPECT_EQ(quick.hook.deadline, std::chrono::seconds(1));
  const auto slow = ActionsOf({"--hook-deadline", "80000.5", "--hook-long-deadline", "86400"}).steering;
  EXPECT_EQ(slow.hook.deadline, std::chrono::milliseconds(80'000'500));
  EXPECT_EQ(slow.steering.attempts.deadline, SimDuration(160'001'000'000'000));
  EXPECT_EQ(slow.steering.attempts.restart_deadline, SimDuration(172'800'000'000'000));
  EXPECT_EQ(slow.steering.attempts.test_deadline, SimDuration(172'800'000'000'000));
}

TEST(SteeringOptionsTest, HostsAreTestedByTheBackEndOrByChecks) {
  EXPECT_FALSE(ActionsOf({}).steering.checked_return.has_value());
  const auto steering =
      ActionsOf({"--hook", "/bin/hook", "--test-hosts", "checks", "--test-pause", "86400", "--test-burn-in", "60"})
          .steering;
  ASSERT_TRUE(steering.checked_return.has_value());
  EXPECT_EQ(steering.checked_return->passes, 2U);
  EXPECT_EQ(steering.checked_return->pause, SimDuration(86'400'000'000'000));
  EXPECT_EQ(steering.checked_return->burn_in, SimDuration(60'000'000'000));
  EXPECT_GT(steering.steering.attempts.test_deadline, steering.checked_return->LongestTest());
  EXPECT_TRUE(steering.Validate().ok());
  EXPECT_THROW(ParseSteering({"--test-hosts", "me"}), CLI::ValidationError);
  EXPECT_THROW(ParseSteering({"--test-passes", "0"}), CLI::ValidationError);
}

TEST(SteeringOptionsTest, SparesAndReceiversAreHandedOn) {
  const auto actions =
      ToLiveActionsOptions(ParseSteering({"--spare", "h8", "--spare", "h9", "--health-events", "unix:/run/x"}), true)
          .value();
  EXPECT_THAT(actions.steering.spares, ElementsAre("h8", "h9"));
  EXPECT_EQ(actions.health_receiver.address, "unix:/run/x");
  EXPECT_TRUE(actions.health_receiver.is_insecure_allowed);
}

}  // namespace
}  // namespace fairlead::cli
