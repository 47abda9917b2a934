#include "service/streams/controller_server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "service/streams/completion.h"
#include "service/streams/connection_gate.h"
#include "service/streams/endpoint.h"
#include "service/streams/outgoing_messages.h"
#include "service/streams/revocation_list.h"
#include "service/streams/stream_bytes.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {
namespace {

using controller::StreamId;
using Clock = std::chrono::steady_clock;

// Written by one thread, read by those that show them.
struct Counters {
  std::atomic<uint64_t> num_streams = 0;
  std::atomic<uint64_t> opened = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<uint64_t> unreadable = 0;
  std::atomic<uint64_t> slow = 0;
  std::atomic<uint64_t> throttled = 0;
  std::atomic<uint64_t> messages_in = 0;
  std::atomic<uint64_t> messages_out = 0;
};

// Who gets what streams have to tell.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  // The stream that waited for a call has one, or will have none.
  virtual void OnCall(bool ok) = 0;
  virtual void Put(controller::TrafficInput input) = 0;
  // It is to be resumed later.
  virtual void OnThrottled(StreamId id) = 0;
  // gRPC is done with it.
  virtual void Forget(StreamId id) = 0;
};

// One agent's stream. Kept alive by its owner until all that was begun is over.
class AgentStream {
 public:
  AgentStream(StreamId id, const ControllerServerOptions& options, StreamOwner* owner, Counters* counters)
      : id_(id), options_(options), owner_(owner), counters_(counters) {}

