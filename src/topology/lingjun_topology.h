// Importer of the network of the Lingjun 2023 data set: topo.csv, one row per host with the labels of the switches
// above it.
//
//     ip,DSW,PSW,ASW        DSW -> core layer, PSW -> pod (its spines), ASW -> group of hosts under one leaf
//     0c9d…,G6,P10,S14
//
// The file has labels only: no number of switches behind a label, no speed, no port. Those are options, with our
// defaults. Hosts are named by their ip and numbered in file order; switches are named "P10/S14", "P10/spine0",
// "G6/core0". Reference: Cao et al., Crux, SIGCOMM 2024, data set of 2024-06; repository
// alibaba/alibaba-lingjun-dataset-2023.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/host_spec.h"
#include "topology/uplink_wiring.h"

namespace fairlead::topology {

struct LingjunOptions {
  // Label S1 under two PSW labels: two leaves (the default; 119 groups of at most 8 hosts), or one leaf cabled to the
  // spines of both (48 groups of up to 24).
  bool global_leaf_labels = false;
  // Two leaves per ASW label, with the host's ports split between them; needs hosts with two ports or more.
  bool dual_homed = false;
  uint32_t spines_per_pod = 8;  // switches behind a PSW label, >= 1
  uint32_t cores = 16;          // switches behind a DSW label; a multiple of spines_per_pod unless core_wiring is kFull
  CoreWiring core_wiring = CoreWiring::kGrouped;
  UplinkSpec leaf_uplink = {};
  UplinkSpec core_uplink = {};
  HostSpec host = {};  // 4 x 200 Gb/s
};

// Errors: kNotFound; kInvalidArgument with file:line for missing columns, empty fields, a host in two places and
// malformed rows; kResourceExhausted for more than `max_links` links. Cost: O(hosts log hosts) + that of the fabric.
Result<Fabric> LoadLingjunTopology(const std::string& path, const LingjunOptions& options = {},
                                   uint64_t max_links = FabricBuilder::kMaxLinks);
// The same for any stream; `name` replaces the file name in messages.
Result<Fabric> ReadLingjunTopology(std::unique_ptr<std::istream> stream, const std::string& name,
                                   const LingjunOptions& options = {}, uint64_t max_links = FabricBuilder::kMaxLinks);

}  // namespace fairlead::topology
