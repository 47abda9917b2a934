#include <gtest/gtest.h>

#include "base/random.h"
#include "traffic/c4p/link_health_example.h"
#include "traffic/c4p/link_health_tracker.h"

namespace fairlead::traffic::c4p {
namespace {

// Times that the first link came back up in so many rounds of losses drawn by `draw`, of `sent` packets each.
template <class Draw>
int CountReturns(int num_rounds, uint64_t sent, Draw draw) {
  Rounds rounds;
  int returns = 0;
  for (int i = 0; i < num_rounds; ++i) {
    for (const LinkChange& change : rounds.Observe({Saw(kLink, sent, draw(rounds))})) {
      if (change.to == LinkState::kUp) ++returns;
    }
  }
  return returns;
}

// Returns to up without forgetting cost 3, 6, 12, 24, 48, 96, 96, … clean rounds in a row, and forgetting costs 100.
// The cheapest row of returns between two times of forgetting is the one of four: (3 + 6 + 12 + 24 + 100) / 4 > 36
// rounds each; (3 + 100) / 1, (9 + 100) / 2, (21 + 100) / 3, (93 + 100) / 5 and (189 + 100) / 6 are more. In the
// unfinished rest at most eight fit that cost less than 36: 3, 6, 12, 24.
constexpr int MostReturns(int num_rounds) { return num_rounds / 36 + 4; }

TEST(LinkHealthFlappingTest, NoSequenceOfLossesMakesALinkFlap) {
  constexpr int kNumRounds = 3000;
  const auto adversary = [](const Rounds& rounds) {  // fails whenever it is up, is clean otherwise
    return rounds.state() == LinkState::kUp ? 1000u : 0u;
  };
  // 3 + 6 + 12 + 24 + 48, then 96 each, and a dead round to leave up: (3000 - 93) / 97 = 29.97.
  const int returns = CountReturns(kNumRounds, 1000, adversary);
  EXPECT_GE(returns, 5 + 28);
  EXPECT_LE(returns, 5 + 30);
  Random random(23);
  for (int trial = 0; trial < 60; ++trial) {
    const double p_bad = random.Uniform();
    const auto coin = [&](const Rounds&) { return random.Uniform() < p_bad ? 1000u : 0u; };
    EXPECT_LE(CountReturns(kNumRounds, 1000, coin), MostReturns(kNumRounds)) << p_bad;
  }
}

TEST(LinkHealthFlappingTest, LossAroundOnePercentSettles) {
  // Packets lost one by one, of 100 and 1,000 a round.
  Random random(29);
  for (const uint64_t sent : {100u, 1000u}) {
    for (const double loss : {0.005, 0.01, 0.015}) {
      const auto draw = [&](const Rounds&) {
        uint64_t lost = 0;
        for (uint64_t packet = 0; packet < sent; ++packet) lost += random.Uniform() < loss ? 1 : 0;
        return lost;
      };
      EXPECT_LE(CountReturns(1000, sent, draw), MostReturns(1000)) << sent << ' ' << loss;
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
