// Steady states that are skipped: same times as packet by packet, for a fraction of the events.
#include "packet/steady_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "packet/packet_simulation.h"
#include "packet/packet_test_links.h"

namespace fairlead::packet {
namespace {

PacketWorkload SharedByPackets(std::vector<uint64_t> packets) {
  for (uint64_t& length : packets) length *= 9000;
  return SharedLink(packets);
}

PacketOptions SkippingOptions(Transport transport, bool skips) {
  PacketOptions options;
  options.transport = transport;
  if (skips) options.skip_steady = SteadyStateOptions();
  return options;
}

uint64_t TotalBytes(const PacketWorkload& workload) {
  uint64_t bytes = 0;
  for (const Message& message : workload.messages) bytes += message.bytes;
  return bytes;
}

class SkippedSteadyStateTest : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Both, SkippedSteadyStateTest, testing::Values(Transport::kMarking, Transport::kPulled));

TEST_P(SkippedSteadyStateTest, OneFlowEndsWithinAPacketOfItsTime) {
  const PacketWorkload workload = SharedByPackets({100'000});
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  EXPECT_NEAR(skipped.finish_s[0], all.finish_s[0], kPacketS);
  EXPECT_EQ(skipped.bytes_delivered + skipped.bytes_skipped, TotalBytes(workload));
  EXPECT_LT(skipped.num_events * 50, all.num_events);
  ASSERT_EQ(skipped.steady_states.size(), 1u);
  EXPECT_NEAR(skipped.steady_states[0].rates[0], kSpeed * 9000 / 9078, 1e-4 * kSpeed);
}

// Too short for eight samples of 64 packets, or with nothing left after them: nothing is skipped.
TEST_P(SkippedSteadyStateTest, ShortFlowsAreSentPacketByPacket) {
  for (const uint64_t packets : {1u, 500u, 576u, 630u}) {
    const PacketWorkload workload = SharedByPackets({packets});
    const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
    const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
    EXPECT_EQ(skipped.finish_s, all.finish_s) << packets;
    EXPECT_EQ(skipped.packets_skipped, 0u) << packets;
    EXPECT_EQ(skipped.num_events, all.num_events) << packets;
  }
}

// Four on a link, of different lengths: three times someone ends and the others speed up.
TEST_P(SkippedSteadyStateTest, RatesAreTakenAnewWhenAFlowEnds) {
  const PacketWorkload workload = SharedByPackets({5'000, 10'000, 20'000, 40'000});
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  for (size_t m = 0; m < 4; ++m) EXPECT_NEAR(skipped.finish_s[m] / all.finish_s[m], 1, 0.01) << m;
  EXPECT_GE(skipped.steady_states.size(), 4u);
  EXPECT_LT(skipped.num_events * 3, all.num_events);
}

// A flow that comes in the middle of a skipped span finds the rate that the other one has without it, and both share.
TEST_P(SkippedSteadyStateTest, WhoComesEndsTheSpan) {
  PacketWorkload workload = SharedByPackets({50'000, 10'000});
  workload.messages[1].delay_s = 20'000 * kPacketS;
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(skipped.finish_s[m] / all.finish_s[m], 1, 0.01) << m;
  ASSERT_FALSE(skipped.steady_states.empty());
  EXPECT_NEAR(skipped.steady_states[0].start_s + skipped.steady_states[0].length_s, 20'000 * kPacketS, 1e-9);
  EXPECT_EQ(skipped.bytes_delivered + skipped.bytes_skipped, TotalBytes(workload));
}

// Messages of one connection follow each other; the second comes while the first is skipped, and waits.
TEST_P(SkippedSteadyStateTest, MessagesWaitBehindASkippedOne) {
  PacketWorkload workload = SharedByPackets({50'000});
  workload.messages.push_back({.connection = 0, .bytes = 45'000'000, .after = {}, .delay_s = 10'000 * kPacketS});
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(skipped.finish_s[m], all.finish_s[m], 2 * kPacketS) << m;
}

// An important flow takes the whole link; the other one is steady at nothing, and takes over where it ends.
TEST_P(SkippedSteadyStateTest, AStarvedFlowIsSteadyToo) {
  PacketWorkload workload = SharedByPackets({20'000, 20'000});
  workload.connections[1].level = 1;
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(skipped.finish_s[m] / all.finish_s[m], 1, 2e-3) << m;
  EXPECT_LT(skipped.num_events * 8, all.num_events);
}

// What is skipped on one link changes nothing on another: there, to the bit, everything is as without skipping.
TEST_P(SkippedSteadyStateTest, PartitionsDoNotDisturbEachOther) {
  PacketWorkload workload = SharedByPackets({50'000});
  const PacketWorkload other = SharedByPackets({400, 300, 200});
  for (const PacketLink& link : other.links) workload.links.push_back(link);
  for (Connection connection : other.connections) {
    for (uint32_t& link : connection.paths[0]) link += 2;
    workload.connections.push_back(connection);
  }
  for (Message message : other.messages) {
    message.connection += 1;
    message.delay_s = 5'000 * kPacketS;
    workload.messages.push_back(message);
  }
  const PacketResult all = SimulatePackets(workload, SkippingOptions(GetParam(), false));
  const PacketResult skipped = SimulatePackets(workload, SkippingOptions(GetParam(), true));
  EXPECT_GT(skipped.packets_skipped, 0u);
  for (size_t m = 1; m < 4; ++m) EXPECT_EQ(skipped.finish_s[m], all.finish_s[m]) << m;
}

// Random tangles: nothing is lost or invented, all messages arrive, and in their order.
TEST_P(SkippedSteadyStateTest, BytesAreConserved) {
  uint64_t num_skipped = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    PacketWorkload workload;
    for (uint32_t l = 0; l < 16; ++l) workload.links.push_back(l < 4 ? Nic() : Port(kSpeed * random.Uniform(0.3, 1)));
    for (uint32_t c = 0; c < 8; ++c) {
      Connection& connection = workload.connections.emplace_back();
      connection.level = static_cast<uint32_t>(random.Below(3));
      const auto first = static_cast<uint32_t>(random.Below(4));
      const auto last = static_cast<uint32_t>(4 + random.Below(6));
      for (uint32_t p = 0; p < (GetParam() == Transport::kPulled ? 3u : 1u); ++p) {
        connection.paths.push_back({first, static_cast<uint32_t>(10 + random.Below(6)), last});
      }
      for (uint32_t m = 0; m < 3; ++m) {
        const auto index = static_cast<uint32_t>(workload.messages.size());
        Message message{.connection = c, .bytes = 1 + random.Below(60'000'000), .after = {}};
        if (index > 0 && random.Below(2) == 0) message.after = {index - 1};
        if (random.Below(2) == 0) message.delay_s = random.Uniform(0, 5e-3);
        workload.messages.push_back(message);
      }
    }
    PacketOptions options = SkippingOptions(GetParam(), true);
    options.seed = seed;
    ASSERT_TRUE(workload.Validate().ok());
    const PacketResult result = SimulatePackets(workload, options);
    EXPECT_EQ(result.packets_sent, result.packets_delivered + result.packets_trimmed);
    EXPECT_EQ(result.bytes_delivered + result.bytes_skipped, TotalBytes(workload));
    for (size_t m = 0; m < workload.messages.size(); ++m) {
      ASSERT_GT(result.finish_s[m], result.ready_s[m]);
      for (const uint32_t before : workload.messages[m].after)
        EXPECT_GT(result.ready_s[m], result.finish_s[before] - 1e-12);
    }
    num_skipped += result.packets_skipped;
    EXPECT_EQ(SimulatePackets(workload, options).finish_s, result.finish_s) << "same seed, same times";
  }
  EXPECT_GT(num_skipped, 0u);
}

TEST(RateHistoryTest, ARateMayMoveByItsToleranceAndOnePacket) {
  // Two members; samples of 20 packets.
  const auto is_steady = [](const std::vector<std::vector<size_t>>& samples, double tolerance) {
    RateHistory history({.tolerance = tolerance, .samples = 3, .packets_per_sample = 10}, 1000);
    history.Restart(2, 0);
    int64_t now = 0;
    // The first span does not count.
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(history.OnArrival(0, 1000, now += 100));
    for (const std::vector<size_t>& packets : samples) {
      for (size_t member = 0; member < 2; ++member) {
        for (size_t i = 0; i < packets[member]; ++i) history.OnArrival(member, 1000, now += 100);
      }
    }
    return history.IsSteady();
  };
  EXPECT_TRUE(is_steady({{10, 10}, {10, 10}, {10, 10}}, 0));
  EXPECT_TRUE(is_steady({{10, 10}, {11, 9}, {10, 10}}, 0)) << "one packet is what can be seen";
  EXPECT_FALSE(is_steady({{10, 10}, {12, 8}, {10, 10}}, 0));
  EXPECT_TRUE(is_steady({{10, 10}, {12, 8}, {10, 10}}, 0.15));
  EXPECT_FALSE(is_steady({{10, 10}, {12, 8}, {10, 10}}, 0.05));
  EXPECT_TRUE(is_steady({{20, 0}, {20, 0}, {20, 0}}, 0)) << "starved is steady";
}

TEST(PartitionTableTest, JoinsAndFallsApart) {
  // Links 0 to 3; connections between neighbours.
  PacketWorkload workload;
  for (int l = 0; l < 4; ++l) workload.links.push_back(Port());
  workload.connections = {{.paths = {{0}}}, {.paths = {{0, 1}}}, {.paths = {{2}}}, {.paths = {{1, 2}, {3, 2}}}};
  PartitionTable table(workload, {}, 9000);
  EXPECT_EQ(table.OfLink(0), PartitionTable::kNone);
  table.Join(0, 0);
  table.Join(2, 0);
  EXPECT_NE(table.OfConnection(0), table.OfConnection(2));
  table.Join(1, 0);
  EXPECT_EQ(table.OfConnection(0), table.OfConnection(1));
  EXPECT_EQ(table.OfLink(1), table.OfLink(0));
  EXPECT_EQ(table.OfLink(3), PartitionTable::kNone);
  table.Join(3, 0);
  for (const uint32_t c : {1u, 2u, 3u}) EXPECT_EQ(table.OfConnection(c), table.OfConnection(0));
  EXPECT_EQ(table.at(table.OfConnection(0)).members.size(), 4u);
  for (const uint32_t c : table.at(table.OfConnection(0)).members) {
    EXPECT_EQ(table.at(table.OfConnection(0)).members[table.PlaceOf(c)], c);
  }
  table.Leave(1, 0);
  EXPECT_NE(table.OfConnection(0), table.OfConnection(3));
  EXPECT_EQ(table.OfConnection(2), table.OfConnection(3));
  EXPECT_EQ(table.OfConnection(1), PartitionTable::kNone);
  table.Leave(3, 0);
  EXPECT_EQ(table.OfLink(3), PartitionTable::kNone);
}

}  // namespace
}  // namespace fairlead::packet
