// Fabrics described in YAML: a generated shape with sizes and speeds, an imported one, or every switch and cable by
// name.
//
//     fabric:
//       kind: clos2              # clos2, clos3, double-sided, rail-dual-plane, lingjun-topo, explicit
//       leaves: 6                # per pod
//       hosts_per_leaf: 2
//       spines: 8                # per pod
//       uplink: {parallel: 2, gbps: 100}     # or {oversubscription: 2}: the speed follows
//       host: {gpus: 8, nics: 4, ports_per_nic: 2, port_gbps: 100}
//       links: [{from: leaf3, to: spine1, gbps: 50}]     # cables with another speed than the rest
//       speed_scale: 0.0001      # of all speeds, those inside hosts too; a lab is such a fabric
//
// All keys, with their ranges and defaults: fabric_keys.cc, and docs/reference/scenario.md, which is made from it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/yaml_reader.h"
#include "topology/fabric.h"
#include "topology/fabric_builder.h"

namespace fairlead::topology {

struct FabricLoadOptions {
  // What relative file names in the section are relative to; empty = the working directory.
  std::string directory;
  // Larger fabrics are refused before memory is taken.
  uint64_t max_links = FabricBuilder::kMaxLinks;
};

// Reads a `fabric:` section to its end: `map` needs no Finish() of the caller's.
// Errors: one message with file and line: unknown keys, values out of range, names that don't exist, and all that
// FabricBuilder::Build refuses.
Result<Fabric> LoadFabric(YamlMap& map, const FabricLoadOptions& options = {});

// Reads a file with `fabric` as its only key. Relative file names in it are relative to its folder.
Result<Fabric> LoadFabricFile(const std::string& path);

// The same of a scenario, in which the fabric is a section or the name of such a file; its other keys do not matter.
Result<Fabric> LoadFabricOf(const std::string& path);

}  // namespace fairlead::topology
