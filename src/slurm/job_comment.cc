#include "slurm/job_comment.h"

#include <algorithm>

#include "base/printable_ascii.h"
#include "codec/json_archive.h"

namespace fairlead::slurm {
namespace {

// What our part is wrapped in.
struct Wrapping {
  std::string_view open;
  char close;
};
constexpr Wrapping kPlain = {"[fairlead: ", ']'};
constexpr Wrapping kInJson = {"\"fairlead_account\": \"", '"'};
// Less says nothing.
constexpr size_t kWorthIt = 40;
constexpr std::string_view kCutOff = "...";

// The object that a comment is; nothing: it is none.
std::optional<codec::Json> ObjectOf(std::string_view comment) {
  const size_t begin = comment.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || comment[begin] != '{') return std::nullopt;
  auto json = codec::ParseJson(comment.substr(begin), "the comment");
  if (!json.ok() || !json->is_object()) return std::nullopt;
  return *std::move(json);
}

// Where the text of our part is; nothing: there is none.
struct Span {
  size_t begin = 0;
  size_t end = 0;
};
std::optional<Span> FindOurs(std::string_view comment, const Wrapping& wrapping) {
  const size_t open = comment.rfind(wrapping.open);
  if (open == std::string_view::npos) return std::nullopt;
  const size_t begin = open + wrapping.open.size();
  const size_t end = comment.find(wrapping.close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return Span{begin, end};
}

std::string Shortened(std::string text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.resize(bytes_max - kCutOff.size());
  return text.append(kCutOff);
}

}  // namespace

std::string AccountText(std::string_view text) {
  std::string safe = PrintableAscii(text.substr(0, 4 * kAccountTextBytesMax));
  std::ranges::replace(safe, '[', '(');
  std::ranges::replace(safe, ']', ')');
  std::ranges::replace(safe, ';', ',');
  std::ranges::replace_if(
      safe, [](char c) { return std::string_view("\"'\\`$|{}<>&").find(c) != std::string_view::npos; }, '?');
  return Shortened(std::move(safe), kAccountTextBytesMax);
}

std::optional<std::string> CommentWithAccount(std::string_view comment, std::string_view text) {
  const std::optional<codec::Json> object = ObjectOf(comment);
  const Wrapping& wrapping = object.has_value() ? kInJson : kPlain;
  std::string before(comment);
  std::string after;
  if (const auto ours = FindOurs(comment, wrapping)) {
    before = comment.substr(0, ours->begin);
    after = comment.substr(ours->end);
  } else if (object.has_value()) {
    const size_t end = comment.rfind('}');
    before = std::string(comment.substr(0, end)) + (object->empty() ? "" : ", ") + std::string(wrapping.open);
    after = wrapping.close + std::string(comment.substr(end));
  } else {
    if (!before.empty()) before += ' ';
    before += wrapping.open;
    after = wrapping.close;
  }
  const std::string safe = AccountText(text);
  const size_t taken = before.size() + after.size();
  const size_t room = kJobCommentBytesMax - std::min(kJobCommentBytesMax, taken);
  if (room < std::min(kWorthIt, safe.size())) return std::nullopt;
  return before + Shortened(safe, room) + after;
}

std::string AccountOf(std::string_view comment) {
  const auto ours = FindOurs(comment, ObjectOf(comment).has_value() ? kInJson : kPlain);
  return ours.has_value() ? std::string(comment.substr(ours->begin, ours->end - ours->begin)) : std::string();
}

}  // namespace fairlead::slurm
