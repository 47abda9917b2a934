// Made-up simulation reports for the tests of this module: the shapes of real ones, from a toy model instead of a
// simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

struct TestReportOptions {
  uint32_t num_jobs = 39;
  uint32_t num_seeds = 5;
  uint32_t num_leaves = 40;
  uint32_t num_spines = 16;
  uint32_t nics_per_leaf = 9;
  uint32_t num_bins = 240;
  std::vector<std::string> policies = {"ecmp", "crux"};
};

// Jobs send over random uplinks under "ecmp" and over the least loaded ones under any other policy; what they lose
// follows from who shares their links. Same options, same report.
sim::SimulationReport MakeTestReport(const TestReportOptions& options);

// Two jobs, two policies, two seeds with round numbers, so that expectations can be derived by hand (in the tests).
sim::SimulationReport MakeSmallReport();

}  // namespace fairlead::report
