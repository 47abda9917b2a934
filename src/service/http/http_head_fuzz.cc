// Fuzz target: what clients of the gateway send, and names they call it by.
//
// Any bytes are a head or a refusal in words. A head that is let in has one meaning, found here by other means, and is
// the same when it is written out and read again; what follows it changes nothing.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "service/http/http_head.h"

namespace {

using fairlead::service::FindHeadEnd;
using fairlead::service::HttpHead;
using fairlead::service::HttpRefusal;
using fairlead::service::IsOwnHost;
using fairlead::service::ReadHttpHead;

constexpr size_t kBodyBytesMax = 1000;
const std::vector<std::string> kOwnNames = {"Proxy", "ui.example"};

bool HasControl(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return lower;
}

std::vector<std::string_view> ValuesOf(const HttpHead& head, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& header : head.headers) {
    if (header.first == name) values.push_back(header.second);
  }
  return values;
}

// What the bytes say of the length, by their lines alone.
void CheckLength(std::string_view bytes, const HttpHead& head) {
  size_t num_lengths = 0;
  for (size_t at = 0; at + 1 < bytes.size(); ++at) {
    const char c = bytes[at];
    FL_CHECK_MSG(c != '\n' || bytes[at - 1] == '\r', "a line that ends by itself");
    FL_CHECK_MSG(c != '\r' || bytes[at + 1] == '\n', "a line that another reader may end here");
    if (c != '\n') continue;
    const std::string name = Lower(bytes.substr(at + 1, bytes.find_first_of(": \t\r", at + 1) - at - 1));
    num_lengths += name == "content-length" ? 1 : 0;
    FL_CHECK(name != "transfer-encoding");
  }
  const auto lengths = ValuesOf(head, "content-length");
  FL_CHECK(num_lengths == lengths.size() && num_lengths <= 1);
  FL_CHECK(head.content_length <= kBodyBytesMax);
  FL_CHECK(num_lengths == 1 || head.content_length == 0);
  if (num_lengths == 0) return;
  FL_CHECK(!lengths[0].empty() && std::ranges::all_of(lengths[0], [](char c) { return c >= '0' && c <= '9'; }));
  size_t length = 0;
  for (const char c : lengths[0]) length = length * 10 + static_cast<size_t>(c - '0');
  FL_CHECK(length == head.content_length);
}

void CheckMeaning(const HttpHead& head) {
  FL_CHECK(!head.method.empty() && head.target.starts_with('/') && head.path().starts_with('/'));
  for (const std::string& text : {head.method, head.target}) {
    FL_CHECK(!HasControl(text) && text.find(' ') == text.npos);
  }
  FL_CHECK(head.path().find('?') == std::string_view::npos);
  for (const auto& [name, value] : head.headers) {
    FL_CHECK(!name.empty() && name == Lower(name) && !HasControl(name) && name.find_first_of(" :") == name.npos);
    FL_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == value.npos);
    FL_CHECK(value.empty() || (value.front() != ' ' && value.back() != ' '));
  }
  for (const char* single : {"host", "authorization"}) FL_CHECK(ValuesOf(head, single).size() <= 1);
  FL_CHECK(ValuesOf(head, "transfer-encoding").empty());
  FL_CHECK(std::ranges::all_of(ValuesOf(head, "content-encoding"),
                               [](std::string_view value) { return value.size() == 8; }));  // "identity"
  FL_CHECK(head.waits_for_continue == !ValuesOf(head, "expect").empty());
}

void CheckWrittenAgain(const HttpHead& head) {
  std::string written = head.method + " " + head.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : head.headers) written.append(name).append(": ").append(value).append("\r\n");
  written += "\r\n";
  FL_CHECK(FindHeadEnd(written) == written.size());
  HttpHead again;
  FL_CHECK(ReadHttpHead(written, kBodyBytesMax, &again).code == 0);
  FL_CHECK(again.method == head.method && again.target == head.target && again.headers == head.headers);
  FL_CHECK(again.content_length == head.content_length && again.waits_for_continue == head.waits_for_continue);
}

void CheckHead(std::string_view bytes) {
  const size_t end = FindHeadEnd(bytes);
  if (end == bytes.npos) return;
  FL_CHECK(end >= 4 && end <= bytes.size());
  const std::string_view text = bytes.substr(0, end);
  FL_CHECK(FindHeadEnd(text) == end && FindHeadEnd(text.substr(0, end - 1)) == text.npos);
  HttpHead head;
  const HttpRefusal refusal = ReadHttpHead(text, kBodyBytesMax, &head);
  if (refusal.code != 0) {
    FL_CHECK(refusal.code >= 400 && refusal.code < 600);
    FL_CHECK(!refusal.message.empty() && !HasControl(refusal.message));
    return;
  }
  CheckLength(text, head);
  CheckMeaning(head);
  CheckWrittenAgain(head);
}

// Four numbers up to 255 with points between them, the first 127.
bool IsLoopback(std::string_view name) {
  size_t num_parts = 0;
  for (; num_parts < 4; ++num_parts) {
    unsigned part = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), part);
    if (error != std::errc() || part > 255 || (num_parts == 0 && part != 127)) return false;
    const auto length = static_cast<size_t>(rest - name.data());
    if (length != std::to_string(part).size()) return false;  // with zeros in front: octal, to some
    name.remove_prefix(length);
    if (num_parts == 3) return name.empty();
    if (!name.starts_with('.')) return false;
    name.remove_prefix(1);
  }
  return false;
}

void CheckHost(std::string_view host) {
  std::string name = Lower(host);
  // A port, as no name and no address in brackets ends in a colon and digits.
  const size_t colon = name.find_last_not_of("0123456789");
  if (colon != name.npos && name[colon] == ':') name.resize(colon);
  const bool is_own =
      name == "localhost" || name == "[::1]" || name == "proxy" || name == "ui.example" || IsLoopback(name);
  FL_CHECK_MSG(!IsOwnHost(host, kOwnNames) || is_own, "accepted: " + std::string(host));
  FL_CHECK(!is_own || IsOwnHost(name, kOwnNames));
  FL_CHECK(!IsOwnHost(name + ".evil", kOwnNames) && !IsOwnHost("evil." + name, kOwnNames));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckHead(bytes);
  CheckHost(bytes.substr(0, bytes.find_first_of("\r\n")));
  return 0;
}
