// A process that knows nothing of Fairlead, for tests: opens TCP connections one after the other and prints of each
// "<source address> <source port> <traffic class> <errno of connect> <errno after>", or serves one.
//
//     steer_test_client connect ADDRESS PORT [COUNT] [bound|nonblocking|ported|ranged|sends|astray] …
//                                                    sends: 200,000 bytes each; then waits for the end of its input
//                                                    astray: with pointers that lead nowhere, the errno of each
//     steer_test_client serve ADDRESS                prints its port, accepts once, prints "<traffic class>"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kLocalPortRange = 51;  // IP_LOCAL_PORT_RANGE

struct ConnectOptions {
  bool bound = false;        // binds the address before, with the port left open
  bool ported = false;       // binds an address and lets the kernel choose a port at once
  bool ranged = false;       // chooses a range of ports: 41000 to 41099
  bool nonblocking = false;  // connect() is called twice, as some do
  bool keeps = false;        // leaves connections open
  bool sends = false;        // and sends
};

bool IsIpv6(const char* address) { return strchr(address, ':') != nullptr; }

socklen_t Fill(const char* address, int port, sockaddr_storage* storage) {
  memset(storage, 0, sizeof(*storage));
  if (IsIpv6(address)) {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(storage);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET6, address, &ipv6->sin6_addr);
    return sizeof(*ipv6);
  }
  auto* ipv4 = reinterpret_cast<sockaddr_in*>(storage);
  ipv4->sin_family = AF_INET;
  ipv4->sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &ipv4->sin_addr);
  return sizeof(*ipv4);
}

int ClassOf(int connection, bool ipv6) {
  int value = -1;
  socklen_t length = sizeof(value);
  getsockopt(connection, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_TCLASS : IP_TOS, &value, &length);
  return value;
}

void PrintConnection(int connection, bool ipv6, int error, int errno_after) {
  sockaddr_storage local = {};
  socklen_t length = sizeof(local);
  getsockname(connection, reinterpret_cast<sockaddr*>(&local), &length);
  char text[INET6_ADDRSTRLEN] = "";
  int port = 0;
  if (ipv6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(&local);
    inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text));
    port = ntohs(address->sin6_port);
  } else {
    const auto* address = reinterpret_cast<const sockaddr_in*>(&local);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    port = ntohs(address->sin_port);
  }
  printf("%s %d %d %d %d\n", text, port, ClassOf(connection, ipv6), error, errno_after);
  fflush(stdout);
}

void BindSource(int connection, const char* address, bool chooses_port) {
  const int on = 1;
  if (!chooses_port) setsockopt(connection, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  sockaddr_storage local;
  const socklen_t length = Fill(address, 0, &local);
  if (bind(connection, reinterpret_cast<const sockaddr*>(&local), length) != 0) perror("bind");
}

// Within what the kernel chooses from.
void ChooseRange(int connection) {
  const unsigned range = 41'099u << 16 | 41'000u;
  setsockopt(connection, IPPROTO_IP, kLocalPortRange, &range, sizeof(range));
}

// The kernel says EFAULT, and nobody crashes: nowhere, at the end of a page, and one that is too long.
int ConnectAstray(const char* address, int port) {
  sockaddr_storage peer;
  Fill(address, port, &peer);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* pages = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + page, page, PROT_NONE);
  char* last = pages + page - 8;
  memcpy(last, &peer, 8);
  const sockaddr* nowhere = reinterpret_cast<const sockaddr*>(8);
  const struct {
    const sockaddr* address;
    socklen_t length;
  } cases[] = {{nowhere, sizeof(sockaddr_in)},
               {nullptr, sizeof(sockaddr_in)},
               {reinterpret_cast<const sockaddr*>(last), sizeof(sockaddr_in)},
               {reinterpret_cast<const sockaddr*>(&peer), sizeof(sockaddr_storage) + 1}};
  for (const auto& one : cases) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    printf("%d\n", connect(connection, one.address, one.length) == 0 ? 0 : errno);
    close(connection);
  }
  return 0;
}

int Connect(const char* address, int port, const ConnectOptions& options) {
  const bool ipv6 = IsIpv6(address);
  const int connection = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  if (options.bound || options.ported) BindSource(connection, address, options.ported);
  if (options.ranged) ChooseRange(connection);
  if (options.nonblocking) fcntl(connection, F_SETFL, O_NONBLOCK);
  sockaddr_storage peer;
  const socklen_t length = Fill(address, port, &peer);
  errno = ENOTTY;  // must still be here after success
  int error = connect(connection, reinterpret_cast<const sockaddr*>(&peer), length) == 0 ? 0 : errno;
  const int errno_after = errno;
  if (error == EINPROGRESS) {
    pollfd wait = {connection, POLLOUT, 0};
    poll(&wait, 1, 1000);
    error = connect(connection, reinterpret_cast<const sockaddr*>(&peer), length) == 0 ? 0 : errno;
  }
  PrintConnection(connection, ipv6, error, errno_after);
  static const char kBytes[200'000] = {};
  if (options.sends && send(connection, kBytes, sizeof(kBytes), 0) < 0) return 1;
  if (!options.keeps) close(connection);
  return error == 0 || error == EISCONN ? 0 : 1;
}

int Serve(const char* address) {
  const bool ipv6 = IsIpv6(address);
  const int listener = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  sockaddr_storage local;
  socklen_t length = Fill(address, 0, &local);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&local), length) != 0 || listen(listener, 8) != 0) return 2;
  length = sizeof(local);
  getsockname(listener, reinterpret_cast<sockaddr*>(&local), &length);
  printf("%d\n", ntohs(reinterpret_cast<const sockaddr_in*>(&local)->sin_port));
  fflush(stdout);
  const int connection = accept(listener, nullptr, nullptr);
  if (connection < 0) return 1;
  printf("%d\n", ClassOf(connection, ipv6));
  return 0;
}

}  // namespace

// FAIRLEAD_TEST_OLD_KERNEL=1: one before Linux 6.3, for whoever asks in this process.
extern "C" int setsockopt(int socket, int level, int name, const void* value, socklen_t length) noexcept {
  if (level == IPPROTO_IP && name == kLocalPortRange && getenv("FAIRLEAD_TEST_OLD_KERNEL") != nullptr) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return static_cast<int>(syscall(SYS_setsockopt, socket, level, name, value, length));
}

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "serve") == 0) return Serve(argv[2]);
  if (argc < 4 || strcmp(argv[1], "connect") != 0) return 2;
  if (argc == 5 && strcmp(argv[4], "astray") == 0) return ConnectAstray(argv[2], atoi(argv[3]));
  int count = 1;
  ConnectOptions options;
  for (int i = 4; i < argc; ++i) {
    if (strcmp(argv[i], "bound") == 0) {
      options.bound = true;
    } else if (strcmp(argv[i], "ported") == 0) {
      options.ported = true;
    } else if (strcmp(argv[i], "ranged") == 0) {
      options.ranged = true;
    } else if (strcmp(argv[i], "nonblocking") == 0) {
      options.nonblocking = true;
    } else if (strcmp(argv[i], "keeps") == 0) {
      options.keeps = true;
    } else if (strcmp(argv[i], "sends") == 0) {
      options.keeps = options.sends = true;
    } else {
      count = atoi(argv[i]);
    }
  }
  int result = 0;
  for (int i = 0; i < count; ++i) result |= Connect(argv[2], atoi(argv[3]), options);
  while (options.sends && getchar() != EOF) continue;
  return result;
}
