#include "topology/layer_summary.h"

#include <algorithm>
#include <map>

namespace fairlead::topology {

namespace {

// `visit` is called with every node of the layer.
template <class Visit>
void ForEachNode(const Fabric& fabric, NodeKind kind, const Visit& visit) {
  if (kind != NodeKind::kNic) {
    for (const NodeId node : fabric.switches(kind)) visit(node);
    return;
  }
  for (size_t n = 0; n < fabric.num_nics(); ++n) visit(fabric.node_of(NicId(n)));
}

void AddOversubscription(NodeId node, double below, double above, LayerSummary* layer) {
  if (below <= 0 || above <= 0) return;
  const double ratio = below / above;
  const bool is_first = !layer->most_oversubscribed.valid();
  layer->least_oversubscription = is_first ? ratio : std::min(layer->least_oversubscription, ratio);
  if (!is_first && ratio <= layer->greatest_oversubscription) return;
  layer->greatest_oversubscription = ratio;
  layer->most_oversubscribed = node;
}

LayerSummary SummarizeLayer(const Fabric& fabric, NodeKind kind) {
  LayerSummary layer;
  layer.kind = kind;
  layer.num_devices = kind == NodeKind::kNic ? fabric.num_hosts() : fabric.switches(kind).size();
  std::map<double, uint64_t> speeds;
  ForEachNode(fabric, kind, [&](NodeId node) {
    double below = 0;
    double above = 0;
    for (const LinkId link : fabric.links_from(node)) {
      if (!IsNetwork(fabric.tier(link))) continue;
      const double capacity = fabric.capacity(link).value();
      const bool is_up = fabric.kind(fabric.destination(link)) > kind;
      (is_up ? above : below) += capacity;
      if (is_up) ++speeds[capacity];
    }
    layer.capacity += BytesPerSecond(above);
    AddOversubscription(node, below, above, &layer);
  });
  for (const auto& [speed, count] : speeds) layer.uplinks.push_back({BytesPerSecond(speed), count});
  std::ranges::stable_sort(layer.uplinks, std::ranges::greater(), &CableSpeed::num_cables);
  return layer;
}

}  // namespace

std::vector<LayerSummary> SummarizeLayers(const Fabric& fabric) {
  std::vector<LayerSummary> layers;
  for (const NodeKind kind : {NodeKind::kNic, NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
    LayerSummary layer = SummarizeLayer(fabric, kind);
    if (layer.num_devices > 0) layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace fairlead::topology
