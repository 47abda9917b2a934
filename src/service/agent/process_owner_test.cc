// Is a process of the job that the kernel has put it in, whatever it says of itself?
#include "service/agent/process_owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

constexpr char kOwn[] = "0::/system.slice/fairlead-agent.service\n";

std::string KeyIn(const std::string& cgroups, const std::string& own = kOwn) {
  return model::JobKey(IdentifyJob("gpt", 1001, cgroups, own));
}

TEST(IdentifyJobTest, JobsOfSlurm) {
  EXPECT_EQ(KeyIn("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n"), "gpt@1001.slurm-4711");
  EXPECT_EQ(KeyIn("0::/system.slice/node1_slurmstepd.scope/job_4711/step_extern/user/task_special\n"),
            "gpt@1001.slurm-4711");
  EXPECT_EQ(KeyIn("12:cpuset:/slurm/uid_1001/job_4711/step_0\n11:memory:/user.slice\n0::/user.slice\n"),
            "gpt@1001.slurm-4711");
  EXPECT_EQ(KeyIn("4:freezer:/slurm_node1/uid_1001/job_4711/step_batch\n"), "gpt@1001.slurm-4711");
}

TEST(IdentifyJobTest, GroupsThatUsersMakeSayNothing) {
  for (const char* group :
       {"/user.slice/user-1001.slice/user@1001.service/slurm/uid_1001/job_4711",
        "/user.slice/user-1001.slice/user@1001.service/system.slice/slurmstepd.scope/job_4711/step_0",
        "/docker/3f2e/slurm/uid_1001/job_4711", "/slurm/uid_1002/job_4711", "/slurm/job_4711",
        "/slurm/uid_1001/job_4711x", "/slurm/uid_1001/job_0", "/slurm/uid_1001/job_-7",
        "/slurm/uid_1001/job_99999999999", "/system.slice/my-slurmstepd.scope.d/job_4711",
        "/system.slice/slurmstepd.scope/system", "/", ""}) {
    EXPECT_EQ(KeyIn(std::string("0::") + group + "\n"), "gpt@1001") << group;
  }
  EXPECT_EQ(KeyIn("garbage"), "gpt@1001");
  EXPECT_EQ(KeyIn(""), "gpt@1001");
}

TEST(IdentifyJobTest, UsersInPodsAreAnybody) {
  const std::string pod =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1c2d.slice/cri-containerd-3e.scope";
  EXPECT_EQ(KeyIn("0::" + pod + "\n"), "gpt@1001.unverified");
  EXPECT_EQ(KeyIn("9:cpu:/kubepods/besteffort/pod77/3e4f\n1:name=systemd:/kubepods/besteffort/pod77/3e4f\n"),
            "gpt@1001.unverified");
  EXPECT_EQ(KeyIn("0::/kubelet/kubepods/pod77/slurm/uid_1001/job_4711\n"), "gpt@1001.unverified");
  EXPECT_EQ(KeyIn("0::/../../pod77/3e4f\n"), "gpt@1001.unverified") << "seen from within a container";
  EXPECT_EQ(KeyIn("0::/kubepods/pod77/one\n", "0::/kubepods/pod77/two\n"), "gpt@1001") << "all in one pod";
  EXPECT_EQ(KeyIn("0::/kubepods/pod77/one\n", "0::/kubepods/pod78/two\n"), "gpt@1001.unverified");
}

TEST(JobIdentifierTest, OwnProcessesAndThoseThatAreGone) {
  JobIdentifier jobs;
  const uint32_t user = geteuid();
  const std::string own = jobs.KeyOf("gpt", user, getpid(), SimTime());
  EXPECT_EQ(own.find("unverified"), std::string::npos) << own;
  EXPECT_EQ(jobs.KeyOf("gpt", 1001, 0x7fffffff, SimTime()), "gpt@1001.unverified")
      << "who is gone before he is looked at is not taken for anybody";
}

TEST(JobIdentifierTest, AGroupIsReadAgainAfterASecond) {
  const TemporaryFolder proc;
  std::filesystem::create_directories(proc.File("7"));
  const auto move_to = [&](const std::string& group) {
    std::ofstream(proc.File("7/cgroup")) << "0::" << group << '\n';
  };
  JobIdentifier jobs(proc.path());
  move_to("/slurm/uid_1001/job_1/step_0");
  EXPECT_EQ(jobs.KeyOf("gpt", 1001, 7, SimTime()), "gpt@1001.slurm-1");
  move_to("/slurm/uid_1001/job_2/step_0");
  EXPECT_EQ(jobs.KeyOf("gpt", 1001, 7, SimTime(500'000'000)), "gpt@1001.slurm-1");
  EXPECT_EQ(jobs.KeyOf("gpt", 1002, 7, SimTime(500'000'000)), "gpt@1002") << "another user's: another process";
  EXPECT_EQ(jobs.KeyOf("gpt", 1001, 7, SimTime(1'500'000'000)), "gpt@1001.slurm-2");
}

TEST(ProcessUserTest, TheEffectiveUserOfProcesses) {
  EXPECT_EQ(ReadProcessUser("/proc", getpid()).value(), geteuid());
  EXPECT_EQ(ReadProcessUser("/proc", 0x7fffffff).value(), std::nullopt);
  const TemporaryFolder proc;
  std::filesystem::create_directories(proc.File("7"));
  std::ofstream(proc.File("7/status")) << "Name:\tx\nUid:\t1001\t1002\t1003\t1004\n";
  EXPECT_EQ(ReadProcessUser(proc.path(), 7).value(), 1002u);
  std::ofstream(proc.File("7/status")) << "Name:\tx\n";
  EXPECT_EQ(ReadProcessUser(proc.path(), 7).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fairlead::service
