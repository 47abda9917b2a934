// A fluid network in virtual time: which flows run at which rate now, and when does the next one end?
//
// Links have a capacity per direction and no latency. Strict priority between levels, weighted max-min inside a level
// (Crux, section 2). Between changes rates are constant. Changes are gathered and solved when a rate or a completion is
// asked for, so that everything that happens at one instant costs one solution.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "fluid/completion_queue.h"
#include "fluid/flow_table.h"
#include "fluid/max_min_solver.h"

namespace fairlead::fluid {

class FlowNetwork {
 public:
  // More are a caller's error; each level in use costs about 120 bytes per link.
  static constexpr uint32_t kMaxLevels = 64;

  // capacities: [link], bytes/s, finite, >= 0.
  explicit FlowNetwork(std::vector<double> capacities);

  // Makes room for this many flows with routes of this many links in total; saves memory, changes nothing.
  void Reserve(size_t num_flows, size_t num_uses);
  // Registers an idle flow; it may be started any number of times. Ids are dense: 0, 1, 2, …
  // Args  route: at least one link. level: 0 (most important) .. kMaxLevels-1. weight: > 0.
  FlowId AddFlow(std::span<const LinkUse> route, uint32_t level = 0, double weight = 1);

  // Starts an idle flow at now(). bytes: finite, >= 0. Nothing to send ends at now(), anything else at least 1 ns
  // later.
  void Start(FlowId id, double bytes);
  // Stops an active flow without completing it.
  void Cancel(FlowId flow);
  // Allowed while the flow is active: the rest continues at the new level, over the new route.
  void SetLevel(FlowId id, uint32_t level);
  void SetRoute(FlowId id, std::span<const LinkUse> route);
  // weight: > 0. The rest of an active flow continues with it.
  void SetWeight(FlowId id, double weight);
  // Failure (0), degradation, repair.
  void SetCapacity(uint32_t link, double bytes_per_second);

  SimTime now() const { return now_; }
  // When the next active flow ends, to the nearest nanosecond; Never() when nothing will end as things are.
  SimTime NextCompletion();
  // Moves the clock to `t`, now() <= t <= NextCompletion(), and appends the flows that end at `t` in order of id. They
  // are idle afterwards. A rest of them below the rounding to a nanosecond is dropped.
  void AdvanceTo(SimTime t, std::vector<FlowId>* completed);

  bool active(FlowId flow) const {
    const FlowTable::Flow& f = flows_.flow(flow.value());
    return f.active && !f.ending;
  }
  uint32_t level(FlowId flow) const { return levels_of_[flow.index()]; }
  // Bytes/s; 0 when idle.
  double Rate(FlowId flow);
  // Bytes; 0 when idle.
  double Remaining(FlowId flow) const;
  // Until an active flow ends at present rates, to its last byte; infinite when it is stalled.
  double SecondsLeft(FlowId flow) {
    if (pending_) Solve();
    return completions_.SecondsLeft(flow.value(), now_);
  }
  // The full link that bounds an active flow; kNoLink when it is idle.
  uint32_t BottleneckLink(FlowId flow);
  // Bytes/s over the link, of all levels.
  double Load(uint32_t link);
  double capacity(uint32_t link) const { return solvers_[0]->capacity(link); }
  // A bit for each observer of the rates over a link, up to 64; 0 at first.
  void SetWatchers(uint32_t link, uint64_t watchers);
  // The watchers of links over which the rate of a flow may have changed since the last call.
  uint64_t TakeChanged();
  // Appends the active flows that cross the link: by level, inside a level in no particular (but reproducible) order.
  void AppendFlowsOn(uint32_t link, std::vector<FlowId>* flows) const;

 private:
  void Solve();
  void SolveLevel(uint32_t level);
  void PassDownLeftovers(uint32_t level);
  void AddLevelsUpTo(uint32_t level);
  uint32_t GroupOf(uint32_t level, uint32_t link) const { return level * num_links_ + link; }
  double Leftover(const MaxMinSolver& solver, uint32_t link) const;
  // Out of the solver and of its group, keeping its work.
  void Suspend(uint32_t flow);
  // A flow that has ended leaves the solver with the next solution, not before: one that starts again at the same
  // instant (the next message of a ring edge) then changes nothing that would have to be solved.
  void RemoveEnded(uint32_t flow);

  uint32_t num_links_;
  FlowTable flows_;
  std::vector<uint32_t> levels_of_;  // [flow]
  std::vector<std::unique_ptr<MaxMinSolver>>
      solvers_;  // [level], at least one; each sees what the levels before it leave
  CompletionQueue completions_;
  std::vector<uint64_t> watchers_;  // [link]; empty: no watchers
  uint64_t changed_ = 0;            // watchers to be notified
  std::vector<uint32_t> ending_;    // flows; those started again since are no longer marked so
  SimTime now_;
  bool pending_ = false;
};

}  // namespace fairlead::fluid
