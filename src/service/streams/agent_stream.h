// One agent's stream, at the controller's end.
//
// Ends        with a message that can't be read, with a hello for another host than its certificate's, or when the
//             agent does not take its last messages, or says nothing at first, for `patience`. Where more than
//             `unsent_bytes_max` waits for the agent, it is cancelled.
// Size        half of the members are what gRPC wants at one address while an operation is under way.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "controller/traffic_controller.h"
#include "service/streams/completion.h"
#include "service/streams/outgoing_messages.h"
#include "service/streams/peer_certificate.h"
#include "service/streams/reading_share.h"

namespace fairlead::service {

// Of all streams. Written by one thread, read by those that show them.
struct StreamCounters {
  std::atomic<uint64_t> num_streams = 0;
  std::atomic<uint64_t> opened = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<uint64_t> unreadable = 0;
  std::atomic<uint64_t> slow = 0;
  std::atomic<uint64_t> throttled = 0;
  std::atomic<uint64_t> messages_in = 0;
  std::atomic<uint64_t> messages_out = 0;
};

// Gets what streams have to say.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  // The stream that waited for a call has one, or will have none.
  virtual void OnCall(bool ok) = 0;
  virtual void Put(controller::TrafficInput input) = 0;
  // It is to be resumed later.
  virtual void OnThrottled(controller::StreamId id) = 0;
  // gRPC is done with it.
  virtual void Forget(controller::StreamId id) = 0;
};

struct AgentStreamOptions {
  ReadingLimits reading;
  size_t unsent_bytes_max = 0;
  std::chrono::milliseconds patience{};
};

// Kept alive by its owner until all that was begun is over. Thread: that of its completion queue.
class AgentStream {
 public:
  using Clock = std::chrono::steady_clock;

  // Args: options, owner and counters must outlive this.
  AgentStream(controller::StreamId id, const AgentStreamOptions& options, StreamOwner* owner, StreamCounters* counters);

  void AwaitCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue);
  // Of the call.
  const std::string& method() const { return context_.method(); }

  // The call is taken, or not.
  void Begin();
  void Reject(const grpc::Status& status) { Finish(status); }
  const PeerCertificate& peer() const { return peer_; }

  // It leaves with the next Flush(), if not before.
  void Queue(const controller::ToAgent& message);
  void Flush() { SendNext(); }
  // After what was sent before.
  void End();
  void Cancel();

  // The core has taken one of its messages.
  void Taken();
  // Reads on if it has waited for long enough. Returns whether it has, or is over.
  bool Resume(Clock::time_point now);
  // Ends what has been waited for too long.
  void CheckPatience(Clock::time_point now);

 private:
  enum class Phase {
    kOpen,
    kEnding,     // nothing more will be queued
    kFinishing,  // nothing more will be read or written
    kFinished,   // nothing more will be begun
  };

  bool MaySpeakFor(const controller::HostHello& hello) const;
  void Read();
  void ReadOn();
  void OnRead(bool ok);
  void SendNext();
  void OnWritten(bool ok);
  // Says why, and ends.
  void Refuse(const std::string& reason);
  // Idempotent. A message that is under way comes first.
  void Finish(const grpc::Status& status);
  void SendFarewell();
  void TellCoreOfEnd();
  // Something that was begun is over; the last such takes a finished stream away.
  template <class Reaction>
  Completion After(Reaction reaction);

  const controller::StreamId id_;
  const AgentStreamOptions& options_;
  StreamOwner* owner_;
  StreamCounters* counters_;

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  Completion called_;
  Completion opened_;
  Completion read_;
  Completion written_;
  Completion finished_;
  grpc::ByteBuffer heard_;
  grpc::ByteBuffer sent_;
  grpc::Status farewell_;
  size_t num_pending_ = 0;  // operations

  PeerCertificate peer_;
  OutgoingMessages unsent_;
  ReadingShare share_;
  Phase phase_ = Phase::kOpen;
  bool is_known_ = false;                      // to the core, which is told of its end
  bool is_deaf_ = false;                       // reading waits for the core
  bool is_sending_ = false;                    // one message is under way
  std::optional<Clock::time_point> deadline_;  // until which the agent has to speak, or to have listened
};

}  // namespace fairlead::service
