#include "sim/congestion_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "fluid/random_network.h"
#include "topology/clos_fabrics.h"

namespace fairlead::sim {
namespace {

using fluid::LinkUse;

// 200 Gb/s.
constexpr double kCapacity = 25e9;
constexpr double kUnbounded = 1e12;
constexpr int64_t kSecond = 1'000'000'000;

fluid::DcqcnOperatingPoint PointOf(double num_flows) { return fluid::SolveDcqcn(kCapacity, num_flows); }

// Links of one network and the flows on them; links from `kUnmarked` on don't mark.
class CongestionLossTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kUnmarked = 3;
  static constexpr uint32_t kLinks = 6;

  struct Shape {
    double num_pairs = 1;
    double top_rate = kUnbounded;
    uint32_t level = 0;
  };

  fluid::FlowId AddFlow(std::vector<LinkUse> uses) { return AddFlow(std::move(uses), Shape()); }

  // Each flow is a separate job.
  fluid::FlowId AddFlow(std::vector<LinkUse> uses, const Shape& shape) {
    const fluid::FlowId id = network_.AddFlow(uses, shape.level, shape.num_pairs);
    flows_.push_back({.id = id,
                      .job = static_cast<uint32_t>(flows_.size()),
                      .level = shape.level,
                      .num_pairs = shape.num_pairs,
                      .top_rate = shape.top_rate,
                      .uses = std::move(uses)});
    return id;
  }

  // All flows start now and send for a second; none ends.
  void SendForASecond() {
    const std::vector<uint8_t> marks = {1, 1, 1, 0, 0, 0};
    loss_ = std::make_unique<CongestionLoss>(&points_, &network_, marks, flows_, flows_.size());
    for (const CongestionLoss::Flow& flow : flows_) network_.Start(flow.id, 1e15);
    loss_->Update(0);
    loss_->CountUntil(kSecond);
  }

  CongestionPoints points_{IdVector<LinkId, uint8_t>(), fluid::DcqcnOptions()};
  fluid::FlowNetwork network_{std::vector<double>(kLinks, kCapacity)};
  std::vector<CongestionLoss::Flow> flows_;
  std::unique_ptr<CongestionLoss> loss_;
};

TEST_F(CongestionLossTest, FlowsThatShareALinkLoseAndAreNotified) {
  for (int i = 0; i < 3; ++i) AddFlow({{0}});
  SendForASecond();
  const fluid::DcqcnOperatingPoint point = PointOf(3);
  EXPECT_LT(point.efficiency, 0.999) << "there must be something to see";
  EXPECT_NEAR(network_.capacity(0), kCapacity * point.efficiency, 1);
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(network_.Rate(flows_[j].id), kCapacity / 3 * point.efficiency, 1);
    EXPECT_NEAR(loss_->totals().jobs[j].cnps, point.cnps_per_second_per_flow, 1e-6);
    EXPECT_NEAR(loss_->totals().jobs[j].held_bytes, kCapacity / 3, 1);
    EXPECT_NEAR(loss_->totals().jobs[j].lost_bytes, kCapacity / 3 * (1 - point.efficiency), 1);
  }
}

TEST_F(CongestionLossTest, LinksWithoutMarksLoseNothing) {
  AddFlow({{kUnmarked}});
  AddFlow({{kUnmarked}});
  SendForASecond();
  EXPECT_EQ(network_.capacity(kUnmarked), kCapacity);
  EXPECT_EQ(loss_->totals().jobs[0].cnps, 0);
}

TEST_F(CongestionLossTest, OneFlowHasALinkToItself) {
  // Its NIC could send more; nothing competes.
  AddFlow({{0}}, {.top_rate = 2 * kCapacity});
  SendForASecond();
  EXPECT_EQ(network_.capacity(0), kCapacity);
  EXPECT_EQ(loss_->totals().jobs[0].cnps, 0);
  EXPECT_EQ(loss_->totals().jobs[0].lost_bytes, 0);
}

