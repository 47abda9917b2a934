#include "experiments/crux-trace-double-sided/crux_trace_double_sided.h"

#include "experiments/trace_policies.h"
#include "experiments/trace_scenario.h"

namespace fairlead::experiments::crux_trace_double_sided {

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  return CompareTracePolicies(BuildTraceDoubleSided, context);
}

}  // namespace fairlead::experiments::crux_trace_double_sided
