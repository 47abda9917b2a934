#include "base/shell_word.h"

#include <gmock/gmock.h>

#include <string>

#include "base/shell_output.h"

namespace fairlead {
namespace {

TEST(ShellWordTest, PlainNamesStayAsTheyAre) {
  for (const char* name : {"h1", "rack-7.example:2", "a/b_c.yaml", "--set=x=1", "user@host"}) {
    EXPECT_EQ(ShellWord(name), name);
  }
}

// The oracle is the shell itself.
TEST(ShellWordTest, AShellTakesItForOneWord) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text :
       {std::string(), std::string("two words"), std::string("it's"), std::string("$HOME"), std::string("a;b|c&d"),
        std::string("`id`"), std::string("~"), std::string("#"), std::string("line\nbreak"), std::string("''"), all}) {
    EXPECT_EQ(OutputOf("printf '%s.' " + ShellWord(text)), text + ".");
  }
}

}  // namespace
}  // namespace fairlead
