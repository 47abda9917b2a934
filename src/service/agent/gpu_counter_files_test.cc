// Counters of emulated GPUs are summed by job, and a failure to read them is never mistaken for less work.
#include "service/agent/gpu_counter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "shm/gpu_counters.h"

namespace fairlead::service {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void WriteCounters(const TemporaryFolder& folder, int32_t pid, const char* job = "gpt") {
  shm::GpuCounters counters = {};
  counters.magic = shm::kGpuCountersMagic;
  counters.version = shm::kGpuCountersVersion;
  counters.pid = pid;
  counters.num_gpus = 2;
  std::strcpy(counters.job, job);
  counters.flop = 5;
  std::ofstream(folder.File(std::to_string(pid))).write(reinterpret_cast<const char*>(&counters), sizeof(counters));
}

Result<std::vector<agent::GpuSums>> Read(const std::string& folder) {
  JobIdentifier jobs;
  return ReadGpuCounters(folder, &jobs, SimTime());
}

TEST(GpuCounterFilesTest, ALivingProcessCounts) {
  const TemporaryFolder folder;
  WriteCounters(folder, getpid());
  const auto sums = Read(folder.path());
  ASSERT_TRUE(sums.ok());
  ASSERT_THAT(*sums, SizeIs(1));
  EXPECT_EQ(sums->front().job, "gpt");
  EXPECT_EQ(sums->front().num_gpus, 2u);
}

TEST(GpuCounterFilesTest, ABadNameOfAJobIsLeftOut) {
  const TemporaryFolder folder;
  WriteCounters(folder, getpid(), "../gpt");
  EXPECT_THAT(Read(folder.path()).value(), IsEmpty());
}

TEST(GpuCounterFilesTest, AMissingFolderHasNoJobs) { EXPECT_THAT(Read("/nowhere/at/all").value(), IsEmpty()); }

TEST(GpuCounterFilesTest, WithoutDescriptorsNothingIsReported) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens pipes to look at memory";
#endif
  const TemporaryFolder folder;
  WriteCounters(folder, getpid());
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto sums = Read(folder.path());
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(sums.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Read(folder.path()).value(), SizeIs(1));
}

}  // namespace
}  // namespace fairlead::service
