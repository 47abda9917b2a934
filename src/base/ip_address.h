// An IPv4 or IPv6 address as a value.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead {

// 16 bytes in network order; IPv4 as ::ffff:a.b.c.d, so that both compare and hash alike. Default: ::, no host.
class IpAddress {
 public:
  IpAddress() = default;
  explicit IpAddress(const std::array<uint8_t, 16>& bytes) : bytes_(bytes) {}
  // Host byte order: 0x0a000001 is 10.0.0.1.
  static IpAddress FromIpv4(uint32_t address);

  bool is_ipv4() const;
  bool is_unset() const { return *this == IpAddress(); }
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  // Host byte order. Must be IPv4.
  uint32_t ipv4() const;
  // "10.0.0.1", "fd00::1".
  std::string ToString() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  std::array<uint8_t, 16> bytes_ = {};
};

// For unordered maps.
struct IpAddressHash {
  size_t operator()(const IpAddress& address) const;
};

// "10.0.0.1" or "fd00::1"; no names, no port, no zone. Errors: kInvalidArgument: what was found.
Result<IpAddress> ParseIpAddress(std::string_view text);

}  // namespace fairlead
