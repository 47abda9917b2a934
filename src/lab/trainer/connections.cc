#include "lab/trainer/connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

namespace fairlead::lab {

namespace {

using Clock = std::chrono::steady_clock;

// The first bytes of a connection: its destination. In host byte order: both ends are on one machine.
struct Greeting {
  std::array<char, 8> magic = {'f', 'l', 't', 'r', 'a', 'i', 'n', '1'};
  std::array<char, 48> job{};
  uint32_t connection = 0;
  uint32_t worker = 0;
};
static_assert(sizeof(Greeting) == 64);

constexpr std::chrono::milliseconds kRetryPeriod{50};

Greeting GreetingOf(const TrainerPlan& plan, Protocol protocol, uint32_t connection, uint32_t sender) {
  Greeting greeting;
  if (protocol == Protocol::kMessages) greeting.magic.back() = 'm';
  // Cut short or not: names of jobs of a scenario differ, and so do their ports.
  std::strncpy(greeting.job.data(), plan.job.c_str(), greeting.job.size() - 1);
  greeting.connection = connection;
  greeting.worker = sender;
  return greeting;
}

std::optional<sockaddr_in> AddressOf(const std::string& address, uint16_t port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &result.sin_addr) != 1) return std::nullopt;
  return result;
}

const sockaddr* Generic(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

void SetFlag(int socket, int level, int option) {
  const int on = 1;
  setsockopt(socket, level, option, &on, sizeof on);
}

Result<Descriptor> Listen(const std::string& text, uint16_t port) {
  const auto address = AddressOf(text, port);
  if (!address) return InvalidArgument(fmt::format("'{}' is no IPv4 address", text));
  Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.is_open()) SetFlag(listener.get(), SOL_SOCKET, SO_REUSEADDR);
  if (!listener.is_open() || bind(listener.get(), Generic(*address), sizeof *address) != 0 ||
      listen(listener.get(), 1024) != 0) {
    return Unavailable(fmt::format("can't listen on {}:{}: {}", text, port, std::strerror(errno)));
  }
  return listener;
}

