// A PyTorch job of two ranks in hosts of a lab: started as a user would start it, and what it printed.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::experiments::lab_torch {

struct TorchIteration {
  double begin_s = 0;  // of the monotonic clock
  double seconds = 0;
};

// Of rank 0; lines that are none are passed over.
std::vector<TorchIteration> ParseIterations(std::string_view text);

// Mean of those that began and ended within [begin_s, end_s]; 0: there are none.
double MeanWithin(const std::vector<TorchIteration>& iterations, double begin_s, double end_s);

// Whether Debian's python3 can import torch. Takes seconds.
bool HasTorch();

struct TorchJobOptions {
  std::string program;  // path of `fairlead-lab`
  std::string run_folder;
  std::string lab;
  std::string script;
  std::string steering_library;
  std::array<std::string, 2> hosts;          // of the ranks
  std::array<std::string, 2> agent_sockets;  // of these hosts
  std::string log;                           // of rank 0; the other one's beside it, with ".1"
  uint64_t iterations = 0;
};

class TorchJob {
 public:
  // Errors: kUnavailable: no process.
  static Result<TorchJob> Start(const TorchJobOptions& options);
  // The ranks themselves end with their lab at the latest.
  ~TorchJob();
  TorchJob(TorchJob&& other) noexcept;
  TorchJob& operator=(TorchJob&&) = delete;

  std::vector<TorchIteration> Iterations() const;
  // Errors: kUnavailable: a rank has ended, with the end of its output.
  Status Check();

 private:
  TorchJob() = default;

  std::string log_;
  std::vector<pid_t> processes_;
};

}  // namespace fairlead::experiments::lab_torch
