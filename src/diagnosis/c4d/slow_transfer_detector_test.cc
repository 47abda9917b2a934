#include "diagnosis/c4d/slow_transfer_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"
#include "diagnosis/c4d/random_delays.h"
#include "diagnosis/c4d/report_numbers.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::ConnectionRecord;
using model::CulpritKind;
using model::JobLayout;
using model::RankId;
using model::RankReport;

// Factor of the time of messages from one rank to another.
using Slowness = std::function<double(uint32_t source, uint32_t destination, uint32_t plane)>;

double Healthy(uint32_t, uint32_t, uint32_t) { return 1; }

// Each rank sends to those that come so many ranks after it, one channel on each plane; once a second 40 messages of
// 4 MB, which take 200 us.
class Traffic {
 public:
  Traffic(const JobLayout& layout, std::vector<uint32_t> strides, uint64_t seed)
      : layout_(layout), strides_(std::move(strides)), random_(seed) {}

  std::vector<RankReport> Second(const Slowness& slowness) {
    std::vector<RankReport> reports;
    const auto num_ranks = static_cast<uint32_t>(layout_.ranks.size());
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      RankReport report;
      report.rank = RankId(rank);
      report.number = second_;
      report.at = SimTime(static_cast<int64_t>(second_) * 1'000'000'000);
      for (const uint32_t stride : strides_) {
        const uint32_t peer = (rank + stride) % num_ranks;
        for (uint32_t plane = 0; plane < layout_.ranks[rank].leaves.size(); ++plane) {
          report.connections.push_back(Record(rank, peer, plane, slowness(rank, peer, plane)));
          if (second_channel == 0) continue;
          report.connections.push_back(Record(rank, peer, plane, second_channel * slowness(rank, peer, plane)));
          report.connections.back().key.channel = static_cast<uint16_t>(plane + 100);
        }
      }
      reports.push_back(report);
    }
    ++second_;
    return reports;
  }

  double second_channel = 0;  // factor of its time; 0: there is none

 private:
  ConnectionRecord Record(uint32_t, uint32_t peer, uint32_t plane, double factor) {
    constexpr int kMessages = 40;
    ConnectionRecord record;
    record.key.channel = static_cast<uint16_t>(plane);
    record.key.plane = static_cast<uint8_t>(plane);
    record.key.communicator = model::CommunicatorId(0u);
    record.key.peer = RankId(peer);
    double sum = 0;
    double greatest = 0;
    for (int i = 0; i < kMessages; ++i) {
      const double seconds = 200e-6 * factor * LogNormal(random_, 0.2);
      sum += seconds;
      greatest = std::max(greatest, seconds);
    }
    record.messages = kMessages;
    record.bytes = uint64_t{kMessages} * 4'000'000;
    record.wire_time = SimDuration::FromSeconds(Seconds(sum));
    record.wire_time_max = SimDuration::FromSeconds(Seconds(greatest));
    return record;
  }

  const JobLayout& layout_;
  std::vector<uint32_t> strides_;
  Random random_;
  uint64_t second_ = 0;
};

constexpr ExampleShape kShape{.hosts = 6, .gpus = 4, .hosts_per_leaf = 2, .planes = 2};

