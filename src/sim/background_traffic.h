// What the network carries beside training, while it does: messages of a BackgroundSource, each from its begin to its
// last byte.
//
// Method      A message is in the engine as a job that computes nothing, has no GPUs and one iteration of one phase:
//             its bytes share links with those of jobs, at its level. Its flows go where the fabric sends those of jobs
//             that no policy steers: hashed, sprayed, by load.
// Guarantees  jobs lose time to it as to other jobs (LossCause::kBackground); it has no account of its own delay but
//             the time from begin to end, which its result has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "collective/phase_latency.h"
#include "sim/background_source.h"
#include "sim/carried_account.h"
#include "sim/healthy_fabric.h"
#include "sim/job_state.h"
#include "sim/run_engine.h"
#include "sim/run_result.h"
#include "sim/traffic_in_force.h"
#include "topology/router.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

struct BackgroundOptions {
  BackgroundSpec spec;
  // Of messages, as of collectives; nothing: none.
  std::optional<collective::MessageLatency> latency = {};
  bool forwards_by_rail = false;  // as flows of jobs
  // Where its flows go; null only where there is none. Outlives the simulation.
  const traffic::TrafficPolicy* routing = nullptr;
};

class BackgroundTraffic {
 public:
  struct Options {
    JobId first_id;          // of messages: above those of all jobs
    uint64_t seed = 1;       // of requests
    uint64_t hash_seed = 1;  // of the switches
    uint32_t num_bins = 1;   // of the timeline
    Detail detail = Detail::kCoupled;
  };

  // All must outlive this.
  BackgroundTraffic(const topology::Fabric& fabric, const BackgroundOptions& background, const Options& options,
                    HealthyFabric* healthy, RunEngine* engine, CarriedAccount* carried, TrafficInForce* in_force);

  // A job has got its GPUs and trains from `start` on, or gives them back.
  void BeginJob(JobId job, const model::Placement& placement, SimTime start) {
    source_.BeginJob(job, placement, start);
  }
  void EndJob(JobId job) { source_.EndJob(job); }
  // Links have changed; all jobs and messages must be up to date.
  void SetHealth(const topology::LinkHealth& health);

  SimTime Next() const { return source_.Next(); }
  // Messages that are due begin. True when some did: domains have to be rebuilt.
  bool Begin();
  // Takes its own out of those that have finished.
  void End(std::vector<JobId>* finished);

  // At the end of the run: what has become of each stream, checkpoints last.
  std::vector<BackgroundResult> Finish();

 private:
  struct InFlight {
    size_t stream = 0;
    JobId writer;
    std::unique_ptr<model::Iteration> iteration;  // the state refers to it
    std::unique_ptr<JobState> state;
  };
  struct StreamTotals {
    std::vector<double> times_s;  // of messages that have ended
    std::vector<double> slowdowns;
    double bytes = 0;
  };

  uint32_t LevelOf(size_t stream) const;
  controller::SetTraffic Route(const JobState& message) const;

  const topology::Fabric& fabric_;
  const BackgroundOptions& background_;
  Options options_;
  HealthyFabric* healthy_;
  RunEngine* engine_;
  CarriedAccount* carried_;
  TrafficInForce* in_force_;
  std::optional<topology::Router> router_;      // nothing where there is no traffic
  std::optional<topology::LinkHealth> health_;  // nothing: all healthy
  BackgroundSource source_;
  uint32_t next_id_;
  std::map<JobId, InFlight> in_flight_;
  std::vector<StreamTotals> totals_;  // [stream], checkpoints last
};

}  // namespace fairlead::sim
