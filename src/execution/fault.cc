#include "execution/fault.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace fairlead::execution {

namespace {

using model::RankId;

Status Wrong(const Fault& fault, std::string_view expected) {
  return InvalidArgument(fmt::format("fault {}: {}", Name(fault.kind), expected));
}

bool NeedsRank(FaultKind kind) {
  switch (kind) {
    case FaultKind::kHostLost:
    case FaultKind::kAgentLost:
    case FaultKind::kSlowLeaf:
    case FaultKind::kSlowLoader:
    case FaultKind::kSlowPlane:
      return false;
    default:
      return true;
  }
}

bool NeedsPeer(FaultKind kind) {
  return kind == FaultKind::kSlowConnection || kind == FaultKind::kLossyConnection ||
         kind == FaultKind::kConnectionDown;
}

bool IsFactor(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSlowGpu:
    case FaultKind::kSlowNicSend:
    case FaultKind::kSlowNicReceive:
    case FaultKind::kSlowConnection:
    case FaultKind::kSlowLeaf:
    case FaultKind::kSlowLoader:
    case FaultKind::kSlowPlane:
      return true;
    default:
      return false;
  }
}

Status ValidateIds(const Fault& fault, const JobShape& shape) {
  const uint32_t ranks = shape.NumRanks();
  if (NeedsRank(fault.kind) && fault.rank.index() >= ranks) {
    return Wrong(fault, fmt::format("needs a rank below {}", ranks));
  }
  if (NeedsPeer(fault.kind) && (fault.peer.index() >= ranks || shape.SameHost(fault.rank, fault.peer))) {
    return Wrong(fault, "needs a peer on another host than its rank");
  }
  const bool needs_host = fault.kind == FaultKind::kHostLost || fault.kind == FaultKind::kAgentLost;
  if (needs_host && fault.host.index() >= shape.NumHosts()) {
    return Wrong(fault, fmt::format("needs a host below {}", shape.NumHosts()));
  }
  if (fault.kind == FaultKind::kSlowLeaf && !fault.leaf.valid()) return Wrong(fault, "needs a leaf");
  return OkStatus();
}

Status ValidateShape(const Fault& fault, const JobShape& shape) {
  if (fault.kind == FaultKind::kCheckpointStall && (shape.checkpoint_every == 0 || shape.DataOf(fault.rank) != 0)) {
    return Wrong(fault, "needs a job with checkpoints and a rank that writes them (data-parallel rank 0)");
  }
  if (IsMistake(fault.kind) && shape.data_parallel < 2) return Wrong(fault, "needs at least 2 data-parallel ranks");
  if (fault.kind == FaultKind::kSlowPlane && (shape.planes < 2 || fault.plane >= shape.planes)) {
    return Wrong(fault, fmt::format("needs a job with at least 2 planes and a plane below {}", shape.planes));
  }
  const bool has_two = shape.gradient_buckets >= 2 || shape.algorithm == DataParallelAlgorithm::kShardedRing;
  if (fault.kind == FaultKind::kWrongOrder && !has_two) {
    return Wrong(fault, "needs at least 2 gradient buckets, or the sharded ring");
  }
  return OkStatus();
}

}  // namespace

std::string_view Name(FaultKind kind) {
  static constexpr std::array<std::string_view, kNumFaultKinds> kNames = {
      "gpu_memory_error", "nvlink_error", "cuda_error",    "process_crash",   "process_frozen",   "gpu_hang",
      "host_lost",        "agent_lost",   "slow_gpu",      "slow_nic_send",   "slow_nic_receive", "slow_connection",
      "lossy_connection", "slow_leaf",    "nic_down",      "connection_down", "slow_loader",      "checkpoint_stall",
      "wrong_size",       "wrong_order",  "crossed_order", "slow_plane"};
  return kNames.at(static_cast<size_t>(kind));
}

Status Validate(const Fault& fault, const JobShape& shape) {
  if (Status status = ValidateIds(fault, shape); !status.ok()) return status;
  if (Status status = ValidateShape(fault, shape); !status.ok()) return status;
  if (fault.begin >= fault.end) return Wrong(fault, "must begin before it ends");
  if (IsFactor(fault.kind) && fault.magnitude < 1) return Wrong(fault, "its magnitude is a factor of at least 1");
  if (fault.kind == FaultKind::kLossyConnection && (fault.magnitude <= 0 || fault.magnitude > 1)) {
    return Wrong(fault, "its magnitude is the part of lost messages, above 0 and at most 1");
  }
  return OkStatus();
}

bool IsMistake(FaultKind kind) {
  return kind == FaultKind::kWrongSize || kind == FaultKind::kWrongOrder || kind == FaultKind::kCrossedOrder;
}

bool KillsProcess(FaultKind kind, const JobShape& shape) {
  switch (kind) {
    case FaultKind::kGpuMemoryError:
    case FaultKind::kCudaError:
    case FaultKind::kProcessCrash:
    case FaultKind::kHostLost:
      return true;
    case FaultKind::kNvlinkError:
      return shape.tensor_parallel == 1;
    default:
      return false;
  }
}

}  // namespace fairlead::execution
