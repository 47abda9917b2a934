// Chakra execution traces on disk as the workload of a job.
//
// PREFIX.et or PREFIX.N.et alone represents every rank (chakra_single_trace.h); PREFIX.0.et, PREFIX.1.et, … are the
// ranks of one job (chakra_merge.h). Groups that traces don't describe come from PREFIX.json where there is one.
#pragma once

#include <string>

#include "base/status.h"
#include "collective/collective_sequence.h"
#include "workload/chakra_trace.h"

namespace fairlead::workload {

// Args: path: a trace (.et), a prefix, or a folder with the traces of one prefix.
// Errors: kNotFound, and those of reading, scheduling and merging. Memory: one trace, and what all of them communicate.
Result<collective::CollectiveSequence> LoadChakraWorkload(const std::string& path, const ChakraOptions& options);

}  // namespace fairlead::workload
