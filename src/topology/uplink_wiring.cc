#include "topology/uplink_wiring.h"

#include <fmt/format.h>

#include <cmath>

namespace fairlead::topology {

Status UplinkSpec::Validate() const {
  if (parallel < 1 || parallel > 1024) {
    return InvalidArgument(fmt::format("parallel uplinks: expected a number in [1, 1024], found {}", parallel));
  }
  if (!std::isfinite(speed.value()) || speed.value() < 0) {
    return InvalidArgument(fmt::format("uplink speed: expected a positive number, found {} B/s", speed.value()));
  }
  if (!std::isfinite(oversubscription) || oversubscription <= 0) {
    return InvalidArgument(fmt::format("oversubscription: expected a positive number, found {}", oversubscription));
  }
  return OkStatus();
}

void WireLayers(std::span<const NodeId> lower, std::span<const NodeId> upper, const UplinkSpec& uplink,
                FabricBuilder* builder) {
  for (const NodeId below : lower) {
    const double num_uplinks = static_cast<double>(upper.size()) * uplink.parallel;
    const BytesPerSecond speed = uplink.speed.value() > 0
                                     ? uplink.speed
                                     : builder->AttachedCapacity(below) / (uplink.oversubscription * num_uplinks);
    for (const NodeId above : upper) {
      for (uint32_t i = 0; i < uplink.parallel; ++i) builder->AddCable(below, above, speed);
    }
  }
}

void WireCores(std::span<const std::vector<NodeId>> spines_of_pods, std::span<const NodeId> cores, CoreWiring wiring,
               const UplinkSpec& uplink, FabricBuilder* builder) {
  for (const std::vector<NodeId>& spines : spines_of_pods) {
    if (wiring == CoreWiring::kFull) {
      WireLayers(spines, cores, uplink, builder);
      continue;
    }
    if (cores.empty() || cores.size() % spines.size() != 0) {
      builder->KeepError(InvalidArgument(
          fmt::format("{} cores cannot be grouped over {} spines per pod; expected a multiple, or full core wiring",
                      cores.size(), spines.size())));
      return;
    }
    const size_t group_size = cores.size() / spines.size();
    for (size_t s = 0; s < spines.size(); ++s) {
      WireLayers(std::span(spines).subspan(s, 1), cores.subspan(s * group_size, group_size), uplink, builder);
    }
  }
}

double NumCoreCables(double num_spines, double num_cores, CoreWiring wiring, const UplinkSpec& uplink) {
  return uplink.parallel * num_cores * (wiring == CoreWiring::kFull ? num_spines : 1.0);
}

Status CheckCount(std::string_view name, uint32_t value, uint32_t min) {
  if (value >= min && value <= kMaxCount) return OkStatus();
  return InvalidArgument(fmt::format("{}: expected a number in [{}, {}], found {}", name, min, kMaxCount, value));
}

}  // namespace fairlead::topology