TEST_F(CongestionLossTest, AFullLinkThatIsNotOverloadedCostsNothing) {
  AddFlow({{0}}, {.top_rate = kCapacity / 2});
  AddFlow({{0}}, {.top_rate = kCapacity / 2});
  SendForASecond();
  EXPECT_EQ(network_.capacity(0), kCapacity);
  EXPECT_EQ(loss_->totals().jobs[0].cnps, 0);
}

TEST_F(CongestionLossTest, QueuePairsOfOneNicArePacedByIt) {
  // The uplink is as fast as the NIC: what the NIC sends never queues up behind it.
  AddFlow({{kUnmarked}, {0}});
  AddFlow({{kUnmarked}, {0}});
  SendForASecond();
  EXPECT_EQ(network_.capacity(0), kCapacity);
  EXPECT_EQ(loss_->totals().jobs[0].cnps, 0);
}

TEST_F(CongestionLossTest, OnlyTheLinkThatHoldsAFlowBackMarksIt) {
  // Three flows share link 1, one of them crosses link 0 too, where it leaves two thirds to another flow, which could
  // send more. Link 0 is overloaded and full: it holds back the second flow, at two thirds, and not the first.
  AddFlow({{0}, {1}});
  AddFlow({{1}});
  AddFlow({{1}});
  AddFlow({{0}});
  SendForASecond();
  for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(loss_->totals().jobs[j].cnps, PointOf(3).cnps_per_second_per_flow, 1e-6);
  // 25e9 over two thirds of it is 1.5 flows.
  EXPECT_NEAR(loss_->totals().jobs[3].cnps, PointOf(1.5).cnps_per_second_per_flow, 1e-6);
  EXPECT_NEAR(network_.capacity(0), kCapacity * (1.0 / 3 + 2.0 / 3 * PointOf(1.5).efficiency), 1);
}

TEST_F(CongestionLossTest, OnTwoLinksThatHoldItAlikeAFlowIsNotifiedOnce) {
  AddFlow({{0}, {1}});
  AddFlow({{0}, {1}});
  SendForASecond();
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(network_.Rate(flows_[j].id), kCapacity / 2 * PointOf(2).efficiency, 1) << "lost once, not twice";
    EXPECT_NEAR(loss_->totals().jobs[j].cnps, PointOf(2).cnps_per_second_per_flow, 1e-6);
    EXPECT_NEAR(loss_->totals().jobs[j].lost_bytes, kCapacity / 2 * (1 - PointOf(2).efficiency), 1);
  }
  // What has waited at the first one comes no faster than the second can send it.
  EXPECT_NEAR(loss_->totals().queue_byte_s[0], PointOf(2).queue.value(), 1e-6);
  EXPECT_EQ(loss_->totals().queue_byte_s[1], 0);
  EXPECT_EQ(loss_->most_queued(1), 0);
}

// Of level 1 two flows share what level 0 leaves: half of the link, at half the speed. Both queues stand there.
TEST_F(CongestionLossTest, QueuesOfLevelsAddUpAndDrainAtTheirOwnRate) {
  for (int i = 0; i < 2; ++i) AddFlow({{0}, {1}}, {.num_pairs = 1, .top_rate = kUnbounded, .level = 0});
  for (int i = 0; i < 2; ++i) AddFlow({{1}}, {.num_pairs = 1, .top_rate = kUnbounded, .level = 1});
  network_.SetCapacity(0, kCapacity / 2);
  SendForASecond();
  const double first = fluid::SolveDcqcn(kCapacity / 2, 2).queue.value();
  const double second = PointOf(4).queue.value();
  EXPECT_NEAR(loss_->totals().queue_byte_s[0], first, 1e-6);
  EXPECT_NEAR(loss_->totals().queue_byte_s[1], second, 1e-6);
  const CongestionTotals& early = loss_->totals().jobs[0];
  EXPECT_NEAR(early.wait_byte_s / early.held_bytes, first / (kCapacity / 2), 1e-12);
  const CongestionTotals& late = loss_->totals().jobs[2];
  EXPECT_NEAR(late.wait_byte_s / late.held_bytes, second / (kCapacity / 2), 1e-12);
}

