#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

TEST(NearestWordTest, OneSlipInThreeLetters) {
  const std::vector<std::string> policies = {"ecmp", "crux", "crux+c4p", "c4p"};
  EXPECT_EQ(NearestWord("curx", policies), "crux");
  EXPECT_EQ(NearestWord("crx", policies), "crux");
  EXPECT_EQ(NearestWord("ecmpp", policies), "ecmp");
  EXPECT_EQ(NearestWord("crux-c4p", policies), "crux+c4p");
  EXPECT_EQ(NearestWord("c4", policies), "c4p");
  EXPECT_EQ(NearestWord("sjf", policies), "");
  EXPECT_EQ(NearestWord("", policies), "");
  EXPECT_EQ(NearestWord("crux", {}), "");
}

}  // namespace
}  // namespace fairlead
