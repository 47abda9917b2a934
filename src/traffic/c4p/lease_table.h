// Leases: which holders still use their reservations, and which have fallen silent.
//
// Problem     an agent that dies can't give back what its jobs hold. Its heartbeats have to be cheap: there are
//             thousands of hosts with several jobs each, and tens of thousands of connections per job.
// Method      one lease per host and job: the processes of a job on a host start and end together, and its connections
//             are named within it. The pair is the lease's name, so a restarted service needs no list of numbers. A
//             heartbeat renews all leases of a host by one time stamp; a lease ends `ttl` after the later of its own
//             stamp and its host's. Leases wait in a queue under a deadline that may be out of date, never too late:
//             the first one either has ended, or goes back under its true deadline.
// Cost        RenewAll O(1); the others O(log leases), and Expire that for each lease once per ttl, amortized.
// Guarantees  a lease is held from Grant until Release or Expire, which names it once; Expire names those and only
//             those whose deadline has come, in order of deadline, then name.
// Oracle      lease_table_test: a list that is searched from end to end.
// Reference   docs/spec/c4.md sections 9.3 and 9.5.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class LeaseTable {
 public:
  // Args: ttl > 0. Times of all calls never go back (steady_time.h).
  explicit LeaseTable(SimDuration ttl);

  // Begins or renews a lease.
  void Grant(LeaseId id, SimTime now);
  // Returns false for a lease that is not held.
  bool Renew(LeaseId id, SimTime now);
  // Renews whatever the host holds; returns how many that are.
  size_t RenewAll(HostId host, SimTime now);
  // Returns false for a lease that is not held.
  bool Release(LeaseId id);
  // Ends the leases with a deadline of `now` or earlier, and names them.
  std::vector<LeaseId> Expire(SimTime now);

  bool IsHeld(LeaseId id) const { return leases_.contains(id); }
  // Nothing for a lease that is not held.
  std::optional<SimTime> Deadline(LeaseId id) const;
  size_t CountOf(HostId host) const;
  size_t size() const { return leases_.size(); }
  SimDuration ttl() const { return ttl_; }

 private:
  struct Lease {
    SimTime renewed_at;
    SimTime queued_under;  // <= the true deadline
  };
  struct Host {
    SimTime renewed_at;
    size_t num_leases = 0;
  };

  SimTime DeadlineOf(LeaseId id, const Lease& lease) const;
  void Erase(std::map<LeaseId, Lease>::iterator lease);

  SimDuration ttl_;
  std::map<LeaseId, Lease> leases_;
  std::unordered_map<HostId, Host> hosts_;  // those with leases
  std::set<std::pair<SimTime, LeaseId>> queue_;
};

}  // namespace fairlead::traffic::c4p