TEST_F(CongestionLossTest, EachQueuePairCounts) {
  // Three pairs that move alike, a ring that crosses the link twice, and one alone: six pairs.
  AddFlow({{0}}, {.num_pairs = 3});
  AddFlow({{0, 2}});
  AddFlow({{0}});
  SendForASecond();
  const double each = PointOf(6).cnps_per_second_per_flow;
  EXPECT_NEAR(network_.capacity(0), kCapacity * PointOf(6).efficiency, 1);
  EXPECT_NEAR(loss_->totals().jobs[0].cnps, 3 * each, 1e-6);
  EXPECT_NEAR(loss_->totals().jobs[1].cnps, 2 * each, 1e-6);
  EXPECT_NEAR(loss_->totals().jobs[2].cnps, each, 1e-6);
}

TEST_F(CongestionLossTest, LevelsHaveQueuesOfTheirOwn) {
  // The first has 60 % of the link, all that its NIC sends; two others share 40 % like five flows share the link.
  AddFlow({{kUnmarked + 1, 1}, {0}}, {.top_rate = 0.6 * kCapacity});
  network_.SetCapacity(kUnmarked + 1, 0.6 * kCapacity);
  AddFlow({{0}}, {.level = 1});
  AddFlow({{0}}, {.level = 1});
  SendForASecond();
  EXPECT_NEAR(network_.Rate(flows_[0].id), 0.6 * kCapacity, 1);
  EXPECT_EQ(loss_->totals().jobs[0].cnps, 0);
  for (size_t j = 1; j < 3; ++j) {
    EXPECT_NEAR(network_.Rate(flows_[j].id), 0.2 * kCapacity * PointOf(5).efficiency, 1);
    EXPECT_NEAR(loss_->totals().jobs[j].cnps, PointOf(5).cnps_per_second_per_flow, 1e-6);
  }
}

TEST_F(CongestionLossTest, JobsWithoutGpusAreNotNotified) {
  AddFlow({{0}});
  AddFlow({{0}}, {.level = 1});
  SendForASecond();
  EXPECT_EQ(network_.capacity(0), kCapacity) << "each is alone in its queue";
  for (size_t j = 0; j < 2; ++j) EXPECT_EQ(loss_->totals().jobs[j].cnps, 0);
}

TEST_F(CongestionLossTest, LossEndsWithTheCongestion) {
  AddFlow({{0}});
  AddFlow({{0}});
  SendForASecond();
  network_.Cancel(flows_[0].id);
  loss_->Update(kSecond);
  loss_->CountUntil(3 * kSecond);
  EXPECT_EQ(network_.capacity(0), kCapacity);
  EXPECT_NEAR(loss_->totals().jobs[1].cnps, PointOf(2).cnps_per_second_per_flow, 1e-6) << "of the first second only";
}

TEST(CongestionPointsTest, WholeNumbersOfFlowsAreExactAndOthersNear) {
  CongestionPoints points({}, {});
  EXPECT_EQ(points.Find(kCapacity, kCapacity / 7).cnps_per_second_per_flow, PointOf(7).cnps_per_second_per_flow);
  EXPECT_EQ(points.Find(kCapacity, kCapacity).efficiency, 1);
  // CNPs grow with less than the square root of the number of flows, and the number is 0.1 % off at most.
  for (double num_flows = 1.01; num_flows < 1e5; num_flows *= 1.37) {
    const double found = points.Find(kCapacity, kCapacity / num_flows).cnps_per_second_per_flow;
    EXPECT_NEAR(found / PointOf(num_flows).cnps_per_second_per_flow, 1, 1e-3);
  }
}

TEST(MarkingLinksTest, SwitchesMarkAndNicsDoNot) {
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = 1;
  spec.spines = 1;
  const topology::Fabric fabric = topology::BuildClos(spec).value();
  const auto marks = FindMarkingLinks(fabric);
  size_t num_marking = 0;
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    const LinkId link(i);
    const bool leaves_a_switch =
        topology::IsNetwork(fabric.tier(link)) && fabric.kind(fabric.source(link)) != topology::NodeKind::kNic;
    EXPECT_EQ(marks[link] != 0, leaves_a_switch) << fabric.LinkName(link);
    num_marking += marks[link];
  }
  // One cable per NIC and per leaf: the half of its directions that leads down, and both.
  EXPECT_EQ(num_marking, fabric.num_nics() + 4);
}

