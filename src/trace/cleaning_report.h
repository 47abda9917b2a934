// What an importer met in a data set and did about it: one count per trap.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::trace {

// The traps of the Lingjun data set, in the order of reports.
enum class Trap : uint8_t {
  kNeverRan,                // no gmt_job_running
  kNoTimes,                 // of these, rows without any time
  kStillRunning,            // neither finished nor stopped
  kRanBeforeSubmitted,      // the corrupt row
  kUnreadableTime,          // a time in another form
  kEndedBeforeRunning,      // an end before the start
  kDuplicateJob,            // a job_name or id that came before
  kStoppedNotFinished,      // gmt_job_finished empty, gmt_job_stopped taken
  kZeroMinutes,             // ran for less than the resolution
  kDeleted,                 // is_deleted is 1
  kEmptyModel,              // no label
  kJobWithoutPods,          // no row in worker.csv
  kTooLarge,                // more GPUs or seconds than a trace can say, or an unprintable name
  kPodWithoutTime,          // no start or no end
  kPodWithoutDuration,      // ends when it starts, or before, or a time in another form
  kPodOnUnknownHost,        // host_ip is not in topo.csv
  kJobOnUnknownHost,        // jobs with such a pod
  kPodWithoutResources,     // RES is empty
  kPodUnreadableResources,  // RES is something else than expected
  kPodsWithoutJobKept,      // jobs in worker.csv only, with times
  kPodsWithoutJobDropped,   // the same without times
};
inline constexpr size_t kNumTraps = static_cast<size_t>(Trap::kPodsWithoutJobDropped) + 1;

struct TrapText {
  Trap trap;
  std::string_view unit;  // "job rows", "pods", "jobs"
  std::string_view what;
  std::string_view rule;              // what was done
  std::optional<uint64_t> published;  // count in the public files
};
// One per trap, in order.
std::span<const TrapText> TrapTexts();

struct CleaningReport {
  uint64_t num_job_rows = 0;
  uint64_t num_worker_rows = 0;
  uint64_t num_hosts = 0;  // rows of topo.csv; 0 without it
  uint64_t num_jobs = 0;   // in the trace
  uint64_t num_gpu_jobs = 0;
  uint64_t num_rdma_pods = 0;
  std::array<uint64_t, kNumTraps> counts{};
  // "file:line: …" of the first row of each trap; empty where there is none.
  std::array<std::string, kNumTraps> examples;
  // Labels that differ only in case, with their jobs: "GPT-13b 205, GPT-13B 33". They are kept apart.
  std::vector<std::string> case_variants;

  uint64_t count(Trap trap) const { return counts[static_cast<size_t>(trap)]; }
  // `where` counts as the first one.
  void Add(Trap trap, std::string_view where);
};

}  // namespace fairlead::trace
