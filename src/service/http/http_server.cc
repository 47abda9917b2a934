#include "service/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/socket_address.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kHeadBytesMax = size_t{16} << 10;
constexpr size_t kAnswerBytesMax = size_t{64} << 20;  // that wait to be taken, together
constexpr std::chrono::milliseconds kTick{100}, kLeaveWithin{1'000};
constexpr size_t kDrainedBytesMax = size_t{1} << 20;  // of a client that goes on after its answer
constexpr uint64_t kListener = 0, kWake = 1, kFirstConnection = 2;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

struct Connection {
  enum class Stage : uint8_t {
    kHead,
    kBody,
    kAnswering,  // a worker has it
    kTaking,     // the client takes the answer
    kLeaving,    // has been sent all; what the client still sends is read, or it would lose the answer
    kListening,  // is sent what is published
  };
  Descriptor socket;
  std::string client;
  Stage stage = Stage::kHead;
  Clock::time_point due;
  std::string bytes;  // that were read; from kTaking on: to be written
  size_t num_written = 0;
  size_t num_drained = 0;
  HttpHead head;
  size_t head_size = 0;
};
using Stage = Connection::Stage;

struct Task {
  uint64_t connection = 0;
  std::string request;
  std::string client;
};

// Threads that wait for answers of other parts.
class Workers {
 public:
  using Answer = std::function<std::string(const std::string&, const std::string&)>;
  using Done = std::function<void(uint64_t, std::string)>;

  Workers(size_t count, Answer answer, Done done) : answer_(std::move(answer)), done_(std::move(done)) {
    for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { Run(); });
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void Do(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
      if (is_stopping_) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      done_(task.connection, answer_(task.request, task.client));
    }
  }

  const Answer answer_;
  const Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

// The request as the gateway gets it: nothing in it is left to be guessed, or waited for.
std::string WriteRequest(const HttpHead& head, std::string_view body) {
  std::string request = head.method + " " + head.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : head.headers) {
    const bool is_of_the_way = name == "connection" || name == "expect" || name == "content-length" ||
                               name == "accept-encoding" || name == "content-encoding" || name == "upgrade";
    if (!is_of_the_way) request += name + ": " + value + "\r\n";
  }
  request += "content-length: " + std::to_string(body.size()) + "\r\nconnection: close\r\n\r\n";
  return request.append(body);
}

}  // namespace

// Size        one thread: its sockets and connections, and the queue through which other threads reach it.
class HttpServer::Loop {
 public:
  Loop(Descriptor listener, uint16_t port, const HttpServerOptions& options, Callbacks callbacks)
      : options_(options),
        callbacks_(std::move(callbacks)),
        port_(port),
        listener_(std::move(listener)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        workers_(options.num_workers, callbacks_.answer, Done()),
        health_worker_(1, callbacks_.answer, Done()) {
    Watch(listener_.get(), EPOLLIN, kListener, EPOLL_CTL_ADD);
    Watch(wake_.get(), EPOLLIN, kWake, EPOLL_CTL_ADD);
    thread_ = std::thread([this] { Run(); });
  }
  ~Loop() {
    is_stopping_ = true;
    Wake();
    thread_.join();
  }
  uint16_t port() const { return port_; }
  // Whoever comes later has not missed it: he begins by asking for everything.
  void Publish(std::string bytes) {
    if (num_listeners_ == 0) return;
    {
      const std::lock_guard lock(mutex_);
      published_ += bytes;
    }
    Wake();
  }
  size_t num_listeners() const { return num_listeners_; }

 private:
  using Entry = std::map<uint64_t, Connection>::iterator;

  Workers::Done Done() {
    return [this](uint64_t connection, std::string answer) {
      {
        const std::lock_guard lock(mutex_);
        answers_.emplace_back(connection, std::move(answer));
      }
      Wake();
    };
  }
  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }
  void Watch(int descriptor, uint32_t events, uint64_t number, int operation) const {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = number;
    epoll_ctl(epoll_.get(), operation, descriptor, &event);
  }

  void Run();
  void Accept();
  void MakeRoom();
  void Read(Entry entry);
  void Consider(Entry entry);
  void Admit(Entry entry);
  void HandOver(Entry entry);
  void Say(Entry entry, std::string answer);
  void Write(Entry entry);
  void Drain(Entry entry);
  void Listen(Entry entry, std::string beginning);
  void Tell(Entry entry);
  void TellListeners();
  void Close(Entry entry) {
    num_listeners_ -= entry->second.stage == Stage::kListening ? 1 : 0;
    num_answer_bytes_ -= entry->second.stage == Stage::kTaking ? entry->second.bytes.size() : 0;
    connections_.erase(entry);
  }
  void TakeAnswers();
  void CloseOverdue();

  const HttpServerOptions options_;
  const Callbacks callbacks_;
  const uint16_t port_;
  Descriptor listener_;
  Descriptor epoll_;
  Descriptor wake_;
  std::map<uint64_t, Connection> connections_;  // in the order of their coming
  uint64_t next_number_ = kFirstConnection;
  size_t num_answer_bytes_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, std::string>> answers_;
  std::string published_;
  std::atomic<size_t> num_listeners_ = 0;
  std::thread thread_;
  // Last: they end before what they use.
  Workers workers_;
  Workers health_worker_;
};

