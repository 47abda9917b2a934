#include "diagnosis/c4d/slow_evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead::diagnosis::c4d {

namespace {

// Beyond any threshold, and far from overflow.
constexpr double kGreatest = 1e15;

}  // namespace

void SlowEvidence::Add(bool is_hit, double hit_chance, double rank_share) {
  const auto bet = [](double& value, double factor) { value = std::min(kGreatest, (value + 1) * factor); };
  for (size_t i = 0; i < kShares.size(); ++i) {
    // A bet on fewer hits than chance gives is none.
    const double share = kShares[i];
    const bool can_win = share > hit_chance;
    const double factor = is_hit ? share / hit_chance : (1 - share) / (1 - hit_chance);
    bet(bets_[i], can_win ? factor : 1);
    if (!can_win) bets_[i] = std::min(bets_[i], 1.0);
  }
  bet(bets_.back(), 1 / (2 * std::sqrt(rank_share)));
}

double SlowEvidence::value() const {
  return std::accumulate(bets_.begin(), bets_.end(), 0.0) / static_cast<double>(bets_.size());
}

}  // namespace fairlead::diagnosis::c4d
