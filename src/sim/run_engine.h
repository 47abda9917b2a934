// How far a run has come: the domains of its running jobs, the instant they are brought to, and the accounts of time
// that they write.
//
//     Rebuild --> Advance to the next finish --> what happens then: Release the jobs that it changes --> Rebuild --> ..
//
// Guarantees  time never goes back. A job that was released is simulated up to now, until the next Rebuild().
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "fluid/dcqcn.h"
#include "sim/congestion_loss.h"
#include "sim/delay_account.h"
#include "sim/domain_set.h"
#include "sim/link_sharing.h"
#include "sim/run_recording.h"
#include "sim/run_watch.h"
#include "sim/timeline.h"
#include "topology/fabric.h"

namespace fairlead::sim {

class RunEngine {
 public:
  struct Options {
    SimTime end;            // of the run, if it is not over before
    uint32_t num_bins = 1;  // of the timeline
    bool fast_forward = true;
    bool extrapolate = false;
    bool aggregates = true;  // DomainOptions::aggregates
    std::optional<fluid::DcqcnOptions> dcqcn = {};
    CarriedAccount* carried = nullptr;  // null: nobody counts what links carry
    RunRecorder* recorder = nullptr;    // null: nobody asks
  };

  // `healthy` [link] are capacities; all must outlive this.
  RunEngine(const topology::Fabric& fabric, const IdVector<LinkId, double>& healthy, const Options& options);
  RunEngine(const RunEngine&) = delete;
  RunEngine& operator=(const RunEngine&) = delete;

  // To be called first: `watch` is consulted from now on, and must outlive all other calls that simulate.
  void Begin(RunWatch& watch) { watch_ = &watch; }

  SimTime now() const { return now_; }
  // Something that changes jobs is handled now: no result can be earlier.
  void NoteEvent() { last_event_ = now_; }

  // The job's state is up to date, and may be changed. Nothing happens when it is in no domain.
  void Release(JobId job) { domains_.Release(job, now_, *watch_); }
  void ReleaseAll() { domains_.ReleaseAll(now_, FractionAt(now_), *watch_); }
  // Since the last Rebuild().
  bool has_released() const { return domains_.has_released(); }
  // As DomainSet::Rebuild(). Nothing happens once the watch has said stop.
  void Rebuild(std::span<const RoutedJob> running, const IdVector<LinkId, double>& capacities);

  // Goes on to the next finish of a job, or to `limit`. Returns the jobs that have finished, by id, released.
  std::vector<JobId> Advance(SimTime limit);
  // The run is over: all states are up to date. Where the watch stopped it, time is that of the domain that came
  // furthest.
  void Finish();

  // Domains write to all of these when they end.
  DelayAccount& delays() { return delays_; }
  const BinnedSum& busy_gpu_seconds() const { return busy_gpu_seconds_; }
  // Null: congestion control is not modelled.
  const IdVector<LinkId, LinkQueue>* queues() const {
    return congestion_points_ ? &congestion_points_->queues() : nullptr;
  }

 private:
  double FractionAt(SimTime time) const { return time.seconds() / end_.seconds(); }

  SimTime end_;
  SimTime now_;
  SimTime last_event_;
  RunWatch* watch_ = nullptr;
  BinnedSum busy_gpu_seconds_;
  DelayAccount delays_;
  std::optional<CongestionPoints> congestion_points_;
  DomainSet domains_;  // after what it writes to and reads
};

}  // namespace fairlead::sim
