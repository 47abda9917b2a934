#include "service/streams/controller_client.h"

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/random.h"
#include "service/streams/completion.h"
#include "service/streams/endpoint.h"
#include "service/streams/outgoing_messages.h"
#include "service/streams/peer_certificate.h"
#include "service/streams/queue_alarm.h"
#include "service/streams/revocation_watch.h"
#include "service/streams/stream_bytes.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLookForRevoked{1};

grpc::ChannelArguments ChannelArgumentsOf(const ControllerClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytesMax));
  // The connection to the controller is none of the proxy's that jobs may have in their environment.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // As the controller has it: no ping for each read.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Each attempt is independent: the delays are ours.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A controller on a failed machine sends nothing: it is probed.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  if (!options.controller_name.empty()) arguments.SetSslTargetNameOverride(options.controller_name);
  return arguments;
}

Result<std::shared_ptr<grpc::Channel>> CreateChannel(const ControllerClientOptions& options) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.tls.is_set()) {
    FL_ASSIGN_OR_RETURN(const TlsTexts texts, LoadTlsFiles(options.tls));
    credentials = grpc::SslCredentials({texts.ca, texts.key, texts.certificate});
  }
  return grpc::CreateCustomChannel(options.address, credentials, ChannelArgumentsOf(options));
}

// Args: elapsed: from the call to the arrival of this metadata, which is now.
std::optional<ClockComparison> CompareClocks(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
                                             Clock::duration elapsed) {
  const auto found = metadata.find(wire::kControllerTimeMetadata);
  if (found == metadata.end()) return std::nullopt;
  int64_t sent_ns = 0;
  const auto [rest, error] = std::from_chars(found->second.begin(), found->second.end(), sent_ns);
  if (error != std::errc() || rest != found->second.end()) return std::nullopt;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::chrono::duration<double> half = elapsed / 2.0;
  const std::chrono::duration<double> ahead = std::chrono::nanoseconds(sent_ns) - now;
  return ClockComparison{.offset_s = (ahead + half).count(), .error_s = half.count()};
}

// When the next attempt to connect is made: later after each that has failed.
class ReconnectDelay {
 public:
  explicit ReconnectDelay(const ControllerClientOptions& options)
      : random_(options.random_seed), min_(options.delay_min), max_(options.delay_max), delay_(min_) {}

  Clock::duration Next() {
    const auto delay = std::chrono::duration<double, std::milli>(delay_) * random_.Uniform(0.5, 1.0);
    delay_ = std::min(max_, delay_ * 2);
    return std::chrono::duration_cast<Clock::duration>(delay);
  }
  void Reset() { delay_ = min_; }

 private:
  Random random_;
  std::chrono::milliseconds min_;
  std::chrono::milliseconds max_;
  std::chrono::milliseconds delay_;
};

Status Validate(const ControllerClientOptions& options) {
  FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options.address));
  if (options.delay_min.count() <= 0 || options.delay_max < options.delay_min) {
    return InvalidArgument("delays between attempts to connect: expected 0 < shortest <= longest");
  }
  if (options.tls.is_set()) return LoadTlsFiles(options.tls).status();
  if (!options.tls.revoked.empty()) return InvalidArgument("TLS: a list of revoked certificates, but no certificate");
  if (endpoint.is_local() || options.is_insecure_allowed) return OkStatus();
  return InvalidArgument(fmt::format(
      "address {}: connections to other machines need TLS; name authority, certificate and key, or allow plaintext",
      options.address));
}

}  // namespace

// What the client is: the present stream and what waits on both sides of it.
class ControllerClient::Connection {
 public:
  explicit Connection(const ControllerClientOptions& options)
      : options_(options), revocations_(options.tls), delay_(options) {}

  Status Begin();
  void Stop();

  bool Send(const controller::FromAgent& message);
  std::vector<ClientEvent> Poll();
  int event_descriptor() const { return event_descriptor_.get(); }
  uint64_t num_dropped() const {
    const std::lock_guard lock(mutex_);
    return num_dropped_;
  }

 private:
  // It passes on everything it receives.
  //
  // Size        most members are what gRPC wants at one address while an operation is under way.
  class Stream {
   public:
    Stream(Connection* connection, std::shared_ptr<grpc::Channel> channel)
        : connection_(connection), channel_(std::move(channel)), stub_(channel_) {}

