// What people and programs are shown of the engine: /v1/slurm (docs/internals/modules/service.md).
#pragma once

#include <chrono>
#include <vector>

#include "report/json_value.h"
#include "slurm/elastic_jobs.h"
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

}  // namespace fairlead::slurm
