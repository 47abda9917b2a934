// The contention domains of all running jobs, each simulated as far as needed.
//
// Problem     An outside event (arrival, finish, new path) touches a few jobs. Stopping and rebuilding all domains at
//             each event would cost a two-week trace most of its time, and would make every domain find its period
//             again.
// Method      A domain is advanced only when something touches it: one of its jobs is released (its paths or links
//             change, or it ends), a job of it may finish, or the run ends. Until then it stays behind in time: what
//             happens inside depends on nothing outside. After an event the partition into domains is computed for all
//             running jobs; a domain with the same jobs, in the same order of levels, and not released, is kept.
// Guarantees  the same history as if every domain were rebuilt at every event, but for rounding to the nanosecond.
// Cost        Rebuild: O(flows x hops) of all running jobs for the partition, plus building the domains that changed.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/contention_domain.h"
#include "sim/delay_account.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/run_watch.h"
#include "sim/timeline.h"

namespace fairlead::sim {

class DomainSet {
 public:
  // `busy` gets busy GPU-seconds, `delays` what domains have accounted for when they end. Cost: O(links).
  DomainSet(size_t num_links, const DomainOptions& options, BinnedSum* busy, DelayAccount* delays);

  // Simulates the job's domain up to `now` and ends it: the states of its jobs are up to date and may be changed. No
  // job may be due to finish before `now`. Nothing happens when the job is in no domain.
  void Release(JobId job, SimTime now, RunWatch& watch);
  // The same for all jobs. Returns the latest instant that a domain was simulated to: `now`, unless `watch` stopped it.
  // `fraction`: of the run that is done afterwards.
  SimTime ReleaseAll(SimTime now, double fraction, RunWatch& watch);

  // Puts every job into a domain that begins at `now`, or leaves it in the one where it is. Jobs with other routes or
  // time shifts than in the last call, and jobs that have ended, must have been released before; levels may just
  // change. Args: running, by id, all that run, with routes that live until the next call; capacities [link].
  void Rebuild(std::span<const RoutedJob> running, const IdVector<LinkId, double>& capacities, SimTime now,
               RunWatch& watch);

  // Simulates what can lead to the next finish, but not past `limit`. Returns the instant of that finish, or `limit`,
  // or the instant reached when `watch` stopped it; all jobs that finish at it have `is_finished` set.
  SimTime AdvanceUntilFinishOr(SimTime limit, RunWatch& watch);

  // Jobs that have finished since they were put into a domain, by id.
  std::vector<JobId> FinishedJobs() const;
  // Since the last Rebuild().
  bool has_released() const { return has_released_; }
  size_t size() const { return domains_.size(); }

 private:
  using Domains = std::vector<std::unique_ptr<ContentionDomain>>;

  void End(ContentionDomain& domain, SimTime now, RunWatch& watch);

  DomainOptions options_;
  BinnedSum* busy_;
  DelayAccount* delays_;
  LinkSharingFinder sharing_finder_;
  Domains domains_;
  bool has_released_ = false;
  std::map<JobId, ContentionDomain*> domain_of_;
};

}  // namespace fairlead::sim
