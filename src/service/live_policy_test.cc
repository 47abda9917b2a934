#include "service/live_policy.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "traffic/policy_registry.h"

namespace fairlead::service {
namespace {

// Whoever compares both worlds names one policy.
TEST(LivePolicyTest, AllNamesAreThoseOfTheSimulator) {
  std::set<std::pair<bool, bool>> decisions;
  for (const LivePolicy& policy : LivePolicies()) {
    EXPECT_TRUE(traffic::CreatePolicy(policy.name, {}).ok()) << policy.name;
    ASSERT_TRUE(FindLivePolicy(policy.name).ok());
    EXPECT_EQ(FindLivePolicy(policy.name)->decides, policy.decides);
    decisions.insert({policy.chooses_paths, policy.sets_levels});
  }
  EXPECT_EQ(decisions.size(), 4u) << "paths or not, levels or not";
  EXPECT_TRUE(traffic::CreatePolicy(kLevelPolicy, {}).ok());
}

TEST(LivePolicyTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(FindLivePolicy("crux").status(),
            NotFound("policy 'crux': running jobs have no such policy; known: ecmp (none), c4p (paths), "
                     "crux-levels (priorities), crux+c4p (both)"));
}

}  // namespace
}  // namespace fairlead::service
