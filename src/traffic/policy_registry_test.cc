#include "traffic/policy_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::traffic {
namespace {

using testing::ElementsAre;

TEST(PolicyRegistryTest, EveryNameCreatesThePolicyOfThatName) {
  EXPECT_THAT(PolicyNames(), ElementsAre("ecmp", "crux"));
  for (const std::string_view name : PolicyNames()) EXPECT_EQ(CreatePolicy(name, {}).value()->name(), name);
}

TEST(PolicyRegistryTest, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(CreatePolicy("cruks", {}).status(), NotFound("traffic policy 'cruks': no such policy; known: ecmp, crux"));
}

TEST(PolicyRegistryTest, OptionsAreValidated) {
  PolicyOptions options;
  options.crux.max_candidates = 0;
  EXPECT_EQ(CreatePolicy("crux", options).status(), InvalidArgument("crux: max_candidates: expected >= 1, found 0"));
  EXPECT_TRUE(CreatePolicy("ecmp", options).ok());
}

}  // namespace
}  // namespace fairlead::traffic
