#include "traffic/candidate_finder.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::traffic {

using topology::PathCandidates;

CandidateFinder::CandidateFinder(const topology::Router& router, size_t max_candidates)
    : router_(&router), max_candidates_(max_candidates) {
  FL_CHECK(max_candidates >= 1);
}

PathCandidates CandidateFinder::Find(const model::FlowDemand& flow) {
  const uint64_t num_paths = router_->CountPaths(flow.source, flow.destination);
  if (num_paths <= 1) return router_->FindCandidates(flow.source, flow.destination, 1);
  const topology::Fabric& fabric = router_->fabric();
  const auto is_network = [&](LinkId link) { return topology::IsNetwork(fabric.tier(link)); };
  first_path_.clear();
  router_->AppendPath(flow.source, flow.destination, 0, &first_path_);
  const auto first = std::find_if(first_path_.begin(), first_path_.end(), is_network);
  const auto last = std::find_if(first_path_.rbegin(), first_path_.rend(), is_network);
  if (!HasOnePort(fabric.source(*first)) || !HasOnePort(fabric.destination(*last))) {
    return router_->FindCandidates(flow.source, flow.destination, max_candidates_);
  }
  const Entry& entry = EntryFor(flow, *first, *last);
  FL_DCHECK(entry.num_paths == num_paths);
  const std::span<const LinkId> links(first_path_);
  PathCandidates candidates;
  candidates.head = links.first(static_cast<size_t>(first - first_path_.begin()) + 1);
  candidates.tail = links.last(static_cast<size_t>(last - first_path_.rbegin()) + 1);
  candidates.middles = entry.middles;
  candidates.middle_length = entry.middle_length;
  candidates.num_paths = entry.num_paths;
  candidates.num_candidates = entry.num_candidates;
  return candidates;
}

bool CandidateFinder::HasOnePort(NodeId nic) const {
  size_t num_ports = 0;
  for (const LinkId link : router_->fabric().links_from(nic)) {
    if (topology::IsNetwork(router_->fabric().tier(link))) ++num_ports;
  }
  return num_ports == 1;
}

const CandidateFinder::Entry& CandidateFinder::EntryFor(const model::FlowDemand& flow, LinkId first, LinkId last) {
  const NodeId from = router_->fabric().destination(first);
  const NodeId to = router_->fabric().source(last);
  Entry& entry = entries_[CombineHash(from.value(), to.value()) % kNumEntries];
  if (entry.from != from || entry.to != to) {
    entry.from = from;
    entry.to = to;
    Fill(flow, &entry);
  }
  return entry;
}

void CandidateFinder::Fill(const model::FlowDemand& flow, Entry* entry) const {
  const PathCandidates all = router_->FindCandidates(flow.source, flow.destination, max_candidates_);
  entry->num_paths = all.num_paths;
  entry->num_candidates = all.size();
  entry->middle_length = all.middle_length - 2;
  entry->middles.clear();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::span<const LinkId> between = all.middle(i).subspan(1, entry->middle_length);
    entry->middles.insert(entry->middles.end(), between.begin(), between.end());
  }
}

}  // namespace fairlead::traffic
