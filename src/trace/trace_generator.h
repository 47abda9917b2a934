// Draws a trace from a profile: a workload that looks like the published one in everything that was published.
//
// Problem     a data set's marginal distributions are known, its rows are not.
// Method      1. arrivals (arrival_process)  2. model and GPUs of each job (job_mix)  3. run times (run_time_draw)
//             4. moments for the GPU jobs under a quota (quota_slots); the other jobs take the rest
//             5. drawn again until mean concurrent jobs and GPUs are near the published ones (rejection sampling).
// Cost        O(n log n) per draw, n jobs; some 5 ms for 16 days, and 2 to 4 draws on average.
// Guarantees  same profile, options and seed give the same trace, byte for byte. What accepted traces meet:
//             goodness_of_fit.h.
// Differs     see run_time_draw.h for the tail; daily totals are met exactly instead of being Poisson.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 2.2 and its data set.
#pragma once

#include "base/status.h"
#include "trace/trace.h"
#include "trace/trace_profile.h"

namespace fairlead::trace {

// Ids are "j00001", … in order of submission; times are whole seconds. The notes say what is drawn and what is assumed.
// Errors: kInvalidArgument for options out of range; kResourceExhausted for more than 10 million jobs.
Result<Trace> GenerateTrace(const TraceProfile& profile, const GeneratorOptions& options);

}  // namespace fairlead::trace
