// Slurm's programs, run: Fairlead reads from them and writes by them, and is never linked with Slurm (its libraries are
// under the GPL, and change with each version).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"

namespace fairlead::slurm {

using Command = std::vector<std::string>;  // program and arguments; no shell is involved

class Programs {
 public:
  virtual ~Programs() = default;

  // Standard output of a program that ended with 0.
  // Errors: kNotFound           Slurm knows no such job, node or reservation
  //         kFailedPrecondition Slurm refuses: says why
  //         kUnavailable        the program can't be started, or Slurm does not answer, or not in time
  virtual Result<std::string> Run(const Command& command) = 0;
};

struct RealProgramsOptions {
  // > 0. Longer: a busy slurmctld has time to answer. Shorter: one that is away is noticed sooner.
  std::chrono::milliseconds deadline{30'000};
  // An answer that is longer is an error. 2,000 jobs are 0.5 MB of lines, or 13 MB of JSON.
  size_t output_bytes_max = size_t{256} * 1024 * 1024;
};

// Thread: any. Each call runs one program and blocks until it has ended.
class RealPrograms final : public Programs {
 public:
  explicit RealPrograms(const RealProgramsOptions& options = {}) : options_(options) {}
  Result<std::string> Run(const Command& command) override;

 private:
  RealProgramsOptions options_;
};

// Of what a program of Slurm said when it failed: the error that it means. Never ok.
Status StatusOfFailure(const Command& command, int exit_code, const std::string& errors);

}  // namespace fairlead::slurm