class SlowTransferDetectorTest : public ::testing::Test {
 protected:
  std::vector<Suspect> Window(const Slowness& slowness) {
    for (int second = 0; second < 10; ++second) {
      for (const RankReport& report : traffic_.Second(slowness)) detector_.Add(report);
    }
    now_ = now_ + SimDuration(10'000'000'000);
    return detector_.EndWindow(now_);
  }
  void LearnNormal(const Slowness& slowness) {
    for (int window = 0; window < 3; ++window) EXPECT_TRUE(Window(slowness).empty());
  }

  JobLayout layout_ = MakeExampleLayout(kShape);
  SlowTransferDetector detector_{layout_, SlowOptions{}};
  Traffic traffic_{layout_, {kShape.gpus}, 7};  // each GPU's ring over the hosts
  SimTime now_;
};

TEST_F(SlowTransferDetectorTest, NoiseAloneNamesNoCulprit) {
  for (int window = 0; window < 60; ++window) EXPECT_TRUE(Window(Healthy).empty());
}

TEST_F(SlowTransferDetectorTest, NamesTheConnectionBeforeAndAfterABaseline) {
  // In a ring the ends can't be distinguished. 1.5 times: log 1.5 = 0.405 > 6 sigma of 0.0488.
  const auto slow = [](uint32_t y, uint32_t, uint32_t) { return y == 9 ? 1.5 : 1.0; };
  for (int window = 0; window < 6; ++window) {
    const std::vector<Suspect> suspects = Window(slow);
    ASSERT_EQ(suspects.size(), 1u) << "window " << window;
    EXPECT_EQ(suspects[0].syndrome, model::Syndrome::kCommSlow);
    ASSERT_EQ(suspects[0].culprits.size(), 1u);
    EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kConnection);
    EXPECT_EQ(suspects[0].culprits[0].rank, RankId(9));
    EXPECT_EQ(suspects[0].culprits[0].peer, RankId(13));
    EXPECT_NEAR(suspects[0].evidence[0].value, 1.5, 0.1);
  }
  LearnNormal(Healthy);
  EXPECT_EQ(Window(slow).size(), 1u);
}

// A NIC that serves the first channel first: of each pair one channel is as ever, and none is on the whole.
TEST_F(SlowTransferDetectorTest, WhereNothingIsHealthyThereIsNothingToCompareWith) {
  LearnNormal(Healthy);
  const std::vector<Suspect> some = Window([](uint32_t, uint32_t, uint32_t plane) { return plane == 1 ? 1.6 : 1.0; });
  ASSERT_EQ(some.size(), 1u);
  EXPECT_FALSE(some[0].is_alone);
  const JobLayout one_leaf = MakeExampleLayout({.hosts = 4, .gpus = 1, .hosts_per_leaf = 4});
  SlowTransferDetector detector(one_leaf, SlowOptions{});
  Traffic traffic(one_leaf, {1}, 7);
  const auto window = [&](double second_channel) {
    traffic.second_channel = second_channel;
    for (int second = 0; second < 10; ++second) {
      for (const RankReport& report : traffic.Second(Healthy)) detector.Add(report);
    }
    now_ = now_ + SimDuration(10'000'000'000);
    return detector.EndWindow(now_);
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(window(1).empty());
  const std::vector<Suspect> all = window(1.9);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].culprits[0].kind, CulpritKind::kLeaf);
  EXPECT_TRUE(all[0].is_alone);
}

TEST_F(SlowTransferDetectorTest, NamesWhatSlowTransfersHaveInCommon) {
  LearnNormal(Healthy);
  const auto host_2 = [](uint32_t y, uint32_t x, uint32_t) { return y / 4 == 2 || x / 4 == 2 ? 2.0 : 1.0; };
  std::vector<Suspect> suspects = Window(host_2);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kHost);
  EXPECT_EQ(suspects[0].culprits[0].host, HostId(2));

  const model::LeafId leaf = layout_.ranks[8].leaves[1];
  suspects = Window([&](uint32_t y, uint32_t x, uint32_t plane) {
    return layout_.ranks[y].leaves[plane] == leaf || layout_.ranks[x].leaves[plane] == leaf ? 1.6 : 1.0;
  });
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kLeaf);
  EXPECT_EQ(suspects[0].culprits[0].leaf, leaf);

  suspects = Window([](uint32_t, uint32_t, uint32_t plane) { return plane == 0 ? 1.6 : 1.0; });
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kPlane);
}

TEST_F(SlowTransferDetectorTest, SharedAndConstantDelaysYieldNoFinding) {
  // From leaf 1 to leaf 2 it is always further.
  const auto far = [](uint32_t y, uint32_t x, uint32_t) { return y / 8 == 1 && x / 8 == 2 ? 1.8 : 1.0; };
  LearnNormal(far);
  for (int window = 0; window < 5; ++window) EXPECT_TRUE(Window(far).empty());
  EXPECT_TRUE(Window([&](uint32_t y, uint32_t x, uint32_t p) { return 3 * far(y, x, p); }).empty());
}

