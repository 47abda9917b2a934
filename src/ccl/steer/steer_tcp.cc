// libfairlead-steer.so, TCP: gives each connection of a training process the source port and the traffic class that the
// agent of its host says, and otherwise stays out of the way.
//
// Loaded with LD_PRELOAD, it overrides connect(), accept() and accept4(). Whatever goes wrong (no agent, no answer in
// time, a port that is taken, an old kernel), the call is made as if the library were not there, and errno is that of
// the call. A connection is left alone when it is not TCP or is under way already, and its port when the process has
// chosen one, or a range, itself. Which connections are training traffic is the agent's to say.
//
// The port is asked for with IP_LOCAL_PORT_RANGE where the kernel has it (Linux 6.3): the choice is the kernel's own,
// for this one connection, and is taken back when connect() fails with it. Older kernels: bind(), where nobody has the
// port. The address to leave from is always the kernel's choice, or the process's: one that does not fit would hang.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "ccl/export.h"
#include "ccl/steer/agent_exchange.h"
#include "ccl/steer/loaded_symbols.h"
#include "ccl/steer/socket_address.h"

namespace fairlead::ccl {
namespace {

#ifndef IP_LOCAL_PORT_RANGE
constexpr int IP_LOCAL_PORT_RANGE =
    51;  // NOLINT(readability-identifier-naming): linux/in.h, which does not go with netinet/in.h
#endif

using ConnectFunction = int (*)(int, const sockaddr*, socklen_t);
using AcceptFunction = int (*)(int, sockaddr*, socklen_t*);
using Accept4Function = int (*)(int, sockaddr*, socklen_t*, int);

// Set when the library is loaded, only read afterwards.
ConnectFunction next_connect = nullptr;
AcceptFunction next_accept = nullptr;
Accept4Function next_accept4 = nullptr;

__attribute__((constructor)) void LoadSocketCalls() {
  next_connect = reinterpret_cast<ConnectFunction>(FindNext("connect"));
  next_accept = reinterpret_cast<AcceptFunction>(FindNext("accept"));
  next_accept4 = reinterpret_cast<Accept4Function>(FindNext("accept4"));
}

// Another library's constructor may connect before ours has run.
int NextConnect(int socket, const sockaddr* address, socklen_t length) {
  if (next_connect != nullptr) return next_connect(socket, address, length);
  return static_cast<int>(syscall(SYS_connect, socket, address, length));
}
int NextAccept4(int socket, sockaddr* address, socklen_t* length, int flags) {
  if (next_accept4 != nullptr) return next_accept4(socket, address, length, flags);
  return static_cast<int>(syscall(SYS_accept4, socket, address, length, flags));
}
int NextAccept(int socket, sockaddr* address, socklen_t* length) {
  if (next_accept != nullptr) return next_accept(socket, address, length);
  return NextAccept4(socket, address, length, 0);
}

bool IsTcp(int socket) {
  int protocol = 0;
  socklen_t length = sizeof(protocol);
  return getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP;
}

int FamilyOf(int socket) {
  int family = 0;
  socklen_t length = sizeof(family);
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 ? family : AF_UNSPEC;
}

// A second connect() on a socket that does not block asks how the first one goes.
bool IsUnconnected(int socket) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
}

shm::SteeringQuestion QuestionAbout(int socket, shm::SteeringQuestionKind kind, const Endpoint& local,
                                    const Endpoint& peer) {
  shm::SteeringQuestion question = {};
  question.kind = kind;
  struct stat status = {};
  // Not fstat(), which programs older than glibc 2.33 do not have.
  if (syscall(SYS_fstat, socket, &status) == 0) question.socket_inode = status.st_ino;
  question.source = local.address;
  question.source_port = local.port;
  question.destination = peer.address;
  question.destination_port = peer.port;
  return question;
}

void SetTrafficClass(int socket, const Endpoint& peer, const shm::SteeringAnswer& answer) {
  if (answer.sets_class == 0) return;
  const int value = answer.traffic_class;
  if (peer.is_ipv4()) {
    setsockopt(socket, IPPROTO_IP, IP_TOS, &value, sizeof(value));
  } else {
    setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value));
  }
}

enum class PortChoice { kNone, kRange, kBound };

// A range that the process has set itself is its choice of a port.
bool HasOwnRange(int socket) {
  uint32_t range = 0;
  socklen_t length = sizeof(range);
  return getsockopt(socket, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range, &length) == 0 && range != 0;
}