  void AwaitCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue) {
    service->RequestCall(&context_, &call_, queue, queue, &called_);
  }
  const std::string& method() const { return context_.method(); }

  // The call has come, and is taken, or not.
  void Begin() {
    if (const auto auth = context_.auth_context(); auth->IsPeerAuthenticated()) {
      is_authenticated_ = true;
      for (const grpc::string_ref& name : auth->GetPeerIdentity()) names_.emplace_back(name.data(), name.size());
      for (const grpc::string_ref& pem : auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
        if (auto serial = SerialOf(std::string(pem.data(), pem.size())); serial.ok()) serial_ = *serial;
      }
    }
    deadline_ = Clock::now() + options_.patience;
    ++num_pending_;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    context_.AddInitialMetadata(wire::kControllerTimeMetadata, std::to_string(std::chrono::nanoseconds(now).count()));
    call_.SendInitialMetadata(&opened_);
    Read();
  }
  void Reject(const grpc::Status& status) { Finish(status); }
  // Of the certificate; empty: it has none.
  const std::string& serial() const { return serial_; }
  bool is_authenticated() const { return is_authenticated_; }

  // It leaves with the next Flush(), if not before.
  void Queue(const controller::ToAgent& message) {
    if (is_finishing_ || is_ending_) return;
    std::string bytes = wire::WriteToAgent(message);
    if (unsent_.num_bytes() + bytes.size() > options_.unsent_bytes_max) {
      counters_->slow++;
      // What is under way waits for the other side: only a cancelled stream is done before that.
      return Cancel();
    }
    unsent_.Push(std::move(bytes));
  }
  void Flush() { SendNext(); }

  // After what was sent before.
  void End() {
    is_ending_ = true;
    deadline_ = Clock::now() + options_.patience;
    SendNext();
  }

  void Cancel() {
    context_.TryCancel();
    Finish(grpc::Status::CANCELLED);
  }

  // The core has taken one of its messages.
  void Taken() {
    --num_unread_;
    Batch& oldest = unread_.front();
    if (--oldest.num_messages == 0) {
      unread_bytes_ -= oldest.num_bytes;
      unread_.pop_front();
    }
    ReadOn();
  }

  // Reads on if it has waited for long enough. Returns whether it has, or is over.
  bool Resume(Clock::time_point now) {
    if (is_finishing_ || !resume_at_) return true;
    if (now < *resume_at_) return false;
    resume_at_.reset();
    ReadOn();
    return true;
  }

  // Ends what has been waited for too long.
  void CheckPatience(Clock::time_point now) {
    if (!deadline_ || now < *deadline_) return;
    deadline_.reset();
    counters_->slow++;
    context_.TryCancel();
  }

 private:
  bool MaySpeakFor(const controller::HostHello& hello) const {
    return !is_authenticated_ || std::find(names_.begin(), names_.end(), hello.host) != names_.end();
  }

  void Read() {
    ++num_pending_;
    call_.Read(&heard_, &read_);
  }

  struct Batch {
    size_t num_messages = 0;
    size_t num_bytes = 0;
  };

  void ReadOn() {
    if (!is_deaf_ || !MayRead() || is_finishing_) return;
    is_deaf_ = false;
    Read();
  }
  bool MayRead() const {
    return num_unread_ < options_.num_unread_max && unread_bytes_ < options_.unread_bytes_max && !resume_at_;
  }
  // Of its share. What is beyond is paid for by waiting.
  void Spend(const Batch& batch, Clock::time_point now) {
    const double since_s = std::chrono::duration<double>(now - spent_at_).count();
    spent_at_ = now;
    credit_s_ = std::min(options_.burst_s, credit_s_ + since_s) -
                std::max(static_cast<double>(batch.num_messages) / options_.messages_per_s,
                         static_cast<double>(batch.num_bytes) / options_.bytes_per_s);
    if (credit_s_ >= 0) return;
    counters_->throttled++;
    resume_at_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(-credit_s_));
    owner_->OnThrottled(id_);
  }

  void OnRead(bool ok) {
    if (!ok) return Finish(grpc::Status::OK);
    if (is_finishing_ || is_ending_) return;
    const size_t num_bytes = heard_.Length();
    auto messages = wire::ReadFromAgent(WholeMessage(heard_).bytes());
    heard_.Clear();
    if (!messages.ok()) {
      counters_->unreadable++;
      return Refuse(messages.status().message());
    }
    counters_->messages_in += messages->size();
    for (const controller::FromAgent& message : *messages) {
      if (const auto* hello = std::get_if<controller::HostHello>(&message); hello != nullptr && !MaySpeakFor(*hello)) {
        counters_->refused++;
        return Refuse(fmt::format("host '{}': its certificate is that of {}", hello->host, fmt::join(names_, ", ")));
      }
    }
    deadline_.reset();
    has_spoken_ = true;
    num_unread_ += messages->size();
    unread_bytes_ += num_bytes;
    unread_.push_back({messages->size(), num_bytes});
    Spend(unread_.back(), Clock::now());
    for (controller::FromAgent& message : *messages) owner_->Put(controller::StreamMessage{id_, std::move(message)});
    is_deaf_ = !MayRead();
    if (!is_deaf_) Read();
  }

  void OnWritten(bool ok) {
    is_sending_ = false;
    sent_.Clear();
    if (is_finishing_) return SendFarewell();
    if (!ok) return Finish({grpc::StatusCode::UNAVAILABLE, "the stream broke"});
    SendNext();
  }

  // Says why, and ends.
  void Refuse(const std::string& reason) {
    Queue(controller::Refused{reason});
    TellCoreOfEnd();
    End();
  }

  void SendNext() {
    if (is_sending_ || is_finishing_) return;
    if (unsent_.empty()) {
      if (is_ending_) Finish(grpc::Status::OK);
      return;
    }
    const OutgoingMessages::Batch batch = unsent_.Take();
    sent_ = ToBuffer(batch.bytes);
    is_sending_ = true;
    ++num_pending_;
    counters_->messages_out += batch.num_messages;
    call_.Write(sent_, unsent_.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint(), &written_);
  }

  // Idempotent. A message that is under way comes first.
  void Finish(const grpc::Status& status) {
    if (std::exchange(is_finishing_, true)) return;
    TellCoreOfEnd();
    farewell_ = status;
    deadline_ = Clock::now() + options_.patience;
    if (!is_sending_) SendFarewell();
  }
  void SendFarewell() {
    ++num_pending_;
    call_.Finish(farewell_, &finished_);
  }

  void TellCoreOfEnd() {
    if (has_spoken_ && !std::exchange(is_end_sent_, true)) owner_->Put(controller::StreamEnded{id_});
  }

  // Something that was begun is over; the last such takes a finished stream away.
  template <class Reaction>
  Completion After(Reaction reaction) {
    return [this, reaction](bool ok) {
      reaction(ok);
      if (--num_pending_ == 0 && is_finished_) owner_->Forget(id_);
    };
  }

  const StreamId id_;
  const ControllerServerOptions& options_;
  StreamOwner* owner_;
  Counters* counters_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  Completion called_ = [this](bool ok) { owner_->OnCall(ok); };
  Completion opened_ = After([](bool) {});
  Completion read_ = After([this](bool ok) { OnRead(ok); });
  Completion written_ = After([this](bool ok) { OnWritten(ok); });
  Completion finished_ = After([this](bool) { is_finished_ = true; });
  size_t num_pending_ = 0;
  bool is_authenticated_ = false;
  std::vector<std::string> names_;  // of the certificate
  std::string serial_;

  grpc::ByteBuffer heard_;
  grpc::ByteBuffer sent_;
  grpc::Status farewell_;
  OutgoingMessages unsent_;
  size_t num_unread_ = 0;  // messages
  size_t unread_bytes_ = 0;
  std::deque<Batch> unread_;
  double credit_s_ = options_.burst_s;
  Clock::time_point spent_at_ = Clock::now();
  std::optional<Clock::time_point> resume_at_;
  bool has_spoken_ = false;                    // the core knows of it
  bool is_end_sent_ = false;                   // the core knows that it is over
  bool is_deaf_ = false;                       // reading waits for the core
  bool is_sending_ = false;                    // one message is under way
  bool is_ending_ = false;                     // nothing more will be queued
  bool is_finishing_ = false;                  // nothing more will be read or written
  bool is_finished_ = false;                   // nothing more will be begun
  std::optional<Clock::time_point> deadline_;  // until which the agent has to speak, or to have listened
};

