#include "diagnosis/c4d/connection_delays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using testing::DoubleNear;
using testing::Each;
using testing::Field;

// A ring of eight ranks, each on a host of its own, all at one leaf switch: 400 messages of 1 MB in a window. Beyond
// log 1.2 = 0.18 is slower, below 0.09 as ever.
class ConnectionDelaysTest : public ::testing::Test {
 protected:
  // Args: ms: of a message of each; normal_ms: what is normal, 0: not known.
  static std::vector<ConnectionSample> Ring(const std::vector<double>& ms, double normal_ms) {
    std::vector<ConnectionSample> samples;
    for (uint32_t rank = 0; rank < ms.size(); ++rank) {
      ConnectionSample& sample = samples.emplace_back();
      sample.source = RankId(rank);
      sample.key.peer = RankId((rank + 1) % 8);
      sample.usual_bytes = 1e6;
      sample.messages = 400;
      sample.log_seconds = std::log(ms[rank] / 1000);
      sample.log_delay = sample.log_seconds - std::log(1e6);
      sample.has_normal = normal_ms > 0;
      if (sample.has_normal) sample.normal_log_seconds = std::log(normal_ms / 1000);
    }
    return samples;
  }
  ConnectionDelays Compare(const std::vector<ConnectionSample>& samples) const {
    return CompareConnections(samples, layout_, {});
  }

  model::JobLayout layout_ = MakeExampleLayout({.hosts = 8, .gpus = 1, .hosts_per_leaf = 8});
};

TEST_F(ConnectionDelaysTest, WithoutANormalTheMedianOfTheClassCounts) {
  const ConnectionDelays delays = Compare(Ring({1, 1, 1, 2, 1.5, 1, 1, 1}, 0));
  EXPECT_THAT(delays.of, Each(Field(&ConnectionDelay::is_known, true)));
  EXPECT_NEAR(delays.of[3].x, std::log(2), 1e-9);
  EXPECT_NEAR(delays.of[0].x, 0, 1e-9);
  EXPECT_NEAR(delays.sigma, SlowOptions().matrix.sigma_floor, 1e-9);
  // Beyond all others of its class.
  EXPECT_NEAR(delays.of[3].beyond_like, std::log(2 / 1.5), 1e-9);
  EXPECT_NEAR(delays.of[4].beyond_like, std::log(1.5 / 2), 1e-9);
}

TEST_F(ConnectionDelaysTest, WithANormalThoseThatAreAsEverCount) {
  const ConnectionDelays delays = Compare(Ring({1, 1, 1, 2, 1.5, 1, 1, 1.05}, 1));
  EXPECT_NEAR(delays.of[3].x, std::log(2), 1e-9);
  EXPECT_NEAR(delays.of[3].beyond_like, std::log(2 / 1.05), 1e-9);
  EXPECT_NEAR(delays.of[4].beyond_like, std::log(1.5 / 1.05), 1e-9);
}

TEST_F(ConnectionDelaysTest, WhatAllShareIsNoDelay) {
  EXPECT_THAT(Compare(Ring(std::vector<double>(8, 3.0), 1)).of, Each(Field(&ConnectionDelay::x, DoubleNear(0, 1e-9))));
  // Two of eight are as ever: the other six have no excuse.
  EXPECT_NEAR(Compare(Ring({1, 1, 3, 3, 3, 3, 3, 3}, 1)).of[7].x, std::log(3), 1e-9);
}

TEST_F(ConnectionDelaysTest, ThoseWithoutTheirLikeAreNotKnown) {
  const ConnectionDelays few = Compare(Ring({1, 1, 5}, 0));
  EXPECT_THAT(few.of, Each(Field(&ConnectionDelay::is_known, false))) << "three, of four that it takes";
  // Of another size of messages than the rest.
  std::vector<ConnectionSample> samples = Ring({1, 1, 1, 4, 1, 1, 1, 1}, 0);
  samples[3].usual_bytes = 4e6;
  EXPECT_FALSE(Compare(samples).of[3].is_known);
  samples[3].has_normal = true;
  samples[3].normal_log_seconds = std::log(0.002);
  const ConnectionDelay delay = Compare(samples).of[3];
  EXPECT_NEAR(delay.x, std::log(2), 1e-9);
  EXPECT_EQ(delay.beyond_like, std::numeric_limits<double>::infinity());
}

TEST_F(ConnectionDelaysTest, WhatAReceiverMayHaveHeldUpIsNotSure) {
  std::vector<ConnectionSample> samples = Ring({3, 3, 3, 1.05, 1, 1, 1, 1}, 1);
  samples[0].held_seconds = 0.001;
  samples[1].held_seconds = 0.0019;
  samples[2].held_seconds = 0.1;
  samples[3].held_seconds = 0.1;
  const ConnectionDelays delays = Compare(samples);
  EXPECT_NEAR(delays.of[0].x, std::log(2), 1e-9);
  EXPECT_FALSE(delays.of[1].is_known) << "1.1 ms are left, and they may be as ever or not";
  EXPECT_FALSE(delays.of[2].is_known);
  EXPECT_NEAR(delays.of[3].x, std::log(1.05), 1e-9) << "it is as ever without any excuse";
}

TEST_F(ConnectionDelaysTest, LocalOnesAreNotComparedWithThoseAcrossSwitches) {
  for (uint32_t rank = 0; rank < 8; ++rank) layout_.ranks[rank].leaves = {model::LeafId(rank / 2)};
  // Ranks 0, 2, 4 and 6 send to their neighbour at the switch, the others to another switch, four pairs of them.
  const ConnectionDelays delays = Compare(Ring({1, 3, 1, 3, 1, 3, 2, 3}, 0));
  EXPECT_NEAR(delays.of[1].x, 0, 1e-9);
  EXPECT_NEAR(delays.of[6].x, std::log(2), 1e-9);
}

TEST_F(ConnectionDelaysTest, SlowMessagesCountAsFarAsAllTakeLonger) {
  std::vector<ConnectionSample> samples = Ring({1, 1, 1, 1.2, 1, 1, 1, 1}, 1);
  for (const size_t rank : {2, 3}) {
    samples[rank].uneven_share = 0.5;
    samples[rank].uneven_seconds = 0.1;
    samples[rank].slowest_seconds = 0.021;
  }
  // The slowest one aside 80 ms; of the 399 others each takes 0.2 ms longer: 80 ms, or nothing.
  const ConnectionDelays delays = Compare(samples);
  EXPECT_EQ(delays.of[2].uneven_share, 0);
  EXPECT_EQ(delays.of[3].uneven_share, 0.5);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
