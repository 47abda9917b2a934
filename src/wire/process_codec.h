// What an agent saw of processes, as protobuf and back.
#pragma once

#include "base/status.h"
#include "controller/host_messages.h"

namespace fairlead::v1 {
class ProcessesSeen;
}  // namespace fairlead::v1

namespace fairlead::wire {

// Args: within the contract of ProcessesSeen.
void WriteProcesses(const controller::ProcessesSeen& in, v1::ProcessesSeen* out);
// Errors: kInvalidArgument: the first field that can't be right, or more than that contract allows.
Status ReadProcesses(const v1::ProcessesSeen& in, controller::ProcessesSeen* out);

}  // namespace fairlead::wire