// Plaintext or TLS for an address. Errors: kInvalidArgument: neither may be.
Result<std::shared_ptr<grpc::ServerCredentials>> CredentialsFor(const Endpoint& endpoint,
                                                                const ControllerServerOptions& options) {
  if (options.tls.is_set() && !endpoint.is_unix()) {
    FL_RETURN_IF_ERROR(LoadTlsFiles(options.tls).status());
    const auto period_s = static_cast<unsigned>(std::max<int64_t>(options.tls_refresh.count() / 1000, 1));
    grpc::experimental::TlsServerCredentialsOptions tls(
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(options.tls.key, options.tls.certificate,
                                                                             options.tls.ca, period_s));
    tls.watch_root_certs();
    tls.watch_identity_key_cert_pairs();
    tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    return grpc::experimental::TlsServerCredentials(tls);
  }
  if (endpoint.is_local() || options.is_insecure_allowed) return grpc::InsecureServerCredentials();
  return InvalidArgument(
      fmt::format("address {}: connections from other machines need TLS; name authority, certificate and key (made by "
                  "fairlead cert), or allow plaintext with --insecure",
                  endpoint.ToString()));
}

}  // namespace

class ControllerServer::Streams final : public StreamOwner {
 public:
  explicit Streams(const ControllerServerOptions& options) : options_(options) {}
  ~Streams() override { Stop(); }

  Status Listen();

  std::vector<std::string> addresses() const;
  void Serve(std::chrono::milliseconds timeout);
  std::vector<controller::TrafficInput> TakeInputs(std::chrono::milliseconds timeout);
  void Wake();
  AgentStream* Find(StreamId id) const;
  void Queue(StreamId id, const controller::ToAgent& message);
  void Flush();
  ControllerServerCounters counters() const;
  Status status() const;

  void OnCall(bool ok) override;
  // Not inlined: GCC 12 takes the members of other alternatives for uninitialized.
  [[gnu::noinline]] void Put(controller::TrafficInput input) override { inputs_.push_back(std::move(input)); }
  void OnThrottled(StreamId id) override { throttled_.push_back(id); }
  void Forget(StreamId id) override;