TEST_F(SlowTransferDetectorTest, FastMessagesAreLeftAlone) {
  // 1.2 times 200 us adds 40 us to each message: less than 50 us.
  LearnNormal(Healthy);
  EXPECT_TRUE(Window([](uint32_t y, uint32_t, uint32_t) { return y == 9 ? 1.2 : 1.0; }).empty());
}

TEST_F(SlowTransferDetectorTest, OneStallIsNoSlowWire) {
  LearnNormal(Healthy);
  for (int second = 0; second < 10; ++second) {
    std::vector<RankReport> reports = traffic_.Second(Healthy);
    if (second == 4) {
      ConnectionRecord& record = reports[5].connections[0];
      record.wire_time += SimDuration(2'000'000'000);
      record.wire_time_max = SimDuration(2'000'000'000);
    }
    for (const RankReport& report : reports) detector_.Add(report);
  }
  EXPECT_TRUE(detector_.EndWindow(now_).empty());
}

// As on a host with busy processors: in three of ten seconds its messages take three times as long, 1.6 times on
// average. That is log 1.6 = 0.47, with a standard error of 2 * sqrt(0.3 * 0.7) / 1.6 / sqrt(9) = 0.19.
TEST_F(SlowTransferDetectorTest, SomeBadSecondsMakeNoSlowConnection) {
  LearnNormal(Healthy);
  for (int second = 0; second < 10; ++second) {
    const double factor = second % 4 == 0 ? 3 : 1;
    const auto slow = [&](uint32_t y, uint32_t, uint32_t) { return y == 9 ? factor : 1.0; };
    for (const RankReport& report : traffic_.Second(slow)) detector_.Add(report);
  }
  EXPECT_TRUE(detector_.EndWindow(now_).empty());
}

TEST_F(SlowTransferDetectorTest, ALossyConnectionIsSlowThoughItsMeanIsNot) {
  LearnNormal(Healthy);
  // Each second one of 40 messages takes 1.2 ms more, six times the others: the mean grows by 15 %.
  for (int second = 0; second < 10; ++second) {
    std::vector<RankReport> reports = traffic_.Second(Healthy);
    ConnectionRecord& record = reports[5].connections[0];
    record.wire_time += SimDuration(1'200'000);
    record.wire_time_max = record.wire_time_max + SimDuration(1'200'000);
    for (const RankReport& report : reports) detector_.Add(report);
  }
  const std::vector<Suspect> suspects = detector_.EndWindow(now_);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kConnection);
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(5));
  EXPECT_NE(suspects[0].summary.find("lost"), std::string::npos);
}

// A rank that comes late sends 40 messages at once, and the first one waits for 1.2 ms among those of others: 12 ms in
// ten seconds.
TEST_F(SlowTransferDetectorTest, WhatALateRankExplainsIsNoLoss) {
  LearnNormal(Healthy);
  const auto suspects_if = [&](uint32_t late_rank, double lateness_s) {
    for (int second = 0; second < 10; ++second) {
      std::vector<RankReport> reports = traffic_.Second(Healthy);
      reports[5].connections[0].wire_time = SimDuration(9'200'000);
      reports[5].connections[0].wire_time_max = SimDuration(1'400'000);
      for (const RankReport& report : reports) detector_.Add(report);
    }
    std::vector<double> lateness(layout_.ranks.size(), 0.0);
    lateness[late_rank] = lateness_s;
    return detector_.EndWindow(now_, lateness).size();
  };
  EXPECT_EQ(suspects_if(5, 0.5), 0u) << "the sender is late";
  EXPECT_EQ(suspects_if(9, 0.5), 0u) << "the receiver is late";
  EXPECT_EQ(suspects_if(6, 0.5), 1u) << "somebody else is late";
  EXPECT_EQ(suspects_if(5, 0.006), 1u) << "12 ms are more than that";
}

