#include "base/ip_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace fairlead {
namespace {

constexpr std::array<uint8_t, 12> kIpv4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

IpAddress IpAddress::FromIpv4(uint32_t address) {
  std::array<uint8_t, 16> bytes;
  std::copy(kIpv4Prefix.begin(), kIpv4Prefix.end(), bytes.begin());
  const uint32_t network_order = htonl(address);
  std::memcpy(bytes.data() + kIpv4Prefix.size(), &network_order, sizeof(network_order));
  return IpAddress(bytes);
}

bool IpAddress::is_ipv4() const { return std::equal(kIpv4Prefix.begin(), kIpv4Prefix.end(), bytes_.begin()); }

uint32_t IpAddress::ipv4() const {
  FL_CHECK(is_ipv4());
  uint32_t network_order = 0;
  std::memcpy(&network_order, bytes_.data() + kIpv4Prefix.size(), sizeof(network_order));
  return ntohl(network_order);
}

size_t IpAddressHash::operator()(const IpAddress& address) const {
  std::array<uint64_t, 2> words;
  static_assert(sizeof(words) == sizeof(address.bytes()));
  std::memcpy(words.data(), address.bytes().data(), sizeof(words));
  return CombineHash(words[0], words[1]);
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4()) {
    inet_ntop(AF_INET, bytes_.data() + kIpv4Prefix.size(), text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, bytes_.data(), text, sizeof(text));
  }
  return text;
}

Result<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string terminated(text.substr(0, text.find('\0')));
  in_addr ipv4;
  if (terminated.size() == text.size() && inet_pton(AF_INET, terminated.c_str(), &ipv4) == 1)
    return IpAddress::FromIpv4(ntohl(ipv4.s_addr));
  std::array<uint8_t, 16> bytes;
  if (terminated.size() == text.size() && inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1) {
    return IpAddress(bytes);
  }
  return InvalidArgument(fmt::format("expected an IP address such as 10.0.0.1 or fd00::1, found '{}'", text));
}

}  // namespace fairlead
