#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace fairlead {
namespace {

TEST(ParallelForTest, EveryPieceOnceAtAnyNumberOfThreads) {
  for (const uint32_t num_threads : {0u, 1u, 2u, 7u}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{100}}) {
      const std::atomic<bool> stop = false;
      std::vector<int> calls(count, 0);
      ParallelFor(count, num_threads, stop, [&](size_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1)) << num_threads << " threads";
    }
  }
}

TEST(ParallelForTest, NothingNewBeginsAfterStop) {
  std::atomic<bool> stop = false;
  size_t num_calls = 0;
  ParallelFor(100, 1, stop, [&](size_t i) {
    ++num_calls;
    stop = i == 9;
  });
  EXPECT_EQ(num_calls, 10u);
}

}  // namespace
}  // namespace fairlead
