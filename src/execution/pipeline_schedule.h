// In which order the stages of a pipeline work on their micro-batches, and in which order that can be simulated.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/job_shape.h"

namespace fairlead::execution {

struct PipelineTask {
  uint32_t stage = 0;
  uint32_t micro_batch = 0;
  bool is_forward = true;

  friend bool operator==(const PipelineTask&, const PipelineTask&) = default;
};

// What one stage does, one after the other.
std::vector<PipelineTask> StageTasks(const JobShape& shape, uint32_t stage);

// The tasks of all stages: those of a stage in its order, and none before the tasks whose results it needs (the forward
// task of the stage before, the backward task of the stage behind).
std::vector<PipelineTask> PipelineTasks(const JobShape& shape);

}  // namespace fairlead::execution
