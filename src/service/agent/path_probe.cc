#include "service/agent/path_probe.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "base/socket_address.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

// One SYN on its way.
class SynProbe {
 public:
  SynProbe(const PathProbeOptions& options, uint16_t source_port, uint32_t hop)
      : destination_(options.destination), sent_at_(Clock::now()) {
    Open(options, source_port, hop);
  }

  int socket() const { return socket_.get(); }
  Clock::time_point sent_at() const { return sent_at_; }
  // errno of opening; 0: under way.
  int error() const { return error_; }
  // After poll() reported an event. Nothing: it was no answer.
  std::optional<ProbedHop> ReadAnswer() const;

 private:
  void Open(const PathProbeOptions& options, uint16_t source_port, uint32_t hop);
  std::optional<ProbedHop> ReadErrorQueue() const;

  IpAddress destination_;
  Clock::time_point sent_at_;
  Descriptor socket_;
  int error_ = 0;
};

// Options of sockets are ints; all of these exist since Linux 2.4.
void SetOption(int socket, int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof(value)); }

void SynProbe::Open(const PathProbeOptions& options, uint16_t source_port, uint32_t hop) {
  const bool ipv4 = options.destination.is_ipv4();
  socket_ = Descriptor(::socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.is_open()) {
    error_ = errno;
    return;
  }
  SetOption(socket(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (ipv4) {
    SetOption(socket(), IPPROTO_IP, IP_TTL, static_cast<int>(hop));
    SetOption(socket(), IPPROTO_IP, IP_RECVERR, 1);
  } else {
    SetOption(socket(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, static_cast<int>(hop));
    SetOption(socket(), IPPROTO_IPV6, IPV6_RECVERR, 1);
  }
  // A connection that was opened is reset, not closed: the port is free again at once.
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  const IpAddress any = ipv4 ? IpAddress::FromIpv4(0) : IpAddress();
  const SocketAddress local(options.source.is_unset() ? any : options.source, source_port);
  const SocketAddress peer(options.destination, options.destination_port);
  const bool under_way = bind(socket(), local.get(), local.length()) == 0 &&
                         (connect(socket(), peer.get(), peer.length()) == 0 || errno == EINPROGRESS);
  error_ = under_way ? 0 : errno;
}

std::optional<ProbedHop> SynProbe::ReadErrorQueue() const {
  char control[512];
  char payload[64];
  iovec vector = {payload, sizeof(payload)};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket(), &message, MSG_ERRQUEUE) < 0) return std::nullopt;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    const bool is_error = (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR) ||
                          (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR);
    if (!is_error || header->cmsg_len < CMSG_LEN(sizeof(sock_extended_err) + sizeof(sockaddr))) continue;
    auto* error = reinterpret_cast<sock_extended_err*>(CMSG_DATA(header));
    const bool ipv4 = error->ee_origin == SO_EE_ORIGIN_ICMP;
    if (!ipv4 && error->ee_origin != SO_EE_ORIGIN_ICMP6) continue;
    const bool expired = error->ee_type == (ipv4 ? ICMP_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED);
    return ProbedHop{.kind = expired ? ProbedHop::Kind::kRouter : ProbedHop::Kind::kUnreachable,
                     .address = IpAddressOf(SO_EE_OFFENDER(error)),
                     .rtt = Seconds()};
  }
  return std::nullopt;
}

std::optional<ProbedHop> SynProbe::ReadAnswer() const {
  std::optional<ProbedHop> hop = ReadErrorQueue();
  if (!hop.has_value()) {
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(socket(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0 && error != ECONNREFUSED) return std::nullopt;
    hop = ProbedHop{.kind = ProbedHop::Kind::kDestination, .address = destination_, .rtt = Seconds()};
  }
  hop->rtt = Seconds(std::chrono::duration<double>(Clock::now() - sent_at_).count());
  return hop;
}

// All ports at one hop: as many at once as the options allow, silent ones again.
class HopRound {
 public:
  HopRound(const PathProbeOptions& options, uint32_t hop, std::vector<ProbedPath>* paths)
      : options_(options), hop_(hop), paths_(*paths) {}

  Status Run();

 private:
  struct Task {
    size_t path;
    uint32_t attempts = 0;
  };
  struct UnderWay {
    Task task;
    SynProbe probe;
  };

  Status Start(Task task);
  Clock::time_point Wait();
  void TakeAnswers();
  void GiveUpLate(Clock::time_point looked_at);
  void TryAgain(const Task& task);
  void Finish(const Task& task, const ProbedHop& hop) { paths_[task.path].hops.push_back(hop); }

  const PathProbeOptions& options_;
  uint32_t hop_;
  std::vector<ProbedPath>& paths_;
  std::deque<Task> waiting_;
  std::vector<UnderWay> under_way_;
  std::vector<pollfd> events_;  // [under way]
};

bool IsDone(const ProbedPath& path) {
  if (path.is_taken) return true;
  if (path.hops.empty()) return false;
  const ProbedHop::Kind last = path.hops.back().kind;
  return last == ProbedHop::Kind::kDestination || last == ProbedHop::Kind::kUnreachable;
}

Status HopRound::Run() {
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (!IsDone(paths_[i])) waiting_.push_back({i});
  }
  while (!waiting_.empty() || !under_way_.empty()) {
    while (!waiting_.empty() && under_way_.size() < options_.num_in_flight_max) {
      const Task task = waiting_.front();
      waiting_.pop_front();
      if (Status status = Start(task); !status.ok()) return status;
    }
    if (under_way_.empty()) continue;
    const Clock::time_point looked_at = Wait();
    TakeAnswers();
    GiveUpLate(looked_at);
  }
  return OkStatus();
}

