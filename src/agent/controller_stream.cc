#include "agent/controller_stream.h"

#include <algorithm>
#include <utility>

namespace fairlead::agent {

ControllerStream::ControllerStream(controller::HostHello hello, AgentOutbox* outbox)
    : hello_(std::move(hello)), outbox_(*outbox) {}

void ControllerStream::Open() {
  is_open_ = true;
  outbox_.SetWelcome(false);
  outbox_.Act(SendToController{hello_});
}

void ControllerStream::Break() {
  if (outbox_.is_welcome()) outbox_.Note("the controller is away: levels and connections stay as they are");
  outbox_.SetWelcome(false);
  is_open_ = is_silent_ = false;
}

bool ControllerStream::HearMessage() {
  if (!is_open_) return false;  // of a stream that has ended
  is_silent_ = false;
  return true;
}

bool ControllerStream::Hear(const controller::Welcome& message) {
  if (outbox_.is_welcome()) return false;
  outbox_.SetWelcome(true);
  heartbeat_period_ = std::max(kShortestHeartbeat, message.heartbeat_period);
  heartbeat_due_ = outbox_.now() + heartbeat_period_;
  outbox_.Note("connected to the controller (" + message.controller_version + ")");
  return true;
}

void ControllerStream::Hear(const controller::Refused& message) {
  outbox_.Note("the controller refuses this agent: " + message.reason);
  outbox_.SetWelcome(false);
}

void ControllerStream::MissDeadline() {
  if (!is_listening()) return;
  is_silent_ = true;
  outbox_.Note("the controller does not answer in time: processes do not wait for it until it does");
}

void ControllerStream::SendHeartbeat(controller::Heartbeat heartbeat) {
  outbox_.Send(std::move(heartbeat));
  heartbeat_due_ = outbox_.now() + heartbeat_period_;
}

}  // namespace fairlead::agent
