#include "slurm/seen_steps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::slurm {
namespace {

Job JobOfThisUser(uint32_t id) {
  Job job;
  job.id = id;
  job.owner = geteuid();
  return job;
}

TEST(SeenStepsTest, IterationTimesAreThoseOfJobsOfSlurm) {
  SeenSteps seen;
  seen.SetIterationTimes({{"gpt@1001.slurm-7", Seconds(2)},
                          {"slurm-8@1001", Seconds(3)},
                          {"slurm-9@1001.unverified", Seconds(4)},
                          {"gpt@1001", Seconds(5)}});
  EXPECT_EQ(seen.Read(JobOfThisUser(7), {}).iteration_time, Seconds(2));
  EXPECT_EQ(seen.Read(JobOfThisUser(8), {}).iteration_time, Seconds(3));
  EXPECT_FALSE(seen.Read(JobOfThisUser(9), {}).iteration_time.has_value()) << "anybody may say so";
  EXPECT_FALSE(seen.Read(JobOfThisUser(0), {}).iteration_time.has_value()) << "no job of Slurm";
  seen.SetIterationTimes({});
  EXPECT_FALSE(seen.Read(JobOfThisUser(7), {}).iteration_time.has_value());
}

TEST(SeenStepsTest, AFileIsThereWrongOrMissing) {
  const TemporaryFolder folder;
  const std::string path = folder.File("steps");
  const auto read = [&path] { return SeenSteps().Read(JobOfThisUser(7), {.progress_file = path}); };
  EXPECT_FALSE(read().done.has_value());
  EXPECT_EQ(read().fault, "") << "it may come";
  std::ofstream(path) << "12";
  EXPECT_EQ(read().done, 12);
  EXPECT_EQ(read().fault, "");
  std::ofstream(path) << "twelve";
  EXPECT_FALSE(read().done.has_value());
  EXPECT_NE(read().fault, "");
}

}  // namespace
}  // namespace fairlead::slurm
