// Which paths, levels, shifts and shares of queue pairs running jobs have, and what links can carry: what domains are
// made from.
//
// Guarantees  what changes is settled first: bytes are booked on the paths that carried them (carried_account.h), the
//             job's domain is simulated up to now, and its yardstick follows where its new paths are faster alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "model/path.h"
#include "sim/carried_account.h"
#include "sim/healthy_fabric.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/queue_pair_shares.h"
#include "sim/run_engine.h"
#include "topology/fabric.h"

namespace fairlead::sim {

class TrafficInForce {
 public:
  // Args: payload_share: of the speed of healthy network links, (0, 1]; seed: of the instants at which shares of queue
  // pairs are looked at; reorder: RoutingCosts::reorder.
  struct Options {
    double payload_share = 1;
    uint64_t seed = 1;
    SimDuration reorder;
  };

  // All must outlive this.
  TrafficInForce(const topology::Fabric& fabric, const Options& options, HealthyFabric* healthy, RunEngine* engine,
                 CarriedAccount* carried);

  // The job begins to run, and has no paths yet. Its state must outlive its time here.
  void Add(JobState* job);
  void Remove(JobId job);

  // Paths, level, time shift, what senders do by themselves, and whether queue pairs balance their shares.
  void Adopt(controller::SetTraffic action);
  // All running jobs must be up to date. Links that change affect all of them: failures are rare. Flows lose their
  // shares on dead links that nobody has noticed (path_bundle.h); `unnoticed` holds until the next call.
  void SetHealth(const topology::LinkHealth& health, const std::vector<LinkId>& unnoticed);

  // When shares of queue pairs are to be looked at next; Never(): they are all equal, or settled.
  SimTime NextLook() const;
  // Queue pairs of the jobs that are due shift bytes among themselves.
  void Look();
  // Something else has changed: jobs, paths, links.
  void Wake();

  // [flow] as they were adopted; JobState::paths without the parts that break off where nobody has noticed yet.
  const std::vector<model::Path>& PlannedPathsOf(JobId job) const;
  // [transfer]
  const std::vector<TransferRoute>& RoutesOf(JobId job) const { return jobs_.at(job).routes; }
  // All running jobs but those that are stuck, by id; valid until the next change.
  std::vector<RoutedJob> Routed() const;
  // [link] bytes/s of payload.
  const IdVector<LinkId, double>& capacities() const { return capacities_; }

 private:
  struct Traffic {
    JobState* job = nullptr;
    std::optional<std::vector<model::Path>> planned = {};  // where parts of them are broken off in the job's
    std::vector<TransferRoute> routes = {};                // [transfer] under the paths and capacities in force
    std::vector<LinkDemand> demand = {};                   // of the routes
    std::unique_ptr<QueuePairShares> shares = {};          // null where queue pairs carry equal shares
  };

  void Route(Traffic& traffic) const;
  bool Send(Traffic& traffic, std::vector<model::Path> planned);
  void SetPaths(Traffic& traffic, std::vector<model::Path> paths);
  void SetTimeShift(JobState& job, const std::optional<traffic::TimeShift>& shift);
  void SetBalancing(Traffic& traffic, bool balances);

  const topology::Fabric& fabric_;
  Options options_;
  HealthyFabric* healthy_;
  RunEngine* engine_;
  CarriedAccount* carried_;
  IdVector<LinkId, double> capacities_;
  std::vector<LinkId> unnoticed_;  // ascending
  std::map<JobId, Traffic> jobs_;
  uint32_t num_balanced_ = 0;  // jobs with `shares`
};

}  // namespace fairlead::sim
