#include "diagnosis/c4d/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::diagnosis::c4d {
namespace {

using model::Syndrome;

TEST(CalibrationTest, AscendsAndClaimsNoMoreThanItsCasesShow) {
  for (size_t s = 0; s < model::kNumSyndromes; ++s) {
    const auto syndrome = static_cast<Syndrome>(s);
    double before = 0;
    for (int percent = 0; percent <= 100; ++percent) {
      const double confidence = Calibrated(syndrome, percent / 100.0);
      EXPECT_GE(confidence, before) << model::Name(syndrome) << " " << percent;
      EXPECT_LE(confidence, 1);
      before = confidence;
    }
    for (const CalibrationBin& bin : CalibrationOf(syndrome)) {
      ASSERT_GT(bin.cases, 0u);
      EXPECT_LE(bin.right, bin.cases);
      // Four pseudo-cases draw a bin by so much at most.
      EXPECT_NEAR(bin.confidence, static_cast<double>(bin.right) / bin.cases, 4.0 / (bin.cases + 4) + 0.05);
      EXPECT_LE(bin.confidence, std::pow(0.05, 1.0 / bin.cases) + 0.0005);
    }
  }
}

TEST(CalibrationTest, KindsWithoutCasesAreHeld) {
  if (!CalibrationOf(Syndrome::kUnreachable).empty()) GTEST_SKIP() << "the recordings have cases of all kinds";
  EXPECT_EQ(Calibrated(Syndrome::kUnreachable, 0.9), kUnseenMax);
  EXPECT_EQ(Calibrated(Syndrome::kUnreachable, 0.3), 0.3);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
