// What the driver of fake_nvml_example.cc says: set by tests of the process that has loaded it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "service/agent/nvml.h"

namespace fairlead::service::nvml {

struct FakeGpu {
  bool is_supported = true;
  int generation = 9;
  uint32_t cores = 132 * 128;
  uint32_t clock_mhz = 1000;
  std::vector<uint32_t> pids = {};
  std::vector<uint32_t> mps_pids = {};
  std::map<Metric, double> active = {};  // percent
  bool is_lost = false;                  // counters fail
  uint64_t throttle_reasons = 0;
  uint64_t uncorrected_errors = 0;
};

struct FakeNvml {
  std::mutex mutex;
  Code init = kSuccess;
  std::vector<FakeGpu> gpus;
};

// Found with dlsym.
using GetFakeNvml = FakeNvml* (*)();
inline constexpr char kGetFakeNvml[] = "FairleadFakeNvml";

}  // namespace fairlead::service::nvml
