#include "report/printable_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/random.h"

namespace fairlead::report {
namespace {

TEST(CleanTextTest, KeepsTextAndReplacesTraps) {
  EXPECT_EQ(CleanText("bert-ü-日本-🙂"), "bert-ü-日本-🙂");
  EXPECT_EQ(CleanText("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(CleanText("\x1b[31mred"), "�[31mred");  // terminal escape
  // NOLINTNEXTLINE(misc-misleading-bidirectional): the trap itself
  EXPECT_EQ(CleanText("a\xe2\x80\xae"
                      "b"),
            "a�b");                       // U+202E turns the direction
  EXPECT_EQ(CleanText("\xc2\x9b"), "�");  // U+009B, a one-character escape
  EXPECT_EQ(CleanText(std::string("a\0b", 3)), "a�b");
}

TEST(CleanTextTest, RejectsWhatIsNoUtf8) {
  EXPECT_EQ(CleanText("\xff"), "�");
  EXPECT_EQ(CleanText("\xc0\xaf"), "��");            // overlong "/"
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "���");       // surrogate
  EXPECT_EQ(CleanText("\xf4\x90\x80\x80"), "����");  // past U+10FFFF
  EXPECT_EQ(CleanText("\xe2\x82"), "��");            // cut off
}

TEST(DisplayWidthTest, WideAndCombining) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("日本"), 4u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);  // e with a combining accent
  EXPECT_EQ(DisplayWidth("±…–"), 3u);
}

TEST(TruncateTest, Examples) {
  EXPECT_EQ(TruncateToWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(TruncateToWidth("abcdefg", 6), "abcde…");
  EXPECT_EQ(TruncateToWidth("日本語", 4), "日…");  // 2 + 1 columns; a second character would make 5
  EXPECT_EQ(TruncateToWidth("ab", 1), "…");
  EXPECT_EQ(TruncateToWidth("ab", 0), "");
}

// Text of random bytes, half of them from well-formed pieces, so that both sides of the decoder are met.
std::string RandomText(Random& random) {
  const char* pieces[] = {"a", " ", "é", "日", "🙂", "e\xcc\x81", "\n", "\x1b", "-"};
  std::string text;
  for (uint64_t i = random.Below(30); i > 0; --i) {
    if (random.Below(2) == 0) {
      text += pieces[random.Below(std::size(pieces))];
    } else {
      text += static_cast<char>(random.Below(256));
    }
  }
  return text;
}

TEST(PrintableTextLaws, HoldForRandomBytes) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string clean = CleanText(RandomText(random));
    ASSERT_EQ(CleanText(clean), clean);
    for (const char c : clean) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
    const size_t width = random.Below(12);
    const std::string cut = TruncateToWidth(clean, width);
    ASSERT_LE(DisplayWidth(cut), width);
    ASSERT_EQ(CleanText(cut), cut);  // no character was cut
    // As much is kept as fits: one more character (at most two columns) and the dots would be too wide.
    if (cut != clean && width > 0) {
      ASSERT_GE(DisplayWidth(cut) + 1, width);
    }
    ASSERT_EQ(DisplayWidth(PadLeft(cut, width)), width);
    ASSERT_EQ(DisplayWidth(PadRight(cut, width)), width);
    std::istringstream lines(WrapText(clean, 14, 3));
    for (std::string line; std::getline(lines, line);) ASSERT_LE(DisplayWidth(line), 14u);
  }
}

TEST(WrapTextTest, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(WrapText("one two three four", 9, 2), "one two\n  three\n  four\n");
  EXPECT_EQ(WrapText("", 9, 2), "\n");
}

}  // namespace
}  // namespace fairlead::report
