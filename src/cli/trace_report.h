// What the trace commands print: goodness of fit, cleaning, and summaries of a trace, for people and for programs.
#pragma once

#include <string>

#include "report/document.h"
#include "report/json_value.h"
#include "trace/cleaning_report.h"
#include "trace/goodness_of_fit.h"
#include "trace/trace.h"

namespace fairlead::cli {

// Two lines: jobs, GPU jobs, days, run times and GPUs, and what is there at once.
std::string RenderTraceSummary(const trace::Trace& trace);

// A table of all rows, of the days only the worst, and a sentence with the verdict.
report::Document RenderFit(const trace::GoodnessOfFit& fit);
//   {"trace", "against", "jobs", "gpu_jobs", "days", "outside", "rows": [{"marginal", "quantity", "unit", "published",
//   "ours",
//    "measure", "distance", "band", "inside", "note"}]}; "inside" is null for rows that are not judged.
report::Json FitToJson(const trace::GoodnessOfFit& fit);

// A table of the traps that were met, and how many the public files have.
report::Document RenderCleaning(const trace::CleaningReport& report);
//   {"job_rows", "worker_rows", "hosts", "jobs", "gpu_jobs", "rdma_pods", "traps": [{"what", "unit", "count",
//   "published",
//    "rule", "example"}], "case_variants": […]}
report::Json CleaningToJson(const trace::CleaningReport& report);

}  // namespace fairlead::cli
