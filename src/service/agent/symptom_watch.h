// What the devices and the kernel of this host report of themselves: evidence for findings that communication alone
// cannot give.
//
// Sources     kernel log: Xid errors, GPUs off the bus, links down, NIC and PCIe errors, processes killed for their
//             memory, tasks and disks that do not answer (telemetry/kernel_message.h);
//             NVML: clocks down for heat or a power brake, uncorrected memory errors;
//             DCGM exporter: the same and NVLink errors, where one runs (telemetry/dcgm_metrics.h);
//             counters of InfiniBand and RoCE ports: links that went down or were trained again, symbol errors
// Method      what has happened since the look before; what holds, such as a throttled GPU, with each look. What was
//             before the first look is history.
// Limits      GPUs are numbered by their PCI addresses, as NVML does; a message without an address is of GPU 0. Which
//             NIC a port belongs to stands in the text only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "model/telemetry.h"
#include "service/agent/nvml.h"
#include "telemetry/dcgm_metrics.h"

namespace fairlead::service {

struct SymptomWatchOptions {
  std::string kernel_log = "/dev/kmsg";
  std::string gpu_folder = "/proc/driver/nvidia/gpus";  // of folders that are named by PCI addresses
  std::string port_folder = "/sys/class/infiniband";    // DEVICE/ports/N/counters
  std::shared_ptr<const nvml::Library> nvml = nullptr;  // null: nothing is asked of it
  std::function<std::string()> take_dcgm = {};          // newer metrics of its exporter; empty: there is none
};

// Thread: one.
class SymptomWatch {
 public:
  explicit SymptomWatch(const SymptomWatchOptions& options);

  // At most kSymptomsOfLook, in order of the sources. Cost: files of a few hundred bytes, some calls of NVML.
  std::vector<model::HostSymptomRecord> Look();
  static constexpr size_t kSymptomsOfLook = 32;

  // Why there is no kernel log; OK: there is one.
  const Status& kernel_log_status() const { return kernel_log_status_; }

 private:
  using Symptoms = std::vector<model::HostSymptomRecord>;

  void ReadKernelLog(Symptoms* symptoms);
  void AskNvml(Symptoms* symptoms);
  void ReadDcgm(Symptoms* symptoms);
  void ReadPorts(Symptoms* symptoms);
  uint32_t GpuAt(std::string_view pci_address) const;

  const SymptomWatchOptions options_;
  Status kernel_log_status_;
  Descriptor kernel_log_;
  std::vector<nvml::Device> gpus_;
  std::map<size_t, uint64_t> memory_errors_;     // [GPU] at the look before
  std::map<std::string, uint64_t> port_counts_;  // [file] at the look before
  telemetry::DcgmMetrics dcgm_;
};

}  // namespace fairlead::service
