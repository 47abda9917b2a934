#include "workload/chakra_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "collective/collective_sequence.h"
#include "workload/chakra_example.h"

namespace fairlead::workload {
namespace {

using collective::kUntilEnd;
using ::testing::HasSubstr;

ChakraSchedule Schedule(const ExampleTrace& example) {
  const auto trace = example.Read();
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  auto schedule = ScheduleChakraTrace(*trace);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return std::move(schedule).value();
}

// Sharded data parallelism: gather the parameters of layer 1, prefetch those of layer 2 while layer 1 computes.
TEST(ChakraScheduleTest, PrefetchesHideBehindTheComputeBeforeTheirUse) {
  const ChakraSchedule schedule = Schedule(ExampleTrace()
                                               .Collective(1, {}, kAllReduce, 8)
                                               .Collective(2, {}, kAllReduce, 8)
                                               .Compute(3, {1}, 1000)
                                               .Compute(4, {2}, 2000)
                                               .Collective(5, {4}, kAllReduce, 8)
                                               .Compute(6, {}, 4000));
  EXPECT_DOUBLE_EQ(schedule.compute.value(), 7e-3);
  ASSERT_EQ(schedule.communications.size(), 3u);
  EXPECT_EQ(schedule.communications[0].issue, Seconds(0));
  EXPECT_EQ(schedule.communications[0].wait, Seconds(0)) << "nothing hides the first gather";
  EXPECT_EQ(schedule.communications[1].issue, Seconds(0));
  EXPECT_DOUBLE_EQ(schedule.communications[1].wait.value(), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.communications[2].issue.value(), 3e-3);
  EXPECT_EQ(schedule.communications[2].wait, kUntilEnd) << "the gradients of nobody's interest in this iteration";
}

TEST(ChakraScheduleTest, DependenciesPassThroughNodesThatTakeNoTime) {
  const ChakraSchedule schedule = Schedule(ExampleTrace()
                                               .Compute(1, {}, 1000)
                                               .Node(2, 2, {1}, {})
                                               .Collective(3, {2}, kAllReduce, 8)
                                               .Node(4, 2, {3}, {})
                                               .Compute(5, {}, 500)
                                               .Compute(6, {4}, 500));
  ASSERT_EQ(schedule.communications.size(), 1u);
  EXPECT_DOUBLE_EQ(schedule.communications[0].issue.value(), 1e-3);
  EXPECT_DOUBLE_EQ(schedule.communications[0].wait.value(), 1.5e-3);
}

struct RandomGraph {
  ExampleTrace trace;
  std::vector<bool> is_compute;
  std::vector<double> seconds;
  std::vector<std::vector<bool>> depends;  // [a][b]: a depends on b, directly or not
};

// Nodes 0 .. n-1 in any order of ids; each depends on some before it.
RandomGraph MakeRandomGraph(Random& random) {
  const size_t n = 1 + random.Below(14);
  RandomGraph graph{{}, {}, {}, std::vector(n, std::vector<bool>(n, false))};
  for (size_t a = 0; a < n; ++a) {
    Dependencies dependencies;
    for (size_t b = 0; b < a; ++b) {
      if (random.Below(4) != 0) continue;
      dependencies.push_back(b);
      graph.depends[a][b] = true;
      for (size_t c = 0; c < b; ++c) graph.depends[a][c] = graph.depends[a][c] || graph.depends[b][c];
    }
    graph.is_compute.push_back(random.Below(2) == 0);
    const uint64_t microseconds = 1 + random.Below(1000);
    graph.seconds.push_back(graph.is_compute[a] ? static_cast<double>(microseconds) * 1e-6 : 0);
    if (graph.is_compute[a]) {
      graph.trace.Compute(a, dependencies, microseconds);
    } else {
      graph.trace.Collective(a, dependencies, kAllReduce, 8);
    }
  }
  return graph;
}

// Here ids are a topological order, so both streams run in order of ids; the rest is the definition, by brute force.
TEST(ChakraScheduleTest, PositionsAreThoseOfTheDefinition) {
  Random random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const RandomGraph graph = MakeRandomGraph(random);
    const size_t n = graph.seconds.size();
    std::vector<double> start(n, 0);
    double clock = 0;
    for (size_t a = 0; a < n; ++a) {
      start[a] = clock;
      clock += graph.seconds[a];
    }
    const ChakraSchedule schedule = Schedule(graph.trace);
    ASSERT_NEAR(schedule.compute.value(), clock, 1e-12);
    double issued = 0;
    size_t next = 0;
    for (size_t a = 0; a < n; ++a) {
      if (graph.is_compute[a]) continue;
      double wait = kUntilEnd.value();
      for (size_t b = 0; b < n; ++b) {
        if (graph.depends[a][b] && graph.is_compute[b]) issued = std::max(issued, start[b] + graph.seconds[b]);
        // Who waits for a later communication waits for this one.
        for (size_t later = a; later < n; ++later) {
          if (graph.is_compute[b] && !graph.is_compute[later] && graph.depends[b][later])
            wait = std::min(wait, start[b]);
        }
      }
      ASSERT_LT(next, schedule.communications.size());
      ASSERT_EQ(schedule.communications[next].node, a);
      ASSERT_NEAR(schedule.communications[next].issue.value(), issued, 1e-12) << "trial " << trial;
      if (wait == kUntilEnd.value()) {
        ASSERT_EQ(schedule.communications[next].wait, kUntilEnd);
      } else {
        ASSERT_NEAR(schedule.communications[next].wait.value(), wait, 1e-12) << "trial " << trial;
      }
      ++next;
    }
    ASSERT_EQ(next, schedule.communications.size());
  }
}

TEST(ChakraScheduleTest, RefusesGraphsThatCannotRun) {
  const auto error = [](const ExampleTrace& trace) {
    return ScheduleChakraTrace(trace.Read().value()).status().message();
  };
  EXPECT_EQ(error(ExampleTrace().Compute(1, {}, 1).Compute(1, {}, 1)), "t.et: two nodes have the id 1");
  EXPECT_EQ(error(ExampleTrace().Compute(1, {9}, 1)), "t.et: node 1 depends on node 9, which the trace does not have");
  EXPECT_THAT(error(ExampleTrace().Compute(1, {2}, 1).Compute(2, {1}, 1)), HasSubstr("node 1 waits for itself"));
  EXPECT_THAT(error(ExampleTrace().Compute(1, {1}, 1)), HasSubstr("node 1 waits for itself"));
}

}  // namespace
}  // namespace fairlead::workload
