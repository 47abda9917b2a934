// Any text as an Infragraph: an error that names the file, or a fabric that our reader has read, never a crash or much
// memory.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/infragraph_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = fairlead::topology;
  auto network =
      topology::ReadInfragraph(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml", 10'000);
  if (!network.ok()) {
    FL_CHECK(network.status().message().starts_with("fuzz.yaml"));
    return 0;
  }
  FL_CHECK(network->cables.size() <= 10'000);
  topology::ImportOptions options;
  options.default_gbps = 100;
  options.max_links = 20'000;
  const auto imported = topology::BuildImportedFabric(*std::move(network), options, "fuzz.yaml", "A test.");
  if (imported.ok()) FL_CHECK(imported->fabric.num_hosts() > 0);
  return 0;
}
