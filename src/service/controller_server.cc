#include "service/controller_server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "service/endpoint.h"
#include "service/stream_bytes.h"
#include "service/unsent_words.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {
namespace {

using controller::StreamId;
using Clock = std::chrono::steady_clock;

// Written by many threads, read by those that show them.
struct Counters {
  std::atomic<uint64_t> opened = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<uint64_t> unreadable = 0;
  std::atomic<uint64_t> slow = 0;
  std::atomic<uint64_t> messages_in = 0;
  std::atomic<uint64_t> messages_out = 0;
};

// What waits for the core.
class Inbox {
 public:
  void Put(controller::TrafficInput input) { Put(std::span(&input, 1)); }
  void Put(std::span<controller::TrafficInput> inputs) {
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = inputs_.empty();
      std::move(inputs.begin(), inputs.end(), std::back_inserter(inputs_));
    }
    // Whoever waits was woken by the first one already.
    if (was_empty) filled_.notify_one();
  }
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      is_woken_ = true;
    }
    filled_.notify_one();
    gathered_.notify_one();
  }
  std::vector<controller::TrafficInput> Take(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    // Under load more is on its way: a thread that is woken for each input does little else.
    if (num_taken_ >= kLoad) gathered_.wait_for(lock, kGathering, [&] { return is_woken_; });
    filled_.wait_for(lock, timeout, [&] { return is_woken_ || !inputs_.empty(); });
    is_woken_ = false;
    num_taken_ = inputs_.size();
    return std::exchange(inputs_, {});
  }

 private:
  // So many inputs at once are load; answers then wait for as long, as they would for the processor otherwise.
  static constexpr size_t kLoad = 4;
  static constexpr std::chrono::milliseconds kGathering{1};

  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable gathered_;
  bool is_woken_ = false;
  size_t num_taken_ = 0;  // the last time
  std::vector<controller::TrafficInput> inputs_;
};

class AgentStream;

// Who is told that a stream is over.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  virtual void Forget(StreamId id) = 0;
};

// One agent's stream. Kept alive by its owner until gRPC is done with it.
class AgentStream final : public grpc::ServerGenericBidiReactor {
 public:
  AgentStream(StreamId id, grpc::GenericCallbackServerContext* context, const ControllerServerOptions& options,
              StreamOwner* owner, Inbox* inbox, Counters* counters)
      : id_(id), context_(context), options_(options), owner_(owner), inbox_(inbox), counters_(counters) {
    if (const auto auth = context->auth_context(); auth->IsPeerAuthenticated()) {
      is_authenticated_ = true;
      for (const grpc::string_ref& name : auth->GetPeerIdentity()) names_.emplace_back(name.data(), name.size());
    }
    deadline_ = Clock::now() + options.patience;
    StartSendInitialMetadata();
    StartRead(&heard_);
  }

  // It leaves with the next Flush(), if not before.
  void Queue(const controller::ToAgent& message) {
    std::string bytes = wire::WriteToAgent(message);
    const std::lock_guard lock(mutex_);
    if (is_finished_ || is_ending_) return;
    if (unsent_.num_bytes() + bytes.size() > options_.unsent_bytes_max) {
      counters_->slow++;
      // What is under way waits for the other side: only a cancelled stream is done before that.
      context_->TryCancel();
      return FinishLocked({grpc::StatusCode::RESOURCE_EXHAUSTED, "this agent does not listen"});
    }
    unsent_.Push(std::move(bytes));
  }
  void Flush() {
    const std::lock_guard lock(mutex_);
    SayNext();
  }

  // After what was sent before.
  void End() {
    const std::lock_guard lock(mutex_);
    EndAfterQueue();
  }

  // The core has taken one of its words.
  void Taken() {
    const std::lock_guard lock(mutex_);
    --num_unread_;
    if (is_deaf_ && num_unread_ < options_.num_unread_max && !is_finished_) {
      is_deaf_ = false;
      StartRead(&heard_);
    }
  }

