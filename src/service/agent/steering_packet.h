// The packets of shm/steering_messages.h as values: what processes send is never trusted.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "agent/host_agent_messages.h"
#include "base/status.h"
#include "shm/steering_messages.h"

namespace fairlead::service {

using PacketBytes = std::span<const std::byte>;

// `question` and `pid` are left for the caller. Errors: kFailedPrecondition  another version (to be answered with
// ours); kInvalidArgument  no question.
Result<agent::PathRequested> ReadQuestion(PacketBytes packet);
// Likewise.
Result<agent::PathRequestOutcome> ReadOutcome(PacketBytes packet);
// Args: answer: its question does not count.
std::array<std::byte, sizeof(shm::SteeringAnswer)> WriteAnswer(const agent::AnswerProcess& answer);

}  // namespace fairlead::service
