// Of the simulation of a cluster: traffic as a live cluster decides it (live_traffic.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "sim/cluster_simulation.h"

namespace fairlead::sim {

// The plan of the policy is where flows go until their connections are open. Sockets that nobody has given a class have
// that of the last level.
void ClusterSimulation::StartLive(JobRecord& record, controller::SetTraffic action, RunWatch& watch) {
  action.level = options_.controller.num_levels - 1;
  action.priority_rank = action.level;
  action.reason = "opens its connections";
  AdoptTraffic(std::move(action), watch);
  record.is_live = true;
  options_.live->Start({.job = record.job,
                        .placement = record.placement,
                        .iteration = *record.iteration,
                        .first_paths = record.state->paths});
}

LiveCounters ClusterSimulation::CountersOf(const JobRecord& record) const {
  const JobState& state = *record.state;
  LiveCounters counters{.job = state.id,
                        .flop = state.FlopIn(state.ComputeSeconds()),
                        .busy = Seconds(state.ComputeSeconds()),
                        .flow_bytes = {}};
  counters.flow_bytes.resize(state.iteration->flows.size());
  for (size_t t = 0; t < state.transfers.size(); ++t) {
    const Bytes sent(state.SentBytes(t));
    for (const uint32_t flow : state.transfers[t].flows) counters.flow_bytes[flow] = sent;
  }
  return counters;
}

SimTime ClusterSimulation::NextLiveChange(SimTime limit) {
  if (options_.live == nullptr) return limit;
  options_.live->AdvanceTo(limit);
  return std::min(limit, options_.live->changed_at());
}

// Counters that are due are read, and what has changed is put into force.
void ClusterSimulation::FollowLive(RunWatch& watch) {
  LiveTraffic& live = *options_.live;
  if (live.next_sample() <= now_) {
    domains_.ReleaseAll(now_, FractionAt(now_), watch);
    std::vector<LiveCounters> counters;
    for (const JobId id : running_) {
      if (records_[id].is_live) counters.push_back(CountersOf(records_[id]));
    }
    live.Sample(now_, counters);
  }
  if (live.changed_at() > now_) return;
  ++live_counters_.plans;
  ControlChange change{.time_s = now_.seconds().value()};
  for (LiveJobTraffic& traffic : live.TakeChanges()) {
    change.path_changes += traffic.num_moved;
    change.level_changes += traffic.level != records_[traffic.job].state->level ? 1 : 0;
    AdoptTraffic({.job = traffic.job,
                  .paths = std::move(traffic.paths),
                  .level = traffic.level,
                  .priority_rank = traffic.level,
                  .time_shift = {},
                  .balances_shares = false,
                  .reason = std::move(traffic.reason)},
                 watch);
  }
  live_counters_.path_changes += change.path_changes;
  live_counters_.level_changes += change.level_changes;
  if (change.path_changes + change.level_changes > 0) control_.push_back(change);
}

}  // namespace fairlead::sim
