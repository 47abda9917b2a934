// What the agent uses of NVML, the library by which NVIDIA's driver tells of its GPUs, found at run time: hosts
// without GPUs do not have it.
//
// Layouts and values are those of NVML's binary interface, which later drivers keep; names follow ours. Seen: driver
// 580.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fairlead::service::nvml {

using Device = void*;
using Sample = void*;  // counters of a GPU at one moment

using Code = int32_t;
inline constexpr Code kSuccess = 0;
inline constexpr Code kInsufficientSize = 7;

inline constexpr uint32_t kSmClock = 1;            // nvmlClockType_t
inline constexpr uint32_t kUncorrectedErrors = 1;  // nvmlMemoryErrorType_t
inline constexpr uint32_t kSinceDriverLoad = 0;    // nvmlEccCounterType_t, volatile

// Reasons for clocks below what was asked for (nvmlClocksEventReason*) that are not normal. Others are: an H100 at full
// load is held down by its power cap (4).
inline constexpr uint64_t kHardwareSlowdown = 0x8;
inline constexpr uint64_t kSoftwareThermal = 0x20;
inline constexpr uint64_t kHardwareThermal = 0x40;
inline constexpr uint64_t kPowerBrake = 0x80;

struct Process {  // nvmlProcessInfo_t, of the functions _v3
  uint32_t pid;
  uint64_t used_memory;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(Process) == 24);

struct GpmSupport {  // nvmlGpmSupport_t
  uint32_t version;  // 1
  uint32_t is_supported;
};

// Shares of the time between two samples in which units of the GPU were active, over all its SMs, in percent.
// nvmlGpmMetricId_t; values are part of the interface.
enum class Metric : uint32_t {
  kSmActive = 2,
  kTensorDfma = 6,  // tensor cores, 64-bit
  kTensorHmma = 7,  // tensor cores, 16-bit and other floating point
  kFp64 = 11,
  kFp32 = 12,
  kFp16 = 13,
};
inline constexpr std::array kMetrics = {Metric::kSmActive, Metric::kTensorDfma, Metric::kTensorHmma,
                                        Metric::kFp64,     Metric::kFp32,       Metric::kFp16};

struct GpmMetric {  // nvmlGpmMetric_t
  uint32_t id;
  Code code;  // of this one
  double value;
  std::array<const char*, 3> names;
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8);

struct GpmMetrics {  // nvmlGpmMetricsGet_t
  uint32_t version;  // 1
  uint32_t num_metrics;
  Sample earlier;
  Sample later;
  std::array<GpmMetric, 400> metrics;  // more than any version of the interface has
};
static_assert(offsetof(GpmMetrics, metrics) == 24);

// The functions; none is null.
struct Functions {
  // NOLINTBEGIN(readability-identifier-naming): called as functions, by NVML's names
  Code (*Init)() = nullptr;
  Code (*Shutdown)() = nullptr;
  const char* (*ErrorString)(Code) = nullptr;
  Code (*DeviceGetCount)(uint32_t*) = nullptr;
  Code (*DeviceGetHandleByIndex)(uint32_t, Device*) = nullptr;
  Code (*DeviceGetName)(Device, char*, uint32_t) = nullptr;
  Code (*DeviceGetCudaComputeCapability)(Device, int*, int*) = nullptr;
  Code (*DeviceGetNumGpuCores)(Device, uint32_t*) = nullptr;
  Code (*DeviceGetClockInfo)(Device, uint32_t, uint32_t*) = nullptr;
  Code (*DeviceGetComputeRunningProcesses)(Device, uint32_t*, Process*) = nullptr;
  Code (*DeviceGetMpsComputeRunningProcesses)(Device, uint32_t*, Process*) = nullptr;
  Code (*DeviceGetCurrentClocksThrottleReasons)(Device, uint64_t*) = nullptr;
  Code (*DeviceGetTotalEccErrors)(Device, uint32_t, uint32_t, uint64_t*) = nullptr;
  Code (*GpmQueryDeviceSupport)(Device, GpmSupport*) = nullptr;
  Code (*GpmSampleAlloc)(Sample*) = nullptr;
  Code (*GpmSampleFree)(Sample) = nullptr;
  Code (*GpmSampleGet)(Device, Sample) = nullptr;
  Code (*GpmMetricsGet)(GpmMetrics*) = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

// A library that is loaded and initialized, until this is destroyed. Functions may be called on any thread.
class Library {
 public:
  // Errors: kNotFound: there is no such library; kFailedPrecondition: it is older than 12.0, or finds no driver; says
  // why.
  static Result<std::shared_ptr<const Library>> Load(const std::string& file = "libnvidia-ml.so.1");
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions* operator->() const { return &functions_; }

  // Errors: kUnavailable, "WHAT: what NVML says".
  Status Check(Code code, const char* what) const;
  Result<std::vector<Device>> Devices() const;
  Result<std::string> NameOf(Device device) const;
  // That compute on the GPU, also by way of MPS; ascending.
  Result<std::vector<int32_t>> ProcessesOn(Device device) const;

 private:
  explicit Library(void* handle) : handle_(handle) {}

  void* handle_;
  Functions functions_;
  bool is_initialized_ = false;
};

}  // namespace fairlead::service::nvml
