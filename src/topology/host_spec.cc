#include "topology/host_spec.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace fairlead::topology {

namespace {

Status CheckAtMost(std::string_view name, uint32_t value, uint32_t max) {
  if (value >= 1 && value <= max) return OkStatus();
  return InvalidArgument(fmt::format("host: {} must be in [1, {}], found {}", name, max, value));
}

Status CheckSpeed(std::string_view name, BytesPerSecond speed) {
  if (std::isfinite(speed.value()) && speed.value() > 0) return OkStatus();
  return InvalidArgument(fmt::format("host: {} must be positive and finite, found {} B/s", name, speed.value()));
}

}  // namespace

Status HostSpec::Validate() const {
  FL_RETURN_IF_ERROR(CheckAtMost("gpus", gpus, 1024));
  FL_RETURN_IF_ERROR(CheckAtMost("sockets", sockets, 16));
  FL_RETURN_IF_ERROR(CheckAtMost("pcie_switches", pcie_switches, 1024));
  FL_RETURN_IF_ERROR(CheckAtMost("nics", nics, 1024));
  FL_RETURN_IF_ERROR(CheckAtMost("ports_per_nic", ports_per_nic, 16));
  if (nvlink_speed.value() != 0) FL_RETURN_IF_ERROR(CheckSpeed("nvlink speed", nvlink_speed));
  FL_RETURN_IF_ERROR(CheckSpeed("socket speed", socket_speed));
  FL_RETURN_IF_ERROR(CheckSpeed("pcie speed", pcie_speed));
  FL_RETURN_IF_ERROR(CheckSpeed("port speed", port_speed));
  if (!std::isfinite(gpu_peak.value()) || gpu_peak.value() <= 0) {
    return InvalidArgument(
        fmt::format("host: gpu peak must be positive and finite, found {} FLOP/s", gpu_peak.value()));
  }
  return OkStatus();
}

uint64_t HostSpec::NumInnerCables() const {
  const uint64_t nvlink_cables = nvlink_speed.value() > 0 ? gpus : 0;
  const uint64_t socket_cables = uint64_t{sockets} * (sockets - 1) / 2;
  return nvlink_cables + gpus + nics + pcie_switches + socket_cables;
}

}  // namespace fairlead::topology
