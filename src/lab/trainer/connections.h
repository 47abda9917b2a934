// Brings up the connections of a worker: it listens, connects to its peers, and knows which peers have connected to it.
//
// They are ordinary connections (socket, bind to the NIC's address, connect), so that a library that is loaded into the
// process can choose their source port and their level. Nothing is sent on them but a greeting and the data.
#pragma once

#include <atomic>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// Sockets by index into TrainerPlan::connections, not blocking.
using Connections = std::vector<Descriptor>;

// What runs over connections; both ends have to mean the same.
enum class Protocol {
  kData,      // data alone
  kMessages,  // data, and against it which messages the receiver has room for (message_transport.h)
};

// Blocks until all connections are established. Workers may start in any order: connecting is tried again until
// `patience_s` has passed. Callers that mean another protocol are turned away. Errors: kUnavailable: an address can't
// be listened on, or peers did not come in time, naming the first one; kCancelled: `stop` turned true.
Result<Connections> Connect(const TrainerPlan& plan, double patience_s, const std::atomic<bool>& stop,
                            Protocol protocol = Protocol::kData);

}  // namespace fairlead::lab
