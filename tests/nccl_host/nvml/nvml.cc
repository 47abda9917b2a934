// libnvidia-ml.so.1, which NCCL opens by that name: eight GPUs on PCI, no NVLink, no fabric, nothing else known.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "nvmlwrap.h"  // NCCL's copy of NVML's types

namespace {

constexpr unsigned kNumDevices = 8;
constexpr unsigned kFirstBus = 0x10;  // as in cuda/device.cc

nvmlDevice_t HandleOf(unsigned index) { return reinterpret_cast<nvmlDevice_t>(uintptr_t{index} + 1); }
unsigned IndexOf(nvmlDevice_t device) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device) - 1); }

}  // namespace

// Only what NCCL looks up; what it does without where it is missing is left out.
extern "C" {

nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
const char* nvmlErrorString(nvmlReturn_t) { return "error of the NVML stand-in"; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kNumDevices;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  *device = HandleOf(index);
  return index < kNumDevices ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* device) {
  unsigned domain = 0, bus = 0;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2) return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetHandleByIndex(bus - kFirstBus, device);
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  *index = IndexOf(device);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  memset(info, 0, sizeof *info);
  info->bus = kFirstBus + IndexOf(device);
  snprintf(info->busId, sizeof info->busId, "0000:%02x:00.0", info->bus & 0xff);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 8;
  *minor = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned* generation) {
  *generation = 4;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned* width) {
  *width = 16;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned, nvmlEnableState_t*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t, unsigned, nvmlPciInfo_t*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t, unsigned, nvmlNvLinkCapability_t, unsigned*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t* status) {
  *status = NVML_P2P_STATUS_NOT_SUPPORTED;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int, nvmlFieldValue_t*) { return NVML_ERROR_NOT_SUPPORTED; }

}  // extern "C"
