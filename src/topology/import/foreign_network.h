// What other tools say is cabled to what: devices, and cables between their ports. Importers fill it; foreign_fabric.h
// turns it into a fabric.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip_address.h"

namespace fairlead::topology {

enum class DeviceRole : uint8_t {
  kUnknown,  // the format does not tell; the user has to (ImportOptions)
  kHost,
  kSwitch,
};

struct ForeignDevice {
  std::string name;  // as the tool prints it; UsableDeviceName() makes it fit for a fabric
  DeviceRole role = DeviceRole::kUnknown;
};

// One end of a cable.
struct ForeignPort {
  uint32_t device = 0;  // [ForeignNetwork::devices]
  std::string name;     // "eth0", "1"
  std::string nic;      // at hosts: ports of one NIC have the same; empty: a separate NIC
};

struct ForeignCable {
  ForeignPort a;
  ForeignPort b;
  double gbps = 0;  // 0: not known
};

struct ForeignNetwork {
  std::vector<ForeignDevice> devices;
  std::vector<ForeignCable> cables;
  // Addresses of ports, by device and name of the port.
  std::map<std::pair<uint32_t, std::string>, std::vector<IpAddress>> addresses;
  // Omissions and doubts: a sentence each, for the user.
  std::vector<std::string> notes;
};

// "leaf2" before "leaf10": runs of digits compare as numbers.
bool NaturalLess(std::string_view a, std::string_view b);

// The name with what fabrics and files can't have in it ('#', '/', spaces, …) as '-', without '-' at its ends;
// "unnamed" where nothing is left.
std::string UsableDeviceName(std::string_view name);

// "a, b, c and 4 others": at most `shown` names.
std::string ListNames(const std::vector<std::string>& names, size_t shown = 5);

}  // namespace fairlead::topology
