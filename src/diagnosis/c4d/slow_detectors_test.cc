#include "diagnosis/c4d/slow_detectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Eight ranks under one leaf switch, each sending to all others ten times in a window. How long iterations take is
// known where each has an all-reduce in every second.
class SlowDetectorsTest : public ::testing::Test {
 protected:
  using Factor = std::function<double(uint32_t source, uint32_t destination, uint32_t channel)>;

  std::vector<Suspect> Window(const Factor& factor) {
    for (int second = 0; second < 10; ++second) {
      for (uint32_t source = 0; source < 8; ++source) detectors_.Add(Report(source, factor), false);
      ++number_;
      began_s_ += IterationSeconds();
    }
    now_ = SimTime::FromSeconds(Seconds(began_s_));
    detectors_.JudgeBlocks(now_);
    return detectors_.EndWindow(now_);
  }
  // Two channels with 40 messages each of 4 MB, 1 ms.
  model::RankReport Report(uint32_t source, const Factor& factor) const {
    model::RankReport report;
    report.rank = RankId(source);
    report.number = number_;
    report.at = SimTime::FromSeconds(Seconds(began_s_ + IterationSeconds()));
    for (uint32_t destination = 0; destination < 8; ++destination) {
      for (uint16_t channel = 0; destination != source && channel < 2; ++channel) {
        model::ConnectionRecord& record = report.connections.emplace_back();
        record.key.peer = RankId(destination);
        record.key.channel = channel;
        record.messages = 40;
        record.bytes = uint64_t{40} * 4'000'000;
        const double seconds = 1e-3 * factor(source, destination, channel);
        record.wire_time = SimDuration::FromSeconds(Seconds(40 * seconds));
        record.wire_time_max = SimDuration::FromSeconds(Seconds(seconds));
        if (loss_.first == source && loss_.second == destination) {
          record.wire_time = record.wire_time + SimDuration(3'000'000);
          record.wire_time_max = record.wire_time_max + SimDuration(3'000'000);
        }
      }
    }
    if (has_iterations_) report.operations.push_back(AllReduce(source));
    return report;
  }
  double IterationSeconds() const { return 1 + late_s_ + busy_s_; }
  model::OperationRecord AllReduce(uint32_t rank) const {
    model::OperationRecord operation;
    operation.communicator = model::CommunicatorId(8);
    operation.kind = model::OperationKind::kAllReduce;
    operation.sequence = operation.issue_index = number_;
    operation.enqueued = SimTime::FromSeconds(Seconds(began_s_ + 0.5 + (rank == 2 ? late_s_ : 0)));
    operation.started = operation.enqueued;
    operation.finished = SimTime::FromSeconds(Seconds(began_s_ + 0.6 + late_s_ + busy_s_));
    return operation;
  }
  void LearnNormal(int num_windows = 3) {
    for (int window = 0; window < num_windows; ++window) {
      EXPECT_THAT(Window([](uint32_t, uint32_t, uint32_t) { return 1.0; }), IsEmpty());
    }
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 8, .gpus = 1, .hosts_per_leaf = 8});
  SlowDetectors detectors_{layout_, {}};
  SimTime now_;
  uint64_t number_ = 0;
  double began_s_ = 0;  // the iteration
  double late_s_ = 0;   // by which rank 2 comes late to each
  double busy_s_ = 0;   // by which its all-reduce takes longer
  bool has_iterations_ = false;
  // Source and destination between which one message of each report takes 3 ms longer.
  std::pair<uint32_t, uint32_t> loss_ = {8, 8};
};

