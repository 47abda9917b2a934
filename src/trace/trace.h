// A workload as a list of jobs: what arrives when, how large it is and how long it runs. Every source of workloads
// (data sets, generators) is turned into this form, and everything that replays one takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fairlead::trace {

struct TraceJob {
  std::string id = {};
  double submit_s = 0;         // since the start of the trace, [0, kMaxSeconds]
  double duration_s = 0;       // from its start to its end on the machine it came from, [0, kMaxSeconds]
  uint32_t gpus = 0;           // 0: a job without GPUs
  uint32_t gpus_per_host = 0;  // largest share of one host; 0 if and only if gpus is 0
  std::string model = {};      // free text of the source; may be empty

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

// 31 years; later times are a broken file.
inline constexpr double kMaxSeconds = 1e9;
inline constexpr uint32_t kMaxGpusPerJob = 1'000'000;
inline constexpr size_t kMaxNameBytes = 256;

struct Trace {
  std::string title;
  std::vector<std::string> notes;  // where it comes from and what was assumed
  std::vector<TraceJob> jobs;      // by submit_s, then id; ids are distinct
};

// What is wrong with the job alone: an empty, too long or unprintable name, a number out of range. Errors:
// kInvalidArgument, "gpus_per_host: expected …, found …".
Status ValidateJob(const TraceJob& job);

// Brings the jobs into the order of Trace::jobs.
void SortJobs(std::vector<TraceJob>* jobs);

// The end of the last day on which a job of the trace is submitted, counted in days from the start; 0 without jobs.
uint32_t NumDays(const std::vector<TraceJob>& jobs);

inline constexpr double kSecondsPerDay = 86400;

}  // namespace fairlead::trace
