// The counters of one job over one profiling window, as the hosts of a real cluster would read them.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/job_profiler.h"
#include "base/sim_time.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "topology/fabric.h"

namespace fairlead::sim {

class ProfilingWindow {
 public:
  static constexpr int64_t kBinNs = 1'000'000;

  // Starts to watch `job` from `from` on; its state must be up to date. The job must not move in memory while it is
  // watched. Phases that never leave the GPUs' own links are not seen by NIC and PCIe counters.
  ProfilingWindow(JobState* job, const std::vector<TransferRoute>& routes, const topology::Fabric& fabric,
                  SimTime from);
  ~ProfilingWindow();
  ProfilingWindow(const ProfilingWindow&) = delete;
  ProfilingWindow& operator=(const ProfilingWindow&) = delete;

  JobId job() const { return job_->id; }
  SimTime from() const { return watch_.from; }
  // Differences since `from`; the state must be up to date at `now` > from.
  agent::WindowCounters Read(SimTime now) const;

 private:
  struct Totals {
    double compute_s = 0;                // of each GPU
    double clock_s = 0;                  // compute and bubbles
    std::vector<double> sent;            // [transfer] of each flow
    std::vector<uint64_t> phase_starts;  // [phase] runs, of which the last may be under way
  };
  Totals TakeTotals() const;

  JobState* job_;
  std::vector<double> private_stop_s_;  // [phase] seconds for which a run stops compute without using the network
  TrafficWatch watch_;
  Totals begin_;
};

}  // namespace fairlead::sim
