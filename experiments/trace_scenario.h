// The two-week trace as the trace experiments simulate it: jobs from the generator, models and fabrics as the
// specification says.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "sim/run_result.h"
#include "sim/scenario.h"

namespace fairlead::experiments {

// scenarios/lingjun-two-weeks.yaml, as it is embedded. Its fabric is the two-layer Clos without oversubscription.
Result<sim::Scenario> LoadTraceScenario();

// "1:1", "2:1", …: as much slower are leaf uplinks than the hosts below them.
Result<topology::Fabric> BuildTraceClos(double oversubscription);
// Three pods of two leaves; hosts have four ports to each leaf of their pair.
Result<topology::Fabric> BuildTraceDoubleSided(double oversubscription);

// The jobs that arrive in these days, with the clock at 0 when they begin. Args: 0 <= first_day < last_day.
void CutDays(double first_day, double last_day, sim::Scenario* scenario);

// All policies of the scenario, one hash seed unless it says otherwise. `from` and `to`: the part of the experiment's
// progress that this is.
Result<sim::SimulationReport> SimulateScenario(const sim::Scenario& scenario, const experiment::RunContext& context,
                                               double from, double to);

// Mean busy fraction over the seeds of one policy; NaN when none of its runs ended.
double MeanBusy(const sim::SimulationReport& report, const std::string& policy);

}  // namespace fairlead::experiments
