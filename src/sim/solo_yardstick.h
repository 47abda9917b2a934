// How long an iteration of a job takes alone: the yardstick of every slowdown and every loss.
//
// Problem     "Alone" depends on the paths. Against one greedy choice a job may come out faster than alone.
// Method      The job is put alone on the healthy fabric, on the paths of each policy that chooses soundly: the hash of
//             the switches, Crux, C4P. Phases of an iteration follow one another, so each phase takes the fastest
//             choice. Where the job is later given paths on which a phase would be faster alone, that is its yardstick
//             from then on (and its earlier progress is measured again).
// Guarantees  No job beats its yardstick, but for queue pairs that share bytes unequally on purpose.
// Cost        One plan for each policy; one iteration is simulated for each choice that may be faster, by the load of
//             its fullest link.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/flow.h"
#include "model/path.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "topology/router.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

// What each phase, and the whole, takes on these paths without other jobs. Every flow needs a path. Args: capacities
// [link] bytes/s.
SoloReference SimulateAlone(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                            const IdVector<LinkId, double>& capacities, Detail detail, LinkSharingFinder& finder);

class SoloYardstick {
 public:
  struct Options {
    Detail detail = Detail::kCoupled;
    uint32_t num_levels = 8;
    uint64_t hash_seed = 0;  // that of the switches
  };

  // Args: router: of the healthy fabric; policies: those with choices that count, at least one; capacities [link]
  // bytes/s of the healthy fabric. The references must outlive this.
  SoloYardstick(const topology::Router& router, std::vector<const traffic::TrafficPolicy*> policies,
                const IdVector<LinkId, double>& capacities, const Options& options);

  SoloReference Find(JobId job, const model::Iteration& iteration, uint32_t num_gpus);
  // The job has been given `paths`: where they would be faster alone, the reference follows. True when it did.
  bool Lower(const model::Iteration& iteration, const std::vector<model::Path>& paths, SoloReference* reference);

 private:
  bool MayBeFaster(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                   const SoloReference& reference);

  const topology::Router* router_;
  std::vector<const traffic::TrafficPolicy*> policies_;
  const IdVector<LinkId, double>* capacities_;
  Options options_;
  LinkSharingFinder finder_;
  IdVector<LinkId, double> phase_bytes_;  // scratch, 0 between calls
};

}  // namespace fairlead::sim