// What a NIC receives takes twice as long. Its own messages are acknowledged the slow way, so that one of them in a
// while takes six times as long. That is no loss; what happens elsewhere is.
TEST(SlowNicTest, WhatItsSlownessExplainsIsNoLoss) {
  const JobLayout layout = MakeExampleLayout({.hosts = 6, .gpus = 1, .hosts_per_leaf = 6});
  const auto suspects_if = [&](uint32_t stalled) {
    SlowTransferDetector detector(layout, {});
    Traffic traffic(layout, {1, 2, 3, 4, 5}, 3);
    std::vector<Suspect> suspects;
    for (int window = 0; window < 3; ++window) {
      const bool is_slow = window == 2;
      for (int second = 0; second < 10; ++second) {
        for (RankReport& report :
             traffic.Second([&](uint32_t, uint32_t x, uint32_t) { return is_slow && x == 4 ? 2.0 : 1.0; })) {
          ConnectionRecord& record = report.connections.front();
          if (is_slow && report.rank == RankId(stalled)) {
            record.wire_time += SimDuration(1'200'000);
            record.wire_time_max = record.wire_time_max + SimDuration(1'200'000);
          }
          detector.Add(report);
        }
      }
      suspects = detector.EndWindow(SimTime());
      if (!is_slow) {
        EXPECT_TRUE(suspects.empty());
      }
    }
    return suspects;
  };
  const std::vector<Suspect> beside = suspects_if(4);
  ASSERT_EQ(beside.size(), 1u);
  EXPECT_EQ(beside[0].culprits[0].kind, CulpritKind::kNicReceive);
  EXPECT_EQ(beside[0].culprits[0].nic, NicId(4));
  const std::vector<Suspect> elsewhere = suspects_if(1);
  ASSERT_EQ(elsewhere.size(), 2u);
  EXPECT_EQ(elsewhere[0].culprits[0].nic, NicId(4));
  EXPECT_EQ(elsewhere[1].culprits[0].kind, CulpritKind::kConnection);
  EXPECT_EQ(elsewhere[1].culprits[0].rank, RankId(1));
  EXPECT_EQ(elsewhere[1].culprits[0].peer, RankId(2));
}

// Who is named of eight ranks that send to all others, once something happens to their messages.
class AllToAllTest : public ::testing::Test {
 protected:
  using Factors = std::map<std::pair<uint32_t, uint32_t>, double>;  // of (source, destination); others: 1

  std::vector<Suspect> Window(const Factors& factors, std::vector<double> lateness = {}) {
    for (int second = 0; second < 10; ++second) {
      for (const RankReport& report : Second(factors)) detector_.Add(report);
    }
    return detector_.EndWindow(SimTime(), lateness);
  }
  // Once a second a message from `source` to `destination` takes six times as long as the others.
  std::vector<Suspect> WindowWithStalls(const Factors& factors, uint32_t source, uint32_t destination) {
    for (int second = 0; second < 10; ++second) {
      std::vector<RankReport> reports = Second(factors);
      ConnectionRecord& record = reports[source].connections[(destination + 7 - source) % 8];
      EXPECT_EQ(record.key.peer, RankId(destination));
      record.wire_time += SimDuration(1'200'000);
      record.wire_time_max = record.wire_time_max + SimDuration(1'200'000);
      for (const RankReport& report : reports) detector_.Add(report);
    }
    return detector_.EndWindow(SimTime());
  }
  std::vector<RankReport> Second(const Factors& factors) {
    return traffic_.Second([&](uint32_t y, uint32_t x, uint32_t) {
      const auto factor = factors.find({y, x});
      return factor == factors.end() ? 1.0 : factor->second;
    });
  }
  void LearnNormal() {
    for (int window = 0; window < 2; ++window) EXPECT_TRUE(Window({}).empty());
  }
  // What rank 1 receives takes 1.9 times as long.
  static Factors SlowReceiver() {
    Factors factors;
    for (const uint32_t source : {0, 2, 3, 4, 5, 6, 7}) factors[{source, 1}] = 1.9;
    return factors;
  }

  const JobLayout layout_ = MakeExampleLayout({.hosts = 8, .gpus = 1, .hosts_per_leaf = 8});
  SlowTransferDetector detector_{layout_, {}};
  Traffic traffic_{layout_, {1, 2, 3, 4, 5, 6, 7}, 5};
};

