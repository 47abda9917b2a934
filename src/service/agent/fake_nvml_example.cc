// A driver without GPUs, for gpu_meter_test: the functions of NVML that the agent uses, by the names that it looks up.
#include "service/agent/fake_nvml_example.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fairlead::service::nvml {
namespace {

constexpr Code kNoPermission = 4;
constexpr Code kLost = 15;

FakeNvml fake;

// Handles count from 1, so that none is null.
FakeGpu& Of(Device device) { return fake.gpus.at(reinterpret_cast<uintptr_t>(device) - 1); }

// Like NVML: where there is no room, only the number is given.
Code List(const std::vector<uint32_t>& pids, uint32_t* count, Process* processes) {
  const uint32_t room = *count;
  *count = static_cast<uint32_t>(pids.size());
  if (room < *count) return kInsufficientSize;
  for (size_t i = 0; i < pids.size(); ++i) processes[i] = {pids[i], 0, 0, 0};
  return kSuccess;
}

struct FakeSample {
  Device device = nullptr;
};

}  // namespace

extern "C" {

#define FAKE_API __attribute__((visibility("default")))

FAKE_API FakeNvml* FairleadFakeNvml() { return &fake; }

FAKE_API Code nvmlInit_v2() { return fake.init; }
FAKE_API Code nvmlShutdown() { return kSuccess; }
FAKE_API const char* nvmlErrorString(Code code) {
  return code == kNoPermission ? "Insufficient Permissions" : "GPU is lost";
}

FAKE_API Code nvmlDeviceGetCount_v2(uint32_t* count) {
  const std::lock_guard lock(fake.mutex);
  *count = static_cast<uint32_t>(fake.gpus.size());
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetHandleByIndex_v2(uint32_t index, Device* device) {
  *device = reinterpret_cast<Device>(uintptr_t{index} + 1);  // NOLINT(performance-no-int-to-ptr)
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetName(Device, char* name, uint32_t bytes) {
  std::strncpy(name, "NVIDIA H100 80GB HBM3", bytes);
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  const std::lock_guard lock(fake.mutex);
  *major = Of(device).generation;
  *minor = 0;
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetNumGpuCores(Device device, uint32_t* cores) {
  const std::lock_guard lock(fake.mutex);
  *cores = Of(device).cores;
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetClockInfo(Device device, uint32_t type, uint32_t* clock) {
  const std::lock_guard lock(fake.mutex);
  *clock = type == kSmClock ? Of(device).clock_mhz : 0;
  return kSuccess;
}
FAKE_API Code nvmlDeviceGetComputeRunningProcesses_v3(Device device, uint32_t* count, Process* processes) {
  const std::lock_guard lock(fake.mutex);
  return List(Of(device).pids, count, processes);
}
FAKE_API Code nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, uint32_t* count, Process* processes) {
  const std::lock_guard lock(fake.mutex);
  return List(Of(device).mps_pids, count, processes);
}
FAKE_API Code nvmlDeviceGetCurrentClocksThrottleReasons(Device device, uint64_t* reasons) {
  const std::lock_guard lock(fake.mutex);
  *reasons = Of(device).throttle_reasons;
  return Of(device).is_lost ? kLost : kSuccess;
}
FAKE_API Code nvmlDeviceGetTotalEccErrors(Device device, uint32_t type, uint32_t counter, uint64_t* errors) {
  const std::lock_guard lock(fake.mutex);
  *errors = type == kUncorrectedErrors && counter == kSinceDriverLoad ? Of(device).uncorrected_errors : 0;
  return kSuccess;
}
FAKE_API Code nvmlGpmQueryDeviceSupport(Device device, GpmSupport* support) {
  const std::lock_guard lock(fake.mutex);
  support->is_supported = Of(device).is_supported ? 1 : 0;
  return kSuccess;
}
FAKE_API Code nvmlGpmSampleAlloc(Sample* sample) {
  *sample = new FakeSample;
  return kSuccess;
}
FAKE_API Code nvmlGpmSampleFree(Sample sample) {
  delete static_cast<FakeSample*>(sample);
  return kSuccess;
}
FAKE_API Code nvmlGpmSampleGet(Device device, Sample sample) {
  const std::lock_guard lock(fake.mutex);
  static_cast<FakeSample*>(sample)->device = device;
  return Of(device).is_lost ? kLost : kSuccess;
}
FAKE_API Code nvmlGpmMetricsGet(GpmMetrics* request) {
  const std::lock_guard lock(fake.mutex);
  const FakeGpu& gpu = Of(static_cast<FakeSample*>(request->later)->device);
  for (uint32_t m = 0; m < request->num_metrics; ++m) {
    const auto active = gpu.active.find(static_cast<Metric>(request->metrics[m].id));
    request->metrics[m].code = kSuccess;
    request->metrics[m].value = active == gpu.active.end() ? 0 : active->second;
  }
  return request->version == 1 ? kSuccess : kNoPermission;
}

}  // extern "C"

}  // namespace fairlead::service::nvml
