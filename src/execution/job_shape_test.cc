#include "execution/job_shape.h"

#include <gtest/gtest.h>

namespace fairlead::execution {
namespace {

using model::CommunicatorId;
using model::LeafId;
using model::RankId;

JobShape ShapeOf(uint32_t tensor, uint32_t data, uint32_t pipeline) {
  JobShape shape;
  shape.tensor_parallel = tensor;
  shape.data_parallel = data;
  shape.pipeline_parallel = pipeline;
  return shape;
}

// 2 x 3 x 4 ranks: 12 tensor groups of 2, 8 data groups of 3, 6 pipelines of 4, and all.
TEST(MakeLayout, CutsTheJobAlongItsAxes) {
  const JobShape shape = ShapeOf(2, 3, 4);
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  ASSERT_EQ(layout.ranks.size(), 24u);
  ASSERT_EQ(layout.communicators.size(), 12u + 8 + 6 + 1);
  const CommunicatorIds ids(shape);
  for (uint32_t r = 0; r < 24; ++r) {
    const RankId rank(r);
    EXPECT_EQ(shape.RankAt(shape.TensorOf(rank), shape.DataOf(rank), shape.StageOf(rank)), rank);
    for (const CommunicatorId id : {ids.Tensor(rank), ids.Data(rank), ids.Pipeline(rank), ids.All()}) {
      const auto& ranks = layout.communicators[id.index()].ranks;
      EXPECT_EQ(std::count(ranks.begin(), ranks.end(), rank), 1);
    }
  }
  EXPECT_EQ(layout.communicators[0].name, "tensor 0");
  EXPECT_EQ(layout.communicators[12].name, "data 0");
  EXPECT_EQ(layout.communicators[12].ranks, (std::vector<RankId>{RankId(0), RankId(2), RankId(4)}));
  EXPECT_EQ(layout.communicators[20].name, "pipeline 0");
  EXPECT_EQ(layout.communicators[20].ranks, (std::vector<RankId>{RankId(0), RankId(6), RankId(12), RankId(18)}));
}

// Axes of one rank have no communicators.
TEST(MakeLayout, LeavesOutTrivialCommunicators) {
  EXPECT_EQ(MakeLayout(ShapeOf(1, 8, 1), JobId(0)).communicators.size(), 2u);
  EXPECT_EQ(MakeLayout(ShapeOf(8, 1, 1), JobId(0)).communicators.size(), 2u);
}

// Two planes, rails: every (group of hosts, NIC, plane) has its own leaf.
TEST(MakeLayout, PutsNicsOnLeaves) {
  JobShape shape = ShapeOf(1, 32, 1);
  shape.gpus_per_host = 4;
  shape.hosts_per_leaf = 2;
  shape.planes = 2;
  EXPECT_EQ(MakeLayout(shape, JobId(0)).ranks[9].leaves, (std::vector<LeafId>{LeafId(2), LeafId(3)}));
  shape.has_rails = true;
  // Host 2 is in group 1, its NIC 1 on switch 1 * 4 + 1.
  EXPECT_EQ(MakeLayout(shape, JobId(0)).ranks[9].leaves, (std::vector<LeafId>{LeafId(10), LeafId(11)}));
}

TEST(JobShape, NamesTheFault) {
  EXPECT_TRUE(ShapeOf(2, 2, 2).Validate().ok());
  EXPECT_EQ(ShapeOf(1, 1, 1).Validate().message(), "job shape: the number of ranks must be 2 to 1000000, it is 1");
  EXPECT_EQ(ShapeOf(3, 1, 1).Validate().message(),
            "job shape: gpus_per_host must be a multiple of tensor_parallel = 3, it is 8");
  JobShape shape = ShapeOf(1, 8, 1);
  shape.messages_per_ring_step = 8;
  EXPECT_EQ(shape.Validate().message(), "job shape: messages_per_ring_step must be 1 to 7, it is 8");
}

}  // namespace
}  // namespace fairlead::execution
