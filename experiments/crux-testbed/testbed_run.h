// Simulates one case of the testbed under one policy and one hash seed with the whole simulator: the one place here
// that knows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "experiments/crux-testbed/testbed_setup.h"
#include "topology/fabric.h"

namespace fairlead::experiments::crux_testbed {

// Simulated time of one run.
inline constexpr double kHorizonS = 120;

struct CaseRun {
  double busy = 0;                       // GPU utilization
  double ideal_busy = 0;                 // the same, every job alone
  std::vector<double> iteration_s;       // [job of the case]
  std::vector<double> solo_iteration_s;  // [job of the case] alone, on paths without collisions
};

// Runs cases on one fabric. Thread: safe, nothing is changed.
class Testbed {
 public:
  // The references must outlive this.
  Testbed(const topology::Fabric& fabric, const TestbedSetup& setup) : fabric_(&fabric), setup_(&setup) {}

  // Errors: kInvalidArgument when a job of the case needs a host or GPU that does not exist or is taken.
  Status Check(const TestbedCase& testbed_case) const;

  // Args: a case that passes Check; `policy` is a registered name.
  CaseRun Run(const TestbedCase& testbed_case, std::string_view policy, uint64_t seed) const;

 private:
  const topology::Fabric* fabric_;
  const TestbedSetup* setup_;
};

}  // namespace fairlead::experiments::crux_testbed
