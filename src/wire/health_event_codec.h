// Health events of hosts as bytes and back: what NVSentinel's platform connector takes.
//
// Field numbers, types and the method's name are those of data-models/protobufs/health_event.proto in the public
// repository github.com/NVIDIA/NVSentinel (commit 264bfab8); what we do not send is left out. The answer is
// google.protobuf.Empty.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::wire {

// The method's full name in gRPC; its answer is an empty message.
inline constexpr std::string_view kHealthEventMethod = "/datamodels.PlatformConnector/HealthEventOccurredV1";

struct HealthEvent {
  // Wire values: never renumber.
  enum class Action : uint8_t {
    kNone = 0,
    kContactSupport = 5,    // a person has to look
    kRestartBareMetal = 24  // of the machine, out of service
  };

  struct Entity {
    std::string type;  // "RANK"
    std::string value;

    friend bool operator==(const Entity&, const Entity&) = default;
  };

  std::string node;
  std::string check;  // "FairleadCommHang"
  std::string agent;
  std::string component_class;
  bool is_healthy = false;
  bool is_fatal = false;
  // Whether receivers may drain or restart the node by it; otherwise they only keep it.
  bool may_be_acted_upon = false;
  std::string message;
  Action action = Action::kNone;
  std::vector<std::string> error_codes;
  std::vector<Entity> entities;
  SimTime generated;  // since 1970

  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
};

// Args: texts in UTF-8.
std::string WriteHealthEvents(std::span<const HealthEvent> events);

// Reads the output of Write…(), for tests and simulated receivers. Errors: kInvalidArgument: no such message.
Result<std::vector<HealthEvent>> ReadHealthEvents(std::string_view bytes);

}  // namespace fairlead::wire
