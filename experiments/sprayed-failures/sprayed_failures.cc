#include "experiments/sprayed-failures/sprayed_failures.h"

#include "experiments/sprayed-failures/ethereal_cases.h"
#include "experiments/sprayed-failures/mrc_cases.h"

namespace fairlead::experiments::sprayed_failures {

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  FL_RETURN_IF_ERROR(AddFailures(context, &outcome));
  context.Report(0.3);
  FL_RETURN_IF_ERROR(AddDetection(context, &outcome));
  FL_RETURN_IF_ERROR(AddRings(context, &outcome));
  FL_RETURN_IF_ERROR(AddIncast(context, &outcome));
  context.Report(0.5);
  FL_RETURN_IF_ERROR(AddCollectives(context, &outcome));
  outcome.is_partial = context.should_stop();
  outcome.notes.emplace_back(
      "Losses of a link are steady: what is lost until they are noticed shows in the rows of detection alone.");
  return outcome;
}

}  // namespace fairlead::experiments::sprayed_failures
