#include "prediction/contended_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

SpeedPoint Point(uint32_t gpus, uint32_t hosts, double iteration_s, double compute_s, double network_s) {
  return {gpus, hosts, Seconds(iteration_s), Seconds(compute_s), Seconds(network_s)};
}

// 8 GPUs fill a host. Compute 8 / k seconds; half a second of network between hosts, all of it after the compute.
std::vector<SpeedPoint> Profile() {
  return {Point(8, 1, 1, 1, 0), Point(16, 2, 1, 0.5, 0.5), Point(32, 4, 0.75, 0.25, 0.5)};
}

ContendedSpeed Create(std::vector<SpeedPoint> profile) {
  auto speed = ContendedSpeed::Create(std::move(profile));
  EXPECT_TRUE(speed.ok()) << speed.status().message();
  return std::move(*speed);
}

TEST(ContendedSpeedTest, IsTheProfileUntilSomethingIsMeasured) {
  const ContendedSpeed speed = Create(Profile());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(speed.Predict(i), Profile()[i].iteration);
  EXPECT_EQ(speed.contention(), 1);
  EXPECT_EQ(speed.relative_error(), ContendedSpeed::kErrorUnmeasured);
}

TEST(ContendedSpeedTest, OneMeasurementInformsTheOtherSizes) {
  ContendedSpeed speed = Create(Profile());
  // 0.5 s of compute and 2 s of network, four times what it takes alone.
  speed.Observe(16, 2, Seconds(2.5), Seconds(100));
  EXPECT_DOUBLE_EQ(speed.contention(), 4);
  EXPECT_DOUBLE_EQ(speed.Predict(0).value(), 1);               // needs no network
  EXPECT_DOUBLE_EQ(speed.Predict(1).value(), 2.5);             // what was measured
  EXPECT_DOUBLE_EQ(speed.Predict(2).value(), 0.25 + 4 * 0.5);  // never measured
}

TEST(ContendedSpeedTest, ForgetsHalfInAHalfLife) {
  ContendedSpeed speed = Create(Profile());
  speed.Observe(16, 2, Seconds(2.5), Seconds(1));    // s = 4 in full: the first one
  speed.Observe(16, 2, Seconds(1.0), Seconds(600));  // s' = 1 for ten minutes, the half-life
  EXPECT_DOUBLE_EQ(speed.contention(), 2.5);
  // The second one was foreseen as 2.5 s and took 1 s.
  EXPECT_DOUBLE_EQ(speed.relative_error(), std::log(2.5));
}

TEST(ContendedSpeedTest, HidesTheNetworkBehindComputeWhereTheProfileDoes) {
  // 1 s of compute hides all of 0.4 s of network; 0.6 s of it can't be hidden behind if the network is slower.
  ContendedSpeed speed = Create({Point(16, 2, 1, 1, 0.4)});
  speed.Observe(16, 2, Seconds(1.4), Seconds(60));  // 0.6 + 2 x 0.4
  EXPECT_DOUBLE_EQ(speed.contention(), 2);
  speed.Observe(16, 2, Seconds(1.0), Seconds(1e9));  // s' = 1: hidden again
  EXPECT_NEAR(speed.Predict(0).value(), 1, 1e-12);
}

TEST(ContendedSpeedTest, SkipsUninformativeRecords) {
  ContendedSpeed speed = Create(Profile());
  speed.Observe(8, 1, Seconds(5), Seconds(60));   // inside one host
  speed.Observe(8, 2, Seconds(5), Seconds(60));   // scattered: its profile has no network
  speed.Observe(12, 2, Seconds(5), Seconds(60));  // a size without a profile
  speed.Observe(16, 2, Seconds(0), Seconds(60));  // no iteration ended
  speed.Observe(16, 2, Seconds(kNan), Seconds(60));
  speed.Observe(16, 2, Seconds(-1), Seconds(60));
  speed.Observe(16, 2, Seconds(5), Seconds(0));
  EXPECT_EQ(speed.num_observed(), 0u);
  EXPECT_EQ(speed.contention(), 1);
}

TEST(ContendedSpeedTest, RefusesImpossibleProfiles) {
  const auto message = [](std::vector<SpeedPoint> profile) {
    return std::string(ContendedSpeed::Create(std::move(profile)).status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("no sizes"));
  EXPECT_THAT(message({Point(8, 1, 0, 0, 0)}), HasSubstr("8 GPUs"));
  EXPECT_THAT(message({Point(8, 1, kNan, 0, 0)}), HasSubstr("expected a positive time"));
  EXPECT_THAT(message({Point(8, 1, 1, 2, 0)}), HasSubstr("compute 2 s"));
  EXPECT_THAT(message({Point(8, 1, 1, 1, kNan)}), HasSubstr("network nan s"));
  EXPECT_THAT(message({Point(8, 1, 1, 1, 0), Point(8, 1, 1, 1, 0)}), HasSubstr("expected ascending sizes"));
  EXPECT_THAT(message({Point(0, 1, 1, 1, 0)}), HasSubstr("expected ascending sizes"));
}

// Laws on any profile: a planted contention is found from any size on several hosts, predictions never fall below
// compute, and more contention never makes an iteration shorter.
TEST(ContendedSpeedTest, FindsAPlantedContention) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<SpeedPoint> profile;
    for (uint32_t gpus = 8; gpus <= 64; gpus *= 2) {
      const double compute = random.Uniform(0.1, 2);
      const double network = gpus > 8 ? random.Uniform(0.01, 2) : 0;
      const double alone = std::max(compute, network) + random.Uniform() * std::min(compute, network);
      profile.push_back(Point(gpus, (gpus + 7) / 8, alone, compute, network));
    }
    ContendedSpeed speed = Create(profile);
    const size_t measured = 1 + random.Below(3);
    const double planted = random.Uniform(1, 20);
    const SpeedPoint& point = profile[measured];
    const double exposed = (point.iteration - point.network).value();
    speed.Observe(point.num_gpus, point.num_hosts, Seconds(exposed + planted * point.network.value()), Seconds(60));
    EXPECT_NEAR(speed.contention(), planted, 1e-9 * planted) << "seed " << seed;
    for (size_t i = 0; i < profile.size(); ++i) {
      EXPECT_GE(speed.Predict(i).value(), profile[i].iteration.value() - 1e-12) << "seed " << seed;
      EXPECT_GE(speed.Predict(i), profile[i].compute) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead::prediction
