#include "service/agent/bandwidth_transfer.h"

#include <endian.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/socket_address.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectPatience{2};  // a lost SYN is sent again after one
constexpr std::chrono::seconds kClosePatience{2};
constexpr std::chrono::milliseconds kLook{100};  // how often `stop` is looked at
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr double kWarmUpShare = 0.2;

Clock::duration DurationOf(SimDuration length) { return std::chrono::nanoseconds(length.ns()); }

Status Failed(const std::string& what) { return Unavailable(fmt::format("{}: {}", what, std::strerror(errno))); }

// Reads and writes return after this long.
void SetTimeouts(int socket) {
  const timeval time = {.tv_sec = 0, .tv_usec = std::chrono::microseconds(kLook).count()};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

bool WaitFor(int socket, int16_t events, Clock::time_point until, const std::atomic<bool>& stop) {
  while (!stop && Clock::now() < until) {
    pollfd watched = {.fd = socket, .events = events, .revents = 0};
    if (poll(&watched, 1, static_cast<int>(kLook.count())) > 0) return true;
  }
  return false;
}

bool MayTryAgain() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == EINPROGRESS; }

// Whether the secret came, in time.
bool TakeSecret(int socket, uint64_t secret, Clock::time_point until, const std::atomic<bool>& stop) {
  uint64_t said = 0;
  size_t num_bytes = 0;
  while (num_bytes < sizeof(said)) {
    if (!WaitFor(socket, POLLIN, until, stop)) return false;
    const ssize_t got = recv(socket, reinterpret_cast<char*>(&said) + num_bytes, sizeof(said) - num_bytes, 0);
    if (got == 0 || (got < 0 && !MayTryAgain())) return false;
    if (got > 0) num_bytes += static_cast<size_t>(got);
  }
  return be64toh(said) == secret;
}

// What all streams of a receiver have got, and when.
class Meter {
 public:
  explicit Meter(Clock::duration length) : length_(length) {}

  void Add(size_t bytes) {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = now;
    // What comes after the sender's time is what lay in queues.
    if (now > *first_ + length_) return;
    last_ = now;
    bytes_ += bytes;
    if (!warm_ && now - *first_ >= std::chrono::duration_cast<Clock::duration>(length_ * kWarmUpShare)) {
      warm_ = now;
      warm_bytes_ = bytes_;
    }
  }
  // Bytes/s; 0: next to nothing came.
  double Rate() const {
    const std::lock_guard lock(mutex_);
    if (!warm_ || last_ <= *warm_) return 0;
    return static_cast<double>(bytes_ - warm_bytes_) / std::chrono::duration<double>(last_ - *warm_).count();
  }

 private:
  const Clock::duration length_;
  mutable std::mutex mutex_;
  std::optional<Clock::time_point> first_;
  std::optional<Clock::time_point> warm_;
  Clock::time_point last_;
  uint64_t bytes_ = 0;
  uint64_t warm_bytes_ = 0;
};

// Until the sender is done.
void ReadAll(int socket, Clock::time_point until, const std::atomic<bool>& stop, Meter* meter) {
  std::vector<char> piece(kPieceBytes);
  while (!stop && Clock::now() < until) {
    // TCP drops what is truncated: it need not be copied.
    const ssize_t got = recv(socket, piece.data(), piece.size(), MSG_TRUNC);
    if (got == 0 || (got < 0 && !MayTryAgain())) return;
    if (got > 0) meter->Add(static_cast<size_t>(got));
  }
}