  // Ends what has been waited for too long.
  void CheckPatience(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (is_finished_ || !deadline_ || now < *deadline_) return;
    deadline_.reset();
    counters_->slow++;
    context_->TryCancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    auto words = wire::ReadFromAgent(WholeMessage(heard_).bytes());
    heard_.Clear();
    if (!words.ok()) {
      counters_->unreadable++;
      return Refuse(words.status().message());
    }
    counters_->messages_in += words->size();
    std::vector<controller::TrafficInput> inputs;
    inputs.reserve(words->size());
    for (controller::FromAgent& word : *words) {
      if (const auto* hello = std::get_if<controller::HostHello>(&word); hello != nullptr && !MaySpeakFor(*hello)) {
        counters_->refused++;
        return Refuse(fmt::format("host '{}': its certificate is that of {}", hello->host, fmt::join(names_, ", ")));
      }
      inputs.emplace_back(controller::StreamSaid{id_, std::move(word)});
    }
    const std::lock_guard lock(mutex_);
    if (is_finished_ || is_ending_) return;
    deadline_.reset();
    has_spoken_ = true;
    num_unread_ += inputs.size();
    inbox_->Put(inputs);
    is_deaf_ = num_unread_ >= options_.num_unread_max;
    if (!is_deaf_) StartRead(&heard_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    is_saying_ = false;
    said_.Clear();
    if (is_finished_) return;
    if (!ok) return FinishLocked({grpc::StatusCode::UNAVAILABLE, "the stream broke"});
    SayNext();
  }

  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { owner_->Forget(id_); }

 private:
  bool MaySpeakFor(const controller::HostHello& hello) const {
    return !is_authenticated_ || std::find(names_.begin(), names_.end(), hello.host) != names_.end();
  }

  // Says why, and ends.
  void Refuse(const std::string& reason) {
    Queue(controller::Refused{reason});
    const std::lock_guard lock(mutex_);
    TellCoreOfEnd();
    EndAfterQueue();
  }

  void Finish(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    FinishLocked(status);
  }

  // With the mutex held, all below.
  void EndAfterQueue() {
    is_ending_ = true;
    deadline_ = Clock::now() + options_.patience;
    SayNext();
  }

  void SayNext() {
    if (is_saying_ || is_finished_) return;
    if (unsent_.empty()) {
      if (is_ending_) FinishLocked(grpc::Status::OK);
      return;
    }
    const UnsentWords::Message message = unsent_.Take();
    said_ = ToBuffer(message.bytes);
    is_saying_ = true;
    counters_->messages_out += message.num_words;
    StartWrite(&said_, unsent_.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint());
  }

  void FinishLocked(const grpc::Status& status) {
    if (std::exchange(is_finished_, true)) return;
    TellCoreOfEnd();
    grpc::ServerGenericBidiReactor::Finish(status);
  }

  void TellCoreOfEnd() {
    if (has_spoken_ && !std::exchange(is_told_of_end_, true)) inbox_->Put(controller::StreamEnded{id_});
  }

  const StreamId id_;
  grpc::GenericCallbackServerContext* context_;
  const ControllerServerOptions& options_;
  StreamOwner* owner_;
  Inbox* inbox_;
  Counters* counters_;
  bool is_authenticated_ = false;
  std::vector<std::string> names_;  // of the certificate

  grpc::ByteBuffer heard_;
  grpc::ByteBuffer said_;
  std::mutex mutex_;
  UnsentWords unsent_;
  size_t num_unread_ = 0;
  bool has_spoken_ = false;                    // the core knows of it
  bool is_told_of_end_ = false;                // the core knows that it is over
  bool is_deaf_ = false;                       // reading waits for the core
  bool is_saying_ = false;                     // one message is under way
  bool is_ending_ = false;                     // nothing more will be queued
  bool is_finished_ = false;                   // nothing more may be started
  std::optional<Clock::time_point> deadline_;  // until which the agent has to speak, or to have listened
};

// Answers calls that are not Attach, or one stream too many.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// Plaintext or TLS for an address. Errors: kInvalidArgument: neither may be.
Result<std::shared_ptr<grpc::ServerCredentials>> CredentialsFor(const Endpoint& endpoint,
                                                                const ControllerServerOptions& options) {
  if (options.tls.is_set() && !endpoint.is_unix()) {
    FL_ASSIGN_OR_RETURN(const TlsTexts texts, LoadTlsFiles(options.tls));
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = texts.ca;
    tls.pem_key_cert_pairs.push_back({texts.key, texts.certificate});
    return grpc::SslServerCredentials(tls);
  }
  if (endpoint.is_local() || options.is_insecure_allowed) return grpc::InsecureServerCredentials();
  return InvalidArgument(fmt::format(
      "address {}: other machines are listened to with TLS only; name authority, certificate and key (made by "
      "fairlead cert), or allow plaintext with --insecure",
      endpoint.ToString()));
}

}  // namespace

class ControllerServer::Streams final : public grpc::CallbackGenericService, public StreamOwner {
 public:
  explicit Streams(const ControllerServerOptions& options) : options_(options) {}
  ~Streams() override { Stop(); }

  Status Listen();
  void Stop();

  std::vector<std::string> addresses() const;
  std::vector<controller::TrafficInput> TakeInputs(std::chrono::milliseconds timeout);
  void Wake() { inbox_.Wake(); }
  std::shared_ptr<AgentStream> Find(StreamId id) const;
  void Queue(StreamId id, const controller::ToAgent& message);
  void Flush();
  ControllerServerCounters counters() const;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;
  void Forget(StreamId id) override;

