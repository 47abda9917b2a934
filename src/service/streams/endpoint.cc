#include "service/streams/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/descriptor.h"
#include "base/ip_address.h"

namespace fairlead::service {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

Status BadEndpoint(std::string_view text, std::string_view why) {
  return InvalidArgument(
      fmt::format("address '{}': expected unix:PATH, HOST:PORT or [IPV6]:PORT, found {}", text, why));
}

Status CannotListen(const Endpoint& endpoint, std::string_view why) {
  return {StatusCode::kFailedPrecondition, fmt::format("can't listen on {}: {}", endpoint.ToString(), why)};
}

Status CheckUnixSocket(const Endpoint& endpoint) {
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  endpoint.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return CannotListen(endpoint, "another program listens there");
  }
  // ECONNREFUSED: left behind by one that is gone, and taken over.
  if (errno == ENOENT || errno == ECONNREFUSED) return OkStatus();
  return CannotListen(endpoint, std::strerror(errno));
}

}  // namespace

bool Endpoint::is_local() const {
  if (is_unix() || host == "localhost") return true;
  const auto address = ParseIpAddress(host);
  if (!address.ok()) return false;
  if (address->is_ipv4()) return address->ipv4() >> 24 == 127;
  return address->ToString() == "::1";
}

std::string Endpoint::ToString() const {
  if (is_unix()) return fmt::format("{}{}", kUnixPrefix, path);
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  Endpoint endpoint;
  if (text.starts_with(kUnixPrefix)) {
    endpoint.path = text.substr(kUnixPrefix.size());
    if (endpoint.path.empty()) return BadEndpoint(text, "no path");
    if (endpoint.path.size() >= sizeof(sockaddr_un::sun_path)) return BadEndpoint(text, "a path of over 107 bytes");
    return endpoint;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return BadEndpoint(text, "no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty()) return BadEndpoint(text, "no host");
  if (has_brackets != (host.find(':') != std::string_view::npos))
    return BadEndpoint(text, "misplaced or missing brackets");
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size()) return BadEndpoint(text, "no port of 0 to 65535");
  endpoint.host = host;
  return endpoint;
}

Result<Descriptor> ListenAt(Endpoint* endpoint) {
  if (endpoint->is_unix()) return CannotListen(*endpoint, "expected HOST:PORT");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(endpoint->host.c_str(), std::to_string(endpoint->port).c_str(), &hints, &found);
  if (error != 0) return CannotListen(*endpoint, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  Descriptor listener(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    return CannotListen(*endpoint, errno == EADDRINUSE ? "another program has this port" : std::strerror(errno));
  }
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &length);
  const bool is_ipv6 = own.ss_family == AF_INET6;
  endpoint->port = ntohs(is_ipv6 ? reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port
                                 : reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
  return listener;
}

Status CheckCanListen(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return CheckUnixSocket(endpoint);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) return CannotListen(endpoint, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const Descriptor probe(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(probe.get(), found->ai_addr, found->ai_addrlen) != 0) {
    return CannotListen(endpoint, errno == EADDRINUSE ? "another program has this port" : std::strerror(errno));
  }
  return OkStatus();
}

}  // namespace fairlead::service
