// What is inside a host: GPUs, NVLink, PCIe switches, sockets and NICs, and which of them are neighbours.
//
// Affinity follows from the indices, as in every catalogue server. With G GPUs, S PCIe switches, N NICs and C sockets:
//
//   GPU g   is on PCIe switch  g*S/G   and uses NIC  g*N/G
//   NIC n   is on PCIe switch  n*S/N
//   PCIe switch s is on socket s*C/S
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::topology {

// All speeds are per direction. The defaults are the host of the Crux testbed (Crux, SIGCOMM 2024, section 6.1): 8
// A100, two sockets with two PCIe 4.0 x16 switches each, two GPUs and one NIC of 200 Gb/s per PCIe switch.
struct HostSpec {
  uint32_t gpus = 8;                                      // [1, 1024]
  BytesPerSecond nvlink_speed = GigabytesPerSecond(300);  // one GPU to the NVSwitch; 0 = no NVLink
  uint32_t sockets = 2;                                   // [1, 16]; all pairs are joined
  BytesPerSecond socket_speed = GigabytesPerSecond(64);   // between two sockets; about three UPI links
  uint32_t pcie_switches = 4;                             // [1, 1024]
  BytesPerSecond pcie_speed = GigabytesPerSecond(32);     // GPU, NIC and CPU to their PCIe switch: x16, generation 4
  uint32_t nics = 4;                                      // [1, 1024]
  uint32_t ports_per_nic = 1;                             // [1, 16]; more than one = a bonded NIC
  BytesPerSecond port_speed = GigabitsPerSecond(200);     // one port
  FlopPerSecond gpu_peak = FlopPerSecond(312e12);         // dense half precision
  std::string gpu_model = "A100";

  // Errors: kInvalidArgument when a count or speed is out of its range, naming it.
  Status Validate() const;

  uint32_t PcieSwitchOfGpu(uint32_t gpu) const { return gpu * pcie_switches / gpus; }
  uint32_t NicOfGpu(uint32_t gpu) const { return gpu * nics / gpus; }
  uint32_t PcieSwitchOfNic(uint32_t nic) const { return nic * pcie_switches / nics; }
  uint32_t SocketOfPcieSwitch(uint32_t pcie_switch) const { return pcie_switch * sockets / pcie_switches; }

  // Cables inside the host, and from its ports to leaves.
  uint64_t NumInnerCables() const;
  uint64_t NumPorts() const { return uint64_t{nics} * ports_per_nic; }
};

}  // namespace fairlead::topology
