#include "experiments/crux-trace-clos/crux_trace_clos.h"

#include "experiments/trace_policies.h"
#include "experiments/trace_scenario.h"

namespace fairlead::experiments::crux_trace_clos {

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  return CompareTracePolicies(BuildTraceClos, context);
}

}  // namespace fairlead::experiments::crux_trace_clos
