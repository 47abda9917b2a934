// Importer of Infragraph, the graph of infrastructure by Keysight and OCP, as YAML or JSON.
//
//     devices:   [{name: dgx, components: [{name: xpu, choice: xpu, count: 8}, {name: nic, choice: nic, count: 8}]}]
//     links:     [{name: fast, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}}]
//     instances: [{name: host, device: dgx, count: 4}, {name: leaf, device: switch, count: 2}]
//     edges:     [{ep1: {instance: "host[0:2]", component: "nic[0]"}, ep2: {instance: "leaf[0]", component:
// "port[0:2]"},
//                  scheme: one2one, link: fast}]
//
// Older files have `connections` instead of edges ("host.0.nic.0.fast.leaf.0.port.0") and other spellings of the units;
// all may be below a key `infrastructure`. A device with GPUs or NICs is a host, one with an ASIC or a switch a switch;
// where it is not in the file, instances with a cabled `nic` are hosts. What is inside devices is not read. There are
// no addresses in such files. Reference: github.com/Keysight/infragraph, versions 0.1 to 2.5.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/import/foreign_network.h"

namespace fairlead::topology {

// Args: where: the file, for messages; max_cables: more are refused before memory is taken.
// Errors: kInvalidArgument with file and line; kResourceExhausted. Cost: O(cables).
Result<ForeignNetwork> ReadInfragraph(std::string_view text, const std::string& where, uint64_t max_cables);

}  // namespace fairlead::topology
