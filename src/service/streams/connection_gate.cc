#include "service/streams/connection_gate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kShownFor{10}, kStuckAfter{5};
constexpr int kAcceptedAtOnce = 64;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

// The first number of a descriptor that is not for connections.
int FirstReserved(size_t num_reserved) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= rlim_t{INT32_MAX}) return INT32_MAX;
  const auto all = static_cast<size_t>(limit.rlim_cur);
  return static_cast<int>(all - std::min(num_reserved, all / 8));
}

// The lowest number that is free: one that was given up has left it.
int Renumber(int socket) {
  const int lower = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (lower < 0 || lower > socket) {
    if (lower >= 0) close(lower);
    return socket;
  }
  close(socket);
  return lower;
}

}  // namespace

class ConnectionGate::Loop {
 public:
  Loop(std::vector<Descriptor> listeners, const ConnectionGateOptions& options, LetIn let_in)
      : options_(options),
        let_in_(std::move(let_in)),
        listeners_(std::move(listeners)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    Watch(wake_.get(), listeners_.size());
    for (size_t i = 0; i < listeners_.size(); ++i) Watch(listeners_[i].get(), i);
    next_number_ = listeners_.size() + 1;
    thread_ = std::thread([this] { Run(); });
  }
  ~Loop() {
    is_stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
    thread_.join();
    while (!silent_.empty()) GiveUpOldest();
  }

  Status status() const {
    const int64_t now = NowMs();
    const auto is_within = [now](int64_t at_ms, std::chrono::milliseconds time) { return now - at_ms < time.count(); };
    if (!is_within(looped_ms_, kStuckAfter)) return Unavailable("agents are not let in: the gate is stuck");
    const bool is_refusing = refused_ms_ != 0 && is_within(refused_ms_, kShownFor);
    if (is_refusing || !HasRoom()) {
      return {StatusCode::kResourceExhausted,
              fmt::format("agents are not let in: this process may have {} descriptors for connections, and all are in "
                          "use; raise its limit (LimitNOFILE, ulimit -n)",
                          FirstReserved(options_.num_reserved))};
    }
    return OkStatus();
  }
  uint64_t num_refused() const { return num_refused_; }
  uint64_t num_given_up() const { return num_given_up_; }

 private:
  // Whether the next connection would get a number that is not reserved.
  bool HasRoom() const {
    const Descriptor next(fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0));
    return next.is_open() && next.get() < FirstReserved(options_.num_reserved);
  }

  struct Silent {
    int socket = -1;  // let in, or closed here
    size_t endpoint = 0;
    Clock::time_point due;
  };

  bool Watch(int descriptor, uint64_t number) const {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = number;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  }
  void Run();
  void Accept(size_t endpoint);
  void Hear(std::map<uint64_t, Silent>::iterator entry);
  void GiveUpOldest() {
    close(silent_.begin()->second.socket);
    silent_.erase(silent_.begin());
    ++num_given_up_;
  }
  void Refuse() {
    ++num_refused_;
    refused_ms_ = NowMs();
  }

  const ConnectionGateOptions options_;
  const LetIn let_in_;
  std::vector<Descriptor> listeners_;
  Descriptor epoll_;
  Descriptor wake_;
  std::map<uint64_t, Silent> silent_;  // in the order of their coming
  uint64_t next_number_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<int64_t> looped_ms_ = NowMs();
  std::atomic<int64_t> refused_ms_ = 0;
  std::atomic<uint64_t> num_refused_ = 0;
  std::atomic<uint64_t> num_given_up_ = 0;
  std::thread thread_;
};

void ConnectionGate::Loop::Run() {
  std::array<epoll_event, 256> ready;
  while (!is_stopping_) {
    const int count =
        epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), static_cast<int>(kTick.count()));
    looped_ms_ = NowMs();
    for (int i = 0; i < count; ++i) {
      const uint64_t number = ready[static_cast<size_t>(i)].data.u64;
      const auto entry = silent_.find(number);
      if (number < listeners_.size()) {
        Accept(number);
      } else if (entry != silent_.end()) {
        Hear(entry);
      }
    }
    while (!silent_.empty() && silent_.begin()->second.due <= Clock::now()) GiveUpOldest();
  }
}

void ConnectionGate::Loop::Accept(size_t endpoint) {
  const int first_reserved = FirstReserved(options_.num_reserved);
  // A few at a time: those that speak are heard in between.
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    int socket = accept4(listeners_[endpoint].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool is_full = socket < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS);
    if (socket < 0 && !is_full) {
      // Of one connection that broke in between, EAGAIN but for that: the next ones are as good as ever.
      if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO || errno == EPERM) continue;
      return;
    }
    // The kernel gives the lowest free number: there are as many descriptors at least.
    const bool lacks_room = is_full || socket >= first_reserved;
    if (lacks_room) Refuse();  // it, or the one that it takes the place of
    if (!silent_.empty() && (lacks_room || silent_.size() >= options_.num_silent_max)) GiveUpOldest();
    if (lacks_room && !is_full) socket = Renumber(socket);
    if (is_full || socket >= first_reserved) {
      if (socket >= 0) close(socket);
      // It would be announced again at once.
      if (is_full) return std::this_thread::sleep_for(kTick);
      continue;
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const uint64_t number = next_number_++;
    if (Watch(socket, number)) {
      silent_.emplace(number, Silent{socket, endpoint, Clock::now() + options_.patience});
    } else {
      close(socket);
    }
  }
}

void ConnectionGate::Loop::Hear(std::map<uint64_t, Silent>::iterator entry) {
  const Silent silent = entry->second;
  silent_.erase(entry);
  char byte = 0;
  const bool has_spoken = recv(silent.socket, &byte, 1, MSG_PEEK) > 0;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, silent.socket, nullptr);
  if (has_spoken) {
    let_in_(silent.endpoint, listeners_[silent.endpoint].get(), silent.socket);
  } else {
    close(silent.socket);
  }
}

Result<std::unique_ptr<ConnectionGate>> ConnectionGate::Open(const std::vector<Endpoint*>& endpoints,
                                                             const ConnectionGateOptions& options, LetIn let_in) {
  std::vector<Descriptor> listeners;
  for (Endpoint* endpoint : endpoints) {
    FL_ASSIGN_OR_RETURN(listeners.emplace_back(), ListenAt(endpoint));
  }
  return std::unique_ptr<ConnectionGate>(
      new ConnectionGate(std::make_unique<Loop>(std::move(listeners), options, std::move(let_in))));
}

ConnectionGate::ConnectionGate(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
ConnectionGate::~ConnectionGate() = default;

Status ConnectionGate::status() const { return loop_->status(); }
uint64_t ConnectionGate::num_refused() const { return loop_->num_refused(); }
uint64_t ConnectionGate::num_given_up() const { return loop_->num_given_up(); }

}  // namespace fairlead::service
