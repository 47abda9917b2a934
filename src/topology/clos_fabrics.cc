#include "topology/clos_fabrics.h"

#include <vector>

namespace fairlead::topology {

namespace {

Status Validate(const ClosSpec& spec) {
  FL_RETURN_IF_ERROR(CheckCount("pods", spec.pods, 1));
  FL_RETURN_IF_ERROR(CheckCount("leaves", spec.leaves, 1));
  FL_RETURN_IF_ERROR(CheckCount("hosts_per_leaf", spec.hosts_per_leaf, 1));
  FL_RETURN_IF_ERROR(CheckCount("spines", spec.spines, 1));
  FL_RETURN_IF_ERROR(CheckCount("cores", spec.cores, 0));
  FL_RETURN_IF_ERROR(spec.leaf_uplink.Validate());
  FL_RETURN_IF_ERROR(spec.core_uplink.Validate());
  if (spec.pods > 1 && spec.cores == 0) return InvalidArgument("several pods need cores to join them; found 0 cores");
  if (!spec.double_sided) return OkStatus();
  if (spec.leaves % 2 != 0) return InvalidArgument("double-sided: expected an even number of leaves per pod");
  if (spec.host.NumPorts() < 2)
    return InvalidArgument("double-sided: expected hosts with two ports or more, found one");
  return OkStatus();
}

Status ReserveFor(const ClosSpec& spec, FabricBuilder* builder) {
  const double pods = spec.pods;
  const double leaves = pods * spec.leaves;
  const double spines = pods * spec.spines;
  const double leaf_cables = leaves * spec.spines * spec.leaf_uplink.parallel;
  const double core_cables = pods * NumCoreCables(spec.spines, spec.cores, spec.core_wiring, spec.core_uplink);
  return builder->Reserve(spec.host, leaves * spec.hosts_per_leaf, leaves + spines + spec.cores,
                          leaf_cables + core_cables);
}

}  // namespace

Result<Fabric> BuildClos(const ClosSpec& spec, uint64_t max_links) {
  FL_RETURN_IF_ERROR(Validate(spec));
  FabricBuilder builder(max_links);
  FL_RETURN_IF_ERROR(ReserveFor(spec, &builder));
  const uint32_t leaves_of_host = spec.double_sided ? 2 : 1;
  std::vector<std::vector<NodeId>> spines_of_pods;
  for (uint32_t pod = 0; pod < spec.pods; ++pod) {
    const std::vector<NodeId> leaves = builder.AddSwitches(NodeKind::kLeaf, spec.leaves);
    for (uint32_t leaf = 0; leaf < spec.leaves; leaf += leaves_of_host) {
      for (uint32_t i = 0; i < leaves_of_host * spec.hosts_per_leaf; ++i) {
        builder.CablePorts(builder.AddHost(spec.host), spec.host, std::span(leaves).subspan(leaf, leaves_of_host));
      }
    }
    spines_of_pods.push_back(builder.AddSwitches(NodeKind::kSpine, spec.spines));
    WireLayers(leaves, spines_of_pods.back(), spec.leaf_uplink, &builder);
  }
  if (spec.cores > 0) {
    const std::vector<NodeId> cores = builder.AddSwitches(NodeKind::kCore, spec.cores);
    WireCores(spines_of_pods, cores, spec.core_wiring, spec.core_uplink, &builder);
  }
  return std::move(builder).Build();
}

}  // namespace fairlead::topology
