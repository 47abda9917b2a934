// The packet simulation against closed forms: times of one flow, fair shares, priorities, conservation of packets.
#include "packet/packet_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "fluid/dcqcn.h"
#include "packet/packet_test_links.h"

namespace fairlead::packet {
namespace {

using testing::HasSubstr;

PacketOptions OptionsOf(Transport transport) {
  PacketOptions options;
  options.transport = transport;
  return options;
}

PacketWorkload Incast(uint32_t num_senders, uint64_t bytes) {
  return SharedLink(std::vector<uint64_t>(num_senders, bytes));
}

class EachTransportTest : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Both, EachTransportTest, testing::Values(Transport::kMarking, Transport::kPulled));

// N packets over h links alike: the last one leaves the first link after N packet times, then needs one for each
// further link; the bits travel h delays.
TEST_P(EachTransportTest, OneFlowNeedsItsPacketsItsHopsAndItsDelays) {
  for (const uint32_t num_links : {1u, 2u, 4u}) {
    for (const uint64_t num_packets : {1u, 7u, 1000u}) {
      PacketWorkload workload;
      std::vector<uint32_t> path;
      for (uint32_t l = 0; l < num_links; ++l) {
        workload.links.push_back(l == 0 ? Nic() : Port());
        path.push_back(l);
      }
      workload.connections.push_back({.paths = {path}});
      workload.messages.push_back({.connection = 0, .bytes = num_packets * 9000, .after = {}});
      const PacketResult result = SimulatePackets(workload, OptionsOf(GetParam()));
      const auto packets = static_cast<double>(num_packets + num_links - 1);
      EXPECT_NEAR(result.finish_s[0], packets * kPacketS + num_links * kDelay, 1e-11)
          << num_links << " links, " << num_packets << " packets";
      EXPECT_EQ(result.packets_sent, num_packets);
      EXPECT_EQ(result.packets_marked + result.packets_trimmed, 0u);
    }
  }
}

// A short last packet waits for the full one before it at the second link.
TEST_P(EachTransportTest, TheLastPacketMayBeShort) {
  PacketWorkload workload = Incast(1, 3 * 9000 + 500);
  const PacketResult result = SimulatePackets(workload, OptionsOf(GetParam()));
  EXPECT_NEAR(result.finish_s[0], 4 * kPacketS + 578 / kSpeed + 2 * kDelay, 1e-11);
  EXPECT_EQ(result.packets_delivered, 4u);
}

// A second link of half the speed works from the first packet on without a break.
TEST_P(EachTransportTest, ASlowLinkDecides) {
  PacketWorkload workload = Incast(1, 4'500'000);
  workload.links[1] = Port(kSpeed / 2);
  const PacketResult result = SimulatePackets(workload, OptionsOf(GetParam()));
  // Packets that were trimmed come again: their headers took time on the link.
  const double headers = static_cast<double>(result.packets_trimmed) * 64 / (kSpeed / 2);
  EXPECT_NEAR(result.finish_s[0], kPacketS + 500 * 2 * kPacketS + 2 * kDelay + headers, 1e-11);
}

// The shared link works without a break, and nobody gets more than a fair share but for a window.
TEST_P(EachTransportTest, EqualFlowsGetEqualShares) {
  for (const uint32_t num_flows : {2u, 4u}) {
    const uint64_t num_packets = 2000;
    const PacketResult result = SimulatePackets(Incast(num_flows, num_packets * 9000), OptionsOf(GetParam()));
    const auto [first, last] = std::ranges::minmax(result.finish_s);
    const double headers = static_cast<double>(result.packets_trimmed) * 64 / kSpeed;
    const double all = kPacketS + num_flows * num_packets * kPacketS + 2 * kDelay + headers;
    EXPECT_NEAR(last, all, 1e-3 * all) << num_flows;
    EXPECT_GE(first, 0.98 * all) << num_flows;
  }
}

// Marks keep the queue of a large incast short of what the windows alone would let wait, and trimming keeps it at the
// limit: eight packets, and headers.
TEST(PacketSimulationTest, QueuesOfAnIncastAreBounded) {
  const PacketWorkload workload = Incast(32, 4'000'000);
  const PacketResult marking = SimulatePackets(workload, OptionsOf(Transport::kMarking));
  EXPECT_GT(marking.packets_marked, 0u);
  const PacketResult pulled = SimulatePackets(workload, OptionsOf(Transport::kPulled));
  EXPECT_GT(pulled.packets_trimmed, 0u);
  EXPECT_LE(pulled.queue_max[32], 8 * 9078.0 + 32 * 23 * 64.0);
  // All of it has to cross one link.
  const double least = 32 * 4e6 / 9000 * 9078 / kSpeed;
  for (const PacketResult* result : {&marking, &pulled}) {
    const double last = *std::ranges::max_element(result->finish_s);
    EXPECT_GE(last, least);
    EXPECT_LE(last, 1.02 * least);
  }
}

// An important message waits for the packet that is being sent on each link, and for nothing else; the other one takes
// what is left: both together end when the link has sent all.
TEST(PacketSimulationTest, LevelsAreStrict) {
  PacketWorkload workload = Incast(2, 9'000'000);
  workload.connections[1].level = 1;
  const PacketResult result = SimulatePackets(workload, {});
  const double alone = 1001 * kPacketS + 2 * kDelay;
  EXPECT_GE(result.finish_s[0], alone - 1e-11);
  EXPECT_LE(result.finish_s[0], alone + kPacketS);
  EXPECT_NEAR(result.finish_s[1], 2001 * kPacketS + 2 * kDelay, 3 * kPacketS);
}

// Four paths of a quarter of the speed carry what one path of the whole speed does, when packets take turns; a single
// one of them takes four times as long.
TEST(PacketSimulationTest, SprayingAddsUpPaths) {
  const PacketOptions options = OptionsOf(Transport::kPulled);
  PacketWorkload workload;
  workload.links = {Nic(), Port()};
  std::vector<std::vector<uint32_t>> paths;
  for (uint32_t p = 0; p < 4; ++p) {
    workload.links.push_back(Port(kSpeed / 4));
    paths.push_back({0, 2 + p, 1});
  }
  workload.connections.push_back({.paths = paths});
  workload.messages.push_back({.connection = 0, .bytes = 18'000'000, .after = {}});
  const double sprayed = SimulatePackets(workload, options).finish_s[0];
  EXPECT_NEAR(sprayed, 2000 * kPacketS, 0.02 * 2000 * kPacketS);
  workload.connections[0].paths.resize(1);
  EXPECT_NEAR(SimulatePackets(workload, options).finish_s[0] / sprayed, 4, 0.1);
}

// The second message is computed on for a millisecond when the first has arrived.
TEST_P(EachTransportTest, MessagesWaitForOthersAndForTime) {
  PacketWorkload workload = Incast(2, 9000);
  workload.messages[1].after = {0};
  workload.messages[1].delay_s = 1e-3;
  const PacketResult result = SimulatePackets(workload, OptionsOf(GetParam()));
  const double one = 2 * kPacketS + 2 * kDelay;
  EXPECT_NEAR(result.finish_s[0], one, 1e-11);
  EXPECT_NEAR(result.finish_s[1], one + 1e-3 + one, 1e-11);
}

// A random tangle: whatever happens to packets, none is lost or invented, and every message arrives once.
TEST_P(EachTransportTest, PacketsAreConserved) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    PacketWorkload workload;
    for (uint32_t l = 0; l < 12; ++l) {
      workload.links.push_back(l < 4 ? Nic() : Port(kSpeed * random.Uniform(0.2, 1)));
    }
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < 8; ++c) {
      Connection& connection = workload.connections.emplace_back();
      connection.level = static_cast<uint32_t>(random.Below(3));
      const auto first = static_cast<uint32_t>(random.Below(4));
      const auto last = static_cast<uint32_t>(4 + random.Below(4));
      for (uint32_t p = 0; p < (GetParam() == Transport::kPulled ? 3u : 1u); ++p) {
        connection.paths.push_back({first, static_cast<uint32_t>(8 + random.Below(4)), last});
      }
      for (uint32_t m = 0; m < 3; ++m) {
        const auto index = static_cast<uint32_t>(workload.messages.size());
        workload.messages.push_back({.connection = c, .bytes = 1 + random.Below(2'000'000), .after = {}});
        if (index > 0 && random.Below(2) == 0) workload.messages[index].after = {random.Below(2) == 0 ? 0 : index - 1};
        bytes += workload.messages[index].bytes;
      }
    }
    PacketOptions options = OptionsOf(GetParam());
    options.mark_min = 30e3;
    options.mark_max = 90e3;
    options.seed = seed;
    ASSERT_TRUE(workload.Validate().ok());
    const PacketResult result = SimulatePackets(workload, options);
    EXPECT_EQ(result.packets_sent, result.packets_delivered + result.packets_trimmed);
    EXPECT_EQ(result.bytes_delivered, bytes);
    for (size_t m = 0; m < workload.messages.size(); ++m) {
      EXPECT_GT(result.finish_s[m], 0);
      for (const uint32_t before : workload.messages[m].after) {
        EXPECT_GT(result.finish_s[m], result.finish_s[before]);
      }
    }
    EXPECT_EQ(SimulatePackets(workload, options).finish_s, result.finish_s) << "same seed, same times";
  }
}