Result<Descriptor> ConnectTo(const TransferOptions& options, const std::atomic<bool>& stop) {
  const SocketAddress local(options.local, 0);
  const SocketAddress peer(options.peer, options.port);
  Descriptor socket(::socket(peer.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return Failed("can't open a socket");
  const std::string where = fmt::format("{} port {}", options.peer.ToString(), options.port);
  if (bind(socket.get(), local.get(), local.length()) != 0) return Failed("can't use " + options.local.ToString());
  if (connect(socket.get(), peer.get(), peer.length()) != 0 && errno != EINPROGRESS) {
    return Failed("can't connect to " + where);
  }
  if (!WaitFor(socket.get(), POLLOUT, Clock::now() + kConnectPatience, stop)) {
    return Unavailable("no answer from " + where);
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return Unavailable(fmt::format("can't connect to {}: {}", where, std::strerror(error)));
  return socket;
}

// One stream of a sender.
struct SenderStream {
  Descriptor socket;
  Status status;
  uint64_t segments = 0;
  uint64_t lost = 0;
  Seconds rtt;
};

// At most `bytes` that may be sent until then; waits where there are none yet.
size_t Allowance(double rate_max, Clock::time_point began, uint64_t sent) {
  if (rate_max <= 0) return kPieceBytes;
  const double due = rate_max * std::chrono::duration<double>(Clock::now() - began).count();
  if (static_cast<double>(sent) < due) return std::min(kPieceBytes, static_cast<size_t>(due) - sent + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 0;
}

void CountLosses(SenderStream* stream) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (getsockopt(stream->socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  stream->segments = info.tcpi_segs_out;
  stream->lost = info.tcpi_total_retrans;
  stream->rtt = Seconds(1e-6 * info.tcpi_min_rtt);
}

void WriteAll(const TransferOptions& options, const std::atomic<bool>& stop, SenderStream* stream) {
  const int socket = stream->socket.get();
  SetTimeouts(socket);
  const std::vector<char> piece(kPieceBytes, 'f');
  const Clock::time_point began = Clock::now();
  const Clock::time_point until = began + DurationOf(options.length);
  uint64_t sent = 0;
  while (!stop && Clock::now() < until) {
    const size_t allowed = Allowance(options.rate_max / options.num_streams, began, sent);
    if (allowed == 0) continue;
    // Never blocks longer than until `stop` is looked at again.
    if (!WaitFor(socket, POLLOUT, until, stop)) break;
    const ssize_t put = send(socket, piece.data(), allowed, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) sent += static_cast<uint64_t>(put);
    if (put < 0 && !MayTryAgain()) {
      stream->status = Failed("the connection broke");
      break;
    }
  }
  CountLosses(stream);
  // What is under way may still arrive, or be sent again.
  shutdown(socket, SHUT_WR);
  WaitFor(socket, POLLIN, Clock::now() + kClosePatience, stop);
}

}  // namespace

Result<TransferReceiver> TransferReceiver::Open(const TransferOptions& options) {
  TransferReceiver receiver(options);
  const SocketAddress local(options.local, options.port);
  receiver.listener_ = Descriptor(socket(local.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!receiver.listener_.is_open()) return Failed("can't open a socket");
  const int listener = receiver.listener_.get();
  if (bind(listener, local.get(), local.length()) != 0 || listen(listener, 64) != 0) {
    return Failed("can't listen on " + options.local.ToString());
  }
  sockaddr_in6 bound = {};
  socklen_t length = sizeof(bound);
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return Failed("can't listen");
  receiver.port_ = ntohs(bound.sin6_port);  // where that of IPv4 is
  return receiver;
}

Result<double> TransferReceiver::Receive(const std::atomic<bool>& stop) {
  const Clock::duration length = DurationOf(options_.length);
  Meter meter(length);
  std::vector<Descriptor> sockets;
  std::vector<std::thread> readers;
  const Clock::time_point patience = Clock::now() + kConnectPatience;
  const Clock::time_point until = patience + length + kClosePatience;
  while (sockets.size() < options_.num_streams && WaitFor(listener_.get(), POLLIN, patience, stop)) {
    sockaddr_storage from = {};
    socklen_t from_length = sizeof(from);
    Descriptor accepted(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &from_length, SOCK_CLOEXEC));
    if (!accepted.is_open() || IpAddressOf(reinterpret_cast<sockaddr*>(&from)) != options_.peer) continue;
    SetTimeouts(accepted.get());
    // Who does not say it at once keeps others waiting no longer than a look.
    if (!TakeSecret(accepted.get(), options_.secret, std::min(patience, Clock::now() + kLook), stop)) continue;
    sockets.push_back(std::move(accepted));
    readers.emplace_back(
        [&meter, &stop, until, socket = sockets.back().get()] { ReadAll(socket, until, stop, &meter); });
  }
  listener_.Close();
  for (std::thread& reader : readers) reader.join();
  if (stop) return Unavailable("it was stopped");
  if (sockets.empty()) return Unavailable("no connection came from " + options_.peer.ToString());
  return meter.Rate();
}

Result<SentTransfer> SendTransfer(const TransferOptions& options, const std::atomic<bool>& stop) {
  std::vector<SenderStream> streams(options.num_streams);
  const uint64_t secret = htobe64(options.secret);
  for (SenderStream& stream : streams) {
    FL_ASSIGN_OR_RETURN(stream.socket, ConnectTo(options, stop));
    if (send(stream.socket.get(), &secret, sizeof(secret), MSG_NOSIGNAL) != sizeof(secret)) {
      return Failed("the connection broke");
    }
  }
  std::vector<std::thread> writers;
  for (SenderStream& stream : streams) {
    writers.emplace_back([&options, &stop, one = &stream] { WriteAll(options, stop, one); });
  }
  for (std::thread& writer : writers) writer.join();
  SentTransfer sent;
  uint64_t segments = 0;
  uint64_t lost = 0;
  for (const SenderStream& stream : streams) {
    FL_RETURN_IF_ERROR(stream.status);
    segments += stream.segments;
    lost += stream.lost;
    if (stream.rtt > Seconds() && (sent.rtt == Seconds() || stream.rtt < sent.rtt)) sent.rtt = stream.rtt;
  }
  if (stop) return Unavailable("it was stopped");
  if (segments > 0) sent.lost_share = std::min(1.0, static_cast<double>(lost) / static_cast<double>(segments));
  return sent;
}

}  // namespace fairlead::service
