#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_word.h"
#include "scheduling/hived/hived.h"
#include "scheduling/locality_first/locality_first.h"
#include "scheduling/muri/muri.h"
#include "scheduling/placement_policy.h"
#include "scheduling/random_placement/random_placement.h"

namespace fairlead::scheduling {

std::vector<std::string_view> PlacementPolicyNames() { return {"locality-first", "random", "hived", "muri"}; }

std::vector<std::string_view> OfferingPolicyNames() {
  std::vector<std::string_view> names = PlacementPolicyNames();
  std::erase_if(names, [](std::string_view name) { return !CreatePlacementPolicy(name, 1).value()->OffersSeveral(); });
  return names;
}

Result<std::unique_ptr<PlacementPolicy>> CreatePlacementPolicy(std::string_view name, uint64_t seed) {
  if (name == "locality-first") return locality_first::CreateLocalityFirst(seed);
  if (name == "random") return random_placement::CreateRandomPlacement(seed);
  if (name == "hived") return hived::CreateHived();
  if (name == "muri") return muri::CreateMuri();
  return InvalidArgument(UnknownName("placement policy", name, PlacementPolicyNames()));
}

}  // namespace fairlead::scheduling