    void Begin(grpc::CompletionQueue* queue) {
      call_ = stub_.PrepareCall(&context_, std::string(wire::kAttachMethod), queue);
      num_pending_ += 2;
      began_ = Clock::now();
      call_->StartCall(&started_);
      call_->ReadInitialMetadata(&opened_);
    }
    void Read() {
      ++num_pending_;
      call_->Read(&heard_, &read_);
    }
    void Write(const std::string& bytes, bool has_more) {
      ++num_pending_;
      sent_ = ToBuffer(bytes);
      call_->Write(sent_, has_more ? grpc::WriteOptions().set_buffer_hint() : grpc::WriteOptions(), &written_);
    }
    void Cancel() { context_.TryCancel(); }
    // The controller's.
    const PeerCertificate& peer() const { return peer_; }
    const std::optional<ClockComparison>& clocks() const { return clocks_; }
    // Args: nothing is read or written any more.
    void FinishIfIdle() {
      if (num_pending_ > 0) return;
      ++num_pending_;
      call_->Finish(&status_, &finished_);
    }

   private:
    // Of what was begun, under the connection's lock.
    template <class Reaction>
    Completion After(Reaction reaction) {
      return [this, reaction](bool ok) {
        size_t num_new = 0;
        {
          const std::lock_guard lock(connection_->mutex_);
          --num_pending_;
          const size_t num_known = connection_->events_.size();
          reaction(ok);
          num_new = connection_->events_.size() - num_known;
          if (!connection_->present_.is_live && !connection_->present_.is_done) FinishIfIdle();
        }
        // The woken thread needs the lock.
        if (num_new > 0) connection_->Signal();
      };
    }
    // One of two. gRPC's call begins with the parts that it writes with: both have to be over before anything is sent.
    void OnBegun(bool ok) {
      if (!ok || ++num_begun_ == 2) connection_->OnOpened(ok);
    }
    void OnMetadata(bool ok) {
      if (ok) clocks_ = CompareClocks(context_.GetServerInitialMetadata(), Clock::now() - began_);
      if (ok) peer_ = PeerCertificateOf(*context_.auth_context());
      OnBegun(ok);
    }
    void OnRead(bool ok) {
      if (ok) messages_ = wire::ReadToAgent(WholeMessage(heard_).bytes());
      heard_.Clear();
      parsed_(ok);
    }

    Connection* connection_;
    std::shared_ptr<grpc::Channel> channel_;
    grpc::GenericStub stub_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
    size_t num_pending_ = 0;
    size_t num_begun_ = 0;
    Clock::time_point began_;
    std::optional<ClockComparison> clocks_;
    PeerCertificate peer_;
    grpc::ByteBuffer heard_;
    Result<std::vector<controller::ToAgent>> messages_ = std::vector<controller::ToAgent>();  // that were received
    grpc::ByteBuffer sent_;
    grpc::Status status_;
    Completion started_ = After([this](bool ok) { OnBegun(ok); });
    Completion opened_ = After([this](bool ok) { OnMetadata(ok); });
    Completion read_ = [this](bool ok) { OnRead(ok); };
    Completion parsed_ = After([this](bool ok) { connection_->OnHeard(ok, &messages_); });
    Completion written_ = After([this](bool ok) { connection_->OnWritten(ok); });
    Completion finished_ = After([this](bool) { connection_->OnDone(status_); });
  };

  struct Present {
    std::unique_ptr<Stream> stream;
    bool is_live = false;      // it may be read from and written to
    bool is_done = false;      // it is to be taken away
    bool is_heard_of = false;  // the owner knows that it is open
    bool is_sending = false;   // one message is under way
    size_t num_under_way = 0;  // messages of ours in that one
    bool is_deaf = false;      // reading waits for the owner
    std::string end_reason;    // where we ended it
  };

  // The thread that opens streams, listens to them, and takes them away when they are done.
  void KeepConnected();
  void Open(std::unique_lock<std::mutex>* lock);
  void TakeAway(std::unique_lock<std::mutex>* lock);
  void LookForRevoked(std::unique_lock<std::mutex>* lock);
  // There are events.
  void Signal();

