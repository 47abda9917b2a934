// How an explanation of a job is written: for people (`fairlead explain job J`) and for programs (`--json`).
#pragma once

#include <string>

#include "report/document.h"
#include "report/job_explanation.h"
#include "report/json_value.h"

namespace fairlead::report {

// The verdict in a few sentences, then the links and the jobs on them, then what this job does to others. At most
// kTextWidth columns.
Document RenderExplanation(const JobExplanation& explanation);

//   {"job", "name", "policy", "seed", "partial", "gpus", "level", "slowdown", "bounding_link", "reason", "lost_s",
//   "gpu_hours_lost",
//    "gpu_hours_lost_per_day", "contention_s", "links": [{"id", "name", "lost_s", …, "sharers": […]}], "delayed": […]}
Json ToJson(const JobExplanation& explanation);

}  // namespace fairlead::report
