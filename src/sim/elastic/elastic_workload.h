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

// Which models of its own speed a job fits.
enum class GoodputModels : uint8_t {
  kNone,
  kByType,  // one for each type of GPU, as in Sia
  kBlind,   // one for all, as in Pollux
};

using ProfileSet = std::map<std::string, ApplicationProfile>;

// Exactly one of `profile` and `ps_application` is set: a job of GPUs alone, or of parameter servers and workers.
struct ElasticJobSpec {
  std::string name;
  double submission_s = 0;
  uint32_t global_batch = 0;

  const ApplicationProfile* profile = nullptr;  // borrowed
  // [gpu type] borrowed; null where it can't run. They differ in times only. Empty: `profile` on every type.
  std::vector<const ApplicationProfile*> type_profiles = {};
  uint32_t requested_gpus = 1;
  // GPUs that a job with a profile may run on, ascending; empty: every number that its batch allows.
  std::vector<uint32_t> allowed_gpus;
  // Set: the job chooses its batch anew in every epoch and on every placement, and `global_batch` is only where it
  // starts from. Iterations that policies are told of are then such at the first batch.
  std::shared_ptr<const BatchMenus> batch_menus;

  // The same, but by models of its speed that it fits while it trains (fitted_goodput.h); excludes `batch_menus`.
  GoodputModels fitted = GoodputModels::kNone;
  double slowdown = 1;                            // times that iterations take longer than its profile says, > 0
  std::optional<double> restart_s = {};           // of a restart; nothing: what the simulation says
  std::optional<double> expected_restart_s = {};  // what policies are told; nothing: the truth

  const PsApplication* ps_application = nullptr;  // borrowed
  scheduling::PsWorkerConfig requested_config;
  double num_iterations = 0;

  std::string tenant = {};  // whose it is; empty: nobody's
  double weight = 1;        // how much more it is entitled to than a job of weight 1, > 0

  // Share of the run, 0..1, after which its remaining time is known; nothing = never.
  std::optional<double> predictable_after = 0;
  // Epochs that its user declares, as a multiple of those that it will train for, > 0; below 1: it overruns.
  double declared_factor = 1;

  bool chooses_batch() const { return batch_menus != nullptr || fitted != GoodputModels::kNone; }
  // Null where it can't run.
  const ApplicationProfile* ProfileOn(uint32_t gpu_type) const {
    return type_profiles.empty() ? profile : type_profiles[gpu_type];
  }
};

// Errors: kInvalidArgument naming the job: no profile, no GPUs, a batch or a configuration outside the application's
// limits, no iterations, duplicate name.
Status ValidateWorkload(const std::vector<ElasticJobSpec>& jobs);

}  // namespace fairlead::sim