void HttpServer::Loop::Run() {
  std::array<epoll_event, 256> ready;
  while (!is_stopping_) {
    const int count =
        epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), static_cast<int>(kTick.count()));
    for (int i = 0; i < count; ++i) {
      const uint64_t number = ready[static_cast<size_t>(i)].data.u64;
      const Entry entry = connections_.find(number);
      if (number == kListener) {
        Accept();
      } else if (number == kWake) {
        uint64_t sum = 0;
        [[maybe_unused]] const ssize_t size = read(wake_.get(), &sum, sizeof(sum));
      } else if (entry != connections_.end()) {
        switch (entry->second.stage) {
          case Stage::kTaking:
            Write(entry);
            break;
          case Stage::kLeaving:
            Drain(entry);
            break;
          case Stage::kListening:
            if ((ready[static_cast<size_t>(i)].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
              Drain(entry);
            } else {
              Tell(entry);
            }
            break;
          default:
            Read(entry);
        }
      }
    }
    TakeAnswers();
    TellListeners();
    CloseOverdue();
  }
}

void HttpServer::Loop::Accept() {
  // A few at a time: those that are here are heard in between.
  for (int i = 0; i < 64; ++i) {
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    Descriptor socket(
        accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      // Without a descriptor for it, it would be announced again at once, and for ever.
      if ((errno == EMFILE || errno == ENFILE) && !connections_.empty()) {
        MakeRoom();
        continue;
      }
      if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kTick);
      return;
    }
    while (connections_.size() >= options_.num_connections_max) {
      const size_t before = connections_.size();
      MakeRoom();
      if (connections_.size() == before) return;  // all are being answered: this one comes again
    }
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const uint64_t number = next_number_++;
    Watch(socket.get(), EPOLLIN, number, EPOLL_CTL_ADD);
    Connection connection;
    connection.socket = std::move(socket);
    connection.client = IpAddressOf(reinterpret_cast<const sockaddr*>(&address)).ToString();
    connection.due = Clock::now() + options_.patience;
    Read(connections_.emplace(number, std::move(connection)).first);  // as a rule the request is there already
  }
}

// The oldest that has all it asked for, or is still at its request, gives way; else the oldest that does not take its
// answer.
void HttpServer::Loop::MakeRoom() {
  const auto is_idle = [](const auto& one) {
    return one.second.stage <= Stage::kBody || one.second.stage == Stage::kLeaving;
  };
  const auto is_taking = [](const auto& one) {
    return one.second.stage == Stage::kTaking || one.second.stage == Stage::kListening;
  };
  Entry oldest = std::find_if(connections_.begin(), connections_.end(), is_idle);
  if (oldest == connections_.end()) oldest = std::find_if(connections_.begin(), connections_.end(), is_taking);
  if (oldest != connections_.end()) Close(oldest);
}

void HttpServer::Loop::Read(Entry entry) {
  Connection& connection = entry->second;
  std::array<char, 8192> buffer;
  while (connection.stage <= Stage::kBody) {
    const ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return Close(entry);
    connection.bytes.append(buffer.data(), static_cast<size_t>(size));
    const uint64_t number = entry->first;
    Consider(entry);
    if (!connections_.contains(number)) return;
  }
}

void HttpServer::Loop::Consider(Entry entry) {
  Connection& connection = entry->second;
  if (connection.stage == Stage::kHead) {
    connection.head_size = FindHeadEnd(connection.bytes);
    const bool is_whole = connection.head_size != std::string::npos;
    if ((is_whole ? connection.head_size : connection.bytes.size()) > kHeadBytesMax) {
      return Say(entry, callbacks_.refuse({431, "expected a head of at most 16384 bytes"}));
    }
    if (!is_whole) return;
    Admit(entry);
  }
  const auto found = connections_.find(entry->first);
  if (found == connections_.end() || found->second.stage != Stage::kBody) return;
  if (connection.bytes.size() >= connection.head_size + connection.head.content_length) HandOver(entry);
}