// What some of its own messages wait for are acknowledgements that pass the slow side, behind data.
TEST_F(AllToAllTest, WhatASlowNicExplainsIsNoFindingBesideIt) {
  LearnNormal();
  Factors factors = SlowReceiver();
  for (const uint32_t peer : {0, 3, 7}) factors[{1, peer}] = 1.9;
  const std::vector<Suspect> suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].kind, CulpritKind::kNicReceive);
  EXPECT_EQ(suspects[0].culprits[0].nic, NicId(1));
}

// As recorded of a real job: all wait for the slow NIC, so messages elsewhere meet others than usual. Most of those
// that change are faster, one is slower, and no more so than others are faster.
TEST_F(AllToAllTest, WhatChangesElsewhereIsNoFindingBesideASlowNic) {
  LearnNormal();
  Factors factors = SlowReceiver();
  factors[{4, 3}] = 1.4;
  for (const auto& [pair, factor] :
       Factors{{{6, 7}, 0.25}, {{7, 6}, 0.16}, {{5, 6}, 0.4}, {{6, 5}, 0.56}, {{4, 5}, 0.6}}) {
    factors[pair] = factor;
  }
  const std::vector<Suspect> suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].nic, NicId(1));
}

// The same beside a slow connection; where nothing else has changed, a second one that is slow is named.
TEST_F(AllToAllTest, WhatChangesElsewhereIsNoFindingBesideASlowConnection) {
  LearnNormal();
  Factors factors = {{{1, 5}, 2.4}, {{4, 3}, 1.5}};
  std::vector<Suspect> suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 2u);
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  EXPECT_EQ(suspects[1].culprits[0].rank, RankId(4));
  for (const auto& [pair, factor] : Factors{{{2, 3}, 0.56}, {{3, 2}, 0.58}, {{6, 7}, 0.74}, {{1, 2}, 0.76}}) {
    factors[pair] = factor;
  }
  suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  EXPECT_EQ(suspects[0].culprits[0].peer, RankId(5));
}

// As NCCL reports it of a job whose messages go through sockets: all come late to the all-reduce because rank 5 does,
// which waits for rank 1's messages. Meanwhile rank 5 takes nothing of what rank 4 sends around the ring, and once its
// buffers are full rank 4's messages seem to be on the wire, for longer than the others.
TEST_F(AllToAllTest, TheWayIntoARankThatDoesNotTakeIsNotSlow) {
  LearnNormal();
  const auto window = [&](const Factors& factors, SimDuration untaken) {
    for (int second = 0; second < 10; ++second) {
      std::vector<RankReport> reports = Second(factors);
      ConnectionRecord& received = reports[5].connections.emplace_back();
      received.key = reports[4].connections.front().key;  // to rank 5
      received.key.direction = model::Direction::kReceive;
      received.key.peer = RankId(4);
      received.messages = 40;
      received.wait_for_gpu = untaken * received.messages;
      for (const RankReport& report : reports) detector_.Add(report);
    }
    return detector_.EndWindow(SimTime());
  };
  const Factors factors = {{{1, 5}, 2.3}, {{4, 5}, 3.4}};
  std::vector<Suspect> suspects = window(factors, SimDuration(2'000'000));  // of 0.68 ms, 0.5 ms with four buffers
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  EXPECT_EQ(suspects[0].culprits[0].peer, RankId(5));
  EXPECT_TRUE(window({{{4, 5}, 3.4}}, SimDuration(2'000'000)).empty());
  suspects = window({{{4, 5}, 3.4}}, SimDuration(400'000));
  ASSERT_EQ(suspects.size(), 1u) << "0.1 ms is not what they take longer";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(4));
  EXPECT_NEAR(suspects[0].evidence[0].value, 2.9, 0.2) << "what the receiver accounts for is left out";
}

// As in a real job: rank 1's messages to rank 2 happened to meet fewer others than those of all the rest, until one
// rank was held up once. Since then they are like the rest.
TEST_F(AllToAllTest, TheEndOfALuckyStreakIsNotSlow) {
  Factors lucky = {{{1, 2}, 0.65}};
  for (int window = 0; window < 2; ++window) EXPECT_TRUE(Window(lucky).empty());
  EXPECT_TRUE(Window({}).empty()) << "1.54 times its own normal, and that of the others";
  lucky[{1, 2}] = 1.3;
  std::vector<Suspect> suspects = Window(lucky);
  ASSERT_EQ(suspects.size(), 1u) << "twice its own normal is no chance";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  suspects = Window({{{1, 2}, 0.65}, {{3, 4}, 1.54}});
  ASSERT_EQ(suspects.size(), 1u) << "1.54 times its own normal, and slower than the others";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(3));
}

