// The traffic of running jobs as a live cluster decides it, seen by the simulation of a cluster.
//
// With `detail: agents` no policy plans all jobs at once. Processes open connections one by one, agents ask the
// controller for paths, probes find out where ports lead, counters tell what jobs are like; some time later a job's
// flows go elsewhere, or it gets another level (hosts/host_world.h).
//
//     Start, End, SetLink, Sample --> LiveTraffic --> changed_at(), TakeChanges()
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/job.h"
#include "model/path.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// A job that has got its GPUs.
struct LiveJob {
  const model::Job& job;
  const model::Placement& placement;
  const model::Iteration& iteration;
  std::span<const model::Path> first_paths;  // [flow] until its connection is open
};

// What the counters of a job say since its start.
struct LiveCounters {
  JobId job;
  Flop flop;                      // of all its GPUs
  Seconds busy;                   // of each GPU
  std::vector<Bytes> flow_bytes;  // [flow]
};

struct LiveJobTraffic {
  JobId job;
  std::vector<model::Path> paths;  // [flow]
  uint32_t num_moved = 0;          // flows on open connections that go elsewhere now
  uint32_t level = 0;
  std::string reason;
};

// Its time runs ahead of the simulation's, to the next moment that is known beforehand or to the next change, whichever
// is first. A job that ends between is ended for it a little later, at its own time.
class LiveTraffic {
 public:
  virtual ~LiveTraffic() = default;

  // The job must not be there yet; a job that was ended may start again.
  virtual void Start(const LiveJob& job) = 0;
  virtual void End(JobId job) = 0;
  // One direction of a cable carries packets, or loses them all.
  virtual void SetLink(LinkId link, bool is_up) = 0;

  // When counters are to be read next; Never() while no job runs.
  virtual SimTime next_sample() const = 0;
  // Args: counters: of all running jobs, at `now`.
  virtual void Sample(SimTime now, std::span<const LiveCounters> counters) = 0;

  // Goes on to `limit`, or to the first moment at which paths or levels change. Until the changes are taken it does not
  // go further.
  virtual void AdvanceTo(SimTime limit) = 0;
  // When paths or levels changed; Never() if they did not since they were taken.
  virtual SimTime changed_at() const = 0;
  virtual std::vector<LiveJobTraffic> TakeChanges() = 0;
};

struct LiveTrafficOptions {
  std::string_view policy;  // of traffic/live_policy.h
  uint64_t seed = 1;        // of the switches' hashes, and of all delays
  uint32_t num_levels = 8;  // 1 .. 8
};
// Errors: kInvalidArgument: the policy, the levels or the fabric can't be had live; the message says why.
using LiveTrafficFactory = std::function<Result<std::unique_ptr<LiveTraffic>>(const topology::Fabric& fabric,
                                                                              const LiveTrafficOptions& options)>;

}  // namespace fairlead::sim
