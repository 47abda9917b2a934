#include "workload/workload_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "workload/chakra_example.h"

namespace fairlead::workload {
namespace {

using ::testing::HasSubstr;

TEST(WorkloadLoaderTest, KnowsTheKindsByTheirFiles) {
  const TemporaryFolder folder;
  const std::string text = folder.File("w.txt");
  const std::string trace = folder.File("job.0.et");
  std::ofstream(text) << "DATA all_gpus: 8\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  std::ofstream(trace, std::ios::binary) << ExampleTrace().Collective(1, {}, kAllReduce, 8).bytes();
  EXPECT_EQ(GuessWorkloadKind(text), WorkloadKind::kSimai);
  EXPECT_EQ(GuessWorkloadKind(trace), WorkloadKind::kChakra);
  EXPECT_EQ(GuessWorkloadKind(folder.File("job")), WorkloadKind::kChakra);
  EXPECT_EQ(GuessWorkloadKind(folder.path()), WorkloadKind::kChakra);
  EXPECT_TRUE(LoadWorkload(WorkloadKind::kSimai, text).ok());
  EXPECT_TRUE(LoadWorkload(WorkloadKind::kSimai, text, {.num_gpus = 8, .gpu_peak = {}, .memory_bandwidth = {}}).ok());
  EXPECT_TRUE(LoadWorkload(WorkloadKind::kChakra, trace).ok());
  const auto wrong = LoadWorkload(WorkloadKind::kSimai, text, {.num_gpus = 4, .gpu_peak = {}, .memory_bandwidth = {}});
  EXPECT_THAT(wrong.status().message(), HasSubstr("was made for 8 GPUs; expected a job of as many, found 4"));
  EXPECT_THAT(LoadWorkload(WorkloadKind::kSimai, trace).status().message(), HasSubstr("job.0.et:1: parallelism"));
  EXPECT_FALSE(LoadWorkload(WorkloadKind::kChakra, text).ok());
}

// What comes with the program can be read, and is what its comments say.
TEST(WorkloadLoaderTest, TheExamplesAreSound) {
  const std::string folder = std::string(FAIRLEAD_SOURCE_DIR) + "/workloads";
  const auto moe = LoadWorkload(WorkloadKind::kSimai, folder + "/moe-32.txt",
                                {.num_gpus = 32, .gpu_peak = {}, .memory_bandwidth = {}});
  ASSERT_TRUE(moe.ok()) << moe.status().message();
  EXPECT_EQ(moe->num_gpus, 32u);
  const auto sharded = LoadWorkload(WorkloadKind::kChakra, folder + "/sharded-16.et",
                                    {.num_gpus = 16, .gpu_peak = {}, .memory_bandwidth = {}});
  ASSERT_TRUE(sharded.ok()) << sharded.status().message();
  EXPECT_EQ(sharded->num_gpus, 16u);
  for (const auto& [sequence, gpus] : {std::pair(*moe, 32u), std::pair(*sharded, 16u)}) {
    const auto iteration = BuildSequenceIteration(sequence, ParallelismOf(sequence, gpus).value(),
                                                  collective::MakeRegularLayout(gpus / 8, 8), FlopPerSecond(312e12));
    ASSERT_TRUE(iteration.ok()) << iteration.status().message();
    EXPECT_FALSE(iteration.value().flows.empty());
  }
}

}  // namespace
}  // namespace fairlead::workload
