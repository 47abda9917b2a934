// The jobs whose traffic a live cluster decides (live_traffic.h), seen from the simulation: which they are, and what
// their counters say. Without such a cluster there are none, and nothing is ever due.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/job_record.h"
#include "sim/job_state.h"
#include "sim/live_traffic.h"

namespace fairlead::sim {

// What the counters of a job say, which must be up to date.
LiveCounters CountersOf(const JobState& job);

class LiveJobs {
 public:
  // `live` must outlive this; null: there is none.
  explicit LiveJobs(LiveTraffic* live) : live_(live) {}

  bool exist() const { return live_ != nullptr; }
  bool Contains(JobId job) const { return jobs_.contains(job); }

  // When counters are to be read next.
  SimTime next_sample() const { return live_ == nullptr ? SimTime::Never() : live_->next_sample(); }
  // Lets it go on to `limit`. Returns when its traffic changes, or `limit`.
  SimTime NextChange(SimTime limit);
  // Of one direction of a cable.
  void SetLink(LinkId link, bool is_up);

  // Args: record: of a job that has got its GPUs, and its first paths.
  void Start(const JobRecord& record);
  // Others than those started change nothing.
  void End(JobId job);
  // Args: running: all running jobs, up to date.
  void Sample(SimTime now, std::span<const JobState* const> running);
  // Those up to `now`; nothing: none.
  std::optional<std::vector<LiveJobTraffic>> TakeChanges(SimTime now);

 private:
  LiveTraffic* live_;
  std::set<JobId> jobs_;
};

}  // namespace fairlead::sim