// Connections of one class differ for as long as a job runs: the median of the class is no bound for its members.
TEST_F(AllToAllTest, NoSlowerThanTheSlowestPeerIsNotSlow) {
  Factors factors = {{{1, 2}, 0.8}, {{0, 1}, 1.15}, {{5, 6}, 1.2}};
  for (int window = 0; window < 2; ++window) EXPECT_TRUE(Window(factors).empty());
  factors[{1, 2}] = 1.3;
  EXPECT_TRUE(Window(factors).empty()) << "1.63 times its own normal, 1.3 times the median, as slow as the slowest";
  factors[{1, 2}] = 1.55;
  std::vector<Suspect> suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 1u) << "1.94 times its own normal, 1.29 times the slowest";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  factors[{3, 4}] = 1.6;
  EXPECT_EQ(Window(factors).size(), 2u) << "who is slow is no measure for others";
}

// As in a real job from its start on: three connections of a ring take half as long again as the five others. Without
// its own normal, only a pair slower than all others of its class is named; after a while that is their normal.
TEST_F(AllToAllTest, UnluckyFromTheStartIsNotSlow) {
  Factors factors = {{{5, 6}, 1.5}, {{6, 7}, 1.6}, {{7, 0}, 1.45}};
  for (int window = 0; window < 8; ++window) EXPECT_TRUE(Window(factors).empty()) << "window " << window;
  factors[{6, 7}] = 2.4;
  const std::vector<Suspect> suspects = Window(factors);
  ASSERT_EQ(suspects.size(), 1u) << "1.5 times its own normal, and 1.6 times the slowest of the others";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(6));
  EXPECT_NEAR(suspects[0].evidence[0].value, 1.5, 0.1);
}

// Single messages meet others than usual, too: in a real job, those from 4 to 5 while 1 to 5 was slow.
TEST_F(AllToAllTest, WhatChangesElsewhereIsNoLossBesideASlowConnection) {
  LearnNormal();
  Factors factors = {{{1, 5}, 2.6}};
  std::vector<Suspect> suspects = WindowWithStalls(factors, 4, 5);
  ASSERT_EQ(suspects.size(), 2u) << "messages elsewhere are as ever";
  EXPECT_EQ(suspects[1].culprits[0].rank, RankId(4));
  for (const auto& [pair, factor] : Factors{{{2, 3}, 0.56}, {{3, 2}, 0.58}, {{6, 7}, 0.74}, {{1, 2}, 0.76}}) {
    factors[pair] = factor;
  }
  suspects = WindowWithStalls(factors, 4, 5);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(1));
  EXPECT_EQ(suspects[0].culprits[0].peer, RankId(5));
  suspects = WindowWithStalls({}, 4, 5);
  ASSERT_EQ(suspects.size(), 1u) << "once it is mended, a loss is told";
  EXPECT_EQ(suspects[0].culprits[0].rank, RankId(4));
}

// As in a real job, after one rank was held up: single messages from 4 to 2 take much longer than ever, the others
// less, all together about the same.
TEST_F(AllToAllTest, JobsThatAlternateLoseNothing) {
  LearnNormal();
  EXPECT_EQ(WindowWithStalls({}, 4, 2).size(), 1u);
  const Factors faster = {{{4, 2}, 0.85}};
  EXPECT_TRUE(WindowWithStalls(faster, 4, 2).empty());
}

