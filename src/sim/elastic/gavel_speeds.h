// Reads the public throughput table of Gavel (OSDI 2020): iterations per second of 26 kinds of jobs on three types of
// GPU, on GPUs of one node or of several ("_unconsolidated").
//
// File       JSON: {"v100": {"('ResNet-18 (batch size 16)', 2)": {"null": 41.2, "('LM (batch size 5)', 1)": [20, 7]}}}
//            type of GPU; (kind of job, number of GPUs); "null" = alone. Pairs that share GPUs are passed over. 0 = out
//            of memory.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sim/elastic/elasticflow_workload.h"

namespace fairlead::sim {

// Of one type of GPU: by model and batch as the kind names it; 1 where it names none.
using ModelSpeeds = std::map<std::string, BatchSpeeds>;
// By type of GPU: "k80", "p100_unconsolidated", …
using GpuTypeSpeeds = std::map<std::string, ModelSpeeds>;

// Errors: kNotFound; kInvalidArgument for what is no JSON, no object where one is expected, a key that is no kind of
// job, or a speed that is no number, naming file and key.
Result<GpuTypeSpeeds> LoadGavelSpeeds(const std::string& path);
// The same from text; `name` replaces the file name in messages.
Result<GpuTypeSpeeds> ParseGavelSpeeds(std::string_view text, const std::string& name);

}  // namespace fairlead::sim
