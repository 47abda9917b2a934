// The page of a trace: arrivals, run times, sizes and concurrency, each beside what was published.
#pragma once

#include <string>

#include "trace/goodness_of_fit.h"
#include "trace/trace.h"
#include "trace/trace_profile.h"

namespace fairlead::cli {

// Args: the fit is that of the trace against the profile; `command` is shown under "How to reproduce".
// A self-contained page. The trace must have a job.
std::string RenderTracePage(const trace::Trace& trace, const trace::TraceProfile& profile,
                            const trace::GoodnessOfFit& fit, const std::string& command);

}  // namespace fairlead::cli
