// Any text as reports of lldpd: an error that names the file, or a fabric that our reader has read, never a crash or
// much memory.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/lldp_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = fairlead::topology;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // What follows a zero byte are the addresses of the first device.
  const size_t end = text.find('\0');
  auto reports = topology::SplitLldp(text.substr(0, end), "h", "fuzz.json");
  if (!reports.ok()) {
    FL_CHECK(reports.status().message().starts_with("fuzz.json:"));
    return 0;
  }
  if (end != std::string::npos) reports->front().addresses = text.substr(end + 1);
  auto network = topology::ReadLldp(*reports, "fuzz.json");
  if (!network.ok()) {
    FL_CHECK(network.status().message().starts_with("fuzz.json:"));
    return 0;
  }
  topology::ImportOptions options;
  options.default_gbps = 100;
  options.max_links = 20'000;
  options.hosts = {"h*"};
  options.switches = {"*"};
  const auto imported = topology::BuildImportedFabric(*std::move(network), options, "fuzz.json", "A test.");
  if (imported.ok()) FL_CHECK(imported->fabric.num_hosts() > 0);
  return 0;
}
