// Independent pieces of work on several threads, with results that don't depend on how many.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace fairlead {

// Processors of this machine for 0, else `num_threads`.
inline uint32_t NumThreadsOrAll(uint32_t num_threads) {
  return num_threads > 0 ? num_threads : std::max(1u, std::thread::hardware_concurrency());
}

// Calls work(i) once for each i in [0, count), from this thread and others. Begins no further piece once `stop` is
// true.
// Args: num_threads 0 = one per processor. `work` writes only what belongs to its index, or locks.
// Thread: returns when all pieces that were begun are done.
template <class Work>
void ParallelFor(size_t count, uint32_t num_threads, const std::atomic<bool>& stop, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto take = [&] {
    for (size_t i = next++; i < count && !stop.load(std::memory_order_relaxed); i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min<size_t>(NumThreadsOrAll(num_threads), count);
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(take);
  take();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace fairlead
