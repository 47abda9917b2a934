// What one trace and many traces have in common: the members of a collective, its size, omissions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "collective/collective_kind.h"
#include "workload/chakra_trace.h"

namespace fairlead::workload {

// The ranks of the node's communicator, ascending; nothing for all of them.
// Errors: kInvalidArgument: nothing describes the group, or it leaves the trace's rank out.
Result<std::optional<std::vector<uint32_t>>> FindMembers(const ChakraTrace& trace, const ChakraNode& node);

// The buffer as collective_kind.h counts it: Chakra counts an all-gather by what a rank puts in.
Bytes BufferBytes(collective::CollectiveKind kind, Bytes comm_size, double num_members);

// Omissions of the reader, as text.
struct LeftOut {
  uint64_t num_memory_nodes = 0;
  uint64_t num_host_nodes = 0;
  Seconds host_time;
  uint64_t num_barriers = 0;

  void Add(const ChakraTrace& trace);
  void AddNotes(std::vector<std::string>& notes) const;
};

}  // namespace fairlead::workload
