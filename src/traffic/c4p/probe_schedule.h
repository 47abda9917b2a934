// When the next round of probes begins, and which hosts take part.
//
// Problem     the plan (probe_plan.h) chooses pairs among hosts that answer. Hosts come, fall silent and die, and a
//             round that asks the dead shows losses that no link has.
// Method      a host takes part for a lease's term after its last message of any kind. Once a period the plan is asked
//             for a round, which gets a number of its own; each of its tasks carries the epoch of its leaves, so that
//             late answers can be told apart.
// Guarantees  at most one round a period, with at least two hosts that were heard, and one task. Rounds are numbered
//             from 1, without a gap.
// Cost        Hear O(log hosts); Start: O(hosts) and that of the plan, once a period.
// Reference   docs/spec/c4.md section 9.2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/c4p/port_steering.h"
#include "traffic/c4p/probe_plan.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class ProbeSchedule {
 public:
  // `catalogue` and `ports` must outlive this. Args: options: probes, probe_period and lease_ttl count; valid.
  ProbeSchedule(PathCatalogue* catalogue, const PortSteering& ports, const C4pOptions& options)
      : catalogue_(catalogue),
        ports_(ports),
        period_(options.probe_period),
        term_(options.lease_ttl),
        plan_(catalogue->fabric(), options.probes) {}

  void Hear(HostId host, SimTime now) { heard_at_[host] = now; }
  // A link went down or came back: the pairs of leaves around it go first.
  void ReprobeAround(LinkId link) { plan_.ReprobeAround(link); }
  // The round that is due, if there is one. Times never go back.
  std::optional<ProbeRoundStarted> StartRound(SimTime now);

 private:
  PathCatalogue* catalogue_;
  const PortSteering& ports_;
  SimDuration period_;
  SimDuration term_;
  ProbePlan plan_;
  std::map<HostId, SimTime> heard_at_;
  SimTime next_round_;
  uint64_t num_rounds_ = 0;
};

}  // namespace fairlead::traffic::c4p
