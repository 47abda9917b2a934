// Any text as the output of ibnetdiscover: an error that names the file, or a fabric that our reader has read, never a
// crash or much memory.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/ibnetdiscover_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = fairlead::topology;
  auto network = topology::ReadIbnetdiscover(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.txt");
  if (!network.ok()) {
    FL_CHECK(network.status().message().starts_with("fuzz.txt:"));
    return 0;
  }
  topology::ImportOptions options;
  options.default_gbps = 100;
  options.max_links = 20'000;
  const auto imported = topology::BuildImportedFabric(*std::move(network), options, "fuzz.txt", "A test.");
  if (!imported.ok()) return 0;
  FL_CHECK(imported->fabric.num_hosts() > 0);
  return 0;
}
