// Both simulators on cases with known times: they must be given the same case before their difference means anything.
#include "experiments/packet-level/packet_level.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/packet-level/all_cases.h"
#include "experiments/packet-level/skipped_states.h"
#include "experiments/packet-level/twin_case.h"
#include "experiments/packet-level/twin_errors.h"

namespace fairlead::experiments::packet_level {
namespace {

constexpr double kPayloadBytesPerS = kLinkBytesPerS * 9000 / 9078;
constexpr uint64_t kMessage = 9'000'000;  // bytes, of 1,000 packets
constexpr double kPacketS = 9078 / kLinkBytesPerS;
// Four links; the last packet crosses three of them by itself.
constexpr double kLatencyS = 4 * kLinkDelayS + 3 * kPacketS;

TEST(TwinCaseTest, OneFlowByBoth) {
  CaseBuilder builder("one", packet::Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, 8, 3), kMessage);
  const TwinCase twin = builder.Take();
  EXPECT_NEAR(AllArrived(RunFluid(twin, false)), kMessage / kPayloadBytesPerS, 2e-9);
  EXPECT_NEAR(AllArrived(RunFluid(twin, true)), kMessage / kPayloadBytesPerS + kLatencyS, 2e-9);
  EXPECT_NEAR(AllArrived(RunPackets(twin, 1)), kMessage / kPayloadBytesPerS + kLatencyS, 2e-9);
}

// A second, equal flow over the same spine doubles the time in both; over another spine it changes nothing.
TEST(TwinCaseTest, PathsMeetInBothOrInNeither) {
  for (const uint32_t spine : {3u, 4u}) {
    CaseBuilder builder("two", packet::Transport::kMarking);
    builder.AddMessage(builder.AddConnection(0, 8, 3), kMessage);
    builder.AddMessage(builder.AddConnection(1, 9, spine), kMessage);
    const TwinCase twin = builder.Take();
    const double factor = spine == 3 ? 2 : 1;
    EXPECT_NEAR(AllArrived(RunFluid(twin, false)) * kPayloadBytesPerS / 9e6, factor, 1e-5);
    EXPECT_NEAR((AllArrived(RunPackets(twin, 1)) - kLatencyS) * kPayloadBytesPerS / 9e6, factor, 2e-3);
  }
}

// Sprayed, a leaf's hosts share seven of eight cables; with hashes the lost one is nobody's.
TEST(TwinCaseTest, ALostCableTakesAnEighthOfThePipe) {
  CaseBuilder builder("lost", packet::Transport::kPulled, 1);
  for (uint32_t h = 0; h < kHostsPerLeaf; ++h) builder.AddMessage(builder.AddSprayed(h, kHostsPerLeaf + h), kMessage);
  const TwinCase twin = builder.Take();
  EXPECT_NEAR(AllArrived(RunFluid(twin, false)) * kPayloadBytesPerS / 9e6, 8.0 / 7, 1e-5);
  EXPECT_GE((AllArrived(RunPackets(twin, 1)) - kLatencyS) * kPayloadBytesPerS / 9e6, 8.0 / 7);
}

// Two hosts in turn, with a millisecond of compute before each message: three messages and delays.
TEST(TwinCaseTest, MessagesAndComputeWaitInBoth) {
  CaseBuilder builder("chain", packet::Transport::kMarking);
  const uint32_t there = builder.AddConnection(0, 8, 0);
  const uint32_t back = builder.AddConnection(8, 0, 0);
  const uint32_t first = builder.AddMessage(there, kMessage / 10, {}, 1e-3);
  const uint32_t second = builder.AddMessage(back, kMessage / 10, {first}, 1e-3);
  builder.AddMessage(there, kMessage / 10, {second}, 1e-3);
  const TwinCase twin = builder.Take();
  const double one = 1e-3 + kMessage / kPayloadBytesPerS / 10;
  EXPECT_NEAR(AllArrived(RunFluid(twin, false)), 3 * one, 1e-8);
  EXPECT_NEAR(AllArrived(RunPackets(twin, 1)), 3 * (one + kLatencyS), 1e-8);
}

// What is foretold of steady rates is right where flows are alone or share alike, and skipping is right with it.
TEST(SkippedStatesTest, FlowsOnOneLinkAreSkippedAndForetold) {
  const TwinCase twin = TrainingSteps(1, 1, true).front().draws.front();
  const SkippedStates states = MeasureSkipping(twin, 1);
  EXPECT_GT(states.saved, 4);
  EXPECT_GT(states.skipped_share, 75);
  EXPECT_LT(states.of_skipping.mean(), 0.1);
  EXPECT_LT(states.of_steady_rates, 0.1);
  EXPECT_EQ(states.of_other_marks.mean(), 0) << "four windows mark nothing";
}

// In every step all hosts send, and what a host receives in the last round is complete.
TEST(SkippedStatesTest, StepsUseEveryHost) {
  for (const CaseFamily& family : TrainingSteps(1, 1, true)) {
    if (family.name.find("step") == std::string::npos) continue;
    const TwinCase& twin = family.draws.front();
    ASSERT_TRUE(twin.packets.Validate().ok()) << family.name;
    std::vector<uint64_t> sent(kNumHosts);
    std::vector<uint64_t> received(kNumHosts);
    for (const packet::Message& message : twin.packets.messages) {
      sent[twin.ends[message.connection].source] += message.bytes;
      received[twin.ends[message.connection].destination] += message.bytes;
    }
    EXPECT_EQ(sent, received) << family.name;
    EXPECT_GT(*std::ranges::min_element(sent), 0u) << family.name;
  }
}

TEST(PacketLevelTest, SameNumbersAtAnyNumberOfThreads) {
  const std::atomic<bool> never = false;
  const auto run = [&](uint32_t num_threads) {
    return packet_level::Run(
               {.reduced = true, .num_draws = 2, .num_threads = num_threads, .stop = &never, .progress = nullptr})
        .value();
  };
  const experiment::Outcome one = run(1);
  EXPECT_EQ(run(3).values, one.values);
  for (const auto& [row, value] : one.values) EXPECT_TRUE(std::isfinite(value)) << row;
}

}  // namespace
}  // namespace fairlead::experiments::packet_level
