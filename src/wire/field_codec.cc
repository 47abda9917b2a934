#include "wire/field_codec.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/job_name.h"
#include "wire/host_message_codec.h"

namespace fairlead::wire {
namespace {

template <class Small>
Status ReadSmall(uint32_t value, std::string_view field, Small* out) {
  FL_RETURN_IF_ERROR(CheckAtMost(value, std::numeric_limits<Small>::max(), field));
  *out = static_cast<Small>(value);
  return OkStatus();
}

// Length of the UTF-8 character at the front; 0: there is none. Overlong forms and surrogates are not characters.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_wrong ? 0 : length;
}

}  // namespace

Status CheckAtMost(uint64_t value, uint64_t most, std::string_view field) {
  if (value <= most) return OkStatus();
  return InvalidArgument(fmt::format("{}: expected 0 to {}, found {}", field, most, value));
}

void SilenceLibrary() {
  [[maybe_unused]] static google::protobuf::LogHandler* const kPrevious = google::protobuf::SetLogHandler(nullptr);
}

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kNameBytesMax) return false;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string WriteAddress(const IpAddress& address) {
  const auto& bytes = address.bytes();
  return {address.is_ipv4() ? bytes.end() - 4 : bytes.begin(), bytes.end()};
}

Status ReadAddress(const std::string& bytes, std::string_view field, IpAddress* address) {
  if (bytes.size() == 4) {
    uint32_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
    *address = IpAddress::FromIpv4(value);
    return OkStatus();
  }
  if (bytes.size() != 16) {
    return InvalidArgument(fmt::format("{}: expected an address of 4 or 16 bytes, found {}", field, bytes.size()));
  }
  std::array<uint8_t, 16> all;
  std::copy(bytes.begin(), bytes.end(), all.begin());
  *address = IpAddress(all);
  return OkStatus();
}

std::string WriteOptionalAddress(const IpAddress& address) {
  return address.is_unset() ? std::string() : WriteAddress(address);
}

Status ReadOptionalAddress(const std::string& bytes, std::string_view field, IpAddress* address) {
  *address = IpAddress();
  return bytes.empty() ? OkStatus() : ReadAddress(bytes, field, address);
}

Status ReadPort(uint32_t value, std::string_view field, uint16_t* port) { return ReadSmall(value, field, port); }

Status ReadProtocol(uint32_t value, std::string_view field, uint8_t* protocol) {
  return ReadSmall(value, field, protocol);
}

Status ReadName(const std::string& text, std::string_view field, std::string* name) {
  if (!IsName(text)) {
    return InvalidArgument(fmt::format("{}: expected a name of 1 to {} bytes of UTF-8, found {} bytes", field,
                                       kNameBytesMax, text.size()));
  }
  *name = text;
  return OkStatus();
}

Status ReadJobName(const std::string& text, std::string_view field, std::string* name) {
  FL_RETURN_IF_ERROR(model::CheckJobName(text, field));
  *name = text;
  return OkStatus();
}

Status ReadAmount(double value, std::string_view field, double* amount) {
  if (!std::isfinite(value) || value < 0) {
    return InvalidArgument(fmt::format("{}: expected a number of at least 0, found {}", field, value));
  }
  *amount = value;
  return OkStatus();
}

Status ReadPositive(double value, std::string_view field, double* amount) {
  if (value == 0) return InvalidArgument(fmt::format("{}: expected a number over 0, found 0", field));
  return ReadAmount(value, field, amount);
}

Status ReadPeriod(int64_t ns, std::string_view field, SimDuration* period) {
  if (ns <= 0) return InvalidArgument(fmt::format("{}: expected a time over 0, found {} ns", field, ns));
  *period = SimDuration(ns);
  return OkStatus();
}

}  // namespace fairlead::wire
