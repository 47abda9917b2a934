// The collectives by name, for scenarios and options that choose one.
//
// Sizes are those of nccl-tests: all-reduce, reduce-scatter, all-to-all: bytes each rank puts in; all-gather,
// broadcast: bytes each rank gets out; send/recv: bytes from the first rank of the communicator to the second, to the
// third, ….
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "collective/flow_set.h"

namespace fairlead::collective {

enum class CollectiveKind : uint8_t {
  kRingAllReduce,          // one flat ring
  kTreeAllReduce,          // double binary tree
  kHierarchicalAllReduce,  // inside hosts, then one ring per rail
  kInNetworkAllReduce,     // inside hosts, then summed by the switches
  kRingReduceScatter,
  kHierarchicalReduceScatter,
  kRingAllGather,
  kHierarchicalAllGather,
  kBroadcast,     // from the first rank along a ring
  kAllToAll,      // n(n-1) direct flows
  kRailAllToAll,  // changes the rail over NVLink first
  kSendReceive,   // rank i to rank i+1, each on its own
};

// "ring-all-reduce", "tree-all-reduce", …, in the order of the enumerators.
std::span<const std::string_view> CollectiveNames();
std::string_view Name(CollectiveKind kind);
// Errors: kInvalidArgument, listing the names.
Result<CollectiveKind> ParseCollectiveKind(std::string_view name);

// Appends the flows of one collective of `size` bytes. Nothing for fewer than two ranks or size <= 0.
// Cost: O(n log n) flows and time, all-to-all O(n^2).
void AppendCollective(CollectiveKind kind, std::span<const RankPlace> ranks, Bytes size, FlowSet& flows);

}  // namespace fairlead::collective
