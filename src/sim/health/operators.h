// People who look after hosts of a simulated cluster: what they have planned, and where they search when a job has
// failed. They know of a broken GPU only what findings say, and what they have seen when a search is over.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/job_allocator.h"
#include "sim/health/host_fault.h"

namespace fairlead::sim {

class Operators {
 public:
  // Args: events: what they have planned, in any order; reaction, search: as in HealthOptions.
  Operators(size_t num_hosts, std::vector<HostEvent> events, SimDuration reaction, SimDuration search);

  bool has_plans() const { return !events_.empty(); }
  SimTime Next() const;  // in the past: now; Never(): nothing is to be done
  // What hosts may be used for, as far as people say.
  controller::HostState StateOf(HostId host) const { return states_[host]; }

  void CarryOutPlans(SimTime now);
  // A finding names the host.
  void NoteSuspect(HostId host) { suspected_.insert(host); }
  // A job has failed, and this host is why.
  void Search(SimTime now, HostId host);
  // Hosts that have been searched by now.
  std::vector<HostId> TakeSearched(SimTime now);
  void Isolate(HostId host) { states_[host] = controller::HostState::kIsolated; }
  void NoteRepair(HostId host);

 private:
  const std::vector<HostEvent> events_;  // by time
  const SimDuration reaction_;
  const SimDuration search_;
  size_t next_event_ = 0;
  IdVector<HostId, controller::HostState> states_;
  std::map<HostId, SimTime> searched_at_;
  std::set<HostId> suspected_;
};

}  // namespace fairlead::sim