  // With the mutex held.
  void OnOpened(bool ok);
  void OnHeard(bool ok, Result<std::vector<controller::ToAgent>>* messages);
  void OnWritten(bool ok);
  void OnDone(const grpc::Status& status);
  void SendNext();
  void End(std::string reason);
  void EndIfRevoked();

  const ControllerClientOptions options_;
  Descriptor event_descriptor_;
  std::thread thread_;
  grpc::CompletionQueue queue_;  // of the thread, as the next two are once it runs
  RevocationWatch revocations_;
  Clock::time_point next_look_ = Clock::time_point::max();

  mutable std::mutex mutex_;
  QueueAlarm alarm_;
  ReconnectDelay delay_;
  Clock::time_point next_attempt_;
  bool is_stopping_ = false;
  Present present_;
  OutgoingMessages unsent_;
  std::vector<ClientEvent> events_;
  uint64_t num_dropped_ = 0;
};

Status ControllerClient::Connection::Begin() {
  event_descriptor_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event_descriptor_.is_open()) return Unavailable("no file descriptors left for the connection to the controller");
  FL_RETURN_IF_ERROR(revocations_.Load());
  next_attempt_ = Clock::now();
  thread_ = std::thread([this] { KeepConnected(); });
  return OkStatus();
}

void ControllerClient::Connection::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    End("stopped");
    alarm_.Ring(&queue_);
  }
  thread_.join();
}

void ControllerClient::Connection::KeepConnected() {
  std::unique_lock lock(mutex_);
  while (present_.stream != nullptr || !is_stopping_) {
    if (present_.is_done) {
      TakeAway(&lock);
    } else if (present_.stream == nullptr && Clock::now() >= next_attempt_) {
      Open(&lock);
    } else if (present_.stream != nullptr && Clock::now() >= next_look_) {
      LookForRevoked(&lock);
    } else {
      const Clock::time_point until = present_.stream == nullptr ? next_attempt_ : next_look_;
      lock.unlock();
      Complete(&queue_, until);
      lock.lock();
    }
  }
  lock.unlock();
  queue_.Shutdown();
  while (Complete(&queue_, Clock::time_point::max()) != grpc::CompletionQueue::SHUTDOWN) {
  }
}

// gRPC has released it. What it owns is torn down without the lock.
void ControllerClient::Connection::TakeAway(std::unique_lock<std::mutex>* lock) {
  std::unique_ptr<Stream> done = std::exchange(present_, {}).stream;
  next_attempt_ = Clock::now() + delay_.Next();
  lock->unlock();
  done.reset();
  lock->lock();
}

void ControllerClient::Connection::LookForRevoked(std::unique_lock<std::mutex>* lock) {
  if (!revocations_.has_list()) return;
  lock->unlock();
  const bool has_changed = revocations_.Refresh();
  lock->lock();
  next_look_ = Clock::now() + kLookForRevoked;
  if (has_changed) EndIfRevoked();
}

void ControllerClient::Connection::Open(std::unique_lock<std::mutex>* lock) {
  LookForRevoked(lock);
  lock->unlock();
  auto channel = CreateChannel(options_);
  lock->lock();
  if (is_stopping_) return;
  if (!channel.ok()) {
    events_.emplace_back(StreamClosed{channel.status().message()});
    Signal();
    next_attempt_ = Clock::now() + delay_.Next();
    return;
  }
  present_.stream = std::make_unique<Stream>(this, *std::move(channel));
  present_.is_live = true;
  present_.stream->Begin(&queue_);
}

void ControllerClient::Connection::Signal() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then it is readable anyway.
  [[maybe_unused]] const ssize_t written = write(event_descriptor_.get(), &one, sizeof(one));
}

// Idempotent. The stream's OnDone follows.
void ControllerClient::Connection::End(std::string reason) {
  if (!present_.is_live) return;
  present_.is_live = false;
  present_.end_reason = std::move(reason);
  present_.stream->Cancel();
  present_.stream->FinishIfIdle();
}

void ControllerClient::Connection::EndIfRevoked() {
  if (!present_.is_live || !revocations_.IsRevoked(present_.stream->peer())) return;
  End(fmt::format("the certificate of the controller at {} has been revoked", options_.address));
}

