// What a job really gains when others, or failures of links, are taken away, beside what its account blames on them.
//
// An account divides lost time by the jobs on a link when it was lost; taking one away may free more (others then
// hinder each other less) or less (another takes its place). Both are worth knowing.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/json_value.h"
#include "sim/run_result.h"

namespace fairlead::report {

// What was taken away.
struct Removal {
  std::vector<JobId> jobs;
  std::vector<LinkId> links;              // the source of the removed events
  std::vector<std::string> descriptions;  // what users call them: `job 3 "bert"`, "events of link leaf0->spine0"
};

struct RemovalEffect {
  std::vector<std::string> removed;
  double blamed_s = 0;  // of the job's lost time, for which its account blames what was removed
  double blamed_gpu_hours = 0;
  sim::JobResult with;
  sim::JobResult without;
  // What the work done with them would have taken less; unknown (NaN) where the job did no work in either run.
  double gained_s = 0;
  double gained_gpu_hours = 0;
  std::vector<std::string> moved;  // other jobs that did not start on the hosts on which they were
};

// Args: the same job of a run with, and of one without.
RemovalEffect CompareRemoval(const sim::JobResult& with, const sim::JobResult& without, const Removal& removal);

Document RenderRemoval(const RemovalEffect& effect);
// {"removed", "blamed_s", "blamed_gpu_hours", "gained_s", "gained_gpu_hours", "iteration_s", "slowdown",
//  "slowdown_is_bound", "lost_gpu_hours", "moved_jobs"}.
Json ToJson(const RemovalEffect& effect);

}  // namespace fairlead::report
