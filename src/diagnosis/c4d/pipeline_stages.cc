#include "diagnosis/c4d/pipeline_stages.h"

#include <map>
#include <optional>
#include <set>

namespace fairlead::diagnosis::c4d {
namespace {

// Ranks that have communicators of two with each other.
using Neighbours = std::map<model::RankId, std::set<model::RankId>>;

// Numbers the ranks of each chain or ring.
void NumberChains(const Neighbours& neighbours, std::vector<uint32_t>& stages) {
  std::set<model::RankId> seen;
  const auto follow = [&](model::RankId begin) {
    std::vector<model::RankId> chain;
    bool is_chain = true;
    for (std::optional<model::RankId> next = begin; next.has_value();) {
      const model::RankId rank = *next;
      chain.push_back(rank);
      seen.insert(rank);
      next.reset();
      is_chain &= neighbours.at(rank).size() <= 2;
      for (const model::RankId other : neighbours.at(rank)) {
        if (!next.has_value() && !seen.contains(other)) next = other;
      }
    }
    for (uint32_t position = 0; is_chain && position < chain.size(); ++position) {
      if (chain[position].index() < stages.size()) stages[chain[position].index()] = position;
    }
  };
  for (const auto& [rank, others] : neighbours) {
    if (others.size() == 1 && !seen.contains(rank)) follow(rank);
  }
  for (const auto& [rank, others] : neighbours) {
    if (!seen.contains(rank)) follow(rank);
  }
}

}  // namespace

PipelineStages::PipelineStages(const model::JobLayout& layout)
    : layout_(layout), has_pairs_(layout.communicators.size(), false) {}

void PipelineStages::Add(const model::RankReport& report) {
  for (const model::OperationRecord& operation : report.operations) {
    const bool is_pair = IsTransfer(operation.kind);
    if (is_pair && operation.communicator.index() < has_pairs_.size())
      has_pairs_[operation.communicator.index()] = true;
  }
}

std::vector<uint32_t> PipelineStages::Find(const std::function<bool(model::CommunicatorId)>& is_exchange) const {
  std::vector<uint32_t> stages(layout_.ranks.size(), 0);
  Neighbours neighbours;
  for (size_t c = 0; c < has_pairs_.size(); ++c) {
    if (!has_pairs_[c] || is_exchange(model::CommunicatorId(c))) continue;
    const auto& ranks = layout_.communicators[c].ranks;
    if (ranks.size() == 2) {
      neighbours[ranks[0]].insert(ranks[1]);
      neighbours[ranks[1]].insert(ranks[0]);
      continue;
    }
    for (uint32_t position = 0; position < ranks.size(); ++position) {
      if (ranks[position].index() < stages.size()) stages[ranks[position].index()] = position;
    }
  }
  NumberChains(neighbours, stages);
  return stages;
}

}  // namespace fairlead::diagnosis::c4d
