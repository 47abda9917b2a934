#include "scheduling/allocation_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_word.h"
#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/aiturbo/aiturbo_literal.h"
#include "scheduling/drf/drf.h"
#include "scheduling/fcfs/fcfs.h"
#include "scheduling/gavel/gavel.h"
#include "scheduling/gittins/gittins.h"
#include "scheduling/las/las.h"
#include "scheduling/optimus/optimus.h"
#include "scheduling/pollux/pollux.h"
#include "scheduling/srtf/srtf.h"

namespace fairlead::scheduling {
namespace {

using Policy = std::unique_ptr<AllocationPolicy>;

struct Entry {
  std::string_view name;
  Result<Policy> (*create)(uint64_t seed);
};

constexpr Entry kEntries[] = {
    {"aiturbo", [](uint64_t) { return aiturbo::CreateAiturbo(); }},
    {"aiturbo-literal", [](uint64_t) { return aiturbo::CreateAiturboLiteral(); }},
    {"fcfs", [](uint64_t) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kBlocks); }},
    {"fcfs-skip", [](uint64_t) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kSkipped); }},
    {"srtf", [](uint64_t) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kTime); }},
    {"srsf", [](uint64_t) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kService); }},
    {"tiresias", [](uint64_t) { return las::CreateLas(); }},
    {"gittins", [](uint64_t) { return gittins::CreateGittins(); }},
    {"optimus", [](uint64_t) -> Result<Policy> { return optimus::CreateOptimus(); }},
    {"drf", [](uint64_t) -> Result<Policy> { return drf::CreateDrf(); }},
    {"gavel", [](uint64_t) { return gavel::CreateGavel(); }},
    {"pollux",
     [](uint64_t seed) -> Result<Policy> {
       pollux::PolluxOptions options;
       options.seed = seed;
       return pollux::CreatePollux(options);
     }},
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
  return InvalidArgument(UnknownName("allocation policy", name, AllocationPolicyNames()));
}

}  // namespace fairlead::scheduling
