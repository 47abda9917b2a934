#include "fluid/dcqcn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "fluid/dcqcn_simulation.h"

namespace fairlead::fluid {
namespace {

using testing::HasSubstr;

constexpr double kGigabit = 1e9 / 8;

// Marking that is steered slowly until the flows have the capacity on average, from a wrong start.
DcqcnMeasured SimulateWithoutQueue(size_t num_flows, double capacity) {
  double log_marking = std::log(2 * SolveDcqcn(capacity, static_cast<double>(num_flows)).marking_probability);
  return SimulateDcqcn(num_flows, capacity, 5e-6, 4, [&](double rate, double dt) {
    log_marking += 20 * (rate / capacity - 1) * dt;
    return std::pair(std::exp(log_marking), rate);
  });
}

// Marking by the queue.
DcqcnMeasured SimulateWithQueue(size_t num_flows, double capacity) {
  const DcqcnOptions options;
  const double span = (options.max_threshold - options.min_threshold).value();
  double queue = 0;
  return SimulateDcqcn(num_flows, capacity, 2e-6, 0.5, [&](double rate, double dt) {
    const double used = std::min(capacity, rate + queue / dt);
    queue = std::max(0.0, queue + (rate - capacity) * dt);
    const double over = (queue - options.min_threshold.value()) / span;
    return std::pair(over > 1 ? 1 : std::max(0.0, over) * options.max_marking, used);
  });
}

// What independence of rate and marks costs the fluid model is 4 to 5 % of p and of CNPs, and up to 12 % of the idle
// share; the rest is for the noise of some thousands of cuts.
TEST(DcqcnTest, AgreesWithTheDiscreteAlgorithm) {
  for (const double gigabits : {40.0, 200.0}) {
    for (const size_t num_flows : {2, 4, 8}) {
      const double capacity = gigabits * kGigabit;
      const DcqcnOperatingPoint point = SolveDcqcn(capacity, static_cast<double>(num_flows));
      const DcqcnMeasured measured = SimulateWithoutQueue(num_flows, capacity);
      EXPECT_NEAR(measured.used, 1, 0.01) << "the steering of the marks doesn't hold the rate";
      EXPECT_NEAR(point.marking_probability / measured.marking, 1, 0.1) << num_flows;
      EXPECT_NEAR(point.cnps_per_second_per_flow / measured.cnps_per_second_per_flow, 1, 0.1) << num_flows;

      DcqcnOptions no_queue;
      no_queue.min_threshold = Bytes(0);
      no_queue.max_threshold = Bytes(1e-6);
      const DcqcnOperatingPoint bare = SolveDcqcn(capacity, static_cast<double>(num_flows), no_queue);
      EXPECT_NEAR((1 - bare.efficiency) / (1 - measured.rate_over_target), 1, 0.2) << num_flows;
      EXPECT_NEAR(bare.efficiency, bare.synchronized_efficiency, 1e-9);
    }
  }
}

// With the queue of 5 kB to 200 kB that marks, and without delay. Seen: idle 0.47, 0.26 and 0.12 % where the model says
// 0.36, 0.43 and 0.36 %.
TEST(DcqcnTest, EfficiencyIsNearThatOfAQueue) {
  for (const size_t num_flows : {2, 4, 8}) {
    const double capacity = 200 * kGigabit;
    const DcqcnOperatingPoint point = SolveDcqcn(capacity, static_cast<double>(num_flows));
    const DcqcnMeasured measured = SimulateWithQueue(num_flows, capacity);
    EXPECT_NEAR(point.marking_probability / measured.marking, 1, 0.15) << num_flows;
    EXPECT_NEAR(point.cnps_per_second_per_flow / measured.cnps_per_second_per_flow, 1, 0.15) << num_flows;
    EXPECT_NEAR(point.efficiency, measured.used, 0.003) << num_flows;
  }
}

// CoNEXT paper: p ~ cbrt(R_AI / (tau' R^2) (1/B + 1/(T R))^2), rates in packets/s.
double ApproximateMarking(double capacity, double num_flows, const DcqcnOptions& options) {
  const double rate = capacity / num_flows / options.packet.value();
  const double steps = options.packet / options.byte_counter + 1 / (options.rate_timer.value() * rate);
  const double increase = options.additive_increase.value() / options.packet.value();
  return std::cbrt(increase / (options.alpha_timer.value() * rate * rate) * steps * steps);
}

// The approximation takes 1 - (1-p)^x as p x for x up to 5 T R: too much. With an R_AI 10^6 times smaller p is 100
// times smaller, and 5 T R p = 0.003 for two flows on 200 Gb/s.
TEST(DcqcnTest, BecomesTheClosedApproximationForSmallMarking) {
  DcqcnOptions gentle;
  gentle.additive_increase = gentle.additive_increase * 1e-6;
  for (const double num_flows : {2.0, 4.0, 8.0, 16.0}) {
    const double capacity = 200 * kGigabit;
    const double gentle_marking = SolveDcqcn(capacity, num_flows, gentle).marking_probability;
    EXPECT_NEAR(gentle_marking / ApproximateMarking(capacity, num_flows, gentle), 1, 0.01);
    const double ratio =
        SolveDcqcn(capacity, num_flows).marking_probability / ApproximateMarking(capacity, num_flows, {});
    EXPECT_GT(ratio, 0.8);  // seen: 0.87 for 2 flows, 0.82 for 16
    EXPECT_LT(ratio, 1);
  }
}

// Figure 10 of C4: about 15,000 CNPs/s, 12,500 to 17,500, for a bonded port of 2 x 200 Gb/s. If the fabric was
// oversubscribed 2:1 (not confirmed), the k flows of a port met k others on an uplink, and the model has 2 k times the
// CNPs of one of 2 k flows: 2,376, 5,752, 9,655 and 13,937 for k = 1 .. 4. How many QPs a port had is not published.
TEST(DcqcnTest, FourFlowsForEachPortGiveThePublishedCnps) {
  std::vector<double> cnps;
  for (double k = 1; k <= 4; ++k) {
    cnps.push_back(2 * k * SolveDcqcn(200 * kGigabit, 2 * k).cnps_per_second_per_flow);
  }
  EXPECT_LT(cnps[2], 12500);
  EXPECT_GT(cnps[3], 12500);
  EXPECT_LT(cnps[3], 17500);
}

TEST(DcqcnTest, LoneFlowsAreNotMarked) {
  for (const double num_flows : {0.0, 0.5, 1.0}) {
    const DcqcnOperatingPoint point = SolveDcqcn(200 * kGigabit, num_flows);
    EXPECT_EQ(point.marking_probability, 0);
    EXPECT_EQ(point.cnps_per_second_per_flow, 0);
    EXPECT_EQ(point.queue.value(), 0);
    EXPECT_EQ(point.efficiency, 1);
    EXPECT_EQ(point.synchronized_efficiency, 1);
  }
}

TEST(DcqcnTest, MoreFlowsAreMarkedMore) {
  for (const double gigabits : {10.0, 100.0, 800.0}) {
    DcqcnOperatingPoint last;
    for (double num_flows = 1.1; num_flows < 1000; num_flows *= 1.3) {
      const DcqcnOperatingPoint point = SolveDcqcn(gigabits * kGigabit, num_flows);
      EXPECT_GT(point.marking_probability, last.marking_probability);
      EXPECT_LE(point.marking_probability, 1);
      EXPECT_GE(point.queue, last.queue);
      EXPECT_LE(point.queue, DcqcnOptions().max_threshold / 2);
      EXPECT_LE(point.cnps_per_second_per_flow, 1 / 50e-6);
      EXPECT_GT(point.synchronized_efficiency, 0);
      EXPECT_LT(point.synchronized_efficiency, point.efficiency);
      EXPECT_LT(point.efficiency, 1);
      last = point;
    }
  }
}

// 200 kB mark 1 %, 5 kB nothing: p is reached at 5 kB + p / 0.01 * 195 kB.
TEST(DcqcnTest, TheQueueIsTheOneThatMarks) {
  const DcqcnOperatingPoint point = SolveDcqcn(200 * kGigabit, 8);
  EXPECT_NEAR(point.queue.value(), 5e3 + point.marking_probability / 0.01 * 195e3, 1e-6);
  EXPECT_EQ(SolveDcqcn(40 * kGigabit, 32).queue.value(), 100e3) << "half of the threshold beyond which all are marked";
}

// At one mean rate R a timer of T and a counter of T R bytes tick equally often: either alone gives the same.
TEST(DcqcnTest, TimerAndCounterAreAlike) {
  const double capacity = 100 * kGigabit;
  DcqcnOptions timer;
  timer.byte_counter = Bytes(1e18);
  DcqcnOptions counter;
  counter.byte_counter = timer.rate_timer * BytesPerSecond(capacity / 4);
  counter.rate_timer = Seconds(1e9);
  const DcqcnOperatingPoint by_timer = SolveDcqcn(capacity, 4, timer);
  const DcqcnOperatingPoint by_counter = SolveDcqcn(capacity, 4, counter);
  EXPECT_NEAR(by_counter.marking_probability / by_timer.marking_probability, 1, 1e-9);
  EXPECT_NEAR(by_counter.efficiency, by_timer.efficiency, 1e-9);
  EXPECT_LT(by_timer.marking_probability, SolveDcqcn(capacity, 4).marking_probability);
}

TEST(DcqcnTest, ScalingBytesAndRatesChangesNoRatio) {
  DcqcnOptions scaled;
  scaled.packet = scaled.packet * 3;
  scaled.byte_counter = scaled.byte_counter * 3;
  scaled.additive_increase = scaled.additive_increase * 3;
  scaled.min_threshold = scaled.min_threshold * 3;
  scaled.max_threshold = scaled.max_threshold * 3;
  const DcqcnOperatingPoint one = SolveDcqcn(100 * kGigabit, 5);
  const DcqcnOperatingPoint three = SolveDcqcn(300 * kGigabit, 5, scaled);
  EXPECT_NEAR(three.marking_probability / one.marking_probability, 1, 1e-9);
  EXPECT_NEAR(three.cnps_per_second_per_flow / one.cnps_per_second_per_flow, 1, 1e-9);
  EXPECT_NEAR(three.queue / one.queue, 3, 1e-9);
  EXPECT_NEAR(three.efficiency, one.efficiency, 1e-9);
  EXPECT_NEAR(three.synchronized_efficiency, one.synchronized_efficiency, 1e-9);
}

TEST(DcqcnTest, OptionsSayWhatIsWrong) {
  EXPECT_TRUE(DcqcnOptions().Validate().ok());
  DcqcnOptions options;
  options.rate_timer = Seconds(std::numeric_limits<double>::infinity());
  EXPECT_THAT(options.Validate().message(), HasSubstr("rate_timer: expected > 0, found inf"));
  options = {};
  options.max_threshold = options.min_threshold;
  EXPECT_THAT(options.Validate().message(), HasSubstr("max_threshold: expected > min_threshold, found 5000"));
  options = {};
  options.max_marking = 1.5;
  EXPECT_THAT(options.Validate().message(), HasSubstr("max_marking: expected a probability in (0, 1], found 1.5"));
}

}  // namespace
}  // namespace fairlead::fluid
