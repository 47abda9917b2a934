// How strongly does it look as if one of several alike is slower than the others, over time?
//
// Problem     one of n ranks may be slower from some instant on, always or now and then. Each block of iterations says
//             which of them took longest. Chance does so, too: it must be known how often the verdict is false.
// Notation    hit: its time less the margin exceeds that of every other (or every one of its own past); P(hit) <= p0 if
//             it is like the others, p0 = 1 / n
//             e: factor by which the block raises the evidence; its mean is at most 1 if nothing is slow
// Method      bets on shares q = .25 .5 .75 .9 of hits: q / p0 after a hit, (1 - q) / (1 - p0) after a miss; and one on
//             ranks, 1 / (2 sqrt p), with p the share of those at least as slow: two that are slow at once hide each
//             other's hits. Each is summed up by Shiryaev and Roberts, R = (R + 1) e, so that the beginning need not be
//             known and nothing is forgotten; the evidence is the mean of the five.
// Guarantees  of m elements alike, some time within t blocks, one exceeds t m / a with probability a at most, if blocks
//             are independent (R - t is a martingale; Doob). Ranks only: heavy tails and unknown scales are no matter.
// Reference   docs/papers/c4.md; Shiryaev 1963; Vovk and Wang, E-values, 2021.
#pragma once

#include <array>
#include <cstdint>

namespace fairlead::diagnosis::c4d {

class SlowEvidence {
 public:
  // Args: is_hit; hit_chance: p0, in (0, 1); rank_share: p, in (0, 1].
  void Add(bool is_hit, double hit_chance, double rank_share);
  // Mean of the bets; 0: nothing was added.
  double value() const;
  void Reset() { bets_ = {}; }

 private:
  static constexpr std::array<double, 4> kShares = {0.25, 0.5, 0.75, 0.9};
  std::array<double, kShares.size() + 1> bets_ = {};
};

}  // namespace fairlead::diagnosis::c4d