 private:
  // So many inputs at once are load; answers then wait for as long, as they would for the processor otherwise.
  static constexpr size_t kLoad = 4;
  static constexpr std::chrono::milliseconds kGathering{1};
  static constexpr size_t kBatchMax = 4096;
  // gRPC rounds up to milliseconds: only what is long past is not waited for.
  static constexpr Clock::time_point kLongAgo{};

  Status OpenGate();
  void Stop();
  void AwaitCall();
  // The next thing that is over, and what is to be done then; waits for it. False: nothing was until then.
  bool DoNext(Clock::time_point until);
  void CheckPatience();
  void RefuseIfRevoked(AgentStream* stream);
  void RefreshRevoked();
  void ResumeThrottled();

  const ControllerServerOptions options_;
  std::optional<RevocationFile> revoked_;
  std::string revocation_fault_;  // guarded by fault_mutex_
  mutable std::mutex fault_mutex_;
  Counters counters_;
  Clock::time_point next_check_;
  std::vector<controller::TrafficInput> inputs_;
  size_t num_taken_ = 0;          // the last time
  std::vector<StreamId> queued_;  // until the next flush
  std::vector<StreamId> throttled_;
  uint32_t num_ids_ = 0;
  std::unordered_map<uint32_t, std::unique_ptr<AgentStream>> streams_;
  std::unique_ptr<AgentStream> awaited_;            // the next one, which has no call yet
  std::vector<std::unique_ptr<AgentStream>> gone_;  // until what they do is over

  grpc::Alarm alarm_;
  std::atomic<bool> is_alarm_set_ = false;
  bool is_woken_ = false;
  Completion woken_ = [this](bool) {
    is_alarm_set_ = false;
    is_woken_ = true;
  };

  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>> acceptors_;  // of server_
  std::unique_ptr<ConnectionGate> gate_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

Status ControllerServer::Streams::Listen() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytesMax));
  // Two controllers on one port would each get half of the agents.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Agents that are gone without a message are found out; those that ask whether we are there may do so.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  // Else each read is followed by a ping, to find out how much may be under way: for messages of some kB it is all.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.RegisterAsyncGenericService(&service_);
  queue_ = builder.AddCompletionQueue();
  // Debian's library looks for deadlocks inside gRPC at each lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (options_.listen.empty()) return InvalidArgument("no address to listen on");
  if (!options_.tls.revoked.empty()) {
    revoked_.emplace(options_.tls.revoked, options_.tls.ca);
    FL_RETURN_IF_ERROR(revoked_->Refresh().status());
  }
  // Silent connections end: those that do not finish their handshake, and those without a stream.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(options_.patience.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
  std::vector<int> unix_ports(options_.listen.size(), 1);
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options_.listen[i]));
    FL_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(endpoint, options_));
    endpoints_.push_back(endpoint);
    if (endpoint.is_unix()) {
      FL_RETURN_IF_ERROR(CheckCanListen(endpoint));
      builder.AddListeningPort(endpoint.ToString(), credentials, &unix_ports[i]);
    } else {
      acceptors_.push_back(builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials));
    }
  }
  // Not even for the moment between bind() and chmod() may others open a socket.
  const mode_t mask = umask(0177);
  server_ = builder.BuildAndStart();
  umask(mask);
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (server_ == nullptr || unix_ports[i] == 0) {
      return {StatusCode::kFailedPrecondition, fmt::format("can't listen on {}", endpoints_[i].ToString())};
    }
  }
  FL_RETURN_IF_ERROR(OpenGate());
  AwaitCall();
  return OkStatus();
}