void ControllerClient::Connection::OnOpened(bool ok) {
  if (!present_.is_live) return;
  present_.is_live = ok;
  if (ok) EndIfRevoked();
  if (!present_.is_live) return;
  events_.emplace_back(StreamOpened{present_.stream->clocks()});
  present_.stream->Read();
}

void ControllerClient::Connection::OnHeard(bool ok, Result<std::vector<controller::ToAgent>>* messages) {
  if (!present_.is_live) return;
  present_.is_live = ok;
  if (!ok) return;
  if (!messages->ok()) return End("unreadable message of the controller: " + messages->status().message());
  for (controller::ToAgent& message : **messages) {
    if (std::holds_alternative<controller::Welcome>(message)) delay_.Reset();
    events_.emplace_back(std::move(message));
  }
  present_.is_deaf = events_.size() >= options_.unheard_max;
  if (!present_.is_deaf) present_.stream->Read();
}

void ControllerClient::Connection::OnWritten(bool ok) {
  present_.is_sending = false;
  if (!ok) num_dropped_ += present_.num_under_way;
  if (!present_.is_live) return;
  present_.is_live = ok;
  if (ok) SendNext();
}

void ControllerClient::Connection::OnDone(const grpc::Status& status) {
  num_dropped_ += unsent_.size();
  unsent_.Clear();
  present_.is_heard_of = false;
  present_.is_done = true;
  std::string reason = present_.end_reason;
  if (reason.empty()) reason = status.error_message().empty() ? "the controller ended it" : status.error_message();
  events_.emplace_back(StreamClosed{std::move(reason)});
}

void ControllerClient::Connection::SendNext() {
  if (present_.is_sending || unsent_.empty()) return;
  const OutgoingMessages::Batch batch = unsent_.Take();
  present_.num_under_way = batch.num_messages;
  present_.is_sending = true;
  present_.stream->Write(batch.bytes, !unsent_.empty());
}

bool ControllerClient::Connection::Send(const controller::FromAgent& message) {
  std::string bytes = wire::WriteFromAgent(message);
  const std::lock_guard lock(mutex_);
  const bool is_open = present_.is_live && present_.is_heard_of;
  const bool has_room = unsent_.num_bytes() + bytes.size() <= options_.unsent_bytes_max;
  if (!is_open || !has_room || bytes.size() > wire::kMessageBytesMax) {
    ++num_dropped_;
    if (is_open && !has_room) {
      End(fmt::format("the controller is too slow: over {} bytes wait for it", options_.unsent_bytes_max));
    }
    return false;
  }
  unsent_.Push(std::move(bytes));
  SendNext();
  return true;
}

std::vector<ClientEvent> ControllerClient::Connection::Poll() {
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t cleared = read(event_descriptor_.get(), &count, sizeof(count));
  std::vector<ClientEvent> events = std::exchange(events_, {});
  for (const ClientEvent& event : events) {
    if (std::holds_alternative<StreamOpened>(event)) present_.is_heard_of = true;
    if (std::holds_alternative<StreamClosed>(event)) present_.is_heard_of = false;
  }
  if (present_.is_deaf && present_.is_live) {
    present_.is_deaf = false;
    present_.stream->Read();
  }
  return events;
}

Result<std::unique_ptr<ControllerClient>> ControllerClient::Start(const ControllerClientOptions& options) {
  FL_RETURN_IF_ERROR(Validate(options));
  auto connection = std::make_unique<Connection>(options);
  FL_RETURN_IF_ERROR(connection->Begin());
  return std::unique_ptr<ControllerClient>(new ControllerClient(std::move(connection)));
}

ControllerClient::ControllerClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

ControllerClient::~ControllerClient() { connection_->Stop(); }

bool ControllerClient::Send(const controller::FromAgent& message) { return connection_->Send(message); }

std::vector<ClientEvent> ControllerClient::Poll() { return connection_->Poll(); }

int ControllerClient::event_descriptor() const { return connection_->event_descriptor(); }

uint64_t ControllerClient::num_dropped() const { return connection_->num_dropped(); }

}  // namespace fairlead::service
