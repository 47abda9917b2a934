#include "diagnosis/c4d/waits_of_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "diagnosis/c4d/death_watch.h"
#include "diagnosis/c4d/wording.h"

namespace fairlead::diagnosis::c4d {

namespace {

using model::Culprit;
using model::CulpritKind;
using model::RankId;
using model::TransferPhase;

bool IsConnection(const Culprit& culprit, RankId from, RankId to) {
  return culprit.kind == CulpritKind::kConnection && culprit.rank == from && culprit.peer == to;
}

// Nodes are made when they are first named.
class WaitPainter {
 public:
  WaitPainter(const JobPicture& picture, const model::Finding& finding) : picture_(picture), finding_(finding) {}

  uint32_t RankNode(RankId rank) {
    const auto [node, is_new] = ranks_.try_emplace(rank, static_cast<uint32_t>(waits_.nodes.size()));
    if (is_new) {
      const Culprits& culprits = finding_.culprits;
      const bool is_culprit =
          std::any_of(culprits.begin(), culprits.end(), [&](const Culprit& c) { return IsRank(c, rank); });
      waits_.nodes.push_back({.ranks = {rank}, .label = "", .is_culprit = is_culprit});
    }
    return node->second;
  }

  uint32_t OperationNode(std::string label) {
    waits_.nodes.push_back({.ranks = {}, .label = std::move(label), .num_operations = 1});
    return static_cast<uint32_t>(waits_.nodes.size() - 1);
  }

  // A rank waits for data that is on its way.
  uint32_t LinkNode(RankId from, RankId to) {
    const uint32_t node = OperationNode(fmt::format("data from {} to {}", from.value(), to.value()));
    const Culprits& culprits = finding_.culprits;
    waits_.nodes[node].is_culprit = std::any_of(culprits.begin(), culprits.end(), [&](const Culprit& culprit) {
      return IsConnection(culprit, from, to) || IsElementOf(culprit, from, to);
    });
    return node;
  }

  void AddEdge(uint32_t from, uint32_t to) { waits_.edges.emplace_back(from, to); }
  model::WaitPicture Take() { return std::move(waits_); }

 private:
  using Culprits = std::vector<Culprit>;

  const model::RankPlace& PlaceOf(RankId rank) const { return picture_.layout().ranks[rank.index()]; }

  bool IsRank(const Culprit& culprit, RankId rank) const {
    if (culprit.kind == CulpritKind::kRank) return culprit.rank == rank;
    return culprit.kind == CulpritKind::kHost && culprit.host == PlaceOf(rank).host;
  }

  // Whether the connection leaves or enters through a NIC that is a culprit.
  bool IsElementOf(const Culprit& culprit, RankId from, RankId to) const {
    if (!culprit.nic.valid()) return false;
    const bool sends = PlaceOf(from).nic == culprit.nic && culprit.kind != CulpritKind::kNicReceive;
    const bool receives = PlaceOf(to).nic == culprit.nic && culprit.kind != CulpritKind::kNicSend;
    return sends || receives;
  }

  const JobPicture& picture_;
  const model::Finding& finding_;
  model::WaitPicture waits_;
  std::map<RankId, uint32_t> ranks_;
};

void PaintOperations(const JobPicture& picture, const WaitGraph& graph, WaitPainter* painter) {
  const size_t num_ranks = picture.ranks().size();
  std::vector<uint32_t> nodes(graph.operations.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& operation = graph.operations[i];
    nodes[i] = painter->OperationNode(
        DescribeOperation(picture.layout(), operation.communicator, operation.kind, operation.sequence));
  }
  const auto node_of = [&](size_t node) {
    return node < num_ranks ? painter->RankNode(RankId(node)) : nodes.at(node - num_ranks);
  };
  for (size_t from = 0; from < graph.edges.size(); ++from) {
    for (const uint32_t to : graph.edges[from]) painter->AddEdge(node_of(from), node_of(to));
  }
}

// For whom the oldest message of a connection waits.
void PaintConnection(const JobPicture& picture, RankId rank, const ConnectionState& connection, WaitPainter* painter) {
  const RankId peer = connection.key.peer;
  switch (picture.PhaseOf(rank, connection)) {
    case TransferPhase::kSendWaitsForPeer:
    case TransferPhase::kReceivePosted:
      painter->AddEdge(painter->RankNode(rank), painter->RankNode(peer));
      break;
    case TransferPhase::kSendOnWire:
      painter->AddEdge(painter->RankNode(rank), painter->LinkNode(rank, peer));
      break;
    default:
      break;
  }
}

}  // namespace

model::WaitPicture PictureWaits(const JobPicture& picture, const model::Finding& finding, const WaitGraphQuery& query) {
  WaitPainter painter(picture, finding);
  if (finding.syndrome == model::Syndrome::kCommHang) {
    for (size_t rank = 0; rank < picture.ranks().size(); ++rank) {
      for (const ConnectionState& connection : picture.ranks()[RankId(rank)].connections) {
        if (connection.key.communicator != finding.communicator) continue;
        PaintConnection(picture, RankId(rank), connection, &painter);
      }
    }
  } else {
    const auto hindrances = FindHindrances(picture, query.now, query.has_clock, query.silence);
    PaintOperations(picture, BuildWaitGraph(picture, hindrances, query), &painter);
  }
  return painter.Take();
}

}  // namespace fairlead::diagnosis::c4d