// Long flows under DCQCN as the papers have it, packet by packet: the mean queue between 50 and 150 ms.
double MeanQueue(uint32_t num_flows, const fluid::DcqcnOptions& dcqcn) {
  constexpr double kLink = 5e9;  // 40 Gb/s
  PacketOptions options;
  options.payload = static_cast<uint32_t>(dcqcn.packet.value());
  options.header = 0;
  options.mark_min = dcqcn.min_threshold.value();
  options.mark_max = dcqcn.max_threshold.value();
  options.mark_probability = dcqcn.max_marking;
  options.window = 1e6;  // none
  const auto picoseconds = [](Seconds time) { return static_cast<int64_t>(1e12 * time.value()); };
  options.rate_control = {.gain = 1.0 / 256,
                          .alpha_timer = picoseconds(dcqcn.alpha_timer),
                          .decrease_interval = picoseconds(dcqcn.cnp_interval),
                          .increase_timer = picoseconds(dcqcn.rate_timer),
                          .recovery_rounds = static_cast<uint32_t>(dcqcn.recovery_rounds),
                          .additive_increase = dcqcn.additive_increase.value(),
                          .hyper_increase = dcqcn.additive_increase.value(),
                          .least_rate = 1e6};
  const auto queued = [&](double seconds) {
    PacketWorkload workload =
        SharedLink(std::vector<uint64_t>(num_flows, static_cast<uint64_t>(kLink * seconds / num_flows)));
    for (PacketLink& link : workload.links) link.bytes_per_s = kLink;
    return SimulatePackets(workload, options).queue_byte_s.back();
  };
  return (queued(0.15) - queued(0.05)) / 0.1;
}

