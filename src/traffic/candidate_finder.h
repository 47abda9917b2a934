// The equal-cost paths of many flows, without asking the router for the same ones again and again.
//
// Problem     path selection weighs up to 128 paths for each of 100,000 flows. Nearly all of the time went into listing
//             them: each rank of a host has its own NIC, and every pair of NICs its own list.
// Method      where a NIC has one port, all paths of a pair begin and end with the same two links, and what is between
//             them depends on the two leaves alone. Such lists are kept, by pair of leaves, in a small table: flows of
//             one job come in order, so the next one mostly asks for the same leaves. NICs with several ports go
//             straight to the router.
// Cost        O(ports) where the table has the pair of leaves; else that of Router::FindCandidates.
// Guarantees  the same paths in the same order as Router::FindCandidates; only the split into head, middle and tail
//             differs.
// Oracle      Router::FindCandidates (candidate_finder_test.cc).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/flow.h"
#include "model/path.h"
#include "topology/router.h"

namespace fairlead::traffic {

// Thread: one per thread, like the router. Must not outlive a change of the router's health.
class CandidateFinder {
 public:
  // `router` must outlive this. Args: max_candidates >= 1 per flow.
  CandidateFinder(const topology::Router& router, size_t max_candidates);

  // The spans are valid until the next call.
  topology::PathCandidates Find(const model::FlowDemand& flow);

 private:
  static constexpr size_t kNumEntries = 64;

  // The ways between two leaves.
  struct Entry {
    NodeId from, to;
    std::vector<LinkId> middles;  // without the links to and from NICs
    size_t middle_length = 0;
    uint64_t num_paths = 0;
    size_t num_candidates = 0;
  };

  const Entry& EntryFor(const model::FlowDemand& flow, LinkId first, LinkId last);
  void Fill(const model::FlowDemand& flow, Entry* entry) const;
  bool HasOnePort(NodeId nic) const;

  const topology::Router* router_;
  size_t max_candidates_;
  std::array<Entry, kNumEntries> entries_;
  model::Path first_path_;  // of the last flow; its ends are what was returned
};

}  // namespace fairlead::traffic