// A random network in which flows come and go.
class RandomCongestion {
 public:
  RandomCongestion(uint64_t seed, bool ties) {
    Random random(seed);
    const fluid::testing::NetworkShape shape{.ties = ties};
    const auto num_links = static_cast<uint32_t>(2 + random.Below(8));
    for (uint32_t l = 0; l < num_links; ++l) {
      capacities.push_back(1e9 * fluid::testing::RandomCapacity(shape, random));
      marks_.push_back(random.Below(4) != 0);
    }
    network_ = std::make_unique<fluid::FlowNetwork>(capacities);
    const uint64_t num_flows = 1 + random.Below(20);
    for (uint64_t f = 0; f < num_flows; ++f) AddFlow(fluid::testing::RandomFlow(num_links, shape, random));
    loss_ = std::make_unique<CongestionLoss>(&points_, network_.get(), marks_, flows_, flows_.size());
  }

  void AddFlow(const fluid::ReferenceFlow& flow) {
    const fluid::FlowId id = network_->AddFlow(flow.route, flow.level, flow.weight);
    std::map<uint32_t, uint32_t> uses;
    for (const LinkUse& use : flow.route) uses[use.link] += use.multiplicity;
    double top_rate = kUnbounded;
    for (const auto& [link, multiplicity] : uses) top_rate = std::min(top_rate, capacities[link] / multiplicity);
    flows_.push_back({.id = id, .level = flow.level, .num_pairs = flow.weight, .top_rate = top_rate, .uses = {}});
    flows_.back().job = static_cast<uint32_t>(flows_.size() - 1);
    for (const auto& [link, multiplicity] : uses) flows_.back().uses.push_back({link, multiplicity});
  }

  // Exactly these flows send from now on.
  void Send(const std::vector<bool>& sends) {
    for (size_t f = 0; f < flows_.size(); ++f) {
      if (network_->active(flows_[f].id) && !sends[f]) network_->Cancel(flows_[f].id);
      if (!network_->active(flows_[f].id) && sends[f]) network_->Start(flows_[f].id, 1e15);
    }
    loss_->Update(0);
  }

  std::vector<bool> RandomSenders(Random& random) const {
    std::vector<bool> sends;
    for (size_t f = 0; f < flows_.size(); ++f) sends.push_back(random.Below(3) != 0);
    return sends;
  }

  double capacity(uint32_t link) const { return network_->capacity(link); }

  std::vector<double> capacities;  // without loss

 private:
  std::vector<uint8_t> marks_;
  CongestionPoints points_{IdVector<LinkId, uint8_t>(), fluid::DcqcnOptions()};
  std::unique_ptr<fluid::FlowNetwork> network_;
  std::vector<CongestionLoss::Flow> flows_;
  std::unique_ptr<CongestionLoss> loss_;
};

// Periods are skipped on the strength of this.
TEST(CongestionLossLawTest, CapacitiesFollowFromTheActiveFlowsAlone) {
  Random random(5);
  size_t num_reduced = 0;
  for (uint64_t round = 0; round < 300; ++round) {
    RandomCongestion old(round, round % 2 == 0);
    RandomCongestion fresh(round, round % 2 == 0);
    for (int step = 0; step < 5; ++step) old.Send(old.RandomSenders(random));
    const std::vector<bool> sends = old.RandomSenders(random);
    old.Send(sends);
    fresh.Send(sends);
    for (uint32_t link = 0; link < old.capacities.size(); ++link) {
      const double capacity = old.capacities[link];
      ASSERT_NEAR(old.capacity(link), fresh.capacity(link), 1e-9 * capacity) << round;
      ASSERT_LE(old.capacity(link), capacity);
      // The worst efficiency at any speed and number of flows is 0.993.
      ASSERT_GE(old.capacity(link), 0.99 * capacity);
      num_reduced += old.capacity(link) < capacity;
    }
  }
  EXPECT_GT(num_reduced, 300u) << "there must be congestion to look at";
}

}  // namespace
}  // namespace fairlead::sim
