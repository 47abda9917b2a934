// What an elastic simulation runs: profiles of applications, and jobs that train them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/elastic/application_profile.h"

namespace fairlead::sim {

using ProfileSet = std::map<std::string, ApplicationProfile>;

struct ElasticJobSpec {
  std::string name;
  double submission_s = 0;
  const ApplicationProfile* profile = nullptr;  // borrowed
  uint32_t requested_gpus = 1;
  uint32_t global_batch = 0;
  // Share of the run, 0..1, after which its remaining time is known; nothing = never.
  std::optional<double> predictable_after = 0;
};

// Errors: kInvalidArgument naming the job: no profile, no GPUs, a batch outside the application's limits, duplicate
// name.
Status ValidateWorkload(const std::vector<ElasticJobSpec>& jobs);

}  // namespace fairlead::sim
