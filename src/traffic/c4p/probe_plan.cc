#include "traffic/c4p/probe_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "traffic/c4p/coupon_collector.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {

using topology::Fabric;
using topology::NodeKind;

namespace {

// Place `turn` < n of a permutation of 0 .. n - 1 that follows from `hash`.
uint64_t PermutedIndex(uint64_t turn, uint64_t n, uint64_t hash) {
  uint64_t stride = 1 + hash % n;
  while (std::gcd(stride, n) != 1) ++stride;
  return (MixBits(hash) % n + turn * (stride % n)) % n;
}

}  // namespace

Status ProbePlanOptions::Validate() const {
  if (!(miss_probability > 0 && miss_probability < 1)) {
    return InvalidArgument(fmt::format("c4p: miss_probability: expected in (0, 1), found {}", miss_probability));
  }
  if (max_ports_per_pair < 1) return InvalidArgument("c4p: max_ports_per_pair: expected >= 1, found 0");
  if (max_probes_per_round < 1) return InvalidArgument("c4p: max_probes_per_round: expected >= 1, found 0");
  if (!(urgent_share > 0 && urgent_share <= 1)) {
    return InvalidArgument(fmt::format("c4p: urgent_share: expected a fraction in (0, 1], found {}", urgent_share));
  }
  return OkStatus();
}

struct ProbePlan::Round {
  const ProbeView& view;
  const std::function<void(const ProbePair&)>& visit;
  ProbeRound done;
  std::set<uint64_t> urgent_pairs;  // numbers of those planned
};

ProbePlan::ProbePlan(const Fabric& fabric, ProbePlanOptions options) : fabric_(&fabric), options_(options) {
  FL_CHECK(options.Validate().ok());
  for (LeafMesh& pairs : BuildLeafMeshes(fabric)) {
    Mesh& mesh = meshes_.emplace_back();
    mesh.pairs = std::move(pairs);
    mesh.first_pair = num_pairs_;
    mesh.urgency.assign(mesh.pairs.leaves.size(), Urgency::kNone);
    num_pairs_ += mesh.pairs.num_pairs();
  }
}

MeshEnds ProbePlan::UrgentEnds(const Mesh& mesh, const Urgent& urgent) {
  const uint64_t n = mesh.pairs.leaves.size();
  const auto other = static_cast<uint32_t>((urgent.member + 1 + urgent.next / 2) % n);
  return urgent.next % 2 == 0 ? MeshEnds{urgent.member, other} : MeshEnds{other, urgent.member};
}

bool ProbePlan::ReprobeLeaf(NodeId leaf) {
  bool found = false;
  for (uint32_t m = 0; m < meshes_.size(); ++m) {
    const std::optional<uint32_t> member = meshes_[m].pairs.Find(leaf);
    if (!member) continue;
    MarkUrgent(m, *member);
    found = true;
  }
  return found;
}

bool ProbePlan::ReprobeAround(LinkId link) {
  if (link.index() >= fabric_->num_links()) return false;
  bool found = false;
  for (const NodeId end : {fabric_->source(link), fabric_->destination(link)}) {
    found |= ReprobeLeaf(end);
    if (fabric_->tier(link) != topology::LinkTier::kSpineCore || fabric_->kind(end) != NodeKind::kSpine) continue;
    NodeId last;
    for (const LinkId down : fabric_->links_from(end)) {
      const NodeId leaf = fabric_->destination(down);
      // Parallel cables lie side by side.
      if (leaf != last && fabric_->kind(leaf) == NodeKind::kLeaf) found |= ReprobeLeaf(leaf);
      last = leaf;
    }
  }
  return found;
}

void ProbePlan::MarkUrgent(uint32_t mesh, uint32_t member) {
  const uint64_t ring = 2 * (meshes_[mesh].pairs.leaves.size() - 1);
  Urgency& urgency = meshes_[mesh].urgency[member];
  if (urgency == Urgency::kNone) {
    urgent_.push_back({.mesh = mesh, .member = member, .next = 0, .remaining = ring, .again = 0});
    urgency = Urgency::kFresh;
    return;
  }
  // Keeps its place in the queue and on the ring: else reports in every round would starve others, or its last pairs.
  const auto queued = std::find_if(urgent_.begin(), urgent_.end(),
                                   [&](const Urgent& u) { return u.mesh == mesh && u.member == member; });
  queued->again = ring - queued->remaining;
}

ProbeRound ProbePlan::NextRound(const ProbeView& view, const std::function<void(const ProbePair&)>& visit) {
  FL_CHECK(view.num_paths != nullptr && visit != nullptr);
  Round round{.view = view, .visit = visit, .done = {}, .urgent_pairs = {}};
  PlanUrgent(&round);
  PlanMesh(&round);
  ++num_rounds_;
  return round.done;
}

