#include "service/streams/controller_server.h"

#include <atomic>
#include <thread>
#include <unordered_map>
#include <utility>

#include "service/streams/agent_stream.h"
#include "service/streams/completion.h"
#include "service/streams/grpc_listener.h"
#include "service/streams/queue_alarm.h"
#include "service/streams/revocation_watch.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {

using controller::StreamId;
using Clock = std::chrono::steady_clock;

class ControllerServer::Streams final : public StreamOwner {
 public:
  explicit Streams(const ControllerServerOptions& options)
      : options_(options),
        stream_options_{
            .reading = options.reading, .unsent_bytes_max = options.unsent_bytes_max, .patience = options.patience},
        revocations_(options.tls) {}
  ~Streams() override { Stop(); }

  Status Listen();

  std::vector<std::string> addresses() const { return listener_.addresses(); }
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

  void Stop();
  void AwaitCall();
  // The next thing that is over, and what is to be done then; waits for it. False: nothing was until then.
  bool DoNext(Clock::time_point until);
  void CheckPatience();
  void RefuseIfRevoked(AgentStream* stream);
  void RefreshRevoked();
  void ResumeThrottled();

  const ControllerServerOptions options_;
  const AgentStreamOptions stream_options_;
  RevocationWatch revocations_;
  StreamCounters counters_;
  Clock::time_point next_check_;
  std::vector<controller::TrafficInput> inputs_;
  size_t num_taken_ = 0;          // the last time
  std::vector<StreamId> queued_;  // until the next flush
  std::vector<StreamId> throttled_;
  uint32_t num_ids_ = 0;
  std::unordered_map<uint32_t, std::unique_ptr<AgentStream>> streams_;
  std::unique_ptr<AgentStream> awaited_;            // the next one, which has no call yet
  std::vector<std::unique_ptr<AgentStream>> gone_;  // until what they do is over
  QueueAlarm alarm_;
  GrpcListener listener_;
};

Status ControllerServer::Streams::Listen() {
  FL_RETURN_IF_ERROR(revocations_.Load());
  FL_RETURN_IF_ERROR(listener_.Listen(options_));
  AwaitCall();
  return OkStatus();
}

void ControllerServer::Streams::Stop() {
  if (listener_.queue() == nullptr) return;
  listener_.Close();
  std::atomic<bool> is_down = false;
  std::thread closer([&] {
    listener_.ShutDown();
    is_down = true;
  });
  for (const auto& [id, stream] : streams_) stream->Cancel();
  while (!is_down || !streams_.empty() || awaited_ != nullptr) DoNext(Clock::now() + kGathering);
  closer.join();
  listener_.queue()->Shutdown();
  while (DoNext(Clock::time_point::max())) {
  }
}

void ControllerServer::Streams::AwaitCall() {
  awaited_ = std::make_unique<AgentStream>(StreamId(num_ids_++), stream_options_, this, &counters_);
  awaited_->AwaitCall(listener_.service(), listener_.queue());
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
  const bool is_done = Complete(listener_.queue(), until) == grpc::CompletionQueue::GOT_EVENT;
  gone_.clear();
  return is_done;
}

void ControllerServer::Streams::Wake() { alarm_.Ring(listener_.queue()); }

void ControllerServer::Streams::Serve(std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  while (Clock::now() < end && !alarm_.is_ringing()) DoNext(end);
  alarm_.Silence();
  CheckPatience();
}

std::vector<controller::TrafficInput> ControllerServer::Streams::TakeInputs(std::chrono::milliseconds timeout) {
  const Clock::time_point start = Clock::now();
  const Clock::time_point gathered = num_taken_ >= kLoad ? start + kGathering : kLongAgo;
  while (inputs_.size() < kBatchMax && DoNext(alarm_.is_ringing() ? kLongAgo
                                              : inputs_.empty()   ? start + timeout
                                                                  : gathered)) {
  }
  alarm_.Silence();
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
  if (!revocations_.IsRevoked(stream->peer())) return;
  counters_.refused++;
  stream->Cancel();
}

void ControllerServer::Streams::RefreshRevoked() {
  if (!revocations_.Refresh()) return;
  for (const auto& [id, stream] : streams_) RefuseIfRevoked(stream.get());
}

Status ControllerServer::Streams::status() const {
  FL_RETURN_IF_ERROR(revocations_.status());
  return listener_.status();
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
