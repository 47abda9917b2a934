// Which rate does every flow get when the links are shared max-min fairly, and how does that change with a few flows?
//
// Problem     links with capacities C_l; active flows f with routes and weights w_f; flow f of rate r_f takes
//             multiplicity * r_f of each link on its route. Weighted max-min: no rate can grow without lowering that of
//             a flow whose normalized rate r / w is no larger.
// Notation    share[l] = normalized rate of the flows that link l bounds, its *group*; infinite when it bounds none
//             available[l] = C_l less what flows with a decided rate take; open_weight[l] = sum of multiplicity * w
//             over the *open* flows of l, those being decided
// Method      Water-filling from the previous solution. A change on a link moves the share of its group; these flows
//             take more or less of their other links, which moves the groups there, with shares no lower. So changes
//             only travel upward:
//             1. open the groups of all links touched by a change, then of all links that their flows touch;
//             2. take the touched link that fills up first, the one with the least available / open_weight, and
//                freeze its open flows at that share; repeat until no flow is open.
//             Where a link fills up below the rate of flows that were not open (arrivals, lost capacity), their groups
//             are opened late; they sit above the current water, so this is in time.
// Cost        O(changed flows * route length + touched links * log(touched links)); nothing is allocated in a steady
//             state. See BM_CompleteOne/flows:10000.
// Guarantees  Exact up to rounding (about 1e-12 relative). Same calls, same rates. Shares within 1e-12 of each
//             other are equal.
// Oracle      max_min_reference.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fluid/flow_table.h"
#include "fluid/pooled_lists.h"

namespace fairlead::fluid {

class MaxMinSolver {
 public:
  // Args  flows: shared by the solvers of all levels and outlives them; a flow is active in one of them at most.
  //       capacities: [link], bytes/s, finite, >= 0.
  MaxMinSolver(FlowTable* flows, std::span<const double> capacities);

  // Makes a flow active; it has a rate after the next Solve(). Cost: O(route).
  void Insert(uint32_t id);
  // Requires that the flow is active here.
  void Remove(uint32_t id);
  // capacity: finite, >= 0.
  void SetCapacity(uint32_t index, double capacity);

  // Something changed since the last Solve().
  bool pending() const { return !touched_.empty(); }
  // Decides all rates. The three lists say what may have changed and hold until the next Solve().
  void Solve();
  // Links with possibly changed available capacity.
  std::span<const uint32_t> changed_links() const { return changed_; }
  // Links with possibly changed share: they bounded flows before, or do so now.
  std::span<const uint32_t> changed_groups() const { return changed_groups_; }
  // Flows that are now bounded by another link than before, or for the first time.
  std::span<const uint32_t> moved_flows() const { return moved_; }

  // The questions below need that nothing is pending.
  size_t num_links() const { return links_.size(); }
  // Bytes/s; 0 for a flow that isn't active.
  double Rate(uint32_t id) const;
  // The link that bounds an active flow.
  uint32_t BottleneckLink(uint32_t id) const;
  // Normalized rate of the flows bounded by this link; infinite when there are none.
  double share(uint32_t link) const { return links_[link].share; }
  // Bytes/s that flows leave free.
  double available(uint32_t link) const { return links_[link].available; }
  double capacity(uint32_t link) const { return links_[link].capacity; }
  // Active flows that cross the link, in no particular order.
  struct Crossing {
    uint32_t flow;
    uint32_t use;  // of the flow table
  };
  std::span<const Crossing> crossings(uint32_t link) const { return {crossings_.data(link), crossings_.size(link)}; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kTolerance = 1e-12;
  static constexpr double kStaleKey = -1;
  static constexpr size_t kHeapArity = 4;
  // Strictly, ties aside.
  static bool Above(double share, double other) { return share > other * (1 + kTolerance); }

  struct Link {
    double available;
    double open_weight = 0;
    double share = kInfinity;
    double capacity;
    double key = kInfinity;  // under which the link waits in the queue; never above the share it will fill up at
    uint32_t num_open = 0;
    uint32_t num_own = 0;  // size of its group: these come first in crossings_
    bool touched = false;
    bool opened = false;     // its old group was opened, or it has been frozen
    bool regrouped = false;  // in changed_groups_
  };
  struct Candidate {
    double key;
    uint32_t link;
  };

  void Touch(uint32_t link);
  void NoteGroup(uint32_t link);
  void PlaceCrossing(uint32_t link, uint32_t position, Crossing crossing);
  void LeaveGroup(uint32_t use);
  void OpenTouchedGroups();
  void OpenGroup(uint32_t index);
  void QueueTouchedLinks();
  // At which the link is full when only its open flows still grow. Rounding can leave crumbs on a dead link, hence the
  // test.
  static double OpenShare(const Link& link) {
    return link.available <= 0 || link.capacity == 0 ? 0 : link.available / link.open_weight;
  }
  // Where a link fills up when flows that are not open give way, too.
  struct FillPoint {
    double share;
    uint32_t num_above;  // flows that are not open and would have more
  };
  FillPoint FindFillPoint(uint32_t index, double open_share) const;
  void OpenFlowsAbove(uint32_t index, double share);
  void Freeze(uint32_t index, double share);
  void FreezeFlow(FlowTable::Flow& flow, double share);
  void FillQueuedLinks();
  void FinishTouchedLinks();

  void PushCandidate(Candidate candidate);
  void SiftDown(size_t at, Candidate candidate);
  void PopTop();

  FlowTable* flows_;
  std::vector<Link> links_;
  PooledLists<Crossing> crossings_;  // [link]
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> changed_;
  std::vector<uint32_t> changed_groups_;
  size_t num_groups_opened_ = 0;  // prefix of touched_ with open groups
  std::vector<uint32_t> moved_;
  std::vector<Candidate> queue_;   // heap, least key first; entries with another key than the link's are void
  std::vector<uint32_t> lowered_;  // links whose keys late opening made stale
  bool filling_ = false;
  size_t num_open_ = 0;      // flows
  bool must_drain_ = false;  // a link may be over-full without an open flow on it
};

}  // namespace fairlead::fluid
