#include "diagnosis/c4d/slow_evidence.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::diagnosis::c4d {
namespace {

// Always the slowest of 16: the bet on 0.9 gains 14.4 a block, so a fifth of 14.4^6 is passed after six.
TEST(SlowEvidenceTest, GrowsWithHits) {
  SlowEvidence evidence;
  for (int i = 0; i < 6; ++i) evidence.Add(true, 1.0 / 16, 1.0 / 16);
  EXPECT_GT(evidence.value(), 1.7e6);
  EXPECT_LT(evidence.value(), 1e7);
}

// A quarter of the time the slowest, in a row: the spell of 15 blocks a minute.
TEST(SlowEvidenceTest, ForgetsNothingBetweenSpells) {
  SlowEvidence evidence;
  double after_first = 0;
  for (int block = 0; block < 120; ++block) {
    const bool is_hit = block % 60 < 15;
    evidence.Add(is_hit, 1.0 / 16, is_hit ? 1.0 / 16 : 0.5);
    if (block == 59) after_first = evidence.value();
  }
  EXPECT_GT(evidence.value(), 2 * after_first);
}

// Law: of elements that are alike, one in a hundred jobs at most passes t m / a with a = 0.01, whichever is slowest.
TEST(SlowEvidenceTest, AlikeElementsRarelyPassTheThreshold) {
  constexpr int kJobs = 2000;
  constexpr int kElements = 8;
  constexpr int kBlocks = 120;
  Random random(7);
  int num_false = 0;
  for (int job = 0; job < kJobs; ++job) {
    SlowEvidence evidence[kElements];
    bool is_false = false;
    for (int block = 1; block <= kBlocks; ++block) {
      const auto slowest = static_cast<int>(random.Below(kElements));
      for (int e = 0; e < kElements; ++e) {
        const int rank = (e - slowest + kElements) % kElements;  // 0: the slowest
        evidence[e].Add(rank == 0, 1.0 / kElements, (1.0 + rank) / kElements);
        is_false |= evidence[e].value() >= block * kElements / 0.01;
      }
    }
    num_false += is_false ? 1 : 0;
  }
  EXPECT_LE(num_false, 20 + 14);  // three standard deviations
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
