// What people and programs are shown of the engine: /v1/slurm (docs/internals/modules/service.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "report/json_value.h"
#include "slurm/elastic_jobs.h"
#include "slurm/job_accounts.h"
#include "slurm/readings.h"
#include "slurm/step_orders.h"

namespace fairlead::slurm {

struct EngineView {
  bool acts = false;
  std::chrono::milliseconds period{};
  Readings::Shown readings = {};
  std::vector<StepOrders::UnderwayStep> actions = {};
  std::vector<ElasticView> sizes = {};
};

report::Json ToJson(const EngineView& view);

// What was done to one job, and how it is in Slurm: /v1/slurm/account. Args: state: of the last reading; null: there
// was none. Errors: kNotFound: Slurm shows no such job, and nothing was done to it.
Result<report::Json> AccountJson(uint32_t job, const ClusterState* state, const std::optional<JobAccount>& account);

}  // namespace fairlead::slurm
