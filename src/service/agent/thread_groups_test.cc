#include "service/agent/thread_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace fairlead::service {
namespace {

using model::ThreadState;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ThreadGroupsTest, StacksAreReadFromTheInnermostFunctionToTheSystemCall) {
  EXPECT_EQ(ParseKernelStack("[<0>] hrtimer_nanosleep+0x74/0xf0\n"
                             "[<0>] common_nsleep.isra.0+0x30/0x60\n"
                             "[<0>] __x64_sys_clock_nanosleep+0xce/0x140\n"
                             "[<0>] do_syscall_64+0x71/0x280\n"
                             "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n"),
            "hrtimer_nanosleep < common_nsleep < sys_clock_nanosleep");
  EXPECT_EQ(ParseKernelStack(""), "");
  EXPECT_EQ(ParseKernelStack("[<0>] a\x01\xff+0x1/0x2"), "a??");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "[<0>] some_function+0x1/0x2\n";
  EXPECT_LE(ParseKernelStack(deep).size(), telemetry::kThreadPlaceMax);
  EXPECT_TRUE(ParseKernelStack(deep).ends_with("some_function"));
}

// A process of its own with a first thread that sleeps and a pool that waits for a pipe.
class ProcessOfThreads {
 public:
  explicit ProcessOfThreads(int num_threads) {
    EXPECT_EQ(pipe(ready_), 0);
    pid_ = fork();
    if (pid_ != 0) {
      char byte = 0;
      EXPECT_EQ(read(ready_[0], &byte, 1), 1);
      usleep(50'000);
      return;
    }
    int never[2];
    if (pipe(never) != 0) _exit(1);
    for (int i = 0; i < num_threads; ++i) {
      std::thread([&never] {
        char byte = 0;
        static_cast<void>(!read(never[0], &byte, 1));
      }).detach();
    }
    static_cast<void>(!write(ready_[1], "x", 1));
    while (true) pause();
  }
  ~ProcessOfThreads() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(ready_[0]);
    close(ready_[1]);
  }
  ProcessOfThreads(const ProcessOfThreads&) = delete;
  ProcessOfThreads& operator=(const ProcessOfThreads&) = delete;

  int32_t pid() const { return pid_; }

 private:
  int32_t pid_ = 0;
  int ready_[2] = {};
};

TEST(ThreadGroupsTest, ThreadsInTheSamePlaceAreOneGroup) {
  const ProcessOfThreads process(7);
  const ProcessThreads threads = ReadThreads("/proc", process.pid(), 100);
  EXPECT_EQ(threads.num_read, 8U);
  ASSERT_THAT(threads.groups, SizeIs(2));
  EXPECT_TRUE(threads.groups[0].is_first);
  EXPECT_EQ(threads.groups[0].count, 1U);
  EXPECT_FALSE(threads.groups[1].is_first);
  EXPECT_EQ(threads.groups[1].count, 7U);
  for (const model::ThreadGroup& group : threads.groups) EXPECT_EQ(group.state, ThreadState::kSleeping);
  EXPECT_NE(threads.groups[0].place, threads.groups[1].place);
}

TEST(ThreadGroupsTest, AStoppedProcessIsSaidToBe) {
  const ProcessOfThreads process(0);
  kill(process.pid(), SIGSTOP);
  int status = 0;
  waitpid(process.pid(), &status, WUNTRACED);
  const ProcessThreads threads = ReadThreads("/proc", process.pid(), 100);
  ASSERT_THAT(threads.groups, SizeIs(1));
  EXPECT_EQ(threads.groups[0].state, ThreadState::kStopped);
}

TEST(ThreadGroupsTest, NoMoreThreadsAreReadThanAllowed) {
  const ProcessOfThreads process(20);
  const ProcessThreads threads = ReadThreads("/proc", process.pid(), 5);
  EXPECT_EQ(threads.num_read, 5U);
  ASSERT_FALSE(threads.groups.empty());
  EXPECT_TRUE(threads.groups[0].is_first);
  EXPECT_THAT(ReadThreads("/proc", 0x3fffffff, 100).groups, IsEmpty());
}

telemetry::ProcessReport ReportAt(double seconds, uint64_t finished) {
  telemetry::ProcessReport report;
  report.at = SimTime(static_cast<int64_t>(seconds * 1e9));
  report.communicators.push_back({.id = 1, .name = "world", .num_ranks = 2, .rank = 0});
  report.progress.push_back({.communicator = model::CommunicatorId(0),
                             .kind = model::OperationKind::kAllReduce,
                             .peer = {},
                             .enqueued = finished,
                             .started = finished,
                             .finished = finished});
  return report;
}

TEST(StillnessTest, ProcessesThatDoNothingAreLookedAtNowAndThen) {
  Stillness stillness;
  std::vector<double> looks;
  for (double at = 0; at < 100; ++at) {
    if (!stillness.IsDue(ReportAt(at, at < 10 ? static_cast<uint64_t>(at) : 10))) continue;
    looks.push_back(at);
    stillness.NoteLook(SimTime(static_cast<int64_t>(at * 1e9)));
  }
  EXPECT_THAT(looks, testing::ElementsAre(15, 45, 75));
}

TEST(StillnessTest, WhoMovesOrLeavesIsNot) {
  Stillness moves;
  Stillness leaves;
  Stillness sends;
  for (double at = 0; at < 100; ++at) {
    EXPECT_FALSE(moves.IsDue(ReportAt(at, static_cast<uint64_t>(at / 4))));
    telemetry::ProcessReport report = ReportAt(at, 3);
    report.is_finalizing = true;
    EXPECT_FALSE(leaves.IsDue(report));
    report.is_finalizing = false;
    report.connections.emplace_back().messages = 1;
    EXPECT_FALSE(sends.IsDue(report));
  }
}

}  // namespace
}  // namespace fairlead::service
