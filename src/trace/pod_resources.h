// What a pod of the Lingjun data set asks for: the JSON object in column RES of worker.csv, with Kubernetes quantities.
//
//     {"cpu": "96", "memory": "1600Gi", "nvidia.com/gpu": "8", "ephemeral-storage": "4800Gi", "koordinator.sh/rdma":
//     "1"}
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::trace {

struct PodResources {
  double cpu_cores = 0;
  Bytes memory;
  Bytes disk;
  uint32_t gpus = 0;  // the key is absent for pods without GPUs
  bool rdma = false;
};

// Keys beyond these are ignored. Errors: kInvalidArgument for what is no JSON object, a value that is no quantity, and
// a number of GPUs that is not whole or above kMaxGpusPerJob.
Result<PodResources> ParsePodResources(std::string_view json);

// "500m" -> 0.5, "2Gi" -> 2147483648, "3k" -> 3000. Suffixes: m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi. Nothing for other
// texts and for what is negative or not finite.
std::optional<double> ParseQuantity(std::string_view text);

}  // namespace fairlead::trace
