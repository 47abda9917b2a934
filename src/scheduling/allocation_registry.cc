#include "scheduling/allocation_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scheduling/drf/drf.h"
#include "scheduling/fcfs/fcfs.h"
#include "scheduling/las/las.h"
#include "scheduling/optimus/optimus.h"
#include "scheduling/srtf/srtf.h"

namespace fairlead::scheduling {
namespace {

using Policy = std::unique_ptr<AllocationPolicy>;

struct Entry {
  std::string_view name;
  Result<Policy> (*create)(uint64_t seed);
};

constexpr Entry kEntries[] = {
    {"fcfs", [](uint64_t) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kBlocks); }},
    {"fcfs-skip", [](uint64_t) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kSkipped); }},
    {"srtf", [](uint64_t) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kTime); }},
    {"srsf", [](uint64_t) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kService); }},
    {"tiresias", [](uint64_t) { return las::CreateLas(); }},
    {"optimus", [](uint64_t) -> Result<Policy> { return optimus::CreateOptimus(); }},
    {"drf", [](uint64_t) -> Result<Policy> { return drf::CreateDrf(); }},
};

}  // namespace

std::vector<std::string_view> AllocationPolicyNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed) {
  const auto* const entry = std::ranges::find(kEntries, name, &Entry::name);
  if (entry != std::end(kEntries)) return entry->create(seed);
  return InvalidArgument(
      fmt::format("unknown allocation policy '{}'; known: {}", name, fmt::join(AllocationPolicyNames(), ", ")));
}

}  // namespace fairlead::scheduling
