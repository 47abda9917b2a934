// The equal-cost paths of every flow of one job, so that they can be weighed again and again.
//
// Method      flows between two leaves differ in their ends only (candidate_finder.h): their ways through the network
//             are kept once, as a *list*, which flows refer to.
// Cost        Collect: one call of the source per flow and O(its links); the rest O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/flow.h"
#include "topology/router.h"

namespace fairlead::traffic {

// The equal-cost paths of a flow, none when failures cut it off. What it returns must stay valid until it is called
// again.
using CandidateSource = std::function<topology::PathCandidates(const model::FlowDemand& flow)>;

class JobCandidates {
 public:
  // Replaces what was collected before.
  void Collect(std::span<const model::FlowDemand> flows, const CandidateSource& source);

  size_t num_flows() const { return flows_.size(); }
  // Valid until Collect is called. No candidates: cut off.
  topology::PathCandidates Of(size_t flow) const;
  // Flows of one list have equal middles; < num_lists().
  uint32_t ListOf(size_t flow) const { return flows_[flow].list; }
  size_t num_lists() const { return lists_.size(); }
  size_t NumWays(uint32_t list) const { return lists_[list].num_candidates; }
  size_t num_most() const { return num_most_; }  // candidates of the flow that has most

  // All links of all candidates, in pieces, some of them more than once.
  // Args: visit(std::span<const LinkId>) -> bool: whether to stop. Returns whether a visit stopped.
  template <class Visit>
  bool AnyOf(Visit visit) const {
    return visit(std::span<const LinkId>(ends_)) || visit(std::span<const LinkId>(middles_));
  }

 private:
  struct Flow {
    uint32_t first_end = 0;  // head and tail, in ends_
    uint16_t head_length = 0;
    uint16_t tail_length = 0;
    uint32_t list = 0;
    uint64_t num_paths = 0;
  };
  struct List {
    size_t first_link = 0;  // in middles_
    size_t length = 0;      // of a middle
    size_t num_candidates = 0;
  };

  std::span<const LinkId> MiddlesOf(const List& list) const {
    return std::span(middles_).subspan(list.first_link, list.length * list.num_candidates);
  }
  bool IsSame(const List& list, const topology::PathCandidates& candidates) const;
  uint32_t AddList(const topology::PathCandidates& candidates);

  std::vector<Flow> flows_;
  std::vector<List> lists_;
  std::vector<LinkId> ends_;
  std::vector<LinkId> middles_;
  size_t num_most_ = 0;
};

}  // namespace fairlead::traffic
