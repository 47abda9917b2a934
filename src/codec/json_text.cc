#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/printable_ascii.h"

namespace fairlead::codec {

namespace {

std::string Shortened(std::string_view text, size_t length_max) {
  return PrintableAscii(text.substr(0, length_max)) + (text.size() > length_max ? "..." : "");
}

// Builds the value; stops at the first thing that is wrong.
// NOLINTNEXTLINE(bugprone-exception-escape): of the library's base class, when memory runs out
class ValueBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new) return Fail(fmt::format("the key '{}' appears twice in one object", Shortened(name, 60)));
    member_ = &member->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    position_ = position;
    // "[json.exception.parse_error.101] parse error at line 1, column 3: syntax error while …": the tail says it.
    const std::string_view what = error.what();
    const size_t tail = what.find(": ");
    return Fail("not JSON: " + Shortened(tail == std::string_view::npos ? what : what.substr(tail + 2), 200));
  }

  // Of what is wrong, as far as it is known.
  size_t position() const { return position_; }
  const std::string& error() const { return error_; }
  Json Take() { return std::move(root_); }

 private:
  bool Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }

  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (member_ != nullptr) {
      *member_ = std::move(value);
      return std::exchange(member_, nullptr);
    }
    auto& items = open_.back()->get_ref<Json::array_t&>();
    items.push_back(std::move(value));
    return &items.back();
  }

  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }

  bool Open(Json value) {
    if (open_.size() == kJsonDepthMax) return Fail(fmt::format("nested deeper than {} levels", kJsonDepthMax));
    open_.push_back(Place(std::move(value)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // an outer value does not move while an inner one is open
  Json* member_ = nullptr;   // with the last key read
  size_t position_ = 0;
  std::string error_;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// One past the end of the string that begins at `begin`, or of the bare token (number, true, false, null).
size_t EndOfToken(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  if (text[begin] != '"') {
    while (end < text.size() && !IsSpace(text[end]) &&
           std::string_view("{}[],:\"").find(text[end]) == std::string::npos)
      ++end;
    return end;
  }
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const std::string& name, uint64_t first_line) {
  ValueBuilder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.Take();
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(builder.position(), text.size()));
  const auto line = first_line + static_cast<uint64_t>(std::count(text.begin(), end, '\n'));
  return InvalidArgument(fmt::format("{}:{}: {}", name, line, builder.error()));
}

std::string RepairCommas(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  size_t comma = std::string::npos;  // where in `repaired` a comma waits for what follows
  bool after_value = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (IsSpace(c)) {
      repaired += text[i++];
      continue;
    }
    const bool closes = c == '}' || c == ']';
    if (closes && comma != std::string::npos) repaired.erase(comma, 1);
    const bool begins_value = !closes && c != ',' && c != ':';
    if (begins_value && after_value) repaired += ',';
    comma = c == ',' ? repaired.size() : std::string::npos;
    const size_t end = begins_value && c != '{' && c != '[' ? EndOfToken(text, i) : i + 1;
    after_value = closes || (begins_value && c != '{' && c != '[');
    repaired.append(text.substr(i, end - i));
    i = end;
  }
  return repaired;
}

std::string DescribeValue(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return fmt::format("'{}'", Shortened(value.get_ref<const std::string&>(), 40));
  return Shortened(value.dump(), 40);
}

}  // namespace fairlead::codec