void ProbePlan::PlanUrgent(Round* round) {
  const auto budget = static_cast<uint64_t>(options_.urgent_share * static_cast<double>(options_.max_probes_per_round));
  while (!urgent_.empty()) {
    Urgent& urgent = urgent_.front();
    Mesh& mesh = meshes_[urgent.mesh];
    const uint64_t ring = 2 * (mesh.pairs.leaves.size() - 1);
    mesh.urgency[urgent.member] = Urgency::kUnderWay;
    for (; urgent.remaining > 0; --urgent.remaining, urgent.next = (urgent.next + 1) % ring) {
      const MeshEnds ends = UrgentEnds(mesh, urgent);
      const uint32_t other = ends.from == urgent.member ? ends.to : ends.from;
      if (mesh.urgency[other] == Urgency::kFresh) continue;  // has its turn with the other leaf
      const uint64_t number = mesh.first_pair + mesh.pairs.IndexOf(ends);
      if (round->urgent_pairs.contains(number)) continue;
      const uint64_t pairs_before = round->done.num_pairs;
      if (!TryPair(mesh, ends, budget, round->done.num_probes, round)) return;
      if (round->done.num_pairs > pairs_before) round->urgent_pairs.insert(number);
    }
    FinishFront();
  }
}

void ProbePlan::FinishFront() {
  Urgent done = urgent_.front();
  urgent_.pop_front();
  if (done.again > 0) {
    done.remaining = std::exchange(done.again, 0);
    urgent_.push_back(done);
  } else {
    meshes_[done.mesh].urgency[done.member] = Urgency::kNone;
  }
}

void ProbePlan::PlanMesh(Round* round) {
  round->done.num_urgent_pairs = round->done.num_pairs;
  const uint64_t budget =
      options_.max_probes_per_round - std::min(options_.max_probes_per_round, round->done.num_probes);
  const uint64_t before = round->done.num_probes;
  for (uint64_t visited = 0; visited < num_pairs_; ++visited) {
    const Mesh& mesh = meshes_[cursor_mesh_];
    const bool planned =
        std::binary_search(round->urgent_pairs.begin(), round->urgent_pairs.end(), mesh.first_pair + cursor_pair_);
    if (!planned && !TryPair(mesh, mesh.pairs.EndsOf(cursor_pair_), budget, round->done.num_probes - before, round))
      return;
    if (++cursor_pair_ < mesh.pairs.num_pairs()) continue;
    cursor_pair_ = 0;
    cursor_mesh_ = static_cast<uint32_t>((cursor_mesh_ + 1) % meshes_.size());
  }
}

// Returns false when the pair exceeds the rest of the budget, of which `used` probes are gone. A pair that can't be
// probed costs nothing.
bool ProbePlan::TryPair(const Mesh& mesh, MeshEnds ends, uint64_t budget, uint64_t used, Round* round) {
  const NodeId from = mesh.pairs.leaves[ends.from];
  const NodeId to = mesh.pairs.leaves[ends.to];
  ProbePair pair;
  pair.plane = mesh.pairs.plane;
  pair.source_leaf = from;
  pair.destination_leaf = to;
  pair.num_source_ports = NumPortsFor(round->view.num_paths(from, to));
  if (pair.num_source_ports == 0) return true;
  if (used > 0 && used + pair.num_source_ports > budget) return false;
  pair.source = DrawNic(mesh.pairs, ends.from, HostId(), round->view);
  if (!pair.source.valid()) return true;
  pair.destination = DrawNic(mesh.pairs, ends.to, fabric_->host_of(pair.source), round->view);
  if (!pair.destination.valid()) return true;
  pair.first_source_port =
      SteeringPort(CombineHash(CombineHash(options_.seed, num_rounds_), mesh.first_pair + mesh.pairs.IndexOf(ends)) %
                   kNumSourcePorts);
  ++round->done.num_pairs;
  round->done.num_probes += pair.num_source_ports;
  round->visit(pair);
  return true;
}

// Whose turn it is, or the next one that can probe and is not on the given host; invalid when there is none.
NicId ProbePlan::DrawNic(const LeafMesh& mesh, uint32_t member, HostId not_on, const ProbeView& view) const {
  const std::vector<NicId>& nics = mesh.nics[member];
  const uint64_t n = nics.size();
  const uint64_t leaf_hash = CombineHash(CombineHash(options_.seed, mesh.plane), mesh.leaves[member].value());
  const uint64_t turn = PermutedIndex(num_rounds_ % n, n, CombineHash(leaf_hash, num_rounds_ / n));
  for (uint64_t i = 0; i < n; ++i) {
    const NicId nic = nics[(turn + i) % n];
    const bool can_probe = !view.can_probe || view.can_probe(nic, mesh.plane);
    if (can_probe && fabric_->host_of(nic) != not_on) return nic;
  }
  return NicId();
}

uint32_t ProbePlan::NumPortsFor(uint32_t num_paths) const {
  const uint64_t most = std::min<uint64_t>(options_.max_ports_per_pair, kNumSourcePorts);
  return static_cast<uint32_t>(std::min(most, DrawsToSeeAll(num_paths, options_.miss_probability)));
}

}  // namespace fairlead::traffic::c4p
