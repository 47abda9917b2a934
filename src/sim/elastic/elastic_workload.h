// What an elastic simulation runs: profiles of applications, and jobs that train them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/unit_operations.h"
#include "sim/elastic/application_profile.h"
#include "sim/elastic/ps_application.h"

namespace fairlead::sim {

class BatchMenus;  // batch_choice.h

using ProfileSet = std::map<std::string, ApplicationProfile>;

// Exactly one of `profile` and `ps_application` is set: a job of GPUs alone, or of parameter servers and workers.
struct ElasticJobSpec {
  std::string name;
  double submission_s = 0;
  uint32_t global_batch = 0;

  const ApplicationProfile* profile = nullptr;  // borrowed
  uint32_t requested_gpus = 1;
  // GPUs that a job with a profile may run on, ascending; empty: every number that its batch allows.
  std::vector<uint32_t> allowed_gpus;
  // Set: the job chooses its batch anew in every epoch and on every placement, and `global_batch` is only where it
  // starts from. Iterations that policies are told of are then such at the first batch.
  std::shared_ptr<const BatchMenus> batch_menus;

  const PsApplication* ps_application = nullptr;  // borrowed
  scheduling::PsWorkerConfig requested_config;
  double num_iterations = 0;

  double weight = 1;  // how much more it is entitled to than a job of weight 1, > 0

  // Share of the run, 0..1, after which its remaining time is known; nothing = never.
  std::optional<double> predictable_after = 0;
};

// Errors: kInvalidArgument naming the job: no profile, no GPUs, a batch or a configuration outside the application's
// limits, no iterations, duplicate name.
Status ValidateWorkload(const std::vector<ElasticJobSpec>& jobs);

}  // namespace fairlead::sim
