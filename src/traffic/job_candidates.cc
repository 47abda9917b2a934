#include "traffic/job_candidates.h"

#include <algorithm>
#include <unordered_map>

#include "base/random.h"

namespace fairlead::traffic {
namespace {

// Tells lists apart well enough to compare few of them.
uint64_t HashOfEnds(const topology::PathCandidates& candidates) {
  if (candidates.middles.empty()) return candidates.num_candidates;
  return CombineHash(candidates.middles.front().value(), candidates.middles.back().value());
}

}  // namespace

void JobCandidates::Collect(std::span<const model::FlowDemand> flows, const CandidateSource& source) {
  flows_.clear();
  lists_.clear();
  ends_.clear();
  middles_.clear();
  num_most_ = 0;
  flows_.reserve(flows.size());
  std::unordered_multimap<uint64_t, uint32_t> lists_by_hash;
  for (const model::FlowDemand& demand : flows) {
    const topology::PathCandidates candidates = source(demand);
    Flow flow = {.first_end = static_cast<uint32_t>(ends_.size()),
                 .head_length = static_cast<uint16_t>(candidates.head.size()),
                 .tail_length = static_cast<uint16_t>(candidates.tail.size()),
                 .list = 0,
                 .num_paths = candidates.num_paths};
    ends_.insert(ends_.end(), candidates.head.begin(), candidates.head.end());
    ends_.insert(ends_.end(), candidates.tail.begin(), candidates.tail.end());
    // Mostly that of the flow before.
    if (!flows_.empty() && IsSame(lists_[flows_.back().list], candidates)) {
      flow.list = flows_.back().list;
    } else {
      const uint64_t hash = HashOfEnds(candidates);
      const auto [first, last] = lists_by_hash.equal_range(hash);
      const auto known =
          std::find_if(first, last, [&](const auto& entry) { return IsSame(lists_[entry.second], candidates); });
      flow.list = known != last ? known->second : lists_by_hash.emplace(hash, AddList(candidates))->second;
    }
    flows_.push_back(flow);
    num_most_ = std::max(num_most_, candidates.size());
  }
}

bool JobCandidates::IsSame(const List& list, const topology::PathCandidates& candidates) const {
  const std::span<const LinkId> mine = MiddlesOf(list);
  return list.num_candidates == candidates.num_candidates && list.length == candidates.middle_length &&
         std::equal(mine.begin(), mine.end(), candidates.middles.begin(), candidates.middles.end());
}

uint32_t JobCandidates::AddList(const topology::PathCandidates& candidates) {
  lists_.push_back(
      {.first_link = middles_.size(), .length = candidates.middle_length, .num_candidates = candidates.num_candidates});
  middles_.insert(middles_.end(), candidates.middles.begin(), candidates.middles.end());
  return static_cast<uint32_t>(lists_.size() - 1);
}

topology::PathCandidates JobCandidates::Of(size_t flow) const {
  const Flow& mine = flows_[flow];
  const List& list = lists_[mine.list];
  topology::PathCandidates candidates;
  candidates.head = std::span(ends_).subspan(mine.first_end, mine.head_length);
  candidates.tail = std::span(ends_).subspan(mine.first_end + mine.head_length, mine.tail_length);
  candidates.middles = MiddlesOf(list);
  candidates.middle_length = list.length;
  candidates.num_paths = mine.num_paths;
  candidates.num_candidates = list.num_candidates;
  return candidates;
}

}  // namespace fairlead::traffic
