// What a job is like, from samples of its connections' and GPUs' counters on this host.
//
// Method      a sliding window of bins: bytes of each connection since the sample before are spread evenly over the
//             bins in between, and what GPUs computed likewise; MeasureProfile (job_profiler.h) makes a profile of both
//             every few seconds. Where no period can be seen in a full window, the window counts as one iteration of
//             unknown period, for which the intensity is correct.
// Cost        4 bytes for each bin of each connection; a report O(bins * connections) and two FFTs.
// Guarantees  nothing is reported before the window is full: Crux takes a first measurement for what a job is like.
//             A job without GPU counters is never reported: its intensity would be an invention.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 5 (profiling).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/units.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

struct JobMeterOptions {
  // > 0. Longer: longer iterations are seen (a period shows itself when it fits 2.5 times); shorter: changes are seen
  // sooner.
  SimDuration window = SimDuration(10'000'000'000);
  SimDuration bin = SimDuration(20'000'000);  // > 0, less than the window
  SimDuration report_period = SimDuration(3'000'000'000);
};

// Sums since some time in the past, over all GPUs of the job on this host.
struct GpuSums {
  std::string job;
  uint32_t num_gpus = 0;
  Flop flop;
  Seconds busy;
  Seconds resolution = Seconds(0);  // time between two readings of what GPUs count; 0: the sums are of this instant
};

class JobMeter {
 public:
  explicit JobMeter(const JobMeterOptions& options) : options_(options) {}

  struct ConnectionSum {
    uint64_t connection = 0;
    double bytes = 0;  // acknowledged since it was opened
  };
  // Connections that are left out have ended; an empty list ends the job. Samples in order of time.
  void AddBytes(SimTime at, const std::string& job, std::span<const ConnectionSum> sums);
  // All jobs. A sum that fell (a process ended) restarts the job's window.
  void AddGpus(SimTime at, std::span<const GpuSums> sums);

  // Nothing unless a report is due.
  std::vector<controller::JobMeasured> Report(SimTime now);
  // Never(): nothing is measured.
  SimTime NextDue() const;

 private:
  struct Series {
    double last_sum = 0;
    std::vector<float> bins;  // [bin number modulo]
  };
  struct GpuSample {
    SimTime at;
    GpuSums sums;
  };
  struct Job {
    SimTime began_at;
    SimTime sampled_at;
    SimTime reported_at;
    std::map<uint64_t, Series> connections;
    std::deque<GpuSample> gpus;
  };

  int64_t BinOf(SimTime at) const { return at.ns() / options_.bin.ns(); }
  int64_t num_bins() const { return options_.window / options_.bin; }
  static Seconds ResolutionOf(const Job& job);
  void Spread(Series* series, SimTime from, SimTime to, double bytes) const;
  void ClearBins(Series* series, SimTime from, SimTime to) const;
  std::vector<float> BusySeries(const Job& job, int64_t first_bin, size_t length) const;
  std::vector<controller::JobMeasured> Measure(const std::string& name, const Job& job) const;

  JobMeterOptions options_;
  std::map<std::string, Job> jobs_;
};

}  // namespace fairlead::agent
