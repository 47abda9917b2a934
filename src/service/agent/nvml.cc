#include "service/agent/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

namespace fairlead::service::nvml {

namespace {

constexpr size_t kNameBytes = 96;
constexpr uint32_t kProcessesMax = 100'000;  // on a GPU

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The name of a function that is missing; null: none is.
const char* FindAll(void* library, Functions* functions) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!Find(library, name, function) && missing == nullptr) missing = name;
  };
  find("nvmlInit_v2", &functions->Init);
  find("nvmlShutdown", &functions->Shutdown);
  find("nvmlErrorString", &functions->ErrorString);
  find("nvmlDeviceGetCount_v2", &functions->DeviceGetCount);
  find("nvmlDeviceGetHandleByIndex_v2", &functions->DeviceGetHandleByIndex);
  find("nvmlDeviceGetName", &functions->DeviceGetName);
  find("nvmlDeviceGetCudaComputeCapability", &functions->DeviceGetCudaComputeCapability);
  find("nvmlDeviceGetNumGpuCores", &functions->DeviceGetNumGpuCores);
  find("nvmlDeviceGetClockInfo", &functions->DeviceGetClockInfo);
  find("nvmlDeviceGetComputeRunningProcesses_v3", &functions->DeviceGetComputeRunningProcesses);
  find("nvmlDeviceGetMPSComputeRunningProcesses_v3", &functions->DeviceGetMpsComputeRunningProcesses);
  find("nvmlDeviceGetCurrentClocksThrottleReasons", &functions->DeviceGetCurrentClocksThrottleReasons);
  find("nvmlDeviceGetTotalEccErrors", &functions->DeviceGetTotalEccErrors);
  find("nvmlGpmQueryDeviceSupport", &functions->GpmQueryDeviceSupport);
  find("nvmlGpmSampleAlloc", &functions->GpmSampleAlloc);
  find("nvmlGpmSampleFree", &functions->GpmSampleFree);
  find("nvmlGpmSampleGet", &functions->GpmSampleGet);
  find("nvmlGpmMetricsGet", &functions->GpmMetricsGet);
  return missing;
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::Load(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Status(StatusCode::kNotFound, dlerror());
  const std::shared_ptr<Library> library(new Library(handle));
  if (const char* missing = FindAll(handle, &library->functions_)) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{} has no {}: the driver is older than version 525", file, missing));
  }
  const Code code = library->functions_.Init();
  if (code != kSuccess) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("{}: {}", file, library->functions_.ErrorString(code)));
  }
  library->is_initialized_ = true;
  return std::shared_ptr<const Library>(library);
}

Library::~Library() {
  if (is_initialized_) functions_.Shutdown();
  dlclose(handle_);
}

Status Library::Check(Code code, const char* what) const {
  return code == kSuccess ? OkStatus() : Unavailable(fmt::format("{}: {}", what, functions_.ErrorString(code)));
}

Result<std::vector<Device>> Library::Devices() const {
  uint32_t count = 0;
  FL_RETURN_IF_ERROR(Check(functions_.DeviceGetCount(&count), "GPUs can't be counted"));
  std::vector<Device> devices(count);
  for (uint32_t index = 0; index < count; ++index) {
    FL_RETURN_IF_ERROR(Check(functions_.DeviceGetHandleByIndex(index, &devices[index]), "a GPU can't be opened"));
  }
  return devices;
}

Result<std::string> Library::NameOf(Device device) const {
  std::array<char, kNameBytes> name = {};
  FL_RETURN_IF_ERROR(Check(functions_.DeviceGetName(device, name.data(), name.size()), "a GPU has no name"));
  name.back() = '\0';
  return std::string(name.data());
}

Result<std::vector<int32_t>> Library::ProcessesOn(Device device) const {
  std::vector<int32_t> pids;
  for (const auto list :
       {functions_.DeviceGetComputeRunningProcesses, functions_.DeviceGetMpsComputeRunningProcesses}) {
    std::vector<Process> processes(64);
    for (;;) {
      auto count = static_cast<uint32_t>(processes.size());
      const Code code = list(device, &count, processes.data());
      if (code == kInsufficientSize && count < kProcessesMax) {
        processes.resize(std::max<size_t>(count + 16, 2 * processes.size()));
        continue;
      }
      FL_RETURN_IF_ERROR(Check(code, "processes of a GPU can't be listed"));
      processes.resize(std::min<size_t>(count, processes.size()));
      break;
    }
    for (const Process& process : processes) pids.push_back(static_cast<int32_t>(process.pid));
  }
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace fairlead::service::nvml