PortChoice SetSourcePort(int socket, uint16_t port) {
  const uint32_t range = (uint32_t{port} << 16) | port;
  if (setsockopt(socket, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range, sizeof(range)) == 0) return PortChoice::kRange;
  // A bound port can't be given back. Without SO_REUSEADDR it is given only where nobody has it, on whatever way to
  // whatever place: then connect() can't fail for it.
  sockaddr_storage storage;
  const socklen_t length = MakeAddress(LocalEndpoint(socket).address, port, FamilyOf(socket), &storage);
  const bool bound = length != 0 && bind(socket, reinterpret_cast<const sockaddr*>(&storage), length) == 0;
  return bound ? PortChoice::kBound : PortChoice::kNone;
}

void ClearSourcePort(int socket) {
  const uint32_t any = 0;
  setsockopt(socket, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &any, sizeof(any));
}

// What connect() says where the port may be to blame, and not the other end.
bool MayBeThePort(int error) {
  return error == EADDRNOTAVAIL || error == EADDRINUSE || error == EINVAL || error == ENETUNREACH || error == EACCES ||
         error == EPERM;
}

int ConnectAsAnswered(int socket, const sockaddr* address, socklen_t length, const Endpoint& local,
                      const Endpoint& peer, const shm::SteeringAnswer& answer, int errno_before) {
  SetTrafficClass(socket, peer, answer);
  PortChoice choice = PortChoice::kNone;
  if (local.port == 0 && answer.source_port != 0 && !HasOwnRange(socket)) {
    choice = SetSourcePort(socket, answer.source_port);
  }
  errno = errno_before;
  int result = NextConnect(socket, address, length);
  if (choice == PortChoice::kRange) {
    const int error = errno;
    ClearSourcePort(socket);
    errno = error;
    if (result != 0 && MayBeThePort(error)) {
      errno = errno_before;
      result = NextConnect(socket, address, length);
    }
  }
  return result;
}

int SteeredConnect(int socket, const sockaddr* address, socklen_t length, const Endpoint& peer) {
  const int errno_before = errno;
  const Endpoint local = LocalEndpoint(socket);
  AgentExchange agent(ProcessOptions());
  shm::SteeringAnswer answer = {};
  if (!agent.Ask(QuestionAbout(socket, shm::SteeringQuestionKind::kConnect, local, peer), Patience::kConnection,
                 &answer)) {
    errno = errno_before;
    return NextConnect(socket, address, length);
  }
  const int result = ConnectAsAnswered(socket, address, length, local, peer, answer, errno_before);
  const int error = errno;
  const uint16_t port = LocalEndpoint(socket).port;
  agent.Tell(port, result == 0 ? 0 : error, port != 0 && port == answer.source_port);
  errno = error;
  return result;
}

void ClassifyAccepted(int socket) {
  const int errno_before = errno;
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &length) == 0) {
    const Endpoint peer = EndpointOf(reinterpret_cast<const sockaddr*>(&storage), length);
    if (peer.is_known && IsTcp(socket)) {
      AgentExchange agent(ProcessOptions());
      shm::SteeringAnswer answer = {};
      const Endpoint local = LocalEndpoint(socket);
      const shm::SteeringQuestion question = QuestionAbout(socket, shm::SteeringQuestionKind::kAccept, local, peer);
      if (agent.Ask(question, Patience::kConnection, &answer)) SetTrafficClass(socket, peer, answer);
    }
  }
  errno = errno_before;
}

}  // namespace
}  // namespace fairlead::ccl

FAIRLEAD_EXPORT int connect(int socket, const sockaddr* address, socklen_t length) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  if (!ProcessOptions().is_on()) return NextConnect(socket, address, length);
  const int errno_before = errno;
  const Endpoint peer = EndpointAt(address, length);
  const bool is_ours = peer.is_known && IsTcp(socket) && IsUnconnected(socket);
  errno = errno_before;
  return is_ours ? SteeredConnect(socket, address, length, peer) : NextConnect(socket, address, length);
}

FAIRLEAD_EXPORT int accept(int socket, sockaddr* address, socklen_t* length) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const int accepted = NextAccept(socket, address, length);
  if (accepted >= 0 && ProcessOptions().is_on()) ClassifyAccepted(accepted);
  return accepted;
}

FAIRLEAD_EXPORT int accept4(int socket, sockaddr* address, socklen_t* length, int flags) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const int accepted = NextAccept4(socket, address, length, flags);
  if (accepted >= 0 && ProcessOptions().is_on()) ClassifyAccepted(accepted);
  return accepted;
}
