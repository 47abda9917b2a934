// Any text as a fabric section: an error or a fabric with consistent names and paths, never a crash or much memory.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/fabric_yaml.h"
#include "topology/router.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = fairlead::topology;
  using fairlead::GpuId, fairlead::LinkId, fairlead::YamlDocument, fairlead::YamlMap;
  const auto document = YamlDocument::Parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!document.ok()) return 0;
  YamlMap root = document->Root();
  topology::FabricLoadOptions options;
  options.directory = "/nonexistent";
  options.max_links = 20'000;
  const auto fabric = topology::LoadFabric(root, options);
  if (!fabric.ok()) {
    FL_CHECK(!fabric.status().message().empty());
    return 0;
  }
  FL_CHECK(fabric->num_links() <= options.max_links);
  const LinkId last(fabric->num_links() - 1);
  FL_CHECK(fabric->FindLink(fabric->LinkName(last)) == last);
  const topology::Router router(*fabric);
  const GpuId far(fabric->num_gpus() - 1);
  if (far == GpuId(0u)) return 0;
  const uint64_t num_paths = router.CountPaths(GpuId(0u), far);
  FL_CHECK(num_paths > 0);
  fairlead::model::Path path;
  router.AppendPath(GpuId(0u), far, num_paths - 1, &path);
  FL_CHECK(fabric->destination(path.back()) == fabric->node_of(far));
  return 0;
}
