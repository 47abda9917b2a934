// Counters of emulated GPUs are summed by job, and a failure to read them is never mistaken for less work.
#include "service/agent/gpu_counter_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/temporary_folder.h"
#include "shm/gpu_counters.h"

namespace fairlead::service {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void WriteCounters(const TemporaryFolder& folder, int32_t pid, const char* job = "gpt", double flop = 5) {
  shm::GpuCounters counters = {};
  counters.magic = shm::kGpuCountersMagic;
  counters.version = shm::kGpuCountersVersion;
  counters.pid = pid;
  counters.num_gpus = 2;
  std::strcpy(counters.job, job);
  counters.flop = flop;
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

// A process of another user, which has done something and then lives on.
class UserProcess {
 public:
  UserProcess(uid_t user, const std::function<void()>& act) {
    int done[2];
    FL_CHECK(pipe2(done, O_CLOEXEC) == 0);
    pid_ = fork();
    FL_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(1);
      act();
      if (write(done[1], "d", 1) == 1) pause();
      _exit(1);
    }
    close(done[1]);
    const Descriptor answer(done[0]);
    char byte = 0;
    FL_CHECK(read(answer.get(), &byte, 1) == 1);
  }
  ~UserProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  UserProcess(const UserProcess&) = delete;
  UserProcess& operator=(const UserProcess&) = delete;

  int32_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

class TwoUsersTest : public testing::Test {
 protected:
  static constexpr uid_t kVictim = 61'234, kAttacker = 61'235;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can start processes of two users";
    // As /tmp is: everybody may make files, and take away their own.
    ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  }
  std::vector<std::string> Jobs() const {
    std::vector<std::string> jobs;
    const auto read = Read(folder_.path());
    for (const agent::GpuSums& sums : read.value()) {
      jobs.push_back(sums.job);
      EXPECT_EQ(sums.flop.value(), sums.job == "gpt@61234" ? 5 : 7);
    }
    return jobs;
  }

  const TemporaryFolder folder_;
};

TEST_F(TwoUsersTest, WhoWritesAnothersFileClaimsNothing) {
  const UserProcess victim(kVictim, [] {});
  const UserProcess attacker(kAttacker, [&] { WriteCounters(folder_, victim.pid(), "gpt", 7); });
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(TwoUsersTest, WorkUnderAnothersNameIsOnesOwn) {
  const UserProcess victim(kVictim, [&] { WriteCounters(folder_, getpid()); });
  const UserProcess attacker(kAttacker, [&] { WriteCounters(folder_, getpid(), "gpt", 7); });
  EXPECT_THAT(Jobs(), testing::ElementsAre("gpt@61234", "gpt@61235"));
}

// The victim's own file, of which another reader was to know: it lies elsewhere.
TEST_F(TwoUsersTest, ALinkToAFileOfTheVictimClaimsNothing) {
  const TemporaryFolder other;
  ASSERT_EQ(chmod(other.path().c_str(), 0777), 0);
  const UserProcess victim(kVictim, [&] { WriteCounters(other, getpid()); });
  const std::string name = std::to_string(victim.pid());
  const UserProcess attacker(kAttacker, [&] {
    if (symlink(other.File(name).c_str(), folder_.File(name).c_str()) != 0) _exit(1);
  });
  EXPECT_THAT(Jobs(), IsEmpty());
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
