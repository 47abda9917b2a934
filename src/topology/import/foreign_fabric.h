// From what another tool says is cabled to what, to a fabric: which device is a host, a leaf, a spine or a core, which
// ports are a NIC, what does not fit and is left out.
//
// Layers are distances: a switch with a cable to a host is a leaf, one further a spine, then a core. What fabrics do
// not have (cables between switches of one layer, switches without a way to a host) is left out, and a note says so.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "topology/fabric_builder.h"
#include "topology/host_spec.h"
#include "topology/import/foreign_network.h"

namespace fairlead::topology {

struct ImportOptions {
  // Patterns of the shell, matched against names of devices as the fabric has them. The first that fits decides;
  // `without` before the others.
  std::vector<std::string> without;                      // devices that are left out: storage, login nodes, management
  std::vector<std::string> hosts;                        // are hosts, whatever the file says
  std::vector<std::string> switches;                     // are switches
  std::vector<std::pair<std::string, NodeKind>> layers;  // switches of known layer: kLeaf, kSpine or kCore
  // Speed of cables of which none is known; 0: such a cable is an error.
  double default_gbps = 0;
  // Ports of a host in order of their names, so many to a NIC; 0: as the file says, else one each.
  uint32_t ports_per_nic = 0;
  // What is in a host besides its NICs, about which the formats say nothing. NICs, ports and their speed are taken
  // from the file.
  HostSpec host = {};
  uint64_t max_links = FabricBuilder::kMaxLinks;
};

struct ImportedFabric {
  std::string yaml;       // for LoadFabricFile()
  Fabric fabric;          // what it loads
  AddressBook addresses;  // of that fabric
  std::vector<std::string> notes;
};

// Args: where: the file, for messages; origin: a sentence on where the fabric comes from, for its first line. Errors:
// kInvalidArgument: a device that may or may not be a host; a cable between two hosts; a cable without a speed; no
// hosts, or hosts without a way to each other; kResourceExhausted: more than max_links. Cost: O(n log n) of devices and
// cables.
Result<ImportedFabric> BuildImportedFabric(ForeignNetwork network, const ImportOptions& options,
                                           const std::string& where, const std::string& origin);

// The file of `fabric`, and what the reader makes of it. Args: as those of WriteExplicitFabric.
Result<ImportedFabric> WriteImportedFabric(const Fabric& fabric, const HostSpec& host, const std::string& comment,
                                           uint64_t max_links = FabricBuilder::kMaxLinks);

}  // namespace fairlead::topology
