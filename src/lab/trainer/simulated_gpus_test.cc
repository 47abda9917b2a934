#include "lab/trainer/simulated_gpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace fairlead::lab {
namespace {

namespace fs = std::filesystem;

class SimulatedGpusTest : public testing::Test {
 protected:
  // The file as another process would read it. False: there is none.
  bool Read(shm::GpuCounters* counters) const {
    std::ifstream file(folder_.File(std::to_string(getpid())), std::ios::binary);
    file.read(reinterpret_cast<char*>(counters), sizeof(shm::GpuCounters));
    return static_cast<bool>(file);
  }

  const TemporaryFolder folder_;
};

TEST_F(SimulatedGpusTest, OthersReadTheSumsWhileItRunsAndNothingAfterwards) {
  {
    auto gpus = SimulatedGpus::Create(folder_.path(), "gpt", 4);
    ASSERT_TRUE(gpus.ok()) << gpus.status().message();
    gpus->Add(1e15, 0.25);
    gpus->Add(5e14, 0.5);
    shm::GpuCounters seen = {};
    ASSERT_TRUE(Read(&seen));
    EXPECT_EQ(seen.magic, shm::kGpuCountersMagic);
    EXPECT_EQ(seen.pid, getpid());
    EXPECT_EQ(seen.num_gpus, 4u);
    EXPECT_STREQ(seen.job, "gpt");
    EXPECT_EQ(seen.flop.load(), 1.5e15);
    EXPECT_EQ(seen.busy_ns.load(), 3'000'000'000u);  // 4 GPUs x 0.75 s
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(SimulatedGpusTest, LongNamesOfJobsAreCutAndStillEnd) {
  auto gpus = SimulatedGpus::Create(folder_.path(), std::string(200, 'x'), 1);
  ASSERT_TRUE(gpus.ok());
  shm::GpuCounters seen = {};
  ASSERT_TRUE(Read(&seen));
  EXPECT_EQ(std::strlen(seen.job), shm::kGpuCountersJobBytes - 1);
}

TEST_F(SimulatedGpusTest, NamesTheFileThatItCannotWrite) {
  const auto gpus = SimulatedGpus::Create(folder_.File("missing"), "gpt", 1);
  ASSERT_FALSE(gpus.ok());
  EXPECT_NE(gpus.status().message().find(folder_.File("missing/")), std::string::npos) << gpus.status().message();
}

}  // namespace
}  // namespace fairlead::lab
