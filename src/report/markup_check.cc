#include "report/markup_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fairlead::report {
namespace {

std::string Where(std::string_view markup, size_t at) {
  return fmt::format("at byte {}: {}", at, markup.substr(at, 60));
}

bool IsVoid(std::string_view name) { return name == "!DOCTYPE" || name == "meta" || name == "br"; }

// The end of a tag that begins at `begin`, past its ">"; npos when it doesn't end or holds an unquoted attribute.
size_t FindTagEnd(std::string_view markup, size_t begin) {
  bool quoted = false;
  for (size_t i = begin; i < markup.size(); ++i) {
    if (markup[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (markup[i] == '=' && (i + 1 >= markup.size() || markup[i + 1] != '"')) return std::string_view::npos;
    if (markup[i] == '>') return i + 1;
  }
  return std::string_view::npos;
}

bool IsEntity(std::string_view rest) {
  for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
    if (rest.substr(0, entity.size()) == entity) return true;
  }
  return false;
}

}  // namespace

std::string FindMarkupError(std::string_view markup) {
  std::vector<std::string> open;
  for (size_t i = 0; i < markup.size();) {
    if (markup[i] == '&' && !IsEntity(markup.substr(i))) return "stray & " + Where(markup, i);
    if (markup[i] != '<') {
      ++i;
      continue;
    }
    const size_t end = FindTagEnd(markup, i);
    if (end == std::string_view::npos) return "broken tag " + Where(markup, i);
    const std::string_view tag = markup.substr(i + 1, end - i - 2);
    const bool closes = tag.starts_with('/');
    const std::string name(tag.substr(closes, tag.find_first_of(" /", closes) - closes));
    if (closes) {
      if (open.empty() || open.back() != name) return fmt::format("</{}> closes nothing ", name) + Where(markup, i);
      open.pop_back();
    } else if (!tag.ends_with('/') && !IsVoid(name)) {
      open.push_back(name);
    }
    const bool is_foreign = (name == "style" || name == "script") && !closes;
    i = is_foreign ? std::min(markup.find("</" + name + ">", end), markup.size()) : end;
  }
  return open.empty() ? "" : fmt::format("<{}> is never closed", open.back());
}

}  // namespace fairlead::report