// gRPC's own acceptor ends for good with the first accept() that fails.
Status ControllerServer::Streams::OpenGate() {
  std::vector<Endpoint*> endpoints;
  for (Endpoint& endpoint : endpoints_) {
    if (!endpoint.is_unix()) endpoints.push_back(&endpoint);
  }
  if (endpoints.empty()) return OkStatus();
  FL_ASSIGN_OR_RETURN(gate_, ConnectionGate::Open(endpoints, {}, [this](size_t acceptor, int listener, int connection) {
                        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
                        parameters.listener_fd = listener;
                        parameters.fd = connection;
                        acceptors_[acceptor]->HandleNewConnection(&parameters);
                      }));
  return OkStatus();
}

void ControllerServer::Streams::Stop() {
  if (queue_ == nullptr) return;
  gate_.reset();  // nobody is let in any more
  if (server_ != nullptr) {
    // It waits until all calls are over, which they are by what is done here.
    std::atomic<bool> is_down = false;
    std::thread closer([&] {
      server_->Shutdown(std::chrono::system_clock::now());
      is_down = true;
    });
    for (const auto& [id, stream] : streams_) stream->Cancel();
    while (!is_down || !streams_.empty() || awaited_ != nullptr) DoNext(Clock::now() + kGathering);
    closer.join();
  }
  queue_->Shutdown();
  while (DoNext(Clock::time_point::max())) {
  }
}

std::vector<std::string> ControllerServer::Streams::addresses() const {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints_) texts.push_back(endpoint.ToString());
  return texts;
}

void ControllerServer::Streams::AwaitCall() {
  awaited_ = std::make_unique<AgentStream>(StreamId(num_ids_++), options_, this, &counters_);
  awaited_->AwaitCall(&service_, queue_.get());
}

void ControllerServer::Streams::OnCall(bool ok) {
  if (!ok) return gone_.push_back(std::move(awaited_));  // the end
  const bool has_room = streams_.size() < options_.num_streams_max;
  AgentStream* stream = awaited_.get();
  streams_.emplace(num_ids_ - 1, std::move(awaited_));
  counters_.num_streams = streams_.size();
  AwaitCall();
  if (stream->method() != wire::kAttachMethod) {
    stream->Reject({grpc::StatusCode::UNIMPLEMENTED, "no such method"});
  } else if (!has_room) {
    counters_.refused++;
    stream->Reject({grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller has no room for another stream"});
  } else {
    counters_.opened++;
    stream->Begin();
    RefuseIfRevoked(stream);
  }
}

void ControllerServer::Streams::Forget(StreamId id) {
  const auto found = streams_.find(id.value());
  gone_.push_back(std::move(found->second));
  streams_.erase(found);
  counters_.num_streams = streams_.size();
}

AgentStream* ControllerServer::Streams::Find(StreamId id) const {
  const auto found = streams_.find(id.value());
  return found == streams_.end() ? nullptr : found->second.get();
}

void ControllerServer::Streams::Queue(StreamId id, const controller::ToAgent& message) {
  AgentStream* stream = Find(id);
  if (stream == nullptr) return;
  stream->Queue(message);
  queued_.push_back(id);
}

void ControllerServer::Streams::Flush() {
  for (const StreamId id : queued_) {
    if (AgentStream* stream = Find(id)) stream->Flush();
  }
  queued_.clear();
}

bool ControllerServer::Streams::DoNext(Clock::time_point until) {
  const bool is_done = Complete(queue_.get(), until) == grpc::CompletionQueue::GOT_EVENT;
  gone_.clear();
  return is_done;
}

void ControllerServer::Streams::Wake() {
  if (!is_alarm_set_.exchange(true)) alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), &woken_);
}

void ControllerServer::Streams::Serve(std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  while (Clock::now() < end && !is_woken_) DoNext(end);
  is_woken_ = false;
  CheckPatience();
}

std::vector<controller::TrafficInput> ControllerServer::Streams::TakeInputs(std::chrono::milliseconds timeout) {
  const Clock::time_point start = Clock::now();
  const Clock::time_point gathered = num_taken_ >= kLoad ? start + kGathering : kLongAgo;
  while (inputs_.size() < kBatchMax && DoNext(is_woken_ ? kLongAgo : inputs_.empty() ? start + timeout : gathered)) {
  }
  is_woken_ = false;
  std::vector<controller::TrafficInput> inputs = std::exchange(inputs_, {});
  num_taken_ = inputs.size();
  for (const controller::TrafficInput& input : inputs) {
    const auto* sent = std::get_if<controller::StreamMessage>(&input);
    if (sent == nullptr) continue;
    if (AgentStream* stream = Find(sent->stream)) stream->Taken();
  }
  CheckPatience();
  return inputs;
}

