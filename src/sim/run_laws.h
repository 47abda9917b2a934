// What must hold of every run, whatever was simulated: for property tests and fuzzers.
#pragma once

#include <string>

#include "sim/run_result.h"
#include "sim/scenario.h"

namespace fairlead::sim {

// The first law that the run breaks, as text with numbers; empty: none.
std::string FindBrokenLaw(const Scenario& scenario, const RunResult& run);

// Of these, the laws of the account of delay alone.
std::string FindBrokenAccount(const RunResult& run);

// The same of two runs of one scenario, one of which has skipped periods and the other simulated every iteration.
std::string FindDisagreement(const RunResult& fast, const RunResult& exact);

}  // namespace fairlead::sim
