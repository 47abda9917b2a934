#include "experiments/lab-torch/torch_job.h"

#include <gtest/gtest.h>

#include <atomic>

#include "experiments/lab-torch/lab_torch.h"

namespace fairlead::experiments::lab_torch {
namespace {

TEST(TorchJobTest, ReadsWhatRankZeroPrints) {
  const auto iterations = ParseIterations(
      "[W socket.cpp:426] a warning\n"
      "{\"iteration\": 0, \"begin_s\": 10.5, \"seconds\": 2.0, \"loss\": 1.1}\n"
      "{\"iteration\": 1, \"begin_s\": 12.5, \"seconds\": 1.0, \"loss\": 1.0}\n"
      "{\"iteration\": 2, \"begin_s\": 13.5, \"seconds\": 3.0, \"lo");
  ASSERT_EQ(iterations.size(), 2u) << "the last line is not whole";
  EXPECT_EQ(iterations[1].begin_s, 12.5);
  // Whole iterations only.
  EXPECT_EQ(MeanWithin(iterations, 10, 13.5), 1.5);
  EXPECT_EQ(MeanWithin(iterations, 11, 13.5), 1.0);
  EXPECT_EQ(MeanWithin(iterations, 10, 13.4), 2.0);
  EXPECT_EQ(MeanWithin(iterations, 14, 20), 0);
}

// An outcome without values is one that was not run to its end; else rows of paper.yaml would be missing.
TEST(TorchJobTest, WithoutTorchItIsReported) {
  if (HasTorch()) GTEST_SKIP() << "python3-torch is installed here";
  const std::atomic<bool> stop = false;
  experiment::RunContext context;
  context.stop = &stop;
  const auto outcome = lab_torch::Run(context);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->is_partial);
  EXPECT_EQ(outcome->notes.size(), 1u);
}

}  // namespace
}  // namespace fairlead::experiments::lab_torch
