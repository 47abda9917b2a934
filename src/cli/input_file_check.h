// Is a file what Fairlead can read, and what is in it?
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::cli {

struct InputFileCheck {
  std::string kind;     // "scenario"; empty where it is not known
  std::string summary;  // "39 jobs, 1,208 GPUs, …"; empty where there is an error
  Status status;
};

// Kinds of files are recognized by their keys, columns and names. Addresses need a fabric: that of the last file with
// one.
class InputFileChecker {
 public:
  // Args: num_gpus: of the jobs of workloads whose files do not state it; 0: unknown.
  explicit InputFileChecker(uint32_t num_gpus) : num_gpus_(num_gpus) {}

  InputFileCheck Check(const std::string& path);

 private:
  Result<std::string> CheckKind(const std::string& kind, const std::string& path);

  uint32_t num_gpus_;
  std::optional<topology::Fabric> fabric_;
};

}  // namespace fairlead::cli
