// What does each rank do by itself: in a window, and in blocks of iterations, by which it may be slow?
//
// What it consists of: own_time, the sums of a window; slow_rank_watch, which gets the same times one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/own_time.h"
#include "diagnosis/c4d/slow_rank_watch.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class OwnTimeWatch : private OwnTime::Sink {
 public:
  // Args: layout, must outlive this.
  explicit OwnTimeWatch(const model::JobLayout& layout) : own_time_(layout), watch_(layout) {}

  void Add(const model::RankReport& report) { own_time_.Add(report, this); }
  // Nothing is timed from the rank's reports before to those that come. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { own_time_.BeginAnew(rank); }

  // [rank] of what was added since the call before, which is forgotten.
  std::vector<OwnTime::OfRank> TakeWindow() { return own_time_.Take(); }
  // Judges the blocks that have ended since. Args: stages [rank]: those of equal number do the same.
  void JudgeBlocks(SimTime now, const std::vector<uint32_t>& stages) {
    watch_.history().SetTime(now);
    watch_.Judge(stages);
  }
  const SlowRankWatch& watch() const { return watch_; }

 private:
  void OnOutput(size_t rank, const OwnTime::Output& output) override {
    watch_.blocks().AddOutput(rank, output.operation, output.at, output.own_seconds, output.host_seconds);
  }
  void OnGap(size_t rank) override { watch_.blocks().Break(rank); }

  OwnTime own_time_;
  SlowRankWatch watch_;
};

}  // namespace fairlead::diagnosis::c4d
