// What has passed the cables of a lab, as its kernel counted it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "lab/lab_state.h"

namespace fairlead::lab {

struct EndCounters {
  uint64_t sent_bytes = 0;  // by this end, after shaping; Ethernet headers of large packets count once
  uint64_t sent_packets = 0;

  friend bool operator==(const EndCounters&, const EndCounters&) = default;
};

struct LabCounters {
  IdVector<CableId, std::array<EndCounters, 2>> cables;
  // Of TCP, by the host; nothing is lost to congestion in a lab, so these come from cut cables.
  IdVector<LabNodeId, uint64_t> retransmitted_segments;
};

// Errors: kUnavailable: the lab has ended, or can't be entered. Cost: milliseconds for a hundred namespaces.
Result<LabCounters> ReadCounters(const LabState& state);

// Adds what the text of /proc/net/dev and /proc/net/snmp, one after the other, says of a node. Lines that are no
// interface of the node are passed over.
void AddNodeCounters(const LabPlan& plan, LabNodeId node, std::string_view text, LabCounters* counters);

}  // namespace fairlead::lab
