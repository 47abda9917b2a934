// Models of speed that jobs fit while they train: golden choices, and what carries over between types of GPU.
#include "sim/elastic/fitted_goodput.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/elastic/batch_choice.h"

namespace fairlead::sim {
namespace {

constexpr GradientStats kNoise = {0.6, 1.8};

prediction::ReplicaSpeedModel ExampleModel() {
  prediction::ReplicaSpeedModel model;
  model.compute = {0.05, 0.001};
  model.across = {0.1, 0.01};
  model.inside = {0.03, 0.002};
  model.gamma = 1.5;
  return model;
}

// Values of the specification: goodput in samples at the first batch, 128.
TEST(FittedGoodputTest, ChoosesTheBestBatchOfAModel) {
  struct Case {
    uint32_t nodes, gpus, local_batch;
    double batch, goodput;
  };
  for (const Case& c : {Case{1, 1, 128, 128, 719.1011}, Case{1, 2, 113, 226, 1106.2613}, Case{1, 4, 81, 324, 1646.4761},
                        Case{2, 8, 100, 800, 1405.6491}}) {
    const auto best = ChooseByModel(ExampleModel(), kNoise, {128, 4096, 32, 1024}, c.nodes, c.gpus);
    ASSERT_TRUE(best.has_value());
    EXPECT_EQ(best->split.local_batch, c.local_batch) << c.gpus;
    EXPECT_EQ(best->split.GlobalBatch(c.gpus), c.batch) << c.gpus;
    EXPECT_NEAR(128 * best->goodput, c.goodput, 1e-3) << c.gpus;
  }
}

// 200 GPUs take 6400 samples at least; no batch has more than 4096.
TEST(FittedGoodputTest, TooManyGpusForAnyBatch) {
  EXPECT_FALSE(ChooseByModel(ExampleModel(), kNoise, {128, 4096, 32, 1024}, 50, 200).has_value());
}

// An application that takes `one_gpu_s` for a pass of 64 to 256 on one GPU.
ApplicationProfile Profile(double one_gpu_s) {
  ProfileTables tables;
  tables.name = "example";
  tables.limits = {128, 4096, 32, 1024};
  tables.num_epochs = 1;
  for (const double batch : {64.0, 256.0}) {
    tables.placements.push_back({{1}, batch, {one_gpu_s, 0}});
    tables.placements.push_back({{2}, batch, {2 * one_gpu_s, 0}});
    tables.scalability.push_back({2, 4, batch, {3 * one_gpu_s, 0}});
  }
  tables.validations[128] = {{1000, 1000, 0.6, 1.8}};
  tables.validations[4096] = {{1000, 100, 0.6, 1.8}};
  return ApplicationProfile::Create(std::move(tables)).value();
}

prediction::ReplicaObservation Seen(double nodes, double gpus, double batch) {
  const prediction::ReplicaConfiguration configuration = {gpus, nodes, batch, 0};
  const prediction::ReplicaSpeedModel model = ExampleModel();
  return {configuration, model.IterationTime(configuration), model.ComputeTime(configuration)};
}

// The second type is twice as fast on one GPU, which is all that is known of it.
TEST(FittedGoodputTest, AnUnseenTypeIsJudgedByItsRateOfOneGpu) {
  const ApplicationProfile slow = Profile(0.2);
  const ApplicationProfile fast = Profile(0.1);
  FittedGoodput fitted({{&slow, 4, 16}, {&fast, 8, 16}});
  EXPECT_EQ(fitted.GoodputOn(0, 1), 0);
  EXPECT_TRUE(fitted.Observe(0, Seen(1, 1, 128), kNoise));
  for (const double batch : {64, 200, 512}) {
    for (const auto& [nodes, gpus] : {std::pair(1, 1), std::pair(1, 2), std::pair(1, 4), std::pair(2, 8)}) {
      fitted.Observe(0, Seen(nodes, gpus, batch), kNoise);
    }
  }
  EXPECT_FALSE(fitted.Observe(0, Seen(2, 8, 512), kNoise));
  EXPECT_TRUE(fitted.Observe(0, Seen(2, 8, 512), {0.5, 1.8}));
  fitted.Observe(0, Seen(2, 8, 512), kNoise);
  EXPECT_NEAR(128 * fitted.GoodputOn(0, 4), 1646.4761, 0.02 * 1646.4761);
  EXPECT_NEAR(fitted.GoodputOn(1, 4), 2 * fitted.GoodputOn(0, 4), 1e-9);
  EXPECT_EQ(fitted.GoodputOn(1, 17), 0);
}

}  // namespace
}  // namespace fairlead::sim
