#include "topology/rail_fabric.h"

#include <fmt/format.h>

#include <vector>

namespace fairlead::topology {

namespace {

// The switches of one rail fabric: leaves by (segment, leaf rail, plane), spines by (rail group, plane).
class RailBuilder {
 public:
  RailBuilder(const RailSpec& spec, FabricBuilder* builder)
      : spec_(spec),
        builder_(*builder),
        leaf_rails_(spec.host.nics / spec.rails_per_leaf),
        planes_(spec.shared_planes ? 1 : spec.host.ports_per_nic),
        spines_of_pods_(planes_) {}

  Status Reserve() {
    const double pods = spec_.pods;
    const double segments = pods * spec_.segments;
    const double leaves = segments * leaf_rails_ * spec_.host.ports_per_nic;
    const double spine_sets = pods * spec_.rail_groups * planes_;
    const double cores = 1.0 * planes_ * spec_.cores;
    const double leaf_cables = leaves * spec_.spines * spec_.leaf_uplink.parallel;
    const double core_cables =
        spine_sets * NumCoreCables(spec_.spines, spec_.cores, spec_.core_wiring, spec_.core_uplink);
    return builder_.Reserve(spec_.host, segments * spec_.hosts_per_segment, leaves + spine_sets * spec_.spines + cores,
                            leaf_cables + core_cables);
  }

  void AddPod() {
    // [rail group * planes_ + plane]
    std::vector<std::vector<NodeId>> leaves(size_t{spec_.rail_groups} * planes_);
    for (uint32_t s = 0; s < spec_.segments; ++s) AddSegment(&leaves);
    for (uint32_t g = 0; g < spec_.rail_groups; ++g) {
      for (uint32_t p = 0; p < planes_; ++p) {
        const std::vector<NodeId> spines = builder_.AddSwitches(NodeKind::kSpine, spec_.spines);
        WireLayers(leaves[g * planes_ + p], spines, spec_.leaf_uplink, &builder_);
        spines_of_pods_[p].push_back(spines);
      }
    }
  }

  void AddCores() {
    for (uint32_t p = 0; p < planes_; ++p) {
      const std::vector<NodeId> cores = builder_.AddSwitches(NodeKind::kCore, spec_.cores);
      WireCores(spines_of_pods_[p], cores, spec_.core_wiring, spec_.core_uplink, &builder_);
    }
  }

 private:
  void AddSegment(std::vector<std::vector<NodeId>>* leaves_of_pod) {
    const uint32_t ports = spec_.host.ports_per_nic;
    const std::vector<NodeId> leaves = builder_.AddSwitches(NodeKind::kLeaf, leaf_rails_ * ports);
    for (uint32_t h = 0; h < spec_.hosts_per_segment; ++h) {
      const HostId host = builder_.AddHost(spec_.host);
      for (uint32_t n = 0; n < spec_.host.nics; ++n) {
        for (uint32_t p = 0; p < ports; ++p) {
          builder_.AddCable(builder_.nic(host, n), leaves[n / spec_.rails_per_leaf * ports + p], spec_.host.port_speed);
        }
      }
    }
    for (uint32_t rail = 0; rail < leaf_rails_; ++rail) {
      const uint32_t group = rail * spec_.rail_groups / leaf_rails_;
      for (uint32_t p = 0; p < ports; ++p) {
        (*leaves_of_pod)[group * planes_ + p % planes_].push_back(leaves[rail * ports + p]);
      }
    }
  }

  const RailSpec& spec_;
  FabricBuilder& builder_;
  uint32_t leaf_rails_;                                           // leaves per segment and plane
  uint32_t planes_;                                               // sets of spines
  std::vector<std::vector<std::vector<NodeId>>> spines_of_pods_;  // [plane][pod and rail group]
};

Status Validate(const RailSpec& spec) {
  FL_RETURN_IF_ERROR(spec.host.Validate());
  FL_RETURN_IF_ERROR(CheckCount("pods", spec.pods, 1));
  FL_RETURN_IF_ERROR(CheckCount("segments", spec.segments, 1));
  FL_RETURN_IF_ERROR(CheckCount("hosts_per_segment", spec.hosts_per_segment, 1));
  FL_RETURN_IF_ERROR(CheckCount("spines", spec.spines, spec.rail_only && spec.segments == 1 ? 0 : 1));
  FL_RETURN_IF_ERROR(CheckCount("cores", spec.cores, 0));
  FL_RETURN_IF_ERROR(spec.leaf_uplink.Validate());
  FL_RETURN_IF_ERROR(spec.core_uplink.Validate());
  const uint32_t nics = spec.host.nics;
  if (spec.rails_per_leaf == 0 || nics % spec.rails_per_leaf != 0) {
    return InvalidArgument(
        fmt::format("rails_per_leaf: expected a divisor of the {} NICs, found {}", nics, spec.rails_per_leaf));
  }
  const uint32_t leaf_rails = nics / spec.rails_per_leaf;
  if (spec.rail_groups == 0 || leaf_rails % spec.rail_groups != 0) {
    return InvalidArgument(
        fmt::format("rail_groups: expected a divisor of the {} leaves per segment and plane, found {}", leaf_rails,
                    spec.rail_groups));
  }
  if (spec.rail_only) {
    if (spec.pods == 1 && spec.cores == 0 && spec.rail_groups == 1) return OkStatus();
    return InvalidArgument(
        "rail_only: expected one pod, no cores and no rail_groups: each rail is a network of its own");
  }
  if (spec.pods * uint64_t{spec.rail_groups} > 1 && spec.cores == 0) {
    return InvalidArgument("several pods or rail groups need cores to join them; found 0 cores");
  }
  return OkStatus();
}

}  // namespace

HostSpec RailHostSpec() {
  HostSpec host;
  host.nvlink_speed = GigabytesPerSecond(200);  // H800
  host.pcie_switches = 8;
  host.pcie_speed = GigabytesPerSecond(64);
  host.nics = 8;
  host.ports_per_nic = 2;
  host.port_speed = GigabitsPerSecond(200);
  host.gpu_peak = FlopPerSecond(989e12);
  host.gpu_model = "H800";
  return host;
}

Result<Fabric> BuildRail(const RailSpec& spec, uint64_t max_links) {
  FL_RETURN_IF_ERROR(Validate(spec));
  FabricBuilder builder(max_links);
  RailSpec built = spec;
  if (spec.rail_only) {
    builder.KeepRailsApart();
    built.rail_groups = spec.host.nics / spec.rails_per_leaf;
  }
  RailBuilder rail(built, &builder);
  FL_RETURN_IF_ERROR(rail.Reserve());
  for (uint32_t pod = 0; pod < spec.pods; ++pod) rail.AddPod();
  if (spec.cores > 0) rail.AddCores();
  return std::move(builder).Build();
}

}  // namespace fairlead::topology
