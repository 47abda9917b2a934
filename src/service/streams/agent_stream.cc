#include "service/streams/agent_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "service/streams/stream_bytes.h"
#include "wire/host_message_codec.h"

namespace fairlead::service {

using controller::StreamId;

template <class Reaction>
Completion AgentStream::After(Reaction reaction) {
  return [this, reaction](bool ok) {
    reaction(ok);
    if (--num_pending_ == 0 && phase_ == Phase::kFinished) owner_->Forget(id_);
  };
}

AgentStream::AgentStream(StreamId id, const AgentStreamOptions& options, StreamOwner* owner, StreamCounters* counters)
    : id_(id),
      options_(options),
      owner_(owner),
      counters_(counters),
      called_([this](bool ok) { owner_->OnCall(ok); }),
      opened_(After([](bool) {})),
      read_(After([this](bool ok) { OnRead(ok); })),
      written_(After([this](bool ok) { OnWritten(ok); })),
      finished_(After([this](bool) { phase_ = Phase::kFinished; })),
      share_(options.reading, Clock::now()) {}

void AgentStream::AwaitCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue) {
  service->RequestCall(&context_, &call_, queue, queue, &called_);
}

void AgentStream::Begin() {
  peer_ = PeerCertificateOf(*context_.auth_context());
  deadline_ = Clock::now() + options_.patience;
  ++num_pending_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  context_.AddInitialMetadata(wire::kControllerTimeMetadata, std::to_string(std::chrono::nanoseconds(now).count()));
  call_.SendInitialMetadata(&opened_);
  Read();
}

// ---- Messages of the agent ----

bool AgentStream::MaySpeakFor(const controller::HostHello& hello) const {
  return !peer_.is_authenticated || std::ranges::find(peer_.names, hello.host) != peer_.names.end();
}

void AgentStream::Read() {
  ++num_pending_;
  call_.Read(&heard_, &read_);
}

void AgentStream::ReadOn() {
  if (!is_deaf_ || !share_.MayRead() || phase_ >= Phase::kFinishing) return;
  is_deaf_ = false;
  Read();
}

void AgentStream::OnRead(bool ok) {
  if (!ok) return Finish(grpc::Status::OK);
  if (phase_ != Phase::kOpen) return;
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
      return Refuse(fmt::format("host '{}': its certificate is that of {}", hello->host, fmt::join(peer_.names, ", ")));
    }
  }
  deadline_.reset();
  is_known_ = true;
  if (share_.NoteRead(messages->size(), num_bytes, Clock::now())) {
    counters_->throttled++;
    owner_->OnThrottled(id_);
  }
  for (controller::FromAgent& message : *messages) owner_->Put(controller::StreamMessage{id_, std::move(message)});
  is_deaf_ = true;
  ReadOn();
}

void AgentStream::Taken() {
  share_.NoteTaken();
  ReadOn();
}

bool AgentStream::Resume(Clock::time_point now) {
  if (phase_ >= Phase::kFinishing) return true;
  if (!share_.Resume(now)) return false;
  ReadOn();
  return true;
}

// ---- Messages to the agent ----

void AgentStream::Queue(const controller::ToAgent& message) {
  if (phase_ != Phase::kOpen) return;
  std::string bytes = wire::WriteToAgent(message);
  if (unsent_.num_bytes() + bytes.size() > options_.unsent_bytes_max) {
    counters_->slow++;
    // What is under way waits for the other side: only a cancelled stream is done before that.
    return Cancel();
  }
  unsent_.Push(std::move(bytes));
}

void AgentStream::SendNext() {
  if (is_sending_ || phase_ >= Phase::kFinishing) return;
  if (unsent_.empty()) {
    if (phase_ == Phase::kEnding) Finish(grpc::Status::OK);
    return;
  }
  const OutgoingMessages::Batch batch = unsent_.Take();
  sent_ = ToBuffer(batch.bytes);
  is_sending_ = true;
  ++num_pending_;
  counters_->messages_out += batch.num_messages;
  call_.Write(sent_, unsent_.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint(), &written_);
}

void AgentStream::OnWritten(bool ok) {
  is_sending_ = false;
  sent_.Clear();
  if (phase_ >= Phase::kFinishing) return SendFarewell();
  if (!ok) return Finish({grpc::StatusCode::UNAVAILABLE, "the stream broke"});
  SendNext();
}

// ---- The end ----

void AgentStream::End() {
  phase_ = std::max(phase_, Phase::kEnding);
  deadline_ = Clock::now() + options_.patience;
  SendNext();
}

void AgentStream::Cancel() {
  context_.TryCancel();
  Finish(grpc::Status::CANCELLED);
}

void AgentStream::Refuse(const std::string& reason) {
  Queue(controller::Refused{reason});
  TellCoreOfEnd();
  End();
}

void AgentStream::CheckPatience(Clock::time_point now) {
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  counters_->slow++;
  context_.TryCancel();
}

void AgentStream::Finish(const grpc::Status& status) {
  if (phase_ >= Phase::kFinishing) return;
  phase_ = Phase::kFinishing;
  TellCoreOfEnd();
  farewell_ = status;
  deadline_ = Clock::now() + options_.patience;
  if (!is_sending_) SendFarewell();
}

void AgentStream::SendFarewell() {
  ++num_pending_;
  call_.Finish(farewell_, &finished_);
}

void AgentStream::TellCoreOfEnd() {
  if (std::exchange(is_known_, false)) owner_->Put(controller::StreamEnded{id_});
}

}  // namespace fairlead::service
