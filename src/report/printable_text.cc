#include "report/printable_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace fairlead::report {
namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr std::string_view kEllipsis = "…";

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Marks that are drawn over the character before them, and joiners.
constexpr std::array kZeroWidth = std::to_array<CodePointRange>({{0x0300, 0x036f},
                                                                 {0x0483, 0x0489},
                                                                 {0x0591, 0x05bd},
                                                                 {0x064b, 0x065f},
                                                                 {0x0e31, 0x0e31},
                                                                 {0x0e34, 0x0e3a},
                                                                 {0x1ab0, 0x1aff},
                                                                 {0x200b, 0x200d},
                                                                 {0x20d0, 0x20ff},
                                                                 {0xfe00, 0xfe0f},
                                                                 {0xfe20, 0xfe2f}});

// Unicode's East Asian Width classes W and F, in coarse blocks.
constexpr std::array kDoubleWidth = std::to_array<CodePointRange>({{0x1100, 0x115f},
                                                                   {0x2e80, 0x303e},
                                                                   {0x3041, 0xa4cf},
                                                                   {0xac00, 0xd7a3},
                                                                   {0xf900, 0xfaff},
                                                                   {0xfe30, 0xfe6f},
                                                                   {0xff00, 0xff60},
                                                                   {0xffe0, 0xffe6},
                                                                   {0x1f300, 0x1f64f},
                                                                   {0x1f680, 0x1f6ff},
                                                                   {0x1f900, 0x1f9ff},
                                                                   {0x20000, 0x3fffd}});

template <size_t Size>
bool Contains(const std::array<CodePointRange, Size>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const auto& r) { return c >= r.first && c <= r.last; });
}

size_t WidthOf(char32_t c) {
  if (c < 0x300) return 1;
  if (Contains(kZeroWidth, c)) return 0;
  return Contains(kDoubleWidth, c) ? 2 : 1;
}

// Controls, and marks that make the text around them run the other way.
bool IsUnsafe(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

// Takes one character off the front of `rest`; U+FFFD and one byte where it is no well-formed UTF-8.
char32_t TakeCharacter(std::string_view& rest) {
  const auto byte = [&rest](size_t i) { return static_cast<uint8_t>(rest[i]); };
  const uint8_t lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  char32_t c = size <= 1 ? lead : lead & (0x7fu >> size);
  bool well_formed = size > 0 && size <= rest.size();
  for (size_t i = 1; well_formed && i < size; ++i) {
    well_formed = (byte(i) & 0xc0) == 0x80;
    c = (c << 6) | (byte(i) & 0x3f);
  }
  // Overlong forms, surrogates, and what lies past the last code point.
  if (size == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) well_formed = false;
  if (size == 4 && (c < 0x10000 || c > 0x10ffff)) well_formed = false;
  rest.remove_prefix(well_formed ? size : 1);
  return well_formed ? c : kReplacement;
}

}  // namespace

std::string CleanText(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = TakeCharacter(text);
    if (c == '\n' || c == '\r' || c == '\t') {
      clean += ' ';
    } else if (c == kReplacement || IsUnsafe(c)) {
      clean += "\xef\xbf\xbd";
    } else {
      clean += before.substr(0, before.size() - text.size());
    }
  }
  return clean;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += WidthOf(TakeCharacter(text));
  return width;
}

std::string TruncateToWidth(std::string_view text, size_t width_max) {
  if (DisplayWidth(text) <= width_max) return std::string(text);
  if (width_max == 0) return "";
  std::string_view rest = text;
  std::string_view kept = text;  // what lies behind the kept part
  size_t width = 0;
  while (!rest.empty()) {
    width += WidthOf(TakeCharacter(rest));
    if (width > width_max - 1) break;
    kept = rest;
  }
  return std::string(text.substr(0, text.size() - kept.size())) + std::string(kEllipsis);
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t own = DisplayWidth(text);
  return std::string(width > own ? width - own : 0, ' ') + std::string(text);
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t own = DisplayWidth(text);
  return std::string(text) + std::string(width > own ? width - own : 0, ' ');
}

std::string WrapText(std::string_view text, size_t width_max, size_t indent) {
  std::string wrapped;
  size_t column = 0;
  bool line_empty = true;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string word = TruncateToWidth(text.substr(0, space), width_max - std::min(indent, width_max));
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    if (!line_empty && column + 1 + DisplayWidth(word) > width_max) {
      wrapped += '\n' + std::string(indent, ' ');
      column = indent;
      line_empty = true;
    }
    if (!line_empty) wrapped += ' ';
    column += DisplayWidth(word) + (line_empty ? 0 : 1);
    wrapped += word;
    line_empty = false;
  }
  return wrapped + '\n';
}

}  // namespace fairlead::report
