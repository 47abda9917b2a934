// For which ranks does what they receive wait, block by block, where nothing tells what they do by themselves?
//
// What it consists of: arrival_waits, what has waited; slow_rank_watch, which judges it.
#pragma once

#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/arrival_waits.h"
#include "diagnosis/c4d/slow_rank_watch.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class ArrivalWatch {
 public:
  // Args: layout, must outlive this.
  explicit ArrivalWatch(const model::JobLayout& layout) : waits_(layout), watch_(layout, kMargin) {}

  void Add(const model::RankReport& report) { waits_.Add(report); }
  // No time is counted from what was added to what comes. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { waits_.BeginAnew(rank); }

  // Whether it judges the communicator, which must be of the layout, and on which all exchange with all.
  bool IsOf(model::CommunicatorId communicator) const { return waits_.IsOf(communicator); }

  // Judges the block if it is over. Returns: who is slow by now.
  std::vector<SlowRank> Judge(SimTime now) {
    const std::vector<BlockSample> blocks = waits_.TakeBlock(now);
    if (!blocks.empty()) watch_.Judge(waits_.Roles(), blocks);
    return watch_.Slow();
  }

 private:
  // Arrivals wait for some other reason, too: a tenth of the time between ranks that are alike was seen.
  static constexpr double kMargin = 0.05;

  ArrivalWaits waits_;
  SlowRankWatch watch_;
};

}  // namespace fairlead::diagnosis::c4d
