// Any text as a workload: an error, or a workload with consistent ranges; never a crash or much memory.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/fwl_workload.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const auto workload = sim::ParseFwlWorkload(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.fwl");
  if (!workload.ok()) {
    FL_CHECK(!workload.status().message().empty());
    return 0;
  }
  for (const sim::FwlJob& job : workload->jobs) {
    for (const sim::FwlFlow& flow : workload->FlowsOf(job)) {
      FL_CHECK(flow.bytes >= 0);
      FL_CHECK(flow.num_links >= 1);
      for (uint32_t link : workload->RouteOf(flow)) FL_CHECK(link < workload->num_links);
    }
  }
  return 0;
}
