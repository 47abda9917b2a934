#include "service/agent/tcp_sockets.h"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>

#include "base/descriptor.h"
#include "service/agent/socket_owners.h"

namespace fairlead::service {

namespace {

// Numbers of states in the kernel's include/net/tcp_states.h: TIME_WAIT, CLOSE, LISTEN and NEW_SYN_RECV have no socket
// of a process with bytes to count.
constexpr uint32_t kFinWait2 = 5, kTimeWait = 6, kClose = 7, kListen = 10, kNewSynReceived = 12;
constexpr uint32_t kStates = 0xfff & ~((1u << kTimeWait) | (1u << kClose) | (1u << kListen) | (1u << kNewSynReceived));

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

IpAddress AddressOf(const __be32 (&words)[4], uint8_t family) {
  if (family == AF_INET) return IpAddress::FromIpv4(ntohl(words[0]));
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), words, bytes.size());
  return IpAddress(bytes);
}

void WriteAddress(const IpAddress& address, uint8_t family, __be32 (&words)[4]) {
  const std::span<const uint8_t> bytes = address.bytes();
  const std::span<const uint8_t> used = family == AF_INET ? bytes.last(4) : bytes;
  std::memcpy(words, used.data(), used.size());
}

agent::SeenSocket ReadSocket(const inet_diag_msg& message, size_t length) {
  agent::SeenSocket socket;
  socket.ends = {.local = AddressOf(message.id.idiag_src, message.idiag_family),
                 .remote = AddressOf(message.id.idiag_dst, message.idiag_family),
                 .local_port = ntohs(message.id.idiag_sport),
                 .remote_port = ntohs(message.id.idiag_dport)};
  socket.inode = message.idiag_inode;
  socket.is_over = message.idiag_state == kFinWait2 && message.idiag_inode == 0;
  const auto* at = reinterpret_cast<const std::byte*>(&message + 1);
  size_t left = length - sizeof(message);
  while (left >= sizeof(rtattr)) {
    rtattr attribute;
    std::memcpy(&attribute, at, sizeof(attribute));
    if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > left) break;
    if (attribute.rta_type == INET_DIAG_INFO) {
      tcp_info numbers = {};  // an older kernel tells fewer
      std::memcpy(&numbers, at + RTA_LENGTH(0), std::min<size_t>(sizeof(numbers), RTA_PAYLOAD(&attribute)));
      socket.bytes_acked = static_cast<double>(numbers.tcpi_bytes_acked);
      socket.bytes_received = static_cast<double>(numbers.tcpi_bytes_received);
    }
    const size_t step = std::min<size_t>(left, RTA_ALIGN(attribute.rta_len));
    at += step;
    left -= step;
  }
  return socket;
}

// One part of the kernel's answer. Returns whether it was the last.
Result<bool> ReadAnswer(std::span<const std::byte> part, std::vector<agent::SeenSocket>* sockets) {
  while (part.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, part.data(), sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > part.size()) break;
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR) return Unavailable("the kernel does not list its TCP sockets (SOCK_DIAG)");
    const size_t length = header.nlmsg_len - NLMSG_HDRLEN;
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && length >= sizeof(inet_diag_msg)) {
      const auto* message = reinterpret_cast<const inet_diag_msg*>(part.data() + NLMSG_HDRLEN);
      sockets->push_back(ReadSocket(*message, length));
    }
    part = part.subspan(std::min<size_t>(part.size(), NLMSG_ALIGN(header.nlmsg_len)));
  }
  return false;
}

Result<Descriptor> OpenDiag() {
  Descriptor diag(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!diag.is_open()) return Unavailable(fmt::format("no SOCK_DIAG: {}", std::strerror(errno)));
  return diag;
}

Request RequestOf(uint8_t family, uint16_t flags) {
  Request request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  request.body.idiag_states = kStates;
  return request;
}

Status Ask(int diag, const Request& request) {
  if (send(diag, &request, sizeof(request), 0) >= 0) return OkStatus();
  return Unavailable(fmt::format("can't ask the kernel for its TCP sockets: {}", std::strerror(errno)));
}

// What came, in `buffer`.
Result<std::span<const std::byte>> Receive(int diag, std::span<std::byte> buffer) {
  for (;;) {
    const ssize_t size = recv(diag, buffer.data(), buffer.size(), 0);
    if (size > 0) return std::span<const std::byte>(buffer.first(static_cast<size_t>(size)));
    if (size == 0 || errno != EINTR) {
      return Unavailable(fmt::format("the kernel's list of TCP sockets ended: {}", std::strerror(errno)));
    }
  }
}

