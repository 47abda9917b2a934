// Any bytes as a topo.csv: an error with a line, or a fabric with a host per row, never a crash or much memory.
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "topology/lingjun_topology.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = fairlead::topology;
  using fairlead::HostId;
  // The first byte chooses the options.
  const uint8_t choice = size > 0 ? data[0] : 0;
  topology::LingjunOptions options;
  options.global_leaf_labels = (choice & 1) != 0;
  options.dual_homed = (choice & 2) != 0;
  options.core_wiring = (choice & 4) != 0 ? topology::CoreWiring::kFull : topology::CoreWiring::kGrouped;
  const std::string text(reinterpret_cast<const char*>(data) + (size > 0 ? 1 : 0), size > 0 ? size - 1 : 0);
  const auto fabric =
      topology::ReadLingjunTopology(std::make_unique<std::istringstream>(text), "fuzz.csv", options, 20'000);
  if (!fabric.ok()) {
    FL_CHECK(fabric.status().message().starts_with("fuzz.csv:"));
    return 0;
  }
  for (size_t h = 0; h < fabric->num_hosts(); ++h) FL_CHECK(fabric->FindHost(fabric->HostName(HostId(h))) == HostId(h));
  return 0;
}