// All wait for rank 5, which comes late; messages elsewhere change by a quarter either way.
TEST_F(AllToAllTest, WhatChangesWhileARankIsLateIsNoSlowConnection) {
  LearnNormal();
  Factors factors = {{{7, 0}, 1.42}};
  for (const auto& [pair, factor] :
       Factors{{{0, 3}, 0.75}, {{1, 0}, 0.78}, {{4, 0}, 0.78}, {{3, 0}, 0.78}, {{6, 0}, 0.8}}) {
    factors[pair] = factor;
  }
  std::vector<double> lateness(8, 0.0);
  lateness[5] = 3;
  EXPECT_TRUE(Window(factors, lateness).empty());
  EXPECT_EQ(Window(factors).size(), 1u) << "nobody is late";
}

// Rank 6's messages to rank 7 are faster while all wait for the slow NIC. When it is mended they are as ever.
TEST_F(AllToAllTest, NothingIsLearntBesideASlowNic) {
  EXPECT_TRUE(Window({}).empty());
  Factors factors = SlowReceiver();
  factors[{6, 7}] = 0.25;
  EXPECT_EQ(Window(factors).size(), 1u);
  for (int window = 0; window < 3; ++window) EXPECT_TRUE(Window({}).empty());
}

// Two sizes and noise can make the slowest message take about twice as long as the mean of the others in every report,
// so that chance decides how many reports of a connection pass that limit. No rank's fault, however often it happens.
TEST_F(SlowTransferDetectorTest, SizesAndNoiseThatMakeSlowMessagesAreNoLoss) {
  Random random(5);
  for (int window = 0; window < 30; ++window) {
    for (int second = 0; second < 10; ++second) {
      for (RankReport report : traffic_.Second(Healthy)) {
        for (ConnectionRecord& record : report.connections) {
          // 300 us on the mean of 40; over the mean of the others 1.78 to 2.11, and above 2 in a third of the reports.
          const double ratio = 1.75 + 0.3 * random.Uniform();
          record.wire_time = SimDuration(12'000'000);
          record.wire_time_max = SimDuration(static_cast<int64_t>(ratio * 300'000));
        }
        detector_.Add(report);
      }
    }
    EXPECT_TRUE(detector_.EndWindow(now_).empty()) << "window " << window;
  }
}

TEST_F(SlowTransferDetectorTest, SharedSlownessMakesNoMessageAnOutlier) {
  // All of a connection three times as slow: slow, but not lossy. All of them: no rank's fault.
  LearnNormal(Healthy);
  EXPECT_TRUE(Window([](uint32_t, uint32_t, uint32_t) { return 3.0; }).empty());
  const std::vector<Suspect> suspects = Window([](uint32_t y, uint32_t, uint32_t) { return y == 9 ? 3.0 : 1.0; });
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].summary.find("lost"), std::string::npos);
}

TEST(SlowTransferLawsTest, OrderAndRepetitionOfReportsChangeNothing) {
  const JobLayout layout = MakeExampleLayout(kShape);
  SlowTransferDetector once(layout, {});
  SlowTransferDetector shuffled(layout, {});
  Traffic traffic(layout, {kShape.gpus}, 11);
  Random random(3);
  const auto slow = [](uint32_t y, uint32_t, uint32_t) { return y == 9 ? 2.0 : 1.0; };
  for (int window = 0; window < 4; ++window) {
    std::vector<RankReport> reports;
    for (int second = 0; second < 10; ++second) {
      for (const RankReport& report : traffic.Second(slow)) reports.push_back(report);
    }
    for (const RankReport& report : reports) once.Add(report);
    std::vector<RankReport> others = reports;
    others.insert(others.end(), reports.begin(), reports.begin() + 30);
    random.Shuffle(std::span(others));
    RankReport damaged = reports.front();
    damaged.rank = RankId(4000u);
    shuffled.Add(damaged);
    damaged = reports.front();
    damaged.number = 1'000 + static_cast<uint64_t>(window);
    damaged.rank = RankId(0u);
    for (ConnectionRecord& record : damaged.connections) record.key.peer = RankId(4000u);
    for (const RankReport& report : others) shuffled.Add(report);
    const std::vector<Suspect> a = once.EndWindow(SimTime(window));
    const std::vector<Suspect> b = shuffled.EndWindow(SimTime(window));
    ASSERT_EQ(a.size(), 1u);
    ASSERT_EQ(b.size(), 1u);
    EXPECT_EQ(a[0].culprits, b[0].culprits);
    EXPECT_NEAR(a[0].evidence[0].value, b[0].evidence[0].value, 1e-9);
  }
}

