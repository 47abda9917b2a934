#include "lab/awake_processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace fairlead::lab {
namespace {

// Threads of ours that only run when no other thread wants to.
std::set<pid_t> IdleThreads() {
  std::set<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto thread = static_cast<pid_t>(std::stoi(entry.path().filename()));
    if (sched_getscheduler(thread) == SCHED_IDLE) threads.insert(thread);
  }
  return threads;
}

TEST(AwakeProcessors, OneIdleThreadForEachProcessorAndNoneAfterwards) {
  ASSERT_TRUE(IdleThreads().empty());
  {
    const AwakeProcessors awake(true);
    cpu_set_t usable;
    ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
    EXPECT_EQ(awake.num_threads(), static_cast<size_t>(CPU_COUNT(&usable)));
    while (IdleThreads().size() < awake.num_threads()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER) << "only they";
    for (const pid_t thread : IdleThreads()) {
      cpu_set_t own;
      while (sched_getaffinity(thread, sizeof(own), &own) == 0 && CPU_COUNT(&own) > 1) std::this_thread::yield();
      EXPECT_EQ(CPU_COUNT(&own), 1);
    }
  }
  EXPECT_TRUE(IdleThreads().empty());
}

TEST(AwakeProcessors, NothingWhereItIsNotNeeded) { EXPECT_EQ(AwakeProcessors(false).num_threads(), 0u); }

}  // namespace
}  // namespace fairlead::lab
