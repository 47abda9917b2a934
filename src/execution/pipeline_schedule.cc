#include "execution/pipeline_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::execution {

std::vector<PipelineTask> StageTasks(const JobShape& shape, uint32_t stage) {
  std::vector<PipelineTask> tasks;
  const uint32_t n = shape.micro_batches;
  // Forward tasks before the first backward one.
  const uint32_t ahead =
      shape.pipeline_order == PipelineOrder::kAllForwardFirst ? n : std::min(n, shape.pipeline_parallel - stage);
  uint32_t forward = 0;
  for (; forward < ahead; ++forward) tasks.push_back({stage, forward, true});
  for (uint32_t backward = 0; backward < n; ++backward) {
    tasks.push_back({stage, backward, false});
    if (forward < n) tasks.push_back({stage, forward++, true});
  }
  return tasks;
}

std::vector<PipelineTask> PipelineTasks(const JobShape& shape) {
  const uint32_t stages = shape.pipeline_parallel;
  std::vector<std::vector<PipelineTask>> waiting;
  for (uint32_t stage = 0; stage < stages; ++stage) waiting.push_back(StageTasks(shape, stage));
  std::vector<size_t> next(stages, 0);
  std::vector<uint32_t> forwards(stages, 0);
  std::vector<uint32_t> backwards(stages, 0);
  std::vector<PipelineTask> order;
  const size_t total = size_t{2} * stages * shape.micro_batches;
  while (order.size() < total) {
    const size_t before = order.size();
    for (uint32_t stage = 0; stage < stages; ++stage) {
      if (next[stage] == waiting[stage].size()) continue;
      const PipelineTask task = waiting[stage][next[stage]];
      const bool is_ready = task.is_forward
                                ? stage == 0 || forwards[stage - 1] > task.micro_batch
                                : (stage + 1 == stages ? forwards[stage] : backwards[stage + 1]) > task.micro_batch;
      if (!is_ready) continue;
      order.push_back(task);
      ++(task.is_forward ? forwards : backwards)[stage];
      ++next[stage];
    }
    FL_CHECK_MSG(order.size() > before, "the order of the pipeline has a cycle");
  }
  return order;
}

}  // namespace fairlead::execution
