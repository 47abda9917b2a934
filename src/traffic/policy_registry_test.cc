#include "traffic/policy_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::traffic {
namespace {

using testing::ElementsAre;

TEST(PolicyRegistryTest, EveryNameCreatesThePolicyOfThatName) {
  EXPECT_THAT(PolicyNames(), ElementsAre("ecmp", "fixed", "flowlet", "spray", "ethereal", "edge-coloring", "mltcp",
                                         "sincronia", "varys", "taccl-star", "cassini", "crux-pa", "crux-levels",
                                         "crux-ps-pa", "crux", "crux-fair", "crux-guard", "c4p-static", "c4p",
                                         "crux+c4p", "crux+flowlet", "crux+spray", "crux+ethereal"));
  for (const std::string_view name : PolicyNames()) EXPECT_EQ(CreatePolicy(name, {}).value()->name(), name);
}

TEST(PolicyRegistryTest, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(CreatePolicy("curx", {}).status(),
            NotFound("unknown traffic policy 'curx' (did you mean 'crux'?); known: ecmp, fixed, flowlet, spray, "
                     "ethereal, edge-coloring, mltcp, "
                     "sincronia, varys, taccl-star, cassini, "
                     "crux-pa, crux-levels, crux-ps-pa, crux, crux-fair, crux-guard, c4p-static, c4p, crux+c4p, "
                     "crux+flowlet, crux+spray, crux+ethereal"));
  EXPECT_FALSE(CreatePolicy("taccl_star", {}).ok());
}

TEST(PolicyRegistryTest, OptionsAreValidated) {
  PolicyOptions options;
  options.crux.max_candidates = 0;
  for (const std::string_view name : {"crux", "crux-pa", "crux-levels", "crux-ps-pa", "crux-fair", "crux-guard"}) {
    EXPECT_EQ(CreatePolicy(name, options).status(), InvalidArgument("crux: max_candidates: expected >= 1, found 0"));
  }
  EXPECT_TRUE(CreatePolicy("ecmp", options).ok());
  EXPECT_TRUE(CreatePolicy("taccl-star", options).ok());
  options.taccl_star.max_candidates = 0;
  EXPECT_EQ(CreatePolicy("taccl-star", options).status(),
            InvalidArgument("taccl-star: max_candidates: expected >= 1, found 0"));
  options = {};
  options.c4p.max_imbalance = 0.5;
  for (const std::string_view name : {"c4p", "c4p-static", "crux+c4p"}) {
    EXPECT_EQ(CreatePolicy(name, options).status(), InvalidArgument("c4p: max_imbalance: expected >= 1, found 0.5"));
  }
}

TEST(PolicyRegistryTest, OnlyUncompressedCruxAsksForMoreLevelsThanThereAre) {
  for (const std::string_view name : PolicyNames()) {
    const bool is_uncompressed = name == "crux-pa" || name == "crux-ps-pa";
    EXPECT_EQ(CreatePolicy(name, {}).value()->NumLevels(8, 20), is_uncompressed ? 20u : 8u) << name;
  }
}

}  // namespace
}  // namespace fairlead::traffic