Status HopRound::Start(Task task) {
  ++task.attempts;
  ProbedPath& path = paths_[task.path];
  SynProbe probe(options_, path.source_port, hop_);
  switch (probe.error()) {
    case 0:
      under_way_.push_back({task, std::move(probe)});
      return OkStatus();
    case EADDRINUSE:
    case EADDRNOTAVAIL:  // the same connection is already established
    case EACCES:         // a port that only root may use
      path.is_taken = true;
      path.hops.clear();
      return OkStatus();
    default:
      return Unavailable(fmt::format("can't probe {} port {} from port {}: {}", options_.destination.ToString(),
                                     options_.destination_port, path.source_port, std::strerror(probe.error())));
  }
}

// Until something happened, or the oldest probe is late. Returns an instant before it looked what has happened.
Clock::time_point HopRound::Wait() {
  events_.clear();
  Clock::time_point first = Clock::time_point::max();
  for (const UnderWay& entry : under_way_) {
    events_.push_back({entry.probe.socket(), POLLOUT, 0});
    first = std::min(first, entry.probe.sent_at());
  }
  const Clock::time_point now = Clock::now();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first + options_.timeout - now).count() + 1;
  poll(events_.data(), events_.size(), static_cast<int>(std::max<int64_t>(left, 0)));
  return now;
}

void HopRound::TakeAnswers() {
  std::vector<UnderWay> rest;
  for (size_t i = 0; i < under_way_.size(); ++i) {
    std::optional<ProbedHop> hop;
    if (events_[i].revents != 0) hop = under_way_[i].probe.ReadAnswer();
    if (hop.has_value()) {
      Finish(under_way_[i].task, *hop);
    } else if (events_[i].revents != 0) {
      TryAgain(under_way_[i].task);  // an error that is no answer
    } else {
      rest.push_back(std::move(under_way_[i]));
    }
  }
  under_way_ = std::move(rest);
}

// Only what was late already when the answers were looked for: on a busy machine this process may have been stopped
// since then, and answers of that time are there.
void HopRound::GiveUpLate(Clock::time_point looked_at) {
  std::erase_if(under_way_, [&](UnderWay& entry) {
    if (looked_at < entry.probe.sent_at() + options_.timeout) return false;
    TryAgain(entry.task);
    return true;
  });
}

// As often as the options say; then the hop is silent.
void HopRound::TryAgain(const Task& task) {
  if (task.attempts < options_.num_attempts) {
    waiting_.push_back(task);
  } else {
    Finish(task, {});
  }
}

Status Validate(const PathProbeOptions& options) {
  if (options.destination.is_unset() || options.destination_port == 0) {
    return InvalidArgument("expected an address and a port between 1 and 65535 to probe");
  }
  if (!options.source.is_unset() && options.source.is_ipv4() != options.destination.is_ipv4()) {
    return InvalidArgument(fmt::format("{} and {} are not of the same version of IP", options.source.ToString(),
                                       options.destination.ToString()));
  }
  if (options.first_hop < 1 || options.first_hop > options.last_hop || options.last_hop > 64) {
    return InvalidArgument(
        fmt::format("expected 1 <= first hop <= last hop <= 64, found {} and {}", options.first_hop, options.last_hop));
  }
  if (options.num_attempts == 0 || options.num_in_flight_max == 0 || options.timeout.count() <= 0) {
    return InvalidArgument("expected at least one attempt, one probe at once, and a timeout above 0");
  }
  std::vector<uint16_t> ports = options.source_ports;
  std::sort(ports.begin(), ports.end());
  if (std::adjacent_find(ports.begin(), ports.end()) != ports.end() || (!ports.empty() && ports.front() == 0)) {
    return InvalidArgument("expected source ports that differ, between 1 and 65535");
  }
  return OkStatus();
}

// Else every port would look taken.
Status CheckSource(const IpAddress& source) {
  if (source.is_unset()) return OkStatus();
  const Descriptor socket(::socket(source.is_ipv4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress local(source, 0);
  const int error = socket.is_open() && bind(socket.get(), local.get(), local.length()) == 0 ? 0 : errno;
  if (error == 0) return OkStatus();
  return Unavailable(fmt::format("can't send from {}: {}", source.ToString(), std::strerror(error)));
}

}  // namespace

Result<std::vector<ProbedPath>> ProbePaths(const PathProbeOptions& options) {
  FL_RETURN_IF_ERROR(Validate(options));
  FL_RETURN_IF_ERROR(CheckSource(options.source));
  std::vector<ProbedPath> paths(options.source_ports.size());
  for (size_t i = 0; i < paths.size(); ++i) paths[i].source_port = options.source_ports[i];
  for (uint32_t hop = options.first_hop; hop <= options.last_hop; ++hop) {
    FL_RETURN_IF_ERROR(HopRound(options, hop, &paths).Run());
  }
  return paths;
}

}  // namespace fairlead::service
