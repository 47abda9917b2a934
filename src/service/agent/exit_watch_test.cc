#include "service/agent/exit_watch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace fairlead::service {
namespace {

constexpr int64_t kPatienceMs = 20'000;

pid_t Start() {
  const pid_t pid = fork();
  if (pid == 0) {
    while (true) pause();
  }
  return pid;
}

// Nobody waits for the zombies until all are dead: what tells the order is the kernel's queue, not who looked when.
TEST(ExitWatchTest, TheOrderOfDeathsIsExact) {
  ExitWatch watch;
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> processes;
    std::vector<ExitWatch::Ticket> tickets;
    for (int i = 0; i < 8; ++i) {
      processes.push_back(Start());
      const auto ticket = watch.Watch(processes.back());
      ASSERT_TRUE(ticket.has_value());
      tickets.push_back(*ticket);
    }
    std::vector<size_t> order = {5, 2, 7, 0, 1, 6, 3, 4};
    std::rotate(order.begin(), order.begin() + round % 8, order.end());
    for (const size_t i : order) {
      EXPECT_FALSE(watch.Find(tickets[i]).has_value());
      kill(processes[i], SIGKILL);
      siginfo_t info = {};
      ASSERT_EQ(waitid(P_PID, static_cast<id_t>(processes[i]), &info, WEXITED | WNOWAIT), 0);
    }
    int64_t before = 0;
    for (const size_t i : order) {
      ASSERT_TRUE(watch.WaitFor(tickets[i], kPatienceMs));
      EXPECT_GT(watch.Find(tickets[i])->at_ns, before);
      before = watch.Find(tickets[i])->at_ns;
      EXPECT_EQ(watch.Find(tickets[i])->code, -SIGKILL);
    }
    for (const pid_t pid : processes) waitpid(pid, nullptr, 0);
    for (const ExitWatch::Ticket ticket : tickets) watch.Forget(ticket);
  }
}

TEST(ExitWatchTest, AnExitCodeIsWhatTheProcessGave) {
  ExitWatch watch;
  int pipes[2] = {};
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char byte = 0;
    _exit(read(pipes[0], &byte, 1) == 1 ? 7 : 8);
  }
  const auto ticket = watch.Watch(pid);
  ASSERT_TRUE(ticket.has_value());
  ASSERT_EQ(write(pipes[1], "x", 1), 1);
  ASSERT_TRUE(watch.WaitFor(*ticket, kPatienceMs));
  EXPECT_EQ(watch.Find(*ticket)->code, 7);
  waitpid(pid, nullptr, 0);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(ExitWatchTest, WhatCannotBeWatchedIsSaid) {
  ExitWatch watch;
  const pid_t pid = Start();
  {
    rlimit before = {};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_FALSE(watch.Watch(pid).has_value());
    setrlimit(RLIMIT_NOFILE, &before);
  }
  EXPECT_TRUE(watch.Watch(pid).has_value());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(watch.Watch(pid).has_value()) << "there is no such process any more";
}

TEST(ExitWatchTest, CodesAreAsWaitHasThem) {
  EXPECT_EQ(ExitCodeOf(0), 0);
  EXPECT_EQ(ExitCodeOf(3 << 8), 3);
  EXPECT_EQ(ExitCodeOf(SIGSEGV | 0x80), -SIGSEGV) << "with a core";
}

}  // namespace
}  // namespace fairlead::service
