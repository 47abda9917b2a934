// Whether reading worker.csv takes memory for its rows. Counts what the program has allocated, so that neither the
// allocator nor a sanitizer blurs the answer.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "trace/lingjun_example.h"
#include "trace/lingjun_pods.h"

namespace {

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;

void* CountedAllocate(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  if (live > peak_bytes) peak_bytes = live;
  return memory;
}

void CountedFree(void* memory) {
  live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return CountedAllocate(size); }
void* operator new[](size_t size) { return CountedAllocate(size); }
void operator delete(void* memory) noexcept { CountedFree(memory); }
void operator delete[](void* memory) noexcept { CountedFree(memory); }
void operator delete(void* memory, size_t) noexcept { CountedFree(memory); }
void operator delete[](void* memory, size_t) noexcept { CountedFree(memory); }

namespace fairlead::trace {
namespace {

// Bytes that reading so many rows of so many jobs needs at its peak.
int64_t PeakOf(uint64_t num_rows, uint64_t num_jobs) {
  auto reader = CsvReader::FromStream(MakeEndlessWorkers(num_rows, num_jobs), "worker.csv");
  const int64_t before = live_bytes;
  peak_bytes = before;
  CleaningReport report;
  const auto sums = SumPods(
      std::move(reader).value(), {}, [] { return true; }, &report);
  EXPECT_TRUE(sums.ok());
  EXPECT_EQ(report.num_worker_rows, num_rows);
  EXPECT_EQ(sums->size(), std::min(num_rows, num_jobs));
  EXPECT_EQ(sums->begin()->second.gpus, 8 * num_rows / num_jobs);
  return peak_bytes - before;
}

TEST(LingjunMemoryTest, GrowsWithJobsAndNotWithPods) {
  const int64_t few = PeakOf(5'000, 500);
  const int64_t many = PeakOf(100'000, 500);
  // A row has some 250 bytes; 95,000 more of them would be 24 MB.
  EXPECT_LT(many - few, 10'000);
  EXPECT_LT(many, 1'000'000);
}

}  // namespace
}  // namespace fairlead::trace
