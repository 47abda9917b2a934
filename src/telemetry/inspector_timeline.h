// Operations and messages of NCCL Inspector, put on one course of time and into reports.
#pragma once

#include <vector>

#include "telemetry/nccl_inspector.h"

namespace fairlead::telemetry {

// Fills the instants of operations without event traces. Args: `sources` [source]; operations of all ranks, each with
// its dump's instant. Each collective ends on all ranks together, at the latest instant at which no dump came before it
// and every later operation of the communicator still has its time; sends and receives end one after the other.
void PlaceInTime(const std::vector<InspectorSource>& sources, std::vector<InspectorOperation>* operations);

// Errors: kInvalidArgument, sources that contradict each other.
Result<Recording> MergeInspector(const std::vector<InspectorSource>& sources,
                                 std::vector<InspectorOperation> operations,
                                 const std::vector<InspectorMessage>& messages);

}  // namespace fairlead::telemetry