TEST(ReportNumbersTest, EachNumberOnce) {
  ReportNumbers numbers;
  EXPECT_TRUE(numbers.Accept(5));
  EXPECT_FALSE(numbers.Accept(5));
  EXPECT_TRUE(numbers.Accept(7));
  EXPECT_TRUE(numbers.Accept(6)) << "late, but new";
  EXPECT_FALSE(numbers.Accept(6));
  EXPECT_TRUE(numbers.Accept(200));
  EXPECT_FALSE(numbers.Accept(136)) << "too old to tell";
  EXPECT_TRUE(numbers.Accept(137));
}

TEST(SlowestRatiosTest, FewReportsAreNotUsual) {
  SlowestRatios ratios;
  for (int i = 0; i < 7; ++i) ratios.Add(1.5);
  EXPECT_EQ(ratios.usual(), 0);
  SlowestRatios others;
  for (const double ratio : {20.0, 1.25, 1.75, 9.0}) others.Add(ratio);
  ratios.Add(others);
  // Of 11 reports, three may be stalls: 20, 9, 1.75; the next is 1.5.
  EXPECT_EQ(ratios.usual(), 1.5);
}

TEST(TransferFitTest, ReadsLatencyAndBandwidthFromSizesThatVary) {
  // T = 100 us + b / 10 GB/s, sizes 1 and 4 MB: 200 us and 500 us; 2 MB: 300 us.
  TransferFit fit;
  for (int i = 0; i < 10; ++i) {
    ConnectionRecord record;
    record.messages = 100;
    const bool is_small = i % 2 == 0;
    record.bytes = uint64_t{100} * (is_small ? 1'000'000 : 4'000'000);
    record.wire_time = SimDuration(int64_t{100} * (is_small ? 200'000 : 500'000));
    record.wire_time_max = SimDuration(350'000);
    fit.Add(record, SimDuration(50'000), 0);
  }
  // The slowest message is left out, as if it had been one of the mean size: nothing changes.
  EXPECT_NEAR(fit.SecondsOf(2e6), 300e-6, 1e-7);
  EXPECT_NEAR(fit.SecondsOf(1e6), 200e-6, 1e-7);
  EXPECT_EQ(fit.messages(), 1000u);
}

TEST(TransferFitTest, TellsHowMuchItsMeanIsWorth) {
  const auto error_of = [](double bytes_factor, double seconds_factor, int num_reports) {
    TransferFit fit;
    for (int i = 0; i < num_reports; ++i) {
      ConnectionRecord record;
      record.messages = 100;
      const bool is_other = i % 2 == 1;
      record.bytes = static_cast<uint64_t>(100e6 * (is_other ? bytes_factor : 1));
      record.wire_time = SimDuration::FromSeconds(Seconds(100 * 200e-6 * (is_other ? seconds_factor : 1)));
      record.wire_time_max = SimDuration(200'000);
      if (i == 4) {  // a stall, which is left out
        record.wire_time += SimDuration(1'000'000'000);
        record.wire_time_max = SimDuration(1'000'200'000);
      }
      fit.Add(record, SimDuration(50'000), 0);
    }
    return fit.LogError();
  };
  EXPECT_NEAR(error_of(1, 1, 10), 0, 0.02);
  // 200 and 400 us: 300 +- 100 us, of ten.
  EXPECT_NEAR(error_of(1, 2, 10), 0.111, 0.01);
  // Explained by sizes.
  EXPECT_NEAR(error_of(4, 2, 10), 0, 0.02);
  EXPECT_EQ(error_of(1, 2, 2), 0) << "too few";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