void ControllerServer::Streams::ResumeThrottled() {
  if (throttled_.empty()) return;
  const auto now = Clock::now();
  std::vector<StreamId> waiting;
  for (const StreamId id : std::exchange(throttled_, {})) {
    AgentStream* stream = Find(id);
    if (stream != nullptr && !stream->Resume(now)) waiting.push_back(id);
  }
  throttled_.insert(throttled_.end(), waiting.begin(), waiting.end());
}

void ControllerServer::Streams::CheckPatience() {
  ResumeThrottled();
  const auto now = Clock::now();
  if (now < next_check_) return;
  next_check_ = now + options_.patience / 8;
  for (const auto& [id, stream] : streams_) stream->CheckPatience(now);
  RefreshRevoked();
}

void ControllerServer::Streams::RefuseIfRevoked(AgentStream* stream) {
  if (!revoked_.has_value() || !stream->is_authenticated() || !revoked_->Contains(stream->serial())) return;
  counters_.refused++;
  stream->Cancel();
}

void ControllerServer::Streams::RefreshRevoked() {
  if (!revoked_.has_value()) return;
  const Result<bool> changed = revoked_->Refresh();
  {
    const std::lock_guard lock(fault_mutex_);
    revocation_fault_ = changed.ok() ? "" : changed.status().message();
  }
  if (!changed.ok() || !*changed) return;
  for (const auto& [id, stream] : streams_) RefuseIfRevoked(stream.get());
}

Status ControllerServer::Streams::status() const {
  const std::lock_guard lock(fault_mutex_);
  if (!revocation_fault_.empty()) {
    return Unavailable(revocation_fault_ + "; the previous list of revoked certificates stays in use");
  }
  return gate_ == nullptr ? OkStatus() : gate_->status();
}

ControllerServerCounters ControllerServer::Streams::counters() const {
  return {.num_streams = counters_.num_streams,
          .opened = counters_.opened,
          .refused = counters_.refused,
          .unreadable = counters_.unreadable,
          .slow = counters_.slow,
          .throttled = counters_.throttled,
          .messages_in = counters_.messages_in,
          .messages_out = counters_.messages_out};
}

ControllerServer::ControllerServer(std::unique_ptr<Streams> streams) : streams_(std::move(streams)) {}

ControllerServer::~ControllerServer() = default;

Result<std::unique_ptr<ControllerServer>> ControllerServer::Start(const ControllerServerOptions& options) {
  auto streams = std::make_unique<Streams>(options);
  FL_RETURN_IF_ERROR(streams->Listen());
  return std::unique_ptr<ControllerServer>(new ControllerServer(std::move(streams)));
}

std::vector<std::string> ControllerServer::addresses() const { return streams_->addresses(); }

std::vector<controller::TrafficInput> ControllerServer::TakeInputs(std::chrono::milliseconds timeout) {
  return streams_->TakeInputs(timeout);
}

void ControllerServer::Serve(std::chrono::milliseconds timeout) { streams_->Serve(timeout); }

void ControllerServer::Wake() { streams_->Wake(); }

void ControllerServer::Queue(StreamId stream, const controller::ToAgent& message) { streams_->Queue(stream, message); }

void ControllerServer::Flush() { streams_->Flush(); }

void ControllerServer::Send(StreamId stream, const controller::ToAgent& message) {
  Queue(stream, message);
  Flush();
}

void ControllerServer::End(StreamId stream) {
  if (const auto found = streams_->Find(stream)) found->End();
}

ControllerServerCounters ControllerServer::counters() const { return streams_->counters(); }
Status ControllerServer::status() const { return streams_->status(); }

}  // namespace fairlead::service
