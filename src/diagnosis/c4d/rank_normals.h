// What is normal for each rank: means over the first windows without a suspect, and none after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead::diagnosis::c4d {

// Of one window, or on the mean of several.
struct RankNormal {
  double own_per_output = 0;   // seconds
  double idle_per_output = 0;  // seconds, of the host thread
  double own_ratio = 0;        // own time over that of its stage, less 1
  double blame_share = 0;      // of the window
  double lag_share = 0;        // likewise
};

class RankNormals {
 public:
  // Args: windows_wanted: that make what is normal, 1 or more.
  RankNormals(size_t num_ranks, uint32_t windows_wanted) : windows_wanted_(windows_wanted), ranks_(num_ranks) {}

  // Whether enough windows have been learned.
  bool IsKnown(size_t rank) const { return ranks_[rank].windows >= windows_wanted_; }
  // Mean of what has been learned so far; zeros before the first window.
  const RankNormal& Of(size_t rank) const { return ranks_[rank].mean; }

  // Takes a window of a rank of which not enough is known; another one changes nothing.
  void Learn(size_t rank, const RankNormal& window) {
    if (IsKnown(rank)) return;
    RankNormal& mean = ranks_[rank].mean;
    const double count = ++ranks_[rank].windows;
    const auto learn = [&](double RankNormal::*field) { mean.*field += (window.*field - mean.*field) / count; };
    learn(&RankNormal::own_per_output);
    learn(&RankNormal::idle_per_output);
    learn(&RankNormal::own_ratio);
    learn(&RankNormal::blame_share);
    learn(&RankNormal::lag_share);
  }

 private:
  struct Rank {
    uint32_t windows = 0;
    RankNormal mean;
  };

  uint32_t windows_wanted_;
  std::vector<Rank> ranks_;
};

}  // namespace fairlead::diagnosis::c4d