TEST_F(SlowDetectorsTest, ASlowPathOfWhichTheCostIsNotKnown) {
  LearnNormal();
  const std::vector<Suspect> suspects =
      Window([](uint32_t y, uint32_t x, uint32_t) { return y == 2 && x == 5 ? 3.0 : 1.0; });
  ASSERT_THAT(suspects, SizeIs(1));
  EXPECT_EQ(suspects[0].culprits.front().rank, RankId(2u));
  EXPECT_GT(suspects[0].confidence, 0.8);
  EXPECT_FALSE(detectors_.SaysNothingOf(suspects[0]));
  Window([](uint32_t, uint32_t, uint32_t) { return 1.0; });
  EXPECT_FALSE(detectors_.SaysNothingOf(suspects[0])) << "it is healthy now";
  now_ = now_ + SimDuration(10'000'000'000);
  EXPECT_THAT(detectors_.EndWindow(now_), IsEmpty());
  EXPECT_TRUE(detectors_.SaysNothingOf(suspects[0]));
  Suspect rank = suspects[0];
  rank.syndrome = model::Syndrome::kNonCommSlow;
  EXPECT_FALSE(detectors_.SaysNothingOf(rank)) << "no path";
}

// One of two channels of each pair is as ever, and no pair on the whole.
TEST_F(SlowDetectorsTest, WhatNothingHealthyStandsBesideIsUnlikely) {
  LearnNormal();
  const std::vector<Suspect> suspects =
      Window([](uint32_t, uint32_t, uint32_t channel) { return channel == 1 ? 1.9 : 1; });
  ASSERT_THAT(suspects, SizeIs(1));
  EXPECT_TRUE(suspects[0].is_alone);
  EXPECT_DOUBLE_EQ(suspects[0].confidence, 0.4);
}

// A path that loses messages is slow on the mean in some windows, and in others it only stalls single messages. Those
// are no loss while iterations take no longer; but the path is not healthy in between either.
TEST_F(SlowDetectorsTest, LossesThatCostNothingAreNeitherGoodNorBad) {
  has_iterations_ = true;
  LearnNormal(8);
  const std::vector<Suspect> slow = Window([](uint32_t y, uint32_t x, uint32_t) { return y == 2 && x == 5 ? 1.5 : 1; });
  ASSERT_THAT(slow, SizeIs(1));
  EXPECT_DOUBLE_EQ(slow[0].confidence, 0.4);
  EXPECT_FALSE(detectors_.SaysNothingOf(slow[0]));
  const auto as_ever = [](uint32_t, uint32_t, uint32_t) { return 1.0; };
  loss_ = {2, 5};
  const std::vector<Suspect> lossy = Window(as_ever);
  ASSERT_THAT(lossy, SizeIs(1));
  EXPECT_TRUE(lossy[0].is_idle);
  EXPECT_EQ(lossy[0].culprits, slow[0].culprits);
  EXPECT_TRUE(detectors_.SaysNothingOf(slow[0]));
  loss_ = {3, 5};
  EXPECT_THAT(Window(as_ever), SizeIs(1));
  EXPECT_FALSE(detectors_.SaysNothingOf(slow[0])) << "another path";
}

// A slower GPU behind a slower NIC, all of whose messages take four times as long.
class LateRankAndSlowPathTest : public SlowDetectorsTest {
 protected:
  // What it costs by then. Args: those of the all-reduces from now on.
  std::multimap<model::Syndrome, double> CostsAfter(double late_s, double busy_s) {
    has_iterations_ = true;
    LearnNormal(8);
    late_s_ = late_s;
    busy_s_ = busy_s;
    std::vector<Suspect> suspects;
    for (int window = 0; window < 10; ++window) {
      suspects = Window([](uint32_t y, uint32_t, uint32_t) { return y == 2 ? 4.0 : 1.0; });
    }
    std::multimap<model::Syndrome, double> costs;
    for (const Suspect& suspect : suspects) {
      EXPECT_EQ(suspect.culprits.front().host, HostId(2u)) << suspect.summary;
      costs.emplace(suspect.syndrome, suspect.cost);
    }
    return costs;
  }
};

TEST_F(LateRankAndSlowPathTest, MessagesOfALateRankAreLateWithIt) {
  EXPECT_THAT(CostsAfter(0.3, 0), ElementsAre(Pair(model::Syndrome::kNonCommSlow, DoubleNear(0.23, 0.02))));
}

TEST_F(LateRankAndSlowPathTest, WhatThePathCostsBesideIsTooLittleToBeSure) {
  EXPECT_THAT(CostsAfter(0.3, 0.04), ElementsAre(Pair(model::Syndrome::kNonCommSlow, DoubleNear(0.22, 0.02))));
}

// Its messages take 0.12 s of 1.6 s longer.
TEST_F(LateRankAndSlowPathTest, BothAreNamedIfIterationsGrowByMoreThanTheLateness) {
  EXPECT_THAT(CostsAfter(0.3, 0.3), UnorderedElementsAre(Pair(model::Syndrome::kNonCommSlow, DoubleNear(0.19, 0.02)),
                                                         Pair(model::Syndrome::kCommSlow, DoubleNear(0.075, 0.01))));
}

TEST_F(SlowDetectorsTest, ARankThatBeginsAnewIsHeardAgain) {
  LearnNormal();
  number_ = 0;
  const auto slow = [](uint32_t y, uint32_t x, uint32_t) { return y == 2 && x == 5 ? 3.0 : 1.0; };
  EXPECT_THAT(Window(slow), IsEmpty()) << "reports that were seen";
  number_ = 0;
  for (uint32_t source = 0; source < 8; ++source) detectors_.Add(Report(source, slow), true);
  ++number_;
  EXPECT_THAT(Window(slow), SizeIs(1));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
