#include "service/agent/taken_port_probe.h"

#include <fmt/format.h>
#include <linux/icmp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>

#include "base/descriptor.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReceiveBytes = 2048;
// A router quotes the header of IP and eight bytes of what it carried: ports and sequence number.
constexpr size_t kQuotedBytes = 8;

sockaddr_in AddressOf(const IpAddress& address) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address.ipv4());
  return result;
}

// --- The way out of this host for a five-tuple, as `ip route get` tells it.

struct RouteRequest {
  nlmsghdr header;
  rtmsg message;
  std::array<char, 128> attributes;
};

void AddAttribute(RouteRequest* request, uint16_t type, const void* data, size_t length) {
  const size_t offset = NLMSG_ALIGN(request->header.nlmsg_len);
  rtattr attribute = {.rta_len = static_cast<uint16_t>(RTA_LENGTH(length)), .rta_type = type};
  char* const place = reinterpret_cast<char*>(request) + offset;
  std::memcpy(place, &attribute, sizeof(attribute));
  std::memcpy(place + RTA_LENGTH(0), data, length);
  request->header.nlmsg_len = static_cast<uint32_t>(offset + RTA_ALIGN(RTA_LENGTH(length)));
}

// Number of the interface; 0: the kernel does not say.
int InterfaceFor(const PathProbeOptions& options, uint16_t source_port) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  RouteRequest request = {};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.message.rtm_family = AF_INET;
  request.message.rtm_dst_len = request.message.rtm_src_len = 32;
  const in_addr destination = AddressOf(options.destination).sin_addr;
  const in_addr source = AddressOf(options.source).sin_addr;
  const uint8_t protocol = IPPROTO_TCP;
  const uint16_t from = htons(source_port);
  const uint16_t to = htons(options.destination_port);
  AddAttribute(&request, RTA_DST, &destination, sizeof(destination));
  AddAttribute(&request, RTA_SRC, &source, sizeof(source));
  AddAttribute(&request, RTA_IP_PROTO, &protocol, sizeof(protocol));
  AddAttribute(&request, RTA_SPORT, &from, sizeof(from));
  AddAttribute(&request, RTA_DPORT, &to, sizeof(to));
  if (send(socket.get(), &request, request.header.nlmsg_len, 0) < 0) return 0;
  alignas(nlmsghdr) std::array<char, kReceiveBytes> answer{};
  const ssize_t count = recv(socket.get(), answer.data(), answer.size(), 0);
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (count < 0 || !NLMSG_OK(header, static_cast<size_t>(count)) || header->nlmsg_type != RTM_NEWROUTE) return 0;
  int left = static_cast<int>(RTM_PAYLOAD(header));
  for (const rtattr* at = RTM_RTA(NLMSG_DATA(header)); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if (at->rta_type != RTA_OIF) continue;
    int index = 0;
    std::memcpy(&index, RTA_DATA(at), sizeof(index));
    return index;
  }
  return 0;
}

// --- Segments out, answers in.

struct Segment {
  iphdr ip;
  tcphdr tcp;
};
static_assert(sizeof(Segment) == 40);

uint16_t Checksum(const Segment& segment) {
  // Over addresses, protocol, length, and the header of TCP.
  uint32_t sum = IPPROTO_TCP + sizeof(tcphdr);
  std::array<uint16_t, 4 + sizeof(tcphdr) / 2> words{};
  std::memcpy(words.data(), &segment.ip.saddr, 8);
  std::memcpy(words.data() + 4, &segment.tcp, sizeof(tcphdr));
  for (const uint16_t word : words) sum += ntohs(word);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return htons(static_cast<uint16_t>(~sum));
}

class Prober {
 public:
  Prober(const PathProbeOptions& options, std::vector<ProbedPath>* paths) : options_(options), paths_(*paths) {}

