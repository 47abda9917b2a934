// The messages of agents and controller as bytes and back: protobuf.
//
// Schema: api/fairlead/v1/agent.proto; fields: controller/host_message_fields.h. What a sender within the contracts of
// host_messages.h says comes out equal. What is read is checked for being a value at all (addresses of 4 or 16 bytes,
// ports below 65536, numbers that are numbers, lists of equal length), not for making sense: that is the reader's to
// judge. IPv6 addresses that map IPv4 ones (::ffff:a.b.c.d) are read as those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "controller/host_messages.h"

namespace fairlead::wire {

// The stream's full name in gRPC; each batch on it is what Write…() returns, or several of these, one after the
// other.
inline constexpr std::string_view kAttachMethod = "/fairlead.v1.AgentService/Attach";

// In the controller's initial metadata: nanoseconds since 1970 by its clock, when it accepted the stream.
inline constexpr char kControllerTimeMetadata[] = "fairlead-time-ns";

// Larger batches are refused by both ends.
inline constexpr size_t kMessageBytesMax = size_t{8} << 20;

std::string WriteFromAgent(const controller::FromAgent& message);
std::string WriteToAgent(const controller::ToAgent& message);

// All messages of a batch, at least one.
// Errors: kInvalidArgument: not such a message, or the first field that can't be right, by its path.
Result<std::vector<controller::FromAgent>> ReadFromAgent(std::string_view bytes);
Result<std::vector<controller::ToAgent>> ReadToAgent(std::string_view bytes);

}  // namespace fairlead::wire