 private:
  void CheckPatience();

  const ControllerServerOptions options_;
  Counters counters_;
  Inbox inbox_;
  Clock::time_point next_check_;
  std::vector<std::shared_ptr<AgentStream>> queued_;  // of the core's thread: until the next flush

  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  uint32_t num_ids_ = 0;
  std::unordered_map<uint32_t, std::shared_ptr<AgentStream>> streams_;

  std::vector<Endpoint> endpoints_;
  std::unique_ptr<grpc::Server> server_;
};

Status ControllerServer::Streams::Listen() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMessageBytesMax));
  // Two controllers on one port would each get half of the agents.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Agents that are gone without a word are found out; those that ask whether we are there may do so.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  // Else each read is followed by a ping, to find out how much may be under way: for messages of some kB it is all.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.RegisterCallbackGenericService(this);
  // Debian's library looks for deadlocks inside gRPC at each lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (options_.listen.empty()) return InvalidArgument("no address to listen on");
  std::vector<int> ports(options_.listen.size());
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options_.listen[i]));
    FL_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(endpoint, options_));
    FL_RETURN_IF_ERROR(CheckCanListen(endpoint));
    builder.AddListeningPort(endpoint.ToString(), credentials, &ports[i]);
    endpoints_.push_back(endpoint);
  }
  // Not even for the moment between bind() and chmod() may others open a socket.
  const mode_t mask = umask(0177);
  server_ = builder.BuildAndStart();
  umask(mask);
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    if (server_ == nullptr || ports[i] == 0) {
      return {StatusCode::kFailedPrecondition, fmt::format("can't listen on {}", endpoints_[i].ToString())};
    }
    if (!endpoints_[i].is_unix()) endpoints_[i].port = static_cast<uint16_t>(ports[i]);
  }
  return OkStatus();
}

void ControllerServer::Streams::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return streams_.empty(); });
  lock.unlock();
  server_.reset();
}

std::vector<std::string> ControllerServer::Streams::addresses() const {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints_) texts.push_back(endpoint.ToString());
  return texts;
}

grpc::ServerGenericBidiReactor* ControllerServer::Streams::CreateReactor(grpc::GenericCallbackServerContext* context) {
  if (context->method() != wire::kAttachMethod) {
    return new RefusedCall({grpc::StatusCode::UNIMPLEMENTED, "no such method"});
  }
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= options_.num_streams_max) {
    counters_.refused++;
    return new RefusedCall({grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller has all streams it can have"});
  }
  counters_.opened++;
  const uint32_t number = num_ids_++;
  auto stream = std::make_shared<AgentStream>(StreamId(number), context, options_, this, &inbox_, &counters_);
  streams_.emplace(number, stream);
  return stream.get();
}

void ControllerServer::Streams::Forget(StreamId id) {
  std::shared_ptr<AgentStream> stream;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(id.value());
  stream = std::move(found->second);
  streams_.erase(found);
  if (streams_.empty()) emptied_.notify_all();
}

std::shared_ptr<AgentStream> ControllerServer::Streams::Find(StreamId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(id.value());
  return found == streams_.end() ? nullptr : found->second;
}

void ControllerServer::Streams::Queue(StreamId id, const controller::ToAgent& message) {
  auto stream = Find(id);
  if (stream == nullptr) return;
  stream->Queue(message);
  queued_.push_back(std::move(stream));
}

void ControllerServer::Streams::Flush() {
  for (const auto& stream : queued_) stream->Flush();
  queued_.clear();
}

std::vector<controller::TrafficInput> ControllerServer::Streams::TakeInputs(std::chrono::milliseconds timeout) {
  std::vector<controller::TrafficInput> inputs = inbox_.Take(timeout);
  for (const controller::TrafficInput& input : inputs) {
    const auto* said = std::get_if<controller::StreamSaid>(&input);
    if (said == nullptr) continue;
    if (const auto stream = Find(said->stream)) stream->Taken();
  }
  CheckPatience();
  return inputs;
}

void ControllerServer::Streams::CheckPatience() {
  const auto now = Clock::now();
  if (now < next_check_) return;
  next_check_ = now + options_.patience / 8;
  std::vector<std::shared_ptr<AgentStream>> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, stream] : streams_) streams.push_back(stream);
  }
  for (const auto& stream : streams) stream->CheckPatience(now);
}

ControllerServerCounters ControllerServer::Streams::counters() const {
  const std::lock_guard lock(mutex_);
  return {.num_streams = streams_.size(),
          .opened = counters_.opened,
          .refused = counters_.refused,
          .unreadable = counters_.unreadable,
          .slow = counters_.slow,
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

}  // namespace fairlead::service
