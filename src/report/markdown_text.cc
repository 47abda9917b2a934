#include "report/markdown_text.h"

#include <algorithm>
#include <cctype>

namespace fairlead::report {
namespace {

bool IsAlphanumeric(char c) {
  // Bytes of other alphabets: letters inside of words, too.
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

bool IsPunctuation(char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; }

// What follows a '&': "lt;…", "#60;…".
bool IsEntity(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  const auto end = std::ranges::find_if_not(text, IsAlphanumeric);
  return end != text.begin() && end != text.end() && *end == ';';
}

char At(std::string_view text, size_t i) { return i < text.size() ? text[i] : ' '; }

// Whether the character at `i` would begin or end markup within a line.
bool IsMarkup(std::string_view text, size_t i) {
  const char before = i == 0 ? ' ' : text[i - 1];
  const char after = At(text, i + 1);
  switch (text[i]) {
    case '`':
    case '<':
      return true;
    case '*':
      return before != ' ' || after != ' ';
    case '_':  // within a word it is a letter
      return (before != ' ' || after != ' ') && !(IsAlphanumeric(before) && IsAlphanumeric(after));
    case '~':
      return before == '~' || after == '~';
    case '\\':
      return IsPunctuation(after);
    case '&':
      return IsEntity(text.substr(i + 1));
    case '[':
      return after == '^' || text.find("](", i) != std::string_view::npos ||
             (i == 0 && text.find("]:") != std::string_view::npos);
    default:
      return false;
  }
}

// How many characters at the start of a line make it a heading, a quote, a rule or a list: the last of them is escaped.
size_t BlockMark(std::string_view line) {
  if (line.empty()) return 0;
  if (line.find_first_not_of("-=_* ") == std::string_view::npos) return 1;
  if (line.front() == '#' || line.front() == '>') return 1;
  if (line.front() == '+' && At(line, 1) == ' ') return 1;
  const size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool is_number = digits > 0 && digits < 10 && (At(line, digits) == '.' || At(line, digits) == ')');
  return is_number && At(line, digits + 1) == ' ' ? digits + 1 : 0;
}

std::string Escape(std::string_view text, size_t block_mark, bool is_cell) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == block_mark || IsMarkup(text, i) || (is_cell && text[i] == '|')) escaped += '\\';
    escaped += text[i];
  }
  return escaped;
}

}  // namespace

std::string MarkdownLine(std::string_view text) { return Escape(text, BlockMark(text), false); }

std::string MarkdownCell(std::string_view text) { return Escape(text, 0, true); }

}  // namespace fairlead::report
