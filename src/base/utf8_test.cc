#include "base/utf8.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Utf8, WholeCharactersOnly) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("gpt-3 训练 é 😀"));
  EXPECT_FALSE(IsUtf8("\xff"));               // no first byte
  EXPECT_FALSE(IsUtf8("\xe8\xae"));           // cut off
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));           // overlong '/'
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));       // a surrogate
  EXPECT_FALSE(IsUtf8("a\xf4\x90\x80\x80"));  // past the last code point
}

}  // namespace
}  // namespace fairlead
