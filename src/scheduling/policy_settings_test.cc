#include "scheduling/policy_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::scheduling {
namespace {

using ::testing::HasSubstr;

TEST(PolicySettingsTest, ASettingMayNameItsPolicy) {
  const auto all = ParsePolicySetting("interval_s=2.5", "--set");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->policy, "");
  EXPECT_EQ(all->option, "interval_s");
  EXPECT_EQ(all->value, 2.5);
  const auto one = ParsePolicySetting("aiturbo.interval_s=-1", "--set");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->policy, "aiturbo");
  EXPECT_EQ(one->option, "interval_s");
  EXPECT_EQ(one->value, -1);
  for (const char* text : {"", "x", "x=", "=1", "x=one", "x=1s", "aiturbo.=1", "x==1", "x=1.2.3"}) {
    EXPECT_THAT(std::string(ParsePolicySetting(text, "--set").status().message()), HasSubstr("--set: expected"))
        << text;
  }
}

// Some policy with an option, and one without it, whatever they are called.
TEST(PolicySettingsTest, ASettingThatNoPolicyTakesIsAMistake) {
  std::string with, option, without;
  for (const auto& name : AllocationPolicyNames()) {
    const auto options = AllocationPolicyOptions(std::string(name));
    if (options.empty()) without = std::string(name);
    if (options.empty() || !with.empty()) continue;
    with = std::string(name);
    option = std::string(options.front().name);
  }
  ASSERT_FALSE(with.empty() || without.empty());
  const std::vector<std::string> both = {without, with};
  const std::vector<std::string> bare = {without};
  const auto parse = [](const std::string& text, const std::vector<std::string>& policies) {
    return std::string(ParsePolicySettings(std::vector{text}, policies, "--set").status().message());
  };
  EXPECT_EQ(parse(option + "=1", both), "");
  EXPECT_EQ(parse(with + "." + option + "=1", both), "");
  EXPECT_THAT(parse(with + "." + option + "=1", bare), HasSubstr("that policy is not run; there are " + without));
  EXPECT_THAT(parse(option + "=1", bare), HasSubstr("these policies have no options"));
  EXPECT_THAT(parse(option + "x=1", both), HasSubstr("did you mean"));
  EXPECT_TRUE(IsMeantFor({.policy = "", .option = option}, with));
  EXPECT_FALSE(IsMeantFor({.policy = "", .option = option}, without));
  EXPECT_TRUE(IsMeantFor({.policy = with, .option = "anything"}, with)) << "its own check names the mistake";
}

TEST(PolicySettingsTest, ThoseOfAPolicyAreItsOwnAndTheGeneralOnesTheLastOneCounts) {
  const std::vector<std::string> policies = {"aiturbo", "gavel", "fcfs"};
  const std::vector<std::string> texts = {"round_s=100", "gavel.round_s=200", "aiturbo.age=3", "age=4"};
  const auto settings = ParsePolicySettings(texts, policies, "--set");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(SettingsOf(*settings, "aiturbo"), (PolicySettings{{"round_s", 100}, {"age", 4}}));
  EXPECT_EQ(SettingsOf(*settings, "gavel"), (PolicySettings{{"round_s", 200}}));
  EXPECT_EQ(SettingsOf(*settings, "fcfs"), PolicySettings());
}

}  // namespace
}  // namespace fairlead::scheduling
