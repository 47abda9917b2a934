// Which jobs Slurm has on a host, by a folder like /proc.
#include "service/agent/slurm_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class SlurmJobsHereTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(proc_ / "self"); }
  void AddProcess(int pid, const std::string& name, const std::string& command, uint32_t user = 0) const {
    const std::filesystem::path folder = proc_ / std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "status") << "Name:\t" << name << "\nUid:\t" << user << '\t' << user << "\t0\t0\n";
    std::ofstream(folder / "comm") << name << "\n";
    std::ofstream(folder / "cmdline") << command;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path proc_ = folder_.path();
};

TEST_F(SlurmJobsHereTest, StepsTellTheirJobs) {
  AddProcess(2, "slurmd", std::string("/usr/sbin/slurmd\0-D", 19));
  AddProcess(10, "slurmstepd", "slurmstepd: [4711.batch]");
  AddProcess(11, "slurmstepd", "slurmstepd: [4711.0]");
  AddProcess(12, "slurmstepd", "slurmstepd: [8+1.0]");
  AddProcess(13, "bash", "slurmstepd: [9.batch]");
  AddProcess(14, "slurmstepd", "/usr/sbin/slurmstepd");  // it begins
  AddProcess(15, "slurmstepd", "slurmstepd: [x.batch]");
  EXPECT_THAT(SlurmJobsHere(proc_).Look(SimTime()), Optional(ElementsAre(8u, 4711u)));
}

// Only those of root, and of this process's user, are believed.
TEST_F(SlurmJobsHereTest, ProcessesOfOthersMayHaveAnyName) {
  AddProcess(10, "slurmstepd", "slurmstepd: [7.batch]", geteuid() + 1);
  AddProcess(2, "slurmd", "/usr/sbin/slurmd", geteuid() + 1);
  EXPECT_EQ(SlurmJobsHere(proc_).Look(SimTime()), std::nullopt);
  AddProcess(3, "slurmd", "/usr/sbin/slurmd", geteuid());
  EXPECT_THAT(SlurmJobsHere(proc_).Look(SimTime()), Optional(IsEmpty()));
}

// What is not seen is not known to be absent.
TEST_F(SlurmJobsHereTest, WithoutASlurmdNothingIsKnown) {
  AddProcess(10, "slurmstepd", "slurmstepd: [4711.batch]");
  EXPECT_EQ(SlurmJobsHere(proc_).Look(SimTime()), std::nullopt);
  EXPECT_EQ(SlurmJobsHere(proc_ / "none").Look(SimTime()), std::nullopt);
  std::filesystem::remove_all(proc_ / "10");
  AddProcess(2, "slurmd", "/usr/sbin/slurmd");
  EXPECT_THAT(SlurmJobsHere(proc_).Look(SimTime()), Optional(IsEmpty()));
}

TEST_F(SlurmJobsHereTest, LooksOnceInAWhile) {
  AddProcess(2, "slurmd", "/usr/sbin/slurmd");
  SlurmJobsHere jobs(proc_);
  EXPECT_THAT(jobs.Look(SimTime()), Optional(IsEmpty()));
  AddProcess(10, "slurmstepd", "slurmstepd: [7.batch]");
  EXPECT_THAT(jobs.Look(SimTime() + SimDuration(1)), Optional(IsEmpty()));
  EXPECT_THAT(jobs.Look(SimTime() + SlurmJobsHere::kPeriod), Optional(ElementsAre(7u)));
}

}  // namespace
}  // namespace fairlead::service