// The operating point that the fluid simulator takes queues from is that of the packets while queues stay below the
// threshold from which all are marked. Beyond it swings, and is told too long rather than too short.
TEST(PacketSimulationTest, QueuesStandWhereTheOperatingPointOfDcqcnHasThem) {
  fluid::DcqcnOptions dcqcn;
  dcqcn.byte_counter = Bytes(1e15);  // packets recover by the timer alone
  for (const uint32_t num_flows : {2u, 4u, 8u, 16u}) {
    const double told = fluid::SolveDcqcn(5e9, num_flows, dcqcn).queue.value();
    const double real = MeanQueue(num_flows, dcqcn);
    EXPECT_NEAR(told / real, num_flows < 8 ? 0.85 : 1.4, num_flows < 8 ? 0.1 : 0.3) << num_flows;
  }
}

TEST(PacketWorkloadTest, ErrorsNameWhatIsWrong) {
  const auto message = [](auto change) {
    PacketWorkload workload = Incast(2, 9000);
    change(workload);
    return workload.Validate().message();
  };
  EXPECT_THAT(message([](PacketWorkload& w) { w.links[1].bytes_per_s = 0; }), HasSubstr("link 1"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.links[1].delay_s = -1; }), HasSubstr("link 1"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.connections[1].paths = {}; }),
              HasSubstr("connection 1: it has no path"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.connections[1].paths = {{}}; }), HasSubstr("without links"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.connections[1].paths = {{1, 7}}; }), HasSubstr("link 7"));
  EXPECT_THAT(message([](PacketWorkload& w) {
                w.connections[1].paths = {{1, 2}, {0, 2}};
              }),
              HasSubstr("different links"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.connections[0].level = 8; }), HasSubstr("level 8; expected 0 to 7"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.messages[1].connection = 9; }), HasSubstr("message 1"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.messages[1].bytes = 0; }), HasSubstr("empty"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.messages[1].delay_s = -1; }), HasSubstr("delay"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.messages[1].after = {5}; }), HasSubstr("message 5"));
  EXPECT_THAT(message([](PacketWorkload& w) {
                w.messages[0].after = {1};
                w.messages[1].after = {0};
              }),
              HasSubstr("circle"));
  EXPECT_THAT(message([](PacketWorkload& w) { w.messages[1].after = {1}; }), HasSubstr("circle"));
}

TEST(RateControlTest, CutsAndRecovers) {
  RateControlOptions options;
  options.additive_increase = options.hyper_increase = 0;
  RateControl control(8e9, options);
  control.AdvanceTo(5'000'000'000);
  EXPECT_EQ(control.rate(), 8e9) << "no mark, no timer";
  control.OnMark(5'000'000'000);
  EXPECT_EQ(control.rate(), 4e9) << "alpha is 1 at first";
  control.OnMark(5'003'000'000);
  EXPECT_EQ(control.rate(), 4e9) << "a cut in 4 us at most";
  // Halfway to the target after each 900 us: 6, 7, 7.5.
  control.AdvanceTo(5'000'000'000 + 3 * options.increase_timer);
  EXPECT_NEAR(control.rate(), 7.5e9, 1);
  // 2,700 ticks of a microsecond without marks but for the first ones: alpha is about (255/256)^2697.
  EXPECT_NEAR(control.alpha(), 0, 1e-3);
  control.OnMark(5'001'000'000 + 3 * options.increase_timer);
  EXPECT_NEAR(control.rate(), 7.5e9, 0.1e9) << "rare marks hardly cut";
}

TEST(RateControlTest, StaysWithinItsLimits) {
  RateControl control(1e9, {});
  for (int64_t now = 0; now < 1'000'000'000; now += 4'000'000) control.OnMark(now);
  EXPECT_EQ(control.rate(), RateControlOptions().least_rate);
  control.AdvanceTo(10'000'000'000'000);
  EXPECT_NEAR(control.rate(), 1e9, 1e6);
  EXPECT_LE(control.rate(), 1e9);
}

}  // namespace
}  // namespace fairlead::packet
