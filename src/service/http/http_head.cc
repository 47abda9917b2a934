#include "service/http/http_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ip_address.h"

namespace fairlead::service {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr size_t kTargetBytesMax = 4096;
constexpr size_t kHeadersMax = 100;

HttpRefusal Bad(std::string message) { return {400, std::move(message)}; }

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find("\r\n");
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 2);
  return line;
}

bool IsToken(std::string_view text) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_good);
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
  });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

HttpRefusal ReadFirstLine(std::string_view line, HttpHead* head) {
  const size_t target = line.find(' ');
  const size_t version = line.rfind(' ');
  if (target == line.npos || version <= target + 1) return Bad("the request can't be read");
  head->method = line.substr(0, target);
  head->target = line.substr(target + 1, version - target - 1);
  const std::string_view name = line.substr(version + 1);
  if (name != "HTTP/1.1" && name != "HTTP/1.0") return {505, "expected HTTP/1.1"};
  const bool is_good = IsToken(head->method) && head->target.front() == '/' && IsPrintable(head->target) &&
                       head->target.find_first_of(" \t") == std::string::npos;
  if (!is_good) return Bad("the request can't be read");
  if (head->target.size() > kTargetBytesMax) return {414, "the path is too long"};
  return {};
}

HttpRefusal ReadLength(const std::string& value, size_t body_bytes_max, size_t* length) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *length);
  const bool is_number = end == value.data() + value.size() && !value.empty();
  const bool is_huge = error == std::errc::result_out_of_range;
  if (!is_number || (error != std::errc() && !is_huge)) return Bad("Content-Length: expected a number");
  if (is_huge || *length > body_bytes_max) {
    return {413, fmt::format("expected a body of at most {} bytes", body_bytes_max)};
  }
  return {};
}

HttpRefusal ReadHeader(std::string_view line, size_t body_bytes_max, HttpHead* head) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !IsToken(line.substr(0, colon)) || !IsPrintable(line)) {
    return Bad("a header can't be read");
  }
  std::string name = Lower(line.substr(0, colon));
  std::string value(Trim(line.substr(colon + 1)));
  const bool is_single = name == "host" || name == "content-length" || name == "authorization";
  if (is_single && std::ranges::any_of(head->headers, [&](const auto& other) { return other.first == name; })) {
    return Bad(name + ": given twice");
  }
  if (name == "transfer-encoding") return {411, "expected a body with Content-Length, not in chunks"};
  if (name == "content-encoding" && Lower(value) != "identity") return {415, "expected a body that is not compressed"};
  if (name == "expect") {
    if (Lower(value) != "100-continue") return {417, "Expect: expected 100-continue"};
    head->waits_for_continue = true;
  }
  if (name == "content-length") {
    HttpRefusal refusal = ReadLength(value, body_bytes_max, &head->content_length);
    if (refusal.code != 0) return refusal;
  }
  head->headers.emplace_back(std::move(name), std::move(value));
  return {};
}

}  // namespace

std::string_view HttpHead::Value(std::string_view name) const {
  const auto found =
      std::ranges::find(headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

size_t FindHeadEnd(std::string_view bytes) {
  const size_t end = bytes.find(kEnd);
  return end == bytes.npos ? end : end + kEnd.size();
}

HttpRefusal ReadHttpHead(std::string_view bytes, size_t body_bytes_max, HttpHead* head) {
  bytes.remove_suffix(std::min(bytes.size(), size_t{2}));
  HttpRefusal refusal = ReadFirstLine(TakeLine(&bytes), head);
  while (refusal.code == 0 && !bytes.empty()) {
    if (head->headers.size() >= kHeadersMax) return {431, fmt::format("expected at most {} headers", kHeadersMax)};
    refusal = ReadHeader(TakeLine(&bytes), body_bytes_max, head);
  }
  return refusal;
}

bool IsOwnHost(std::string_view host, const std::vector<std::string>& names) {
  const size_t colon = host.find_last_not_of("0123456789");
  if (colon != host.npos && host[colon] == ':') host = host.substr(0, colon);
  const std::string name = Lower(host);
  if (name == "localhost" || name == "[::1]") return true;
  // Whole addresses: a resolver may know 127.1 or 127.0.0.1.5 as a name.
  const auto address = name.find(':') == name.npos ? ParseIpAddress(name) : InvalidArgument("brackets are missing");
  if (address.ok()) return address->ipv4() >> 24 == 127;
  return std::ranges::any_of(names, [&](const std::string& own) { return Lower(own) == name; });
}

}  // namespace fairlead::service
