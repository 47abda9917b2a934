// The stream to the controller: is it there, does it welcome this agent, and does it listen.
//
//     Open (hello) --> Welcome --> heartbeats --> MissDeadline: it does not listen --> any message: it does
//          |              |                                                                   |
//          +--> Refused --+---------------------> Break: it is away <------------------------+
//
// Problem     the controller goes away, comes back as another one, refuses this agent, or is stopped with its stream
//             open, which looks like one that is busy.
// Method      whether messages are sent is the outbox's to know: from the welcome to the end of the stream. A question
//             that was left unanswered until its deadline shows a controller that does not listen; its next message, of
//             whatever kind, one that does.
// Guarantees  the hello is the first message on a stream, and nothing but it is sent before the welcome. What is said
//             after the end of a stream does not count. At most one heartbeat in kShortestHeartbeat.
// Cost        O(1).
#pragma once

#include <cstdint>

#include "agent/agent_outbox.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

class ControllerStream {
 public:
  static constexpr SimDuration kShortestHeartbeat = SimDuration(100'000'000);

  // `outbox` must outlive this. Args: hello: what this agent says of itself.
  ControllerStream(controller::HostHello hello, AgentOutbox* outbox);

  void Open();
  void Break();
  // A message has come. Returns whether it counts.
  bool HearMessage();
  // Returns whether it is the first one on this stream.
  bool Hear(const controller::Welcome& message);
  // The controller ends the stream, too.
  void Hear(const controller::Refused& message);

  // Processes may wait for its answers.
  bool is_listening() const { return outbox_.is_welcome() && !is_silent_; }
  // It has left a question unanswered until its deadline.
  void MissDeadline();

  bool IsHeartbeatDue() const { return NextDue() <= outbox_.now(); }
  void SendHeartbeat(controller::Heartbeat heartbeat);
  SimTime NextDue() const { return outbox_.is_welcome() ? heartbeat_due_ : SimTime::Never(); }

 private:
  const controller::HostHello hello_;
  AgentOutbox& outbox_;
  bool is_open_ = false;
  bool is_silent_ = false;  // it has missed a deadline, and sent nothing since
  SimDuration heartbeat_period_ = SimDuration(5'000'000'000);
  SimTime heartbeat_due_ = SimTime::Never();
};

}  // namespace fairlead::agent
