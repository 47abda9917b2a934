// Cases whose times are known, in ns-3: it must be given the case that the others are given. Then what it says of ours.
#include "experiments/packet-level/ns3_twin.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "experiments/packet-level/all_cases.h"
#include "experiments/packet-level/twin_case.h"
#include "experiments/packet-level/twin_errors.h"

namespace fairlead::experiments::packet_level {
namespace {

constexpr uint64_t kMessage = 9'000'000;  // bytes, of 1,000 packets
constexpr double kPayloadBytesPerS = kLinkBytesPerS * 9000 / 9078;
constexpr double kMessageS = kMessage / kPayloadBytesPerS;
constexpr double kPacketS = 9078 / kLinkBytesPerS;
constexpr double kLatencyS = 4 * kLinkDelayS + 3 * kPacketS;

// Ten packets are sent before the first acknowledgement; then there is no gap but while the window grows to a round
// trip.
TEST(Ns3TwinTest, OneFlowNeedsItsPacketsAndItsPath) {
  CaseBuilder builder("one", packet::Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, 8, 3), kMessage);
  const Ns3Times ns3 = RunNs3(builder.Take(), 1);
  EXPECT_GE(AllArrived(ns3.times), kMessageS + kLatencyS - 1e-9);
  EXPECT_LE(AllArrived(ns3.times), kMessageS + kLatencyS + 5e-6);
  EXPECT_EQ(ns3.dropped, 0u);
}

TEST(Ns3TwinTest, FlowsOfOneSpineMeetAndThoseOfTwoDoNot) {
  for (const uint32_t spine : {3u, 4u}) {
    CaseBuilder builder("two", packet::Transport::kMarking);
    builder.AddMessage(builder.AddConnection(0, 8, 3), kMessage);
    builder.AddMessage(builder.AddConnection(1, 9, spine), kMessage);
    const Ns3Times ns3 = RunNs3(builder.Take(), 1);
    EXPECT_NEAR(AllArrived(ns3.times) / kMessageS, spine == 3 ? 2 : 1, 0.02);
  }
}

// Two links, no spine.
TEST(Ns3TwinTest, AConnectionCanEndUnderItsOwnLeaf) {
  CaseBuilder builder("near", packet::Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, 1, 0), kMessage);
  EXPECT_NEAR(AllArrived(RunNs3(builder.Take(), 1).times) / kMessageS, 1, 0.02);
}

TEST(Ns3TwinTest, MessagesAndComputeWait) {
  CaseBuilder builder("chain", packet::Transport::kMarking);
  const uint32_t there = builder.AddConnection(0, 8, 0);
  const uint32_t back = builder.AddConnection(8, 0, 0);
  const uint32_t first = builder.AddMessage(there, kMessage, {}, 1e-3);
  const uint32_t second = builder.AddMessage(back, kMessage, {first}, 1e-3);
  builder.AddMessage(there, kMessage, {second}, 1e-3);
  EXPECT_NEAR(AllArrived(RunNs3(builder.Take(), 1).times), 3 * (1e-3 + kMessageS + kLatencyS), 10e-6);
}

// The more important one needs as long as alone, the other one what is left.
TEST(Ns3TwinTest, LevelsAreStrict) {
  CaseBuilder builder("levels", packet::Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, 8, 3, 0), kMessage);
  builder.AddMessage(builder.AddConnection(1, 9, 3, 1), kMessage);
  const Ns3Times ns3 = RunNs3(builder.Take(), 1);
  EXPECT_NEAR(ns3.times.finish_s[0] / kMessageS, 1, 0.02);
  EXPECT_NEAR(ns3.times.finish_s[1] / kMessageS, 2, 0.02);
}

// Eight hosts of a leaf over seven cables. Spines drawn by chance cost more than a seventh more: queues build up where
// two packets meet, and windows shrink.
TEST(Ns3TwinTest, SprayedPacketsShareThePipeThatIsLeft) {
  CaseBuilder builder("lost", packet::Transport::kPulled, 1);
  for (uint32_t h = 0; h < kHostsPerLeaf; ++h) builder.AddMessage(builder.AddSprayed(h, kHostsPerLeaf + h), kMessage);
  const double factor = AllArrived(RunNs3(builder.Take(), 1).times) / kMessageS;
  EXPECT_GE(factor, 8.0 / 7);
  EXPECT_LE(factor, 1.25 * 8 / 7);
}

// What everybody waits for, the last message of a case, is what the fluid engine is used for. Cases whose flows learn
// their rates in much less time than they last.
TEST(Ns3TwinTest, TheFluidEngineForetellsWhenEverythingHasArrived) {
  int num_cases = 0;
  for (const CaseFamily& family : AllCases(1, 1, true)) {
    const bool is_one_link = family.name.ends_with("on a link") || family.name == "incast of 8";
    if (!is_one_link && !family.name.starts_with("ring of")) continue;
    ++num_cases;
    const double error = Compare(RunNs3(family.draws.front(), 1).times, RunFluid(family.draws.front(), true)).total;
    EXPECT_NEAR(error, 0, is_one_link ? 1 : 5) << family.name;
  }
  EXPECT_EQ(num_cases, 5);
}

}  // namespace
}  // namespace fairlead::experiments::packet_level
