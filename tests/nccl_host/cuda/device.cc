// What does the CUDA runtime say of a machine's GPUs when there are none? That there are eight of the Ampere
// generation, without NVLink, GPUDirect, graphs or anything else that would lead around sockets.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

namespace fairlead::nccl_host {
namespace {

constexpr int kNumDevices = 8;
constexpr int kFirstBus = 0x10;  // of PCI; as in nvml/nvml.cc
constexpr int kNumProcessors = 108;
constexpr int kCudaVersion = 13000;
constexpr int kMajor = 8, kMinor = 0;

thread_local int current_device = 0;

int AttributeOf(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      return kMajor;
    case cudaDevAttrComputeCapabilityMinor:
      return kMinor;
    case cudaDevAttrMultiProcessorCount:
      return kNumProcessors;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return 163'840;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return 1;
    default:
      return 0;
  }
}

}  // namespace
}  // namespace fairlead::nccl_host

using namespace fairlead::nccl_host;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kCudaVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  thread_local char text[48];
  snprintf(text, sizeof text, "error %d of the CUDA stand-in", static_cast<int>(error));
  return text;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kNumDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kNumDevices) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = AttributeOf(attribute);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "CPU");
  properties->major = kMajor;
  properties->minor = kMinor;
  properties->multiProcessorCount = kNumProcessors;
  properties->pciBusID = kFirstBus + device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(kFirstBus + device));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  unsigned domain = 0, bus = 0;
  if (sscanf(text, "%x:%x", &domain, &bus) != 2) return cudaErrorInvalidValue;
  *device = static_cast<int>(bus) - kFirstBus;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorPeerAccessUnsupported; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }

// Kernels are names only: kernels/launch.cc does what they would do.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 640;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}

}  // extern "C"
