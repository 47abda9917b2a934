#include "codec/protobuf_archive.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace fairlead::codec {
void ProtobufWriter::AppendBytes(std::string_view bytes) {
  AppendVarint(bytes.size());
  bytes_ += bytes;
}

void ProtobufWriter::AppendAddress(const IpAddress& address, bool may_be_unset) {
  const auto& bytes = address.bytes();
  const auto* all = reinterpret_cast<const char*>(bytes.data());
  const size_t skipped = may_be_unset && address.is_unset() ? bytes.size() : address.is_ipv4() ? 12 : 0;
  AppendBytes({all + skipped, bytes.size() - skipped});
}

void ProtobufWriter::EndBytes(size_t begin) {
  // One byte is there for the length; most need no more.
  size_t length = bytes_.size() - begin;
  size_t place = begin - 1;
  for (; length >= 0x80; length >>= 7) {
    bytes_[place++] = static_cast<char>(length | 0x80);
    bytes_.insert(place, 1, '\0');
  }
  bytes_[place] = static_cast<char>(length);
}

bool WireBytes::TakeLongVarint(uint64_t* value) {
  const char* bytes = rest_.data();
  const size_t size_max = std::min(rest_.size(), kVarintBytesMax);
  uint64_t number = 0;
  for (size_t i = 0; i < size_max; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    number |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    *value = number;
    rest_.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool WireBytes::TakeTag(int* number, WireType* type) {
  uint64_t tag = 0;
  if (!TakeVarint(&tag) || tag > std::numeric_limits<uint32_t>::max()) return false;
  *number = static_cast<int>(tag >> 3);
  *type = static_cast<WireType>(tag & 7);
  return *number > 0;
}

bool WireBytes::TakeFixed64(uint64_t* value) {
  if (rest_.size() < 8) return false;
  *value = 0;
  for (size_t i = 0; i < 8; ++i) *value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  rest_.remove_prefix(8);
  return true;
}

bool WireBytes::TakeBytes(std::string_view* bytes) {
  uint64_t size = 0;
  if (!TakeVarint(&size) || size > rest_.size()) return false;
  *bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool WireBytes::Skip(WireType type) {
  uint64_t number = 0;
  std::string_view bytes;
  switch (type) {
    case WireType::kVarint:
      return TakeVarint(&number);
    case WireType::kFixed64:
      return TakeFixed64(&number);
    case WireType::kBytes:
      return TakeBytes(&bytes);
    case WireType::kFixed32:
      if (rest_.size() < 4) return false;
      rest_.remove_prefix(4);
      return true;
  }
  return false;  // groups, which proto3 does not have
}

std::string ProtobufReader::TakeText(std::string_view bytes, std::string* text) {
  if (!IsUtf8(bytes)) return fmt::format(": expected UTF-8, found {} bytes that are not", bytes.size());
  *text = bytes;
  return "";
}

std::string ProtobufReader::TakeAddress(std::string_view bytes, bool may_be_unset, IpAddress* address) {
  std::array<uint8_t, 16> all = {};
  if (bytes.size() == 4) {
    uint32_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
    *address = IpAddress::FromIpv4(value);
  } else if (bytes.size() == all.size()) {
    std::copy(bytes.begin(), bytes.end(), all.begin());
    *address = IpAddress(all);
  } else if (bytes.empty() && may_be_unset) {
    *address = IpAddress();
  } else {
    return fmt::format(": expected an address of 4 or 16 bytes, found {}", bytes.size());
  }
  return "";
}

}  // namespace fairlead::codec
