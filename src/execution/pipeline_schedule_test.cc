#include "execution/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace fairlead::execution {
namespace {

JobShape ShapeOf(uint32_t stages, uint32_t micro_batches, PipelineOrder order) {
  JobShape shape;
  shape.pipeline_parallel = stages;
  shape.micro_batches = micro_batches;
  shape.pipeline_order = order;
  return shape;
}

// 1F1B: stage 0 of 2 runs one forward task ahead.
TEST(StageTasks, AlternatesAfterTheWarmUp) {
  const JobShape shape = ShapeOf(2, 3, PipelineOrder::kOneForwardOneBackward);
  EXPECT_EQ(StageTasks(shape, 0),
            (std::vector<PipelineTask>{
                {0, 0, true}, {0, 1, true}, {0, 0, false}, {0, 2, true}, {0, 1, false}, {0, 2, false}}));
  EXPECT_EQ(StageTasks(shape, 1),
            (std::vector<PipelineTask>{
                {1, 0, true}, {1, 0, false}, {1, 1, true}, {1, 1, false}, {1, 2, true}, {1, 2, false}}));
}

TEST(PipelineTasks, ExecutesEveryTaskOnceAndAfterItsInputs) {
  for (const auto order : {PipelineOrder::kAllForwardFirst, PipelineOrder::kOneForwardOneBackward}) {
    for (uint32_t stages = 1; stages <= 6; ++stages) {
      for (uint32_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        std::set<std::tuple<uint32_t, uint32_t, bool>> executed;
        for (const PipelineTask& task : PipelineTasks(ShapeOf(stages, micro_batches, order))) {
          if (task.is_forward && task.stage > 0) {
            EXPECT_TRUE(executed.contains({task.stage - 1, task.micro_batch, true}));
          }
          if (!task.is_forward) {
            EXPECT_TRUE(executed.contains({task.stage, task.micro_batch, true}));
          }
          if (!task.is_forward && task.stage + 1 < stages) {
            EXPECT_TRUE(executed.contains({task.stage + 1, task.micro_batch, false}));
          }
          EXPECT_TRUE(executed.insert({task.stage, task.micro_batch, task.is_forward}).second);
        }
        EXPECT_EQ(executed.size(), size_t{2} * stages * micro_batches);
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::execution
