// What a message of the kernel's log says of broken devices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/telemetry.h"

namespace fairlead::telemetry {

struct KernelSymptom {
  model::HostSymptom symptom = model::HostSymptom::kGpuError;
  // PCI address of a GPU or NIC without its function, "0000:3b:00", or the name of an interface; empty: not given.
  std::string device;
};

// Nothing: the message is no symptom, or one of the job's own mistakes (Xid 13, 31, 43, 45), or what the device has
// mended (corrected errors, remapped memory). Any bytes. Cost: linear.
// Reference   NVIDIA's catalogue of Xid errors (October 2025); drivers/net/ethernet/mellanox/mlx5, mm/oom_kill.c,
//             drivers/pci/pcie/aer.c and kernel/hung_task.c of Linux.
std::optional<KernelSymptom> ReadKernelMessage(std::string_view message);

// A record of /dev/kmsg, "6,1234,5678,-;text\n KEY=value\n": its text, if the kernel itself has written it (facility 0:
// programs cannot), else nothing.
std::optional<std::string_view> ReadKernelRecord(std::string_view record);

}  // namespace fairlead::telemetry
