// The GPUs that a trainer emulates, as their driver's counters would show them (shm/gpu_counters.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "shm/gpu_counters.h"

namespace fairlead::lab {

class SimulatedGpus {
 public:
  // Makes the counters' file in a folder that exists; it goes with this object. Args: num_gpus >= 1.
  // Errors: kUnavailable: it can't be made.
  static Result<SimulatedGpus> Create(const std::string& folder, const std::string& job, uint32_t num_gpus);

  // All of them have computed for `seconds`, and done `flop` together.
  void Add(double flop, double seconds);

 private:
  struct Unmap {
    std::string path;
    void operator()(shm::GpuCounters* counters) const;
  };

  explicit SimulatedGpus(std::unique_ptr<shm::GpuCounters, Unmap> counters) : counters_(std::move(counters)) {}

  std::unique_ptr<shm::GpuCounters, Unmap> counters_;
};

}  // namespace fairlead::lab
