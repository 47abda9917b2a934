// A keeper is declared gone, or ended, only on a positive sign.
#include "lab/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/file_reader.h"
#include "service/agent/segment_folder.h"

namespace fairlead::lab {
namespace {

// A process that stands for a keeper.
class StandIn {
 public:
  StandIn() {
    id_.pid = fork();
    if (id_.pid == 0) {
      for (;;) pause();
    }
    id_.start_ticks = service::ReadProcessStat("/proc", id_.pid)->start;
    id_.boot_id = ReadFileIfThere("/proc/sys/kernel/random/boot_id");
    id_.boot_id.pop_back();
  }
  ~StandIn() {
    kill(id_.pid, SIGKILL);
    waitpid(id_.pid, nullptr, 0);
  }
  const KeeperId& id() const { return id_; }
  bool HasEnded() const { return waitpid(id_.pid, nullptr, WNOHANG) == id_.pid; }

 private:
  KeeperId id_;
};

// No descriptor can be opened while one of these lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST(KeeperTest, UnknownIsNotGone) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens pipes to look at memory";
#endif
  const StandIn keeper;
  EXPECT_EQ(StateOf(keeper.id()), KeeperState::kAlive);
  {
    const NoDescriptors none;
    EXPECT_EQ(StateOf(keeper.id()), KeeperState::kUnknown);
    EXPECT_TRUE(IsAlive(keeper.id()));
    EXPECT_EQ(EndKeeper(keeper.id()).code(), StatusCode::kUnavailable) << "and its lab is not forgotten";
  }
  EXPECT_FALSE(keeper.HasEnded());
  EXPECT_TRUE(EndKeeper(keeper.id()).ok());
  EXPECT_TRUE(keeper.HasEnded());
}

TEST(KeeperTest, AnotherProcessOfItsNumberIsNotIt) {
  const StandIn other;
  KeeperId former = other.id();
  former.start_ticks -= 1;
  EXPECT_EQ(StateOf(former), KeeperState::kGone);
  EXPECT_TRUE(EndKeeper(former).ok());
  former = other.id();
  former.boot_id = "of another start of the machine";
  EXPECT_EQ(StateOf(former), KeeperState::kGone);
  EXPECT_TRUE(EndKeeper(former).ok());
  EXPECT_FALSE(other.HasEnded());
}

}  // namespace
}  // namespace fairlead::lab
