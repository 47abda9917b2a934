// A fabric as a file that names every switch, host and cable: what LoadFabricFile() reads back as the same fabric.
#pragma once

#include <string>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/host_spec.h"

namespace fairlead::topology {

// The file, with a `fabric` of kind `explicit`.
// Args: host: what is inside of the hosts, which all of them were built of; hosts may have other numbers of GPUs and
//   NICs. comment: lines above, without '#'.
// Errors: kInvalidArgument: a name that is not UTF-8. Cost: O(nodes + links).
Result<std::string> WriteExplicitFabric(const Fabric& fabric, const HostSpec& host, const std::string& comment);

}  // namespace fairlead::topology
