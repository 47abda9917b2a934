// Why a job has the GPUs that it has, or none: one decision of an allocation policy about it, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/document.h"
#include "report/json_value.h"
#include "scheduling/decision_record.h"

namespace fairlead::report {

struct AllocationExplanation {
  uint32_t job = 0;
  std::string name;
  std::string policy;
  std::vector<std::string> job_names;               // [JobId], of all jobs
  scheduling::DecisionRecord decision;              // the one that is explained
  std::vector<scheduling::DecisionRecord> history;  // all that changed something for the job, by time
};

// Picks the decision in force at `at_s`, or without it the first one.
// Args: records, all decisions about the job, by time.
// Errors: kNotFound when there is none, or none yet at that time: the message gives the times.
Result<AllocationExplanation> ExplainAllocation(std::span<const scheduling::DecisionRecord> records,
                                                std::optional<double> at_s);

// The decision in sentences; then unit operations, jobs ahead, history. At most kTextWidth columns.
Document RenderExplanation(const AllocationExplanation& explanation);

//   {"job", "name", "policy", "time_s", "trigger", "change", "cause", "held", "granted", "requested", "free", "total",
//    "order", "jobs", "ballots": {"attained_service", "remaining", "score", "queue"}, "operations": […],
//    "expected_start": {"s", "low_s", "high_s"}, "expected_finish": …, "ahead": […], "history": […], …}
Json ToJson(const AllocationExplanation& explanation);

}  // namespace fairlead::report
