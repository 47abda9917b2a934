#include "sim/chaos/chaos_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/parallel_for.h"
#include "base/random.h"

namespace fairlead::sim::chaos {

namespace {

// Faults are drawn from another stream than the rest.
constexpr uint64_t kFaultStream = 0x6368616f73;
constexpr int kRunsMax = 400;

// A run that breaks the law, or nothing.
class Shrinker {
 public:
  Shrinker(FoundViolation found, const std::atomic<bool>& stop) : best_(std::move(found)), stop_(stop) {}

  FoundViolation Run() {
    DropFaults();
    for (uint32_t jobs = 1; jobs < best_.run.num_jobs; ++jobs) {
      ChaosOptions fewer = best_.run;
      fewer.num_jobs = jobs;
      if (Try(std::move(fewer))) break;
    }
    DropFaults();
    return best_;
  }

 private:
  bool Try(ChaosOptions candidate) {
    if (stop_ || num_runs_ >= kRunsMax) return false;
    ++num_runs_;
    const ChaosResult result = RunChaos(candidate);
    if (!result.violation.has_value() || result.violation->law != best_.violation.law) return false;
    best_ = {std::move(candidate), *result.violation};
    return true;
  }

  // Halves, quarters, … are left out while the rest breaks the law.
  void DropFaults() {
    for (size_t part = std::max<size_t>(best_.run.faults.size() / 2, 1); part > 0; part /= 2) {
      for (size_t begin = 0; begin < best_.run.faults.size();) {
        ChaosOptions fewer = best_.run;
        const auto first = fewer.faults.begin() + static_cast<ptrdiff_t>(begin);
        fewer.faults.erase(first, first + static_cast<ptrdiff_t>(std::min(part, fewer.faults.size() - begin)));
        if (!Try(std::move(fewer))) begin += part;
      }
    }
  }

  FoundViolation best_;
  const std::atomic<bool>& stop_;
  int num_runs_ = 0;
};

}  // namespace

Status SearchOptions::Validate() const {
  if (num_seeds < 1) return InvalidArgument("seeds: expected >= 1, found 0");
  if (!(faults_per_second >= 0 && faults_per_second <= 100)) {
    return InvalidArgument(fmt::format("faults per second: expected 0 to 100, found {}", faults_per_second));
  }
  return run.Validate();
}

ChaosOptions DrawRun(const SearchOptions& options, uint64_t seed) {
  ChaosOptions run = options.run;
  run.seed = seed;
  run.faults =
      DrawFaults(CombineHash(seed, kFaultStream), options.kinds, options.faults_per_second, SimTime() + run.faulty_for);
  return run;
}

SearchResult SearchChaos(const SearchOptions& options, const std::atomic<bool>& stop,
                         const std::function<void(double)>& progress) {
  SearchResult all;
  std::mutex mutex;
  ParallelFor(options.num_seeds, options.num_threads, stop, [&](size_t i) {
    const ChaosOptions run = DrawRun(options, options.first_seed + i);
    const ChaosResult result = RunChaos(run);
    const std::lock_guard lock(mutex);
    ++all.num_runs;
    for (const Fault& fault : run.faults) ++all.num_faults[static_cast<size_t>(fault.kind)];
    all.num_events += result.num_events;
    all.num_opened += result.num_opened;
    all.num_moved += result.num_moved;
    all.num_isolated += result.num_isolated;
    all.num_restarted += result.num_restarted;
    all.simulated += result.simulated.seconds();
    all.hash ^= CombineHash(run.seed, result.hash);
    if (result.violation.has_value()) {
      ++all.num_violated;
      all.violations.push_back({run, *result.violation});
      std::ranges::sort(all.violations, {}, [](const FoundViolation& found) { return found.run.seed; });
      if (all.violations.size() > options.num_violations_kept) all.violations.pop_back();
    }
    if (progress) progress(static_cast<double>(all.num_runs) / static_cast<double>(options.num_seeds));
  });
  all.was_stopped = all.num_runs < options.num_seeds;
  return all;
}

FoundViolation Minimise(const FoundViolation& found, const std::atomic<bool>& stop) {
  return Shrinker(found, stop).Run();
}

}  // namespace fairlead::sim::chaos
