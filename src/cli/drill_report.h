// What `fairlead diag drill` says: text, JSON and a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/json_value.h"
#include "sim/drill/drill.h"

namespace fairlead::cli {

struct DrillReport {
  sim::DrillOptions options;
  sim::DrillRun with_diagnosis;
  std::optional<sim::DrillRun> people;  // without the diagnosis; nothing: not asked for
};

// A row for each fault and run, what was lost in all, and what happened when; lines fit report::kTextWidth.
report::Document RenderText(const DrillReport& report);

//   {"ranks", "hosts", "spares", "simulated_s",
//    "faults": [{"kind", "rank", "host", "begin_s", "magnitude"}],
//    "runs": [{"diagnosis", "iterations", "iterations_lost", "without_progress_s", "condition",
//              "faults": [{"kind", "host", "acted_s", "symptom_s", "suspected_s", "confirmed_s", "action_s",
//                          "restarted_s", "finding", "names_host", "iterations_lost"}],
//              "events": [{"at_s", "kind", "text", "host"}], "job": [{"does", "begin_s", "end_s"}]}]}
// What did not happen, or is not known, is null.
report::Json ToJson(const DrillReport& report);

// A self-contained page with a timeline of the job and of the hosts that something happened to.
std::string RenderPage(const DrillReport& report, const std::string& command_line);

// "training", "repeating", "standing", "restarting".
std::string_view Name(sim::JobActivity activity);
// "running", "steered", "waits for a spare", "needs an operator".
std::string_view Describe(controller::JobCondition condition);

inline double SecondsOf(SimTime time) { return time.seconds().value(); }

}  // namespace fairlead::cli
