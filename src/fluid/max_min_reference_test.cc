#include "fluid/max_min_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::fluid {
namespace {

using ::testing::ElementsAre;

// Link A is shared by f0, f1; link B by f0, f2.
const std::vector<ReferenceFlow> kThreeFlows = {{{{0}, {1}}}, {{{0}}}, {{{1}}}};

TEST(MaxMinReference, SharesOneLinkEqually) {
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{9}, std::vector<ReferenceFlow>(3, {{{0}}})),
              ElementsAre(3, 3, 3));
}

TEST(MaxMinReference, CruxTwoLinkExamples) {
  // A = B = 1: both links fill at 1/2. With B = 2 link A fills first, at 1/2; f2 gets the other 1.5 of B.
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{1, 1}, kThreeFlows), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{1, 2}, kThreeFlows), ElementsAre(0.5, 0.5, 1.5));
}

TEST(MaxMinReference, WeightsAndMultiplicities) {
  // Share s with 1*s + 3*s = 8: s = 2, rates 2 and 6.
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{8}, std::vector<ReferenceFlow>{{{{0}}, 0, 1}, {{{0}}, 0, 3}}),
              ElementsAre(2, 6));
  // The first flow crosses the link three times, once written as two uses: 3*s + 1*s = 8, both get 2.
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{8}, std::vector<ReferenceFlow>{{{{0, 2}, {0, 1}}}, {{{0}}}}),
              ElementsAre(2, 2));
}

TEST(MaxMinReference, LevelsAreStrict) {
  // Level 0 is bounded to 4 by link 1 and leaves 6 of link 0; level 1 takes it; nothing is left for level 2.
  const std::vector<ReferenceFlow> flows = {{{{0}}, 2}, {{{0}}, 1}, {{{0}, {1}}, 0}};
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{10, 4}, flows), ElementsAre(0, 6, 4));
}

TEST(MaxMinReference, DeadLinkStopsItsFlowsOnly) {
  EXPECT_THAT(ComputeMaxMinReference(std::vector<double>{0, 5}, kThreeFlows), ElementsAre(0, 0, 5));
}

}  // namespace
}  // namespace fairlead::fluid
