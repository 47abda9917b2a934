// One way in for workloads from outside: by the kind of file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"
#include "collective/collective_sequence.h"

namespace fairlead::workload {

enum class WorkloadKind : uint8_t {
  kSimai,   // simai_workload.h: one text file
  kChakra,  // chakra_sequence.h: a trace, a prefix, or a folder
};

// "simai", "chakra".
std::string_view Name(WorkloadKind kind);

struct WorkloadOptions {
  // Of the job; checked against the file, where it says. 0 = unknown.
  uint32_t num_gpus = 0;
  // For traces that give operations instead of time: peak and memory bandwidth of one GPU. 0 = refuse them / no limit.
  FlopPerSecond gpu_peak;
  BytesPerSecond memory_bandwidth;
};

// A file is SimAI's, but for traces (.et); those, a folder and a prefix are Chakra's.
WorkloadKind GuessWorkloadKind(const std::string& path);

// Errors: kNotFound, kInvalidArgument, kUnimplemented, kResourceExhausted; see the importers.
Result<collective::CollectiveSequence> LoadWorkload(WorkloadKind kind, const std::string& path,
                                                    const WorkloadOptions& options = {});

}  // namespace fairlead::workload
