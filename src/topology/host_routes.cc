#include "topology/host_routes.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::topology {

HostRoutes::HostRoutes(const Fabric& fabric, const std::vector<uint8_t>& is_up)
    : fabric_(&fabric), is_up_(&is_up), to_nic_(fabric.num_gpus()), from_nic_(fabric.num_gpus()) {}

void HostRoutes::Reset() {
  to_nic_.assign(fabric_->num_gpus(), Segment());
  from_nic_.assign(fabric_->num_gpus(), Segment());
  segment_links_.clear();
}

std::optional<std::span<const LinkId>> HostRoutes::Find(GpuId gpu, Segment* segment, bool towards_nic) {
  if (segment->state == Segment::State::kUnknown) {
    const NodeId gpu_node = fabric_->node_of(gpu);
    const NodeId nic_node = fabric_->node_of(fabric_->nic_of(gpu));
    segment->first = static_cast<uint32_t>(segment_links_.size());
    const bool found = towards_nic ? AppendShortest(gpu_node, nic_node, &segment_links_)
                                   : AppendShortest(nic_node, gpu_node, &segment_links_);
    segment->size = static_cast<uint16_t>(segment_links_.size() - segment->first);
    segment->state = found ? Segment::State::kKnown : Segment::State::kCut;
  }
  if (segment->state == Segment::State::kCut) return std::nullopt;
  return std::span(segment_links_).subspan(segment->first, segment->size);
}

bool HostRoutes::AppendGpuToGpu(GpuId source, GpuId destination, std::vector<LinkId>* path) {
  FL_DCHECK(source != destination && fabric_->host_of(source) == fabric_->host_of(destination));
  return AppendShortest(fabric_->node_of(source), fabric_->node_of(destination), path);
}

bool HostRoutes::AppendShortest(NodeId from, NodeId to, std::vector<LinkId>* path) {
  const HostId host = fabric_->host_of(from);
  const uint32_t first = fabric_->node_of(fabric_->first_gpu(host)).value();
  const auto reached_by = [&](NodeId node) -> LinkId& { return reached_by_[node.value() - first]; };
  reached_by_.assign(fabric_->num_nodes_of(host), LinkId());
  queue_.assign(1, from);
  for (size_t head = 0; head < queue_.size() && !reached_by(to).valid(); ++head) {
    const NodeId node = queue_[head];
    const NodeKind kind = fabric_->kind(node);
    if (node != from && (kind == NodeKind::kGpu || kind == NodeKind::kNic)) continue;
    for (const LinkId link : fabric_->links_from(node)) {
      const NodeId next = fabric_->destination(link);
      if (IsNetwork(fabric_->tier(link)) || next == from || !(*is_up_)[link.index()]) continue;
      if (reached_by(next).valid()) continue;
      reached_by(next) = link;
      queue_.push_back(next);
    }
  }
  if (!reached_by(to).valid()) return false;
  const auto begin = static_cast<std::ptrdiff_t>(path->size());
  for (NodeId node = to; node != from; node = fabric_->source(reached_by(node))) path->push_back(reached_by(node));
  std::reverse(path->begin() + begin, path->end());
  return true;
}

}  // namespace fairlead::topology