void HttpServer::Loop::Admit(Entry entry) {
  Connection& connection = entry->second;
  const std::string_view bytes = std::string_view(connection.bytes).substr(0, connection.head_size);
  HttpRefusal refusal = ReadHttpHead(bytes, options_.body_bytes_max, &connection.head);
  if (refusal.code == 0) refusal = callbacks_.admit(connection.head);
  if (refusal.code != 0) return Say(entry, callbacks_.refuse(refusal));
  if (callbacks_.begin_stream && num_listeners_ < options_.num_listeners_max) {
    std::optional<std::string> beginning = callbacks_.begin_stream(connection.head);
    if (beginning) return Listen(entry, *std::move(beginning));
  }
  connection.stage = Stage::kBody;
  const bool is_waiting = connection.bytes.size() < connection.head_size + connection.head.content_length;
  if (is_waiting && connection.head.waits_for_continue) {
    (void)!send(connection.socket.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void HttpServer::Loop::HandOver(Entry entry) {
  Connection& connection = entry->second;
  const std::string_view body =
      std::string_view(connection.bytes).substr(connection.head_size, connection.head.content_length);
  Task task = {entry->first, WriteRequest(connection.head, body), connection.client};
  connection.stage = Stage::kAnswering;
  connection.bytes = {};
  Watch(connection.socket.get(), 0, entry->first, EPOLL_CTL_MOD);
  (callbacks_.is_about_health(connection.head) ? health_worker_ : workers_).Do(std::move(task));
}

void HttpServer::Loop::Say(Entry entry, std::string answer) {
  Connection& connection = entry->second;
  connection.stage = Stage::kTaking;
  connection.bytes = std::move(answer);
  connection.due = Clock::now() + options_.patience;
  num_answer_bytes_ += connection.bytes.size();
  Watch(connection.socket.get(), EPOLLOUT, entry->first, EPOLL_CTL_MOD);
  Write(entry);
}

void HttpServer::Loop::Write(Entry entry) {
  Connection& connection = entry->second;
  while (connection.num_written < connection.bytes.size()) {
    const ssize_t size = send(connection.socket.get(), connection.bytes.data() + connection.num_written,
                              connection.bytes.size() - connection.num_written, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return Close(entry);
    connection.num_written += static_cast<size_t>(size);
  }
  num_answer_bytes_ -= connection.bytes.size();
  connection.bytes = {};
  connection.stage = Stage::kLeaving;
  connection.due = Clock::now() + kLeaveWithin;
  shutdown(connection.socket.get(), SHUT_WR);
  Watch(connection.socket.get(), EPOLLIN, entry->first, EPOLL_CTL_MOD);
}

void HttpServer::Loop::Drain(Entry entry) {
  std::array<char, 8192> rest;
  for (int i = 0; i < 16; ++i) {
    const ssize_t size = recv(entry->second.socket.get(), rest.data(), rest.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return Close(entry);
    entry->second.num_drained += static_cast<size_t>(size);
    if (entry->second.num_drained > kDrainedBytesMax) return Close(entry);
  }
}

void HttpServer::Loop::Listen(Entry entry, std::string beginning) {
  Connection& connection = entry->second;
  connection.stage = Stage::kListening;
  ++num_listeners_;
  connection.bytes = std::move(beginning);
  connection.num_written = 0;
  Tell(entry);
}

// What it has not been sent yet.
void HttpServer::Loop::Tell(Entry entry) {
  Connection& connection = entry->second;
  while (connection.num_written < connection.bytes.size()) {
    const ssize_t size = send(connection.socket.get(), connection.bytes.data() + connection.num_written,
                              connection.bytes.size() - connection.num_written, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) return Close(entry);
    connection.num_written += static_cast<size_t>(size);
  }
  connection.bytes.erase(0, connection.num_written);
  connection.num_written = 0;
  if (connection.bytes.size() > options_.listener_bytes_max) return Close(entry);
  const uint32_t events = connection.bytes.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  Watch(connection.socket.get(), events, entry->first, EPOLL_CTL_MOD);
}

void HttpServer::Loop::TellListeners() {
  std::string news;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(published_, {});
  }
  if (news.empty()) return;
  for (Entry entry = connections_.begin(); entry != connections_.end();) {
    const Entry next = std::next(entry);
    if (entry->second.stage == Stage::kListening) {
      entry->second.bytes += news;
      Tell(entry);
    }
    entry = next;
  }
}

void HttpServer::Loop::TakeAnswers() {
  std::vector<std::pair<uint64_t, std::string>> answers;
  {
    const std::lock_guard lock(mutex_);
    answers = std::exchange(answers_, {});
  }
  for (auto& [number, answer] : answers) {
    const Entry entry = connections_.find(number);
    if (entry != connections_.end()) Say(entry, std::move(answer));
  }
  for (Entry entry = connections_.begin(); num_answer_bytes_ > kAnswerBytesMax && entry != connections_.end();) {
    const Entry next = std::next(entry);
    if (entry->second.stage == Stage::kTaking) Close(entry);
    entry = next;
  }
}

void HttpServer::Loop::CloseOverdue() {
  const Clock::time_point now = Clock::now();
  for (Entry entry = connections_.begin(); entry != connections_.end();) {
    const Entry next = std::next(entry);
    const bool has_time = entry->second.stage == Stage::kAnswering || entry->second.stage == Stage::kListening;
    if (!has_time && entry->second.due <= now) Close(entry);
    entry = next;
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::Open(const Endpoint& endpoint, const HttpServerOptions& options,
                                                     Callbacks callbacks) {
  Endpoint own = endpoint;
  FL_ASSIGN_OR_RETURN(Descriptor listener, ListenAt(&own));
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Loop>(std::move(listener), own.port, options, std::move(callbacks))));
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return loop_->port(); }
void HttpServer::Publish(std::string bytes) { loop_->Publish(std::move(bytes)); }
size_t HttpServer::num_listeners() const { return loop_->num_listeners(); }

}  // namespace fairlead::service
