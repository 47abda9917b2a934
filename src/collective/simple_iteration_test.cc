#include "collective/simple_iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fairlead::collective {
namespace {

using ::testing::HasSubstr;

// Crux, example 1 (docs/spec/crux.md section 5): J1 computes 2 s on 10 GPUs, W = 10 GFLOP, and sends from the end of
// compute.
TEST(SimpleIterationTest, CruxExampleOne) {
  const auto iteration = BuildSimpleIteration({.compute_time = Seconds(2),
                                               .work = Flop(10e9),
                                               .size = Bytes(100),
                                               .start_fraction = 1,
                                               .collective = CollectiveKind::kRingAllReduce},
                                              MakeRegularLayout(5, 2), FlopPerSecond(1))
                             .value();
  EXPECT_EQ(iteration.compute_time, Seconds(2));
  EXPECT_EQ(iteration.bubble_time, Seconds(0));
  EXPECT_EQ(iteration.work, Flop(10e9));
  ASSERT_EQ(iteration.phases.size(), 1u);
  EXPECT_EQ(iteration.phases[0].name, "ring-all-reduce");
  EXPECT_EQ(iteration.phases[0].start_fraction, 1);
  EXPECT_FALSE(iteration.phases[0].blocks_compute);
  EXPECT_EQ(iteration.phases[0].num_flows, 10u);
  EXPECT_EQ(iteration.num_groups, 1u);
  for (const auto& flow : iteration.flows) EXPECT_DOUBLE_EQ(flow.bytes.value(), 180);  // 2 * 9/10 * 100
}

// 4 GPUs * 0.5 s * 100 TFLOP/s = 200 TFLOP.
TEST(SimpleIterationTest, WorkFollowsFromThePeak) {
  const auto iteration =
      BuildSimpleIteration({.compute_time = Seconds(0.5)}, MakeRegularLayout(1, 4), FlopPerSecond(100e12)).value();
  EXPECT_DOUBLE_EQ(iteration.work.value(), 200e12);
  EXPECT_TRUE(iteration.phases.empty());
  EXPECT_TRUE(iteration.flows.empty());
}

TEST(SimpleIterationTest, RefusesNumbersOutOfRange) {
  const auto error = [](const SimpleIterationSpec& spec, const RankLayout& layout) {
    const auto iteration = BuildSimpleIteration(spec, layout, FlopPerSecond(1));
    return iteration.ok() ? "" : iteration.status().message();
  };
  const RankLayout layout = MakeRegularLayout(1, 2);
  EXPECT_THAT(error({}, {}), HasSubstr("no GPUs"));
  EXPECT_THAT(error({.compute_time = Seconds(-1)}, layout), HasSubstr("compute time in seconds"));
  EXPECT_THAT(error({.size = Bytes(std::numeric_limits<double>::quiet_NaN())}, layout), HasSubstr("size in bytes"));
  EXPECT_THAT(error({.start_fraction = 1.5}, layout),
              HasSubstr("start fraction: expected a number in [0, 1], found 1.5"));
  EXPECT_THAT(error({.work = Flop(-1)}, layout), HasSubstr("work in FLOP"));
}

}  // namespace
}  // namespace fairlead::collective
