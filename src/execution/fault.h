// What can be planted in a simulated job.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "execution/job_shape.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// Beside each kind: the ids of Fault that it needs, and what its magnitude means.
enum class FaultKind : uint8_t {
  kGpuMemoryError,   // rank: its process dies
  kNvlinkError,      // rank: operations of its tensor group never end; without a group its process dies
  kCudaError,        // rank: its process dies
  kProcessCrash,     // rank: its process dies
  kProcessFrozen,    // rank: SIGSTOP until `end`; the GPU continues with what was enqueued
  kGpuHang,          // rank: its GPU stops; operations may have started
  kHostLost,         // host: its processes and its agent are gone
  kAgentLost,        // host: no reports, the job continues
  kSlowGpu,          // rank: computes `magnitude` times as long
  kSlowNicSend,      // rank: what its NIC sends takes `magnitude` times as long
  kSlowNicReceive,   // rank: what its NIC receives takes `magnitude` times as long
  kSlowConnection,   // rank, peer: messages from rank to peer take `magnitude` times as long
  kLossyConnection,  // rank, peer: part `magnitude` of the messages from rank to peer is sent again after a timeout
  kSlowLeaf,         // leaf: messages through it take `magnitude` times as long
  kNicDown,          // rank: messages to and from its NIC do not complete before `end`
  kConnectionDown,   // rank, peer: messages from rank to peer do not complete before `end`
  kSlowLoader,       // host, or all hosts if it is invalid: loading takes `magnitude` times as long
  kCheckpointStall,  // rank: its first checkpoint in the interval takes `magnitude` seconds longer
  kWrongSize,        // rank: exchanges half of the bytes in one operation
  kWrongOrder,       // rank: swaps the first two exchanges of one iteration
  kCrossedOrder,     // rank: enters a barrier of all ranks before one exchange, the others behind it
  kSlowPlane,        // plane: messages through it take `magnitude` times as long
};
inline constexpr size_t kNumFaultKinds = 22;

// "gpu_memory_error", "nvlink_error", ..
std::string_view Name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kProcessCrash;
  model::RankId rank;
  model::RankId peer;
  HostId host;
  model::LeafId leaf;
  uint32_t plane = 0;
  SimTime begin;
  SimTime end = SimTime::Never();
  double magnitude = 1;
};

// Errors: InvalidArgument if an id that the kind needs is not in the job, the magnitude makes no sense, or the job
// never does what the fault would disturb, such as checkpoints.
Status Validate(const Fault& fault, const JobShape& shape);

// Whether a rank's program disagrees with the others'; such a fault acts in one iteration.
bool IsMistake(FaultKind kind);

// Whether the processes of `kind` end, and the rank stops completely.
bool KillsProcess(FaultKind kind, const JobShape& shape);

}  // namespace fairlead::execution
