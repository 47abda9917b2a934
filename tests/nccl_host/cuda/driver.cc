// Which functions of CUDA's driver does NCCL get, and how does a kernel that it launches come to run on CPUs?
//
// NCCL asks for the driver's functions by name. Those that are not here are not found, which NCCL takes for an older
// driver: no virtual memory management, no multicast, no DMA-BUF.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "cuda/memory.h"
#include "cuda/streams.h"
#include "kernels/launch.h"

namespace fairlead::nccl_host {
namespace {

CUresult GetErrorText(CUresult, const char** text) {
  *text = "error of the CUDA stand-in";
  return CUDA_SUCCESS;
}
CUresult DeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  // Equal numbers mean the same in both interfaces.
  cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
  return CUDA_SUCCESS;
}
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device) {
  memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = static_cast<char>(device + 1);
  return CUDA_SUCCESS;
}

// One context for all.
CUresult CtxGetCurrent(CUcontext* context) {
  static char only;
  *context = reinterpret_cast<CUcontext>(&only);
  return CUDA_SUCCESS;
}
CUresult CtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult CtxGetDevice(CUdevice* device) {
  cudaGetDevice(device);
  return CUDA_SUCCESS;
}
CUresult CtxGetId(CUcontext, unsigned long long* id) {
  *id = 1;
  return CUDA_SUCCESS;
}

CUresult MemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  const auto found = FindAllocation(reinterpret_cast<const void*>(address));
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = reinterpret_cast<CUdeviceptr>(found->begin);
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}
// NCCL 2.30 asks for it although it may not map memory.
CUresult MemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = size_t{2} << 20;
  return CUDA_SUCCESS;
}
CUresult PointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }

// The argument buffer of a launch.
std::span<const std::byte> ArgumentsOf(void** extra) {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) begin = static_cast<const std::byte*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const size_t*>(extra[1]);
  }
  return {begin, bytes};
}

// Kernels find aligned structures in their arguments.
struct alignas(16) Chunk {
  std::byte bytes[16];
};

CUresult Launch(CUstream handle, unsigned num_blocks, void** extra) {
  const std::span<const std::byte> arguments = ArgumentsOf(extra);
  if (arguments.empty()) return CUDA_ERROR_INVALID_VALUE;
  auto copy = std::make_shared<std::vector<Chunk>>((arguments.size() + sizeof(Chunk) - 1) / sizeof(Chunk));
  memcpy(copy->data(), arguments.data(), arguments.size());
  StreamOf(handle)->Put([copy, num_blocks] { RunKernel(copy->data(), num_blocks); });
  return CUDA_SUCCESS;
}
CUresult LaunchKernel(CUfunction, unsigned grid, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      CUstream stream, void**, void** extra) {
  return Launch(stream, grid, extra);
}
CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void** extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) continue;
    RecordOn(reinterpret_cast<cudaEvent_t>(attribute.value.launchCompletionEvent.event), StreamOf(config->hStream));
  }
  return Launch(config->hStream, config->gridDimX, extra);
}

struct Named {
  const char* name;
  void* function;
};
const Named kFunctions[] = {
    {"cuGetErrorString", reinterpret_cast<void*>(GetErrorText)},
    {"cuGetErrorName", reinterpret_cast<void*>(GetErrorText)},
    {"cuDeviceGet", reinterpret_cast<void*>(DeviceGet)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(DeviceGetAttribute)},
    {"cuDeviceGetUuid", reinterpret_cast<void*>(DeviceGetUuid)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(CtxGetCurrent)},
    {"cuCtxSetCurrent", reinterpret_cast<void*>(CtxSetCurrent)},
    {"cuCtxDestroy", reinterpret_cast<void*>(CtxSetCurrent)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(CtxGetDevice)},
    {"cuCtxGetId", reinterpret_cast<void*>(CtxGetId)},
    {"cuMemGetAddressRange", reinterpret_cast<void*>(MemGetAddressRange)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(MemGetAllocationGranularity)},
    {"cuPointerGetAttribute", reinterpret_cast<void*>(PointerGetAttribute)},
    {"cuLaunchKernel", reinterpret_cast<void*>(LaunchKernel)},
    {"cuLaunchKernelEx", reinterpret_cast<void*>(LaunchKernelEx)},
};

}  // namespace
}  // namespace fairlead::nccl_host

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  *function = nullptr;
  for (const auto& known : fairlead::nccl_host::kFunctions) {
    if (strcmp(known.name, name) == 0) *function = known.function;
  }
  if (result != nullptr) {
    *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}
