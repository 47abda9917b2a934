// What a job's own iterations say of the sizes that it has not had.
#include "prediction/measured_speed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

MeasuredSpeed Make(std::vector<uint32_t> sizes = {4, 8, 16, 32}) {
  return std::move(MeasuredSpeed::Create(std::move(sizes))).value();
}

TEST(MeasuredSpeed, SizesAreAscendingAndAboveZero) {
  for (const std::vector<uint32_t>& sizes : {std::vector<uint32_t>{}, {0, 4}, {4, 4}, {8, 4}}) {
    EXPECT_EQ(MeasuredSpeed::Create(sizes).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(MeasuredSpeed, NothingMeasuredIsAShapeWithoutAScale) {
  const MeasuredSpeed speed = Make();
  EXPECT_NEAR(speed.Predict(0).value(), 1, 1e-12);
  // Amdahl's law with a share of 0.05 / 1.05 that does not get faster.
  EXPECT_NEAR(speed.Predict(3).value(), (1.0 / 8 + 0.05) / 1.05, 1e-12);
  EXPECT_TRUE(speed.measured().empty());
  EXPECT_EQ(speed.relative_error(), MeasuredSpeed::kErrorUnmeasured);
}

TEST(MeasuredSpeed, OneMeasurementIsBelievedAndScalesAllSizes) {
  MeasuredSpeed speed = Make();
  speed.Observe(8, 2, Seconds(4), Seconds(60));
  EXPECT_EQ(speed.Predict(1).value(), 4);
  // The shape of before, through (8, 4 s).
  const double scale = 4 / ((0.5 + 0.05) / 1.05);
  EXPECT_NEAR(speed.Predict(0).value(), scale, 1e-9);
  EXPECT_NEAR(speed.Predict(3).value(), scale * (1.0 / 8 + 0.05) / 1.05, 1e-9);
}

TEST(MeasuredSpeed, TwoSizesFindAJobThatDoesNotScale) {
  MeasuredSpeed speed = Make();
  speed.Observe(4, 1, Seconds(2), Seconds(600));
  speed.Observe(16, 4, Seconds(2), Seconds(600));
  EXPECT_NEAR(speed.Predict(3).value(), 2, 0.05);
  EXPECT_NEAR(speed.Predict(1).value(), 2, 0.05);
}

// a k0/k + b for any a, b >= 0: the sizes between and beyond the measured ones are found, up to what the guess weighs.
TEST(MeasuredSpeed, TheLawIsFoundFromTwoSizes) {
  Random random(7);
  for (int draw = 0; draw < 200; ++draw) {
    const double a = random.Uniform(0.1, 10);
    const double b = random.Uniform(0, 5);
    const auto truth = [&](double gpus) { return a * 4 / gpus + b; };
    MeasuredSpeed speed = Make();
    speed.Observe(4, 1, Seconds(truth(4)), Seconds(100));
    speed.Observe(32, 4, Seconds(truth(32)), Seconds(100));
    EXPECT_NEAR(speed.Predict(1).value() / truth(8), 1, 0.02) << a << " " << b;
    EXPECT_NEAR(speed.Predict(2).value() / truth(16), 1, 0.02) << a << " " << b;
  }
}

TEST(MeasuredSpeed, UnmeasuredSizesStayPositiveAndDoNotGrow) {
  Random random(8);
  for (int draw = 0; draw < 500; ++draw) {
    MeasuredSpeed speed = Make({1, 2, 3, 5, 8, 13, 21});
    for (int i = 0; i < 6; ++i) {
      const uint32_t size = std::array{1u, 5u, 21u}[random.Below(3)];
      speed.Observe(size, 1, Seconds(std::exp(random.Uniform(-9, 9))), Seconds(random.Uniform(1, 900)));
      double before = INFINITY;
      for (const size_t unmeasured : {1u, 2u, 4u, 5u}) {
        const double now = speed.Predict(unmeasured).value();
        EXPECT_GT(now, 0);
        EXPECT_LE(now, before * (1 + 1e-12));
        before = now;
      }
    }
  }
}

TEST(MeasuredSpeed, NewerMeasurementsWeighMore) {
  MeasuredSpeed speed = Make();
  speed.Observe(4, 1, Seconds(1), Seconds(600));
  speed.Observe(4, 1, Seconds(3), Seconds(600));
  EXPECT_NEAR(speed.Predict(0).value(), 2, 1e-12);
  EXPECT_NEAR(speed.relative_error(), std::log(3.0), 1e-12);
}

TEST(MeasuredSpeed, WhatSaysNothingIsPassedOver) {
  MeasuredSpeed speed = Make();
  speed.Observe(5, 1, Seconds(1), Seconds(60));
  speed.Observe(4, 1, Seconds(0), Seconds(60));
  speed.Observe(4, 1, Seconds(-1), Seconds(60));
  speed.Observe(4, 1, Seconds(NAN), Seconds(60));
  speed.Observe(4, 1, Seconds(INFINITY), Seconds(60));
  speed.Observe(4, 1, Seconds(1), Seconds(0));
  EXPECT_TRUE(speed.measured().empty());
  EXPECT_NEAR(speed.Predict(0).value(), 1, 1e-12);
}

TEST(MeasuredSpeed, WhatWasMeasuredCanBeCarriedOver) {
  MeasuredSpeed speed = Make();
  speed.Observe(4, 1, Seconds(2), Seconds(300));
  speed.Observe(16, 4, Seconds(1), Seconds(200));
  MeasuredSpeed again = Make();
  for (const MeasuredSize& one : speed.measured()) again.Observe(one.num_gpus, 1, one.iteration, one.measured_for);
  EXPECT_EQ(again.measured(), speed.measured());
  for (size_t i = 0; i < speed.num_sizes(); ++i) EXPECT_EQ(again.Predict(i).value(), speed.Predict(i).value());
}

}  // namespace
}  // namespace fairlead::prediction
