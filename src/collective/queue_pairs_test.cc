#include "collective/queue_pairs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collective/simple_iteration.h"
#include "topology/clos_fabrics.h"

namespace fairlead::collective {
namespace {

// Two hosts of 8 GPUs, a ring all-reduce of 800 MB.
class QueuePairsTest : public ::testing::Test {
 protected:
  QueuePairsTest() : fabric_(topology::BuildClos({.leaves = 2, .hosts_per_leaf = 1, .spines = 2}).value()) {
    model::Placement placement;
    for (uint32_t g = 0; g < 16; ++g) placement.gpus.emplace_back(g);
    iteration_ = BuildSimpleIteration({.compute_time = Seconds(0.1), .size = Bytes(800e6)},
                                      MakeRankLayout(placement, fabric_), fabric_.gpu_peak())
                     .value();
  }

  bool CrossesHosts(const model::FlowDemand& flow) const {
    return fabric_.host_of(flow.source) != fabric_.host_of(flow.destination);
  }

  topology::Fabric fabric_;
  model::Iteration iteration_;
};

TEST_F(QueuePairsTest, OneQueuePairChangesNothing) {
  const model::Iteration before = iteration_;
  SplitIntoQueuePairs(1, fabric_, &iteration_);
  EXPECT_EQ(iteration_, before);
}

TEST_F(QueuePairsTest, BytesStayAndOnlyFlowsBetweenHostsAreSplit) {
  std::map<std::pair<GpuId, GpuId>, double> before;
  size_t between = 0;
  for (const model::FlowDemand& flow : iteration_.flows) {
    before[{flow.source, flow.destination}] += flow.bytes.value();
    between += CrossesHosts(flow) ? 1 : 0;
  }
  const size_t num_flows = iteration_.flows.size();
  ASSERT_GT(between, 0u);
  ASSERT_LT(between, num_flows);
  SplitIntoQueuePairs(4, fabric_, &iteration_);
  EXPECT_EQ(iteration_.flows.size(), num_flows + 3 * between);
  std::map<std::pair<GpuId, GpuId>, double> after;
  std::set<uint32_t> groups;
  for (size_t f = 0; f < iteration_.flows.size(); ++f) {
    const model::FlowDemand& flow = iteration_.flows[f];
    after[{flow.source, flow.destination}] += flow.bytes.value();
    EXPECT_EQ(flow.num_queue_pairs, CrossesHosts(flow) ? 4 : 1);
    EXPECT_LT(flow.group, iteration_.num_groups);
    if (!CrossesHosts(flow)) continue;
    EXPECT_TRUE(groups.insert(flow.group).second) << "each moves on its own";
    EXPECT_TRUE(flow.queue_pair == 0 || iteration_.flows[f - 1].queue_pair + 1 == flow.queue_pair) << f;
  }
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [pair, bytes] : before) EXPECT_DOUBLE_EQ(after[pair], bytes);
}

TEST_F(QueuePairsTest, PhasesCoverTheFlowsInOrder) {
  SplitIntoQueuePairs(3, fabric_, &iteration_);
  uint32_t next = 0;
  for (const model::CommunicationPhase& phase : iteration_.phases) {
    EXPECT_EQ(phase.first_flow, next);
    next += phase.num_flows;
  }
  EXPECT_EQ(next, iteration_.flows.size());
}

}  // namespace
}  // namespace fairlead::collective
