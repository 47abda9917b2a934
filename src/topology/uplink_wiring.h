// How one layer of switches is cabled to the next: pairs of switches, and the number and speed of their cables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "topology/fabric_builder.h"

namespace fairlead::topology {

// The cables from the switches of one layer up to the next layer.
struct UplinkSpec {
  uint32_t parallel = 1;    // cables per pair of switches, [1, 1024]
  BytesPerSecond speed{0};  // of one cable; 0 = follows from the oversubscription
  // What hangs below a switch divided by its uplinks; used when `speed` is 0. 1 = the fabric never blocks inside;
  // raising it makes uplinks slower and paths more contended. Positive and finite.
  double oversubscription = 1;

  Status Validate() const;
};

// Which spines and cores are cabled.
enum class CoreWiring : uint8_t {
  // Spine s of every pod to the same num_cores/num_spines cores, as in a fat tree: a core has one cable per pod.
  kGrouped,
  // Every spine to every core.
  kFull,
};

// Cables every switch of `lower` to every switch of `upper`. Call it after everything below `lower` is cabled.
void WireLayers(std::span<const NodeId> lower, std::span<const NodeId> upper, const UplinkSpec& uplink,
                FabricBuilder* builder);

// Cables the spines of every pod to the cores. kGrouped needs cores.size() to be a multiple of each pod's number of
// spines and keeps an error in the builder otherwise.
void WireCores(std::span<const std::vector<NodeId>> spines_of_pods, std::span<const NodeId> cores, CoreWiring wiring,
               const UplinkSpec& uplink, FabricBuilder* builder);

// Cables that WireCores lays for one pod; for sizing.
double NumCoreCables(double num_spines, double num_cores, CoreWiring wiring, const UplinkSpec& uplink);

// Errors: kInvalidArgument unless min <= value <= kMaxCount, naming the count.
Status CheckCount(std::string_view name, uint32_t value, uint32_t min);
// No count of hosts or switches may be larger.
inline constexpr uint32_t kMaxCount = 10'000'000;

}  // namespace fairlead::topology
