// Independent pieces of work on several threads, with results that don't depend on how many.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/check_capture.h"

namespace fairlead {

// Processors of this machine for 0, else `num_threads`.
inline uint32_t NumThreadsOrAll(uint32_t num_threads) {
  return num_threads > 0 ? num_threads : std::max(1u, std::thread::hardware_concurrency());
}

// Calls work(i) once for each i in [0, count), from this thread and others. Begins no further piece once `stop` is
// true.
// Args: num_threads 0 = one per processor. `work` writes only what belongs to its index, or locks.
// Where failed checks are caught (check_capture.h), one of a piece is passed on when all threads have ended; pieces may
// then be left out.
// Thread: returns when all pieces that were begun are done.
template <class Work>
void ParallelFor(size_t count, uint32_t num_threads, const std::atomic<bool>& stop, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto take = [&] {
    for (size_t i = next++; i < count && !stop.load(std::memory_order_relaxed); i = next++) work(i);
  };
  const bool catches = CatchesFailedChecks();
  const size_t wanted = std::min<size_t>(NumThreadsOrAll(num_threads), count);
  std::vector<Status> outcomes(std::max<size_t>(wanted, 1));
  const auto take_share = [&](size_t thread) {
    if (catches) {
      outcomes[thread] = CatchFailedChecks(take);
    } else {
      take();
    }
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(take_share, t);
  take_share(0);
  for (std::thread& helper : helpers) helper.join();
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) PassOnFailure(outcome);
  }
}

}  // namespace fairlead