  Status Open() {
    sender_ = Descriptor(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    receiver_ = Descriptor(socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP));
    if (!sender_.is_open() || !receiver_.is_open()) {
      return {StatusCode::kFailedPrecondition,
              fmt::format("ports of open connections can't be probed: {} (needs CAP_NET_RAW)", std::strerror(errno))};
    }
    icmp_filter filter = {.data = ~(1u << ICMP_TIME_EXCEEDED)};
    setsockopt(receiver_.get(), SOL_RAW, ICMP_FILTER, &filter, sizeof(filter));
    const sockaddr_in source = AddressOf(options_.source);
    if (bind(sender_.get(), reinterpret_cast<const sockaddr*>(&source), sizeof(source)) != 0) {
      return Unavailable(fmt::format("can't send from {}: {}", options_.source.ToString(), std::strerror(errno)));
    }
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (!paths_[i].is_taken) continue;
      by_port_[paths_[i].source_port] = i;
      found_[i].resize(options_.last_hop - options_.first_hop + 1);
    }
    return OkStatus();
  }

  void Run() {
    for (uint32_t attempt = 0; attempt < options_.num_attempts && SendMissing(); ++attempt) Listen();
    for (auto& [index, hops] : found_) {
      if (hops.back().kind == ProbedHop::Kind::kRouter) paths_[index].hops = std::move(hops);
    }
  }

 private:
  // Of each probe the first 24 bits are drawn, the last 8 are the hop.
  uint32_t SequenceOf(uint32_t hop) const { return cookie_ << 8 | hop; }

  // False: all hops have answered.
  bool SendMissing() {
    bool any = false;
    sent_at_ = Clock::now();
    for (const auto& [port, index] : by_port_) {
      int interface = 0;
      for (uint32_t hop = options_.first_hop; hop <= options_.last_hop; ++hop) {
        if (found_[index][hop - options_.first_hop].kind != ProbedHop::Kind::kSilent) continue;
        if (interface == 0) interface = InterfaceFor(options_, port);
        setsockopt(sender_.get(), SOL_SOCKET, SO_BINDTOIFINDEX, &interface, sizeof(interface));
        Send(port, hop);
        any = true;
      }
    }
    return any;
  }

  void Send(uint16_t port, uint32_t hop) const {
    const sockaddr_in destination = AddressOf(options_.destination);
    Segment segment = {};
    segment.ip.version = 4;
    segment.ip.ihl = sizeof(iphdr) / 4;
    segment.ip.ttl = static_cast<uint8_t>(hop);
    segment.ip.protocol = IPPROTO_TCP;
    segment.ip.saddr = AddressOf(options_.source).sin_addr.s_addr;
    segment.ip.daddr = destination.sin_addr.s_addr;
    segment.tcp.source = htons(port);
    segment.tcp.dest = htons(options_.destination_port);
    segment.tcp.seq = htonl(SequenceOf(hop));
    segment.tcp.doff = sizeof(tcphdr) / 4;
    segment.tcp.ack = 1;
    segment.tcp.check = Checksum(segment);
    sendto(sender_.get(), &segment, sizeof(segment), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&destination),
           sizeof(destination));
  }

  void Listen() {
    const auto end = sent_at_ + options_.timeout;
    while (num_answers_ < found_.size() * found_.begin()->second.size()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left < 0) return;
      pollfd event = {receiver_.get(), POLLIN, 0};
      if (poll(&event, 1, static_cast<int>(left) + 1) > 0) ReadAnswer();
    }
  }

  void ReadAnswer() {
    std::array<char, kReceiveBytes> packet{};
    sockaddr_in from = {};
    socklen_t length = sizeof(from);
    const ssize_t count =
        recvfrom(receiver_.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    iphdr outer{};
    iphdr quoted{};
    if (count < static_cast<ssize_t>(sizeof(outer))) return;
    std::memcpy(&outer, packet.data(), sizeof(outer));
    const size_t quote = size_t{outer.ihl} * 4 + sizeof(icmphdr);
    if (static_cast<size_t>(count) < quote + sizeof(quoted)) return;
    std::memcpy(&quoted, packet.data() + quote, sizeof(quoted));
    const size_t ports = quote + size_t{quoted.ihl} * 4;
    if (quoted.protocol != IPPROTO_TCP || static_cast<size_t>(count) < ports + kQuotedBytes) return;
    if (quoted.daddr != AddressOf(options_.destination).sin_addr.s_addr) return;
    std::array<uint16_t, 2> numbers{};
    uint32_t sequence = 0;
    std::memcpy(numbers.data(), packet.data() + ports, sizeof(numbers));
    std::memcpy(&sequence, packet.data() + ports + sizeof(numbers), sizeof(sequence));
    Take(ntohs(numbers[0]), ntohs(numbers[1]), ntohl(sequence), from);
  }

  void Take(uint16_t source_port, uint16_t destination_port, uint32_t sequence, const sockaddr_in& from) {
    const uint32_t hop = sequence & 0xff;
    const auto index = by_port_.find(source_port);
    if (index == by_port_.end() || destination_port != options_.destination_port || sequence != SequenceOf(hop)) return;
    if (hop < options_.first_hop || hop > options_.last_hop) return;
    ProbedHop& found = found_[index->second][hop - options_.first_hop];
    if (found.kind != ProbedHop::Kind::kSilent) return;
    found = {.kind = ProbedHop::Kind::kRouter,
             .address = IpAddress::FromIpv4(ntohl(from.sin_addr.s_addr)),
             .rtt = Seconds(std::chrono::duration<double>(Clock::now() - sent_at_).count())};
    ++num_answers_;
  }

  const PathProbeOptions& options_;
  std::vector<ProbedPath>& paths_;
  Descriptor sender_;
  Descriptor receiver_;
  uint32_t cookie_ = std::random_device()() & 0xffffff;
  std::map<uint16_t, size_t> by_port_;
  std::map<size_t, std::vector<ProbedHop>> found_;  // [path][hop]
  size_t num_answers_ = 0;
  Clock::time_point sent_at_;
};

}  // namespace

Status ProbeTakenPorts(const PathProbeOptions& options, std::vector<ProbedPath>* paths) {
  const bool any = std::any_of(paths->begin(), paths->end(), [](const ProbedPath& path) { return path.is_taken; });
  if (!any) return OkStatus();
  if (!options.destination.is_ipv4() || options.source.is_unset()) {
    return {StatusCode::kFailedPrecondition, "ports of open connections can be probed over IPv4 only"};
  }
  Prober prober(options, paths);
  FL_RETURN_IF_ERROR(prober.Open());
  prober.Run();
  return OkStatus();
}

}  // namespace fairlead::service