Status ListFamily(int diag, uint8_t family, std::vector<agent::SeenSocket>* sockets) {
  FL_RETURN_IF_ERROR(Ask(diag, RequestOf(family, NLM_F_DUMP)));
  alignas(nlmsghdr) std::array<std::byte, 32'768> buffer;
  for (bool is_last = false; !is_last;) {
    FL_ASSIGN_OR_RETURN(const auto part, Receive(diag, buffer));
    FL_ASSIGN_OR_RETURN(is_last, ReadAnswer(part, sockets));
  }
  return OkStatus();
}

// Where none is connected the kernel names one that listens at the local end.
Status LookUp(int diag, const agent::SocketPair& ends, std::vector<agent::SeenSocket>* sockets) {
  const uint8_t family = ends.local.is_ipv4() && ends.remote.is_ipv4() ? AF_INET : AF_INET6;
  Request request = RequestOf(family, 0);
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = htons(ends.local_port);
  id.idiag_dport = htons(ends.remote_port);
  WriteAddress(ends.local, family, id.idiag_src);
  WriteAddress(ends.remote, family, id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  FL_RETURN_IF_ERROR(Ask(diag, request));
  alignas(nlmsghdr) std::array<std::byte, 4096> buffer;
  FL_ASSIGN_OR_RETURN(const auto answer, Receive(diag, buffer));
  nlmsgerr error = {};
  std::memcpy(&error, answer.data() + NLMSG_HDRLEN, std::min(sizeof(error), answer.size() - NLMSG_HDRLEN));
  if (reinterpret_cast<const nlmsghdr*>(answer.data())->nlmsg_type == NLMSG_ERROR && error.error == -ENOENT) {
    return OkStatus();
  }
  std::vector<agent::SeenSocket> found;
  FL_RETURN_IF_ERROR(ReadAnswer(answer, &found).status());
  if (!found.empty() && found.front().ends == ends) sockets->push_back(found.front());
  return OkStatus();
}

// <sys/pidfd.h> of glibc 2.36 can't be used from C++: it has no extern "C".
int OpenProcess(int32_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
int GetDescriptor(int process, int number) { return static_cast<int>(syscall(SYS_pidfd_getfd, process, number, 0)); }

Status SetOne(int process, int number, const agent::SetSocketClass& wanted) {
  const Descriptor socket(GetDescriptor(process, number));
  if (!socket.is_open() && errno == EBADF) return OkStatus();  // closed meanwhile
  if (!socket.is_open()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("may not set the class of sockets of process {}: {}", wanted.pid, std::strerror(errno)));
  }
  struct stat status = {};
  if (fstat(socket.get(), &status) != 0 || status.st_ino != wanted.inode) return OkStatus();
  const int value = wanted.traffic_class;
  const int result = wanted.is_ipv6 ? setsockopt(socket.get(), IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value))
                                    : setsockopt(socket.get(), IPPROTO_IP, IP_TOS, &value, sizeof(value));
  if (result == 0) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, fmt::format("can't set a traffic class: {}", std::strerror(errno)));
}

}  // namespace

Result<std::vector<agent::SeenSocket>> ListTcpSockets() {
  FL_ASSIGN_OR_RETURN(const Descriptor diag, OpenDiag());
  std::vector<agent::SeenSocket> sockets;
  FL_RETURN_IF_ERROR(ListFamily(diag.get(), AF_INET, &sockets));
  FL_RETURN_IF_ERROR(ListFamily(diag.get(), AF_INET6, &sockets));
  return sockets;
}

Result<std::vector<agent::SeenSocket>> LookUpTcpSockets(std::span<const agent::SocketPair> wanted) {
  FL_ASSIGN_OR_RETURN(const Descriptor diag, OpenDiag());
  std::vector<agent::SeenSocket> sockets;
  for (const agent::SocketPair& ends : wanted) FL_RETURN_IF_ERROR(LookUp(diag.get(), ends, &sockets));
  return sockets;
}

Status SetSocketClasses(std::span<const agent::SetSocketClass> classes) {
  std::map<int32_t, std::vector<agent::SetSocketClass>> by_process;
  for (const agent::SetSocketClass& wanted : classes) by_process[wanted.pid].push_back(wanted);
  Status status;
  for (const auto& [pid, wanted] : by_process) {
    const Descriptor process(OpenProcess(pid));
    if (!process.is_open()) {
      if (errno == ESRCH) continue;  // it has ended
      status = Unavailable(fmt::format("can't set the class of sockets of process {}: {}", pid, std::strerror(errno)));
      continue;
    }
    const std::map<uint64_t, int> sockets = SocketsOf(pid);
    for (const agent::SetSocketClass& one : wanted) {
      const auto found = sockets.find(one.inode);
      if (found == sockets.end()) continue;
      if (Status failed = SetOne(process.get(), found->second, one); !failed.ok()) status = std::move(failed);
    }
  }
  return status;
}

}  // namespace fairlead::service
