// A recorded run as a timeline for Perfetto (https://ui.perfetto.dev) and chrome://tracing.
//
//   process of a job      tracks: iterations, compute, communication (its phases), held up (by which job, on which
//                         link)
//   process "links"       a counter for each link that several jobs use
//   process "cluster"     instants at which the controller re-planned
//   arrows                from the communication of the job that takes part of a link to what it holds up
//
// Format      JSON object of Chrome's trace event format: complete events (X), counters (C), instants (i), flows
//             (s, f), metadata (M); `ts` and `dur` in microseconds of simulated time, to the nanosecond.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// All runs of the report with a recording, one after the other; jobs by GPU-hours lost. One event a line.
// Cost: O(events); about 150 bytes each.
std::string RenderTimeline(const sim::SimulationReport& report);

// "the timeline leaves out 12,000 events beyond 1,000,000 of run crux; …", a sentence for each such run; empty: all is
// there.
std::vector<std::string> DescribeLeftOut(const sim::SimulationReport& report);

}  // namespace fairlead::report
