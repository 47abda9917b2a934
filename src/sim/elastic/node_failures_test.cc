// Nodes fail as often as said, and are back in time.
#include "sim/elastic/node_failures.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>

namespace fairlead::sim {
namespace {

TEST(NodeFailuresTest, EachNodeFailsOnceInItsMeanTimeAndIsAwayForTheRepair) {
  const NodeFailureOptions options{.mean_between_s = 36'000, .repair_s = 4000, .end_s = 4e7, .seed = 3};
  const auto events = DrawNodeFailures(16, options);
  std::map<HostId, double> failed_at;
  size_t num_failures = 0;
  double now = 0;
  for (const NodeEvent& event : events) {
    EXPECT_LE(now, event.time_s);
    now = event.time_s;
    if (event.is_up) {
      EXPECT_NEAR(event.time_s - failed_at.at(event.node), 4000, 1e-6);
      failed_at.erase(event.node);
    } else {
      EXPECT_TRUE(failed_at.emplace(event.node, event.time_s).second) << "it is down already";
      ++num_failures;
    }
  }
  EXPECT_TRUE(failed_at.empty());
  // 16 nodes x 1000 cycles of 40,000 s: 3 standard deviations are 2.2 %.
  EXPECT_NEAR(static_cast<double>(num_failures), 16'000, 350);
}

TEST(NodeFailuresTest, MoreNodesLeaveTheOthersAsTheyAre) {
  const NodeFailureOptions options{.mean_between_s = 36'000, .end_s = 1e6, .seed = 3};
  const auto few = DrawNodeFailures(2, options);
  size_t i = 0;
  for (const NodeEvent& event : DrawNodeFailures(5, options)) {
    if (event.node.index() >= 2) continue;
    ASSERT_LT(i, few.size());
    EXPECT_EQ(event.time_s, few[i].time_s);
    EXPECT_EQ(event.node, few[i++].node);
  }
  EXPECT_EQ(i, few.size());
}

}  // namespace
}  // namespace fairlead::sim