// Brings up the connections of one worker.
class Connector {
 public:
  Connector(const TrainerPlan& plan, double patience_s, const std::atomic<bool>& stop, Protocol protocol)
      : plan_(plan),
        protocol_(protocol),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience_s))),
        stop_(stop),
        connections_(plan.connections.size()) {
    for (uint32_t i = 0; i < plan.connections.size(); ++i) {
      if (!plan.connections[i].is_outgoing) incoming_[plan.connections[i].id] = i;
    }
  }

  Result<Connections> Run() {
    if (!incoming_.empty()) {
      for (const std::string& address : plan_.listen_addresses) {
        FL_ASSIGN_OR_RETURN(Descriptor listener, Listen(address, plan_.listen_port));
        listeners_.push_back(std::move(listener));
      }
    }
    while (true) {
      for (uint32_t i = 0; i < connections_.size(); ++i) {
        if (plan_.connections[i].is_outgoing && !connections_[i].is_open()) FL_RETURN_IF_ERROR(TryConnect(i));
      }
      AcceptAll();
      const std::optional<uint32_t> missing = FindMissing();
      if (!missing) return std::move(connections_);
      if (stop_) return Status(StatusCode::kCancelled, "stopped before all connections were established");
      if (Clock::now() >= deadline_) return ReportMissing(*missing);
      WaitForCallers();
    }
  }

 private:
  // A caller that has not identified itself yet.
  struct Caller {
    Descriptor connection;
    Greeting greeting;
    size_t num_bytes = 0;  // of the greeting, that have come
  };

  std::optional<uint32_t> FindMissing() const {
    for (uint32_t i = 0; i < connections_.size(); ++i) {
      if (!connections_[i].is_open()) return i;
    }
    return std::nullopt;
  }

  Status ReportMissing(uint32_t index) const {
    const ConnectionPlan& c = plan_.connections[index];
    return Unavailable(fmt::format("job {}: worker {} ({}) was not reached in time{}{}", plan_.job, c.peer,
                                   c.is_outgoing ? c.to : c.from, last_error_.empty() ? "" : ": ", last_error_));
  }

  void WaitForCallers() {
    std::vector<pollfd> watched;
    for (const Descriptor& listener : listeners_) watched.push_back({listener.get(), POLLIN, 0});
    for (const Caller& caller : callers_) watched.push_back({caller.connection.get(), POLLIN, 0});
    poll(watched.data(), watched.size(), static_cast<int>(kRetryPeriod.count()));
  }

  // Leaves the connection closed when the peer does not listen yet. Only the first call blocks for long, where the peer
  // can't be reached at all.
  Status TryConnect(uint32_t index) {
    const ConnectionPlan& c = plan_.connections[index];
    const auto from = AddressOf(c.from, 0);
    const auto to = AddressOf(c.to, c.port);
    if (!from || !to) return InvalidArgument(fmt::format("connection {}: not an IPv4 address", c.id));
    Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection.is_open()) return Unavailable(fmt::format("socket: {}", std::strerror(errno)));
    // The port is chosen when the destination is known, so that one port can serve many destinations.
    SetFlag(connection.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
    if (bind(connection.get(), Generic(*from), sizeof *from) != 0) {
      return Unavailable(fmt::format("can't bind to {}: {}", c.from, std::strerror(errno)));
    }
    const Greeting greeting = GreetingOf(plan_, protocol_, c.id, plan_.worker);
    if (connect(connection.get(), Generic(*to), sizeof *to) != 0 ||
        send(connection.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
      last_error_ = std::strerror(errno);
      return OkStatus();
    }
    connections_[index] = Prepared(std::move(connection));
    return OkStatus();
  }

  static Descriptor Prepared(Descriptor connection) {
    SetFlag(connection.get(), IPPROTO_TCP, TCP_NODELAY);
    fcntl(connection.get(), F_SETFL, fcntl(connection.get(), F_GETFL) | O_NONBLOCK);
    return connection;
  }

  void AcceptAll() {
    for (const Descriptor& listener : listeners_) {
      while (true) {
        Descriptor caller(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!caller.is_open()) break;
        callers_.push_back({std::move(caller), {}, 0});
      }
    }
    std::erase_if(callers_, [this](Caller& caller) { return HasBeenHeard(&caller); });
  }

  // Takes what a caller says. True: it is identified, or a stranger that was turned away, or gone. One that says
  // nothing is waited for as long as the others: it counts itself as connected, and may only have been stopped.
  bool HasBeenHeard(Caller* caller) {
    auto* const to = reinterpret_cast<char*>(&caller->greeting) + caller->num_bytes;
    const ssize_t count = recv(caller->connection.get(), to, sizeof(Greeting) - caller->num_bytes, 0);
    if (count < 0) return errno != EAGAIN && errno != EINTR;
    caller->num_bytes += static_cast<size_t>(count);
    if (caller->num_bytes < sizeof(Greeting)) return count == 0;
    const Greeting& greeting = caller->greeting;
    const auto found = incoming_.find(greeting.connection);
    if (found == incoming_.end()) return true;
    const Greeting expected = GreetingOf(plan_, protocol_, greeting.connection, plan_.connections[found->second].peer);
    if (std::memcmp(&greeting, &expected, sizeof greeting) != 0) return true;
    connections_[found->second] = Prepared(std::move(caller->connection));
    return true;
  }

  const TrainerPlan& plan_;
  const Protocol protocol_;
  const Clock::time_point deadline_;
  const std::atomic<bool>& stop_;
  Connections connections_;
  std::map<uint32_t, uint32_t> incoming_;  // id -> index
  std::vector<Descriptor> listeners_;
  std::vector<Caller> callers_;
  std::string last_error_;
};

}  // namespace

Result<Connections> Connect(const TrainerPlan& plan, double patience_s, const std::atomic<bool>& stop,
                            Protocol protocol) {
  return Connector(plan, patience_s, stop, protocol).Run();
}

}  // namespace fairlead::lab
