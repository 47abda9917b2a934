// Jobs that can influence each other, simulated together between two outside events (arrival, departure, failure,
// re-plan).
//
// A domain borrows the states of its jobs, puts their transfers on one fluid network and simulates compute and
// communication phases in integer nanoseconds. It stops at a time limit or at the first instant at which a job
// finishes. Where the jobs repeat themselves it jumps whole periods ahead.
//
//   job:  compute clock 0 ---- start of phase 0 ---- start of phase 1 ---- total
//         phase p starts when the clock has reached its start and phase p-1 is over; a blocking phase stops the clock
//         it is over when its transfers have ended and its latency has passed
//         the iteration ends when the clock has reached the total and all phases are over
//
// What it consists of, each with a state of its own; the domain takes them from event to event:
//
//     domain_time      what time it is                     domain_delays    what holds the jobs up
//     domain_network   what their transfers carry          finish_bounds    when one can finish at the earliest
//     job_clocks       how far they have computed          fast_forward     what need not be simulated
//     domain_recorder  what is written down of all this
//     mltcp_weights    how hard their flows push           coflow_pacer     at which rates their hosts send
//     flowlet_chooser  which paths their flows take
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/coflow_pacer.h"
#include "sim/delay_account.h"
#include "sim/domain_delays.h"
#include "sim/domain_network.h"
#include "sim/domain_options.h"
#include "sim/domain_recorder.h"
#include "sim/domain_time.h"
#include "sim/fast_forward.h"
#include "sim/finish_bounds.h"
#include "sim/flowlet_chooser.h"
#include "sim/job_clocks.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/mltcp_weights.h"
#include "sim/run_watch.h"
#include "sim/timeline.h"

namespace fairlead::sim {

class ContentionDomain {
 public:
  // `jobs` in id order, at least one; `routes[j][t]` for jobs[j]->transfers[t]. `busy` gets busy GPU-seconds. All that
  // jobs points to, and busy, outlive the domain.
  ContentionDomain(std::vector<JobState*> jobs, const std::vector<const std::vector<TransferRoute>*>& routes,
                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities, SimTime start,
                   const DomainOptions& options, BinnedSum* busy);
  ContentionDomain(const ContentionDomain&) = delete;
  ContentionDomain& operator=(const ContentionDomain&) = delete;

  // Simulates every event up to and including `limit`, but not past the first instant at which a job finishes, nor
  // further when `watch` stops it: then now() < limit is possible.
  void AdvanceTo(SimTime limit, RunWatch& watch);

  // Ends the simulation here and writes the jobs' states back. The domain can't be used after that.
  void Suspend();

  SimTime now() const { return time_.now(); }
  bool has_finished_job() const { return has_finished_job_; }
  // No job of this domain finishes before; Never() when none has an end. Others are simulated up to this instant, so
  // that later skips respect it, too.
  SimTime FinishLowerBound() { return bounds_.Promise(NextEventNs()); }
  const DelayAccount& delays() const { return delays_.account(); }
  // False when the jobs' levels have changed in a way that changes precedence here.
  bool LevelsAreInForce() const { return ComputeLocalLevels(jobs_) == network_.levels(); }
  std::span<JobState* const> jobs() const { return jobs_; }

 private:
  void Resume();
  void ResumePhase(uint32_t j);
  int64_t NextEventNs() {
    const int64_t next_ns = std::min(network_.NextEndNs(), clocks_.NextTimerNs());
    if (weights_) return std::min(next_ns, weights_->next_ns());
    return chooser_ ? std::min(next_ns, chooser_->next_ns()) : next_ns;
  }
  void SettleSenders();
  void ApplyEventsAt(int64_t local_ns);
  void RecordParts(const FluidVariable& variable);
  void StepJob(uint32_t j);
  void StartPhase(uint32_t j);
  void EndSending(uint32_t j);
  void EndPhase(uint32_t j);
  void EndIteration(uint32_t j);
  void WriteBack(uint32_t j);

  std::vector<JobState*> jobs_;
  DomainTime time_;
  // In the order in which they need one another.
  DomainNetwork network_;
  DomainRecorder recorder_;
  JobClocks clocks_;
  DomainDelays delays_;
  FinishBounds bounds_;
  std::optional<MltcpWeights> weights_;      // none: widths alone count
  std::optional<CoflowPacer> pacer_;         // none: all send as fast as they can
  std::optional<FlowletChooser> chooser_;    // none: flows stay on their paths
  std::optional<FastForward> fast_forward_;  // none: everything is simulated
  bool has_finished_job_ = false;
  std::vector<uint32_t> due_;  // jobs to step at the current instant
};

}  // namespace fairlead::sim
