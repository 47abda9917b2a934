#include "fluid/flow_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "fluid/random_network.h"

namespace fairlead::fluid {
namespace {

using ::testing::ElementsAre;
using testing::NetworkShape;

constexpr int64_t kSecond = 1'000'000'000;

// A network beside a slow twin: reference rates, and every flow's remaining bytes counted down on their own.
class NetworkUnderTest {
 public:
  NetworkUnderTest(std::vector<double> capacities, std::vector<ReferenceFlow> flows)
      : capacities_(std::move(capacities)),
        flows_(std::move(flows)),
        remaining_(flows_.size(), 0),
        active_(flows_.size(), false),
        network_(capacities_) {
    for (const ReferenceFlow& flow : flows_) network_.AddFlow(flow.route, flow.level, flow.weight);
    for (uint32_t link = 0; link < capacities_.size(); ++link) network_.SetWatchers(link, WatcherOf(link));
  }

  void Change(const NetworkShape& shape, Random& random) {
    const auto f = static_cast<uint32_t>(random.Below(flows_.size()));
    const auto num_links = static_cast<uint32_t>(capacities_.size());
    switch (random.Below(9)) {
      case 0: {
        const auto link = static_cast<uint32_t>(random.Below(num_links));
        capacities_[link] = testing::RandomCapacity(shape, random);
        network_.SetCapacity(link, capacities_[link]);
        break;
      }
      case 1:
        flows_[f].level = static_cast<uint32_t>(random.Below(shape.num_levels));
        network_.SetLevel(FlowId(f), flows_[f].level);
        break;
      case 2:
        flows_[f].route = testing::RandomRoute(num_links, random);
        network_.SetRoute(FlowId(f), flows_[f].route);
        break;
      case 3:
        if (!active_[f]) break;
        active_[f] = false;
        network_.Cancel(FlowId(f));
        break;
      case 4:
        flows_[f].weight = random.Uniform(0.1, 10);
        network_.SetWeight(FlowId(f), flows_[f].weight);
        break;
      default:
        if (active_[f]) break;
        active_[f] = true;
        remaining_[f] = shape.ties ? static_cast<double>(1 + random.Below(3)) : random.Uniform(1, 100);
        network_.Start(FlowId(f), remaining_[f]);
    }
  }

  void CompareRates() {
    rates_.assign(flows_.size(), 0);
    std::vector<ReferenceFlow> running;
    for (uint32_t f = 0; f < flows_.size(); ++f) {
      if (active_[f]) running.push_back(flows_[f]);
    }
    const std::vector<double> expected = ComputeMaxMinReference(capacities_, running);
    std::vector<double> found;
    size_t next = 0;
    for (uint32_t f = 0; f < flows_.size(); ++f) {
      ASSERT_EQ(network_.active(FlowId(f)), active_[f]);
      if (!active_[f]) {
        ASSERT_EQ(network_.Rate(FlowId(f)), 0);
        ASSERT_EQ(network_.BottleneckLink(FlowId(f)), kNoLink);
        continue;
      }
      rates_[f] = expected[next++];
      found.push_back(network_.Rate(FlowId(f)));
      ASSERT_NEAR(found.back(), rates_[f], 1e-9 * std::max(1.0, rates_[f])) << "flow " << f;
      ASSERT_NEAR(network_.Remaining(FlowId(f)), remaining_[f], kBytesTolerance) << "flow " << f;
      const double seconds_left = network_.Remaining(FlowId(f)) / found.back();
      if (found.back() > 0) {
        ASSERT_NEAR(network_.SecondsLeft(FlowId(f)), seconds_left, 1e-12 * seconds_left);
      }
    }
    testing::ExpectLaws(capacities_, running, found);
    CheckWatchers();
  }

  // No watcher misses a change of a rate over its link, whatever caused it.
  void CheckWatchers() {
    const uint64_t changed = network_.TakeChanged();
    for (uint32_t link = 0; link < capacities_.size(); ++link) {
      std::map<uint32_t, double> rates;
      for (uint32_t f = 0; f < flows_.size(); ++f) {
        const bool uses = std::ranges::find(flows_[f].route, link, &LinkUse::link) != flows_[f].route.end();
        if (active_[f] && uses) rates[f] = network_.Rate(FlowId(f));
      }
      if ((changed & WatcherOf(link)) == 0) {
        ASSERT_EQ(rates, watched_rates_[link]) << "link " << link;
      }
      watched_rates_[link] = std::move(rates);
    }
    ASSERT_EQ(network_.TakeChanged(), 0u);
  }

  void Restart(uint32_t f, Random& random) {
    if (random.Below(4) == 0) {
      flows_[f].route = testing::RandomRoute(static_cast<uint32_t>(capacities_.size()), random);
      network_.SetRoute(FlowId(f), flows_[f].route);
    }
    if (random.Below(4) == 0) {
      flows_[f].level = 0;
      network_.SetLevel(FlowId(f), 0);
    }
    active_[f] = true;
    remaining_[f] = random.Uniform(1, 100);
    network_.Start(FlowId(f), remaining_[f]);
    if (random.Below(8) == 0) {
      active_[f] = false;
      network_.Cancel(FlowId(f));
    }
  }

  // Lets time run to the next completion, or (stop_early) to some point before.
  void Advance(Random& random, bool stop_early) {
    SimTime next = network_.NextCompletion();
    if (next == SimTime::Never()) {
      for (uint32_t f = 0; f < flows_.size(); ++f) ASSERT_FALSE(active_[f] && rates_[f] > 1e-9);
      return;
    }
    if (stop_early) {
      next = network_.now() +
             SimDuration(static_cast<int64_t>(random.Uniform() * static_cast<double>((next - network_.now()).ns())));
    }
    const double dt_s = (next - network_.now()).seconds().value();
    std::vector<FlowId> completed;
    network_.AdvanceTo(next, &completed);
    ASSERT_TRUE(std::is_sorted(completed.begin(), completed.end()));
    for (uint32_t f = 0; f < flows_.size(); ++f) {
      if (!active_[f]) continue;
      remaining_[f] -= rates_[f] * dt_s;
      const bool done = std::binary_search(completed.begin(), completed.end(), FlowId(f));
      // A flow ends within a nanosecond of when its bytes are through; no flow outlives its bytes by more.
      ASSERT_GE(remaining_[f], -kBytesTolerance) << "flow " << f;
      if (done) {
        ASSERT_LE(remaining_[f], kBytesTolerance) << "flow " << f;
        active_[f] = false;
        // Some start again at once, some of these over a new route or level, or stop again.
        if (random.Below(2) == 0) Restart(f, random);
      }
    }
    if (!stop_early) {
      ASSERT_FALSE(completed.empty());
    }
  }

 private:
  // Rates are at most 1000 bytes/s here (weight 10, share 100): 1 ns of rounding is 1e-6 bytes, and a flow may pick up
  // the rounding of a few intervals.
  static constexpr double kBytesTolerance = 2e-5;

  static uint64_t WatcherOf(uint32_t link) { return uint64_t{1} << (link % 64); }

  std::vector<double> capacities_;
  std::vector<ReferenceFlow> flows_;
  std::vector<double> remaining_;
  std::vector<bool> active_;
  std::vector<double> rates_;
  std::map<uint32_t, std::map<uint32_t, double>> watched_rates_;  // [link][active flow on it]
  FlowNetwork network_;
};

void RunRandomHistories(const NetworkShape& shape, int num_networks, int num_steps, uint64_t seed) {
  for (int n = 0; n < num_networks; ++n) {
    Random random(seed + static_cast<uint64_t>(n));
    const auto num_links = static_cast<uint32_t>(1 + random.Below(shape.max_links));
    std::vector<double> capacities;
    for (uint32_t l = 0; l < num_links; ++l) capacities.push_back(testing::RandomCapacity(shape, random));
    std::vector<ReferenceFlow> flows;
    for (uint64_t f = 1 + random.Below(shape.max_flows); f > 0; --f) {
      flows.push_back(testing::RandomFlow(num_links, shape, random));
    }
    NetworkUnderTest network(capacities, flows);
    for (int step = 0; step < num_steps; ++step) {
      for (uint64_t changes = random.Below(5); changes > 0; --changes) network.Change(shape, random);
      network.CompareRates();
      if (!::testing::Test::HasFatalFailure()) network.Advance(random, random.Below(3) == 0);
      if (::testing::Test::HasFatalFailure()) FAIL() << "network " << n << " of seed " << seed << ", step " << step;
    }
  }
}

TEST(FlowNetwork, EqualsSlowTwinOnGenericNetworks) { RunRandomHistories({}, 1500, 30, 10000); }

TEST(FlowNetwork, EqualsSlowTwinOnNetworksFullOfTies) {
  RunRandomHistories({.max_links = 6, .max_flows = 16, .num_levels = 2, .ties = true}, 1500, 30, 20000);
}

TEST(FlowNetwork, EqualsSlowTwinWithOneLevel) {
  RunRandomHistories({.max_links = 12, .max_flows = 30, .num_levels = 1, .ties = false}, 800, 30, 30000);
}

// Crux, section 2: two flows of different levels on one link do not share it.
TEST(FlowNetwork, HigherLevelGoesFirst) {
  FlowNetwork network({10});
  const FlowId low = network.AddFlow(std::vector<LinkUse>{{0}}, 1);
  const FlowId high = network.AddFlow(std::vector<LinkUse>{{0}}, 0);
  network.Start(low, 100);
  network.Start(high, 50);
  EXPECT_EQ(network.Rate(low), 0);
  EXPECT_EQ(network.Rate(high), 10);
  std::vector<FlowId> done;
  // 50 bytes at 10 bytes/s: 5 s; then 100 bytes: 10 s more.
  ASSERT_EQ(network.NextCompletion(), SimTime(5 * kSecond));
  network.AdvanceTo(SimTime(5 * kSecond), &done);
  EXPECT_THAT(done, ElementsAre(high));
  EXPECT_EQ(network.Remaining(low), 100);
  ASSERT_EQ(network.NextCompletion(), SimTime(15 * kSecond));
  network.AdvanceTo(SimTime(15 * kSecond), &done);
  EXPECT_THAT(done, ElementsAre(high, low));
  EXPECT_EQ(network.NextCompletion(), SimTime::Never());
}

TEST(FlowNetwork, TimesAreRoundedToTheNearestNanosecond) {
  FlowNetwork network({3});
  const FlowId a = network.AddFlow(std::vector<LinkUse>{{0}});
  network.Start(a, 2);
  // 2/3 s = 666666666.67 ns.
  EXPECT_EQ(network.NextCompletion(), SimTime(666'666'667));
}

TEST(FlowNetwork, WorkTakesAtLeastOneNanosecondAndNoWorkNone) {
  FlowNetwork network({1e12});
  const FlowId tiny = network.AddFlow(std::vector<LinkUse>{{0}});
  const FlowId empty = network.AddFlow(std::vector<LinkUse>{{0}});
  network.Start(tiny, 1);  // 1e-3 ns
  EXPECT_EQ(network.NextCompletion(), SimTime(1));
  network.Start(empty, 0);
  EXPECT_EQ(network.NextCompletion(), SimTime(0));
  std::vector<FlowId> done;
  network.AdvanceTo(SimTime(0), &done);
  EXPECT_THAT(done, ElementsAre(empty));
  network.AdvanceTo(network.NextCompletion(), &done);
  EXPECT_THAT(done, ElementsAre(empty, tiny));
}

TEST(FlowNetwork, FlowsDueAtOneNanosecondEndTogetherInOrderOfId) {
  FlowNetwork network({10, 10, 1});
  std::vector<FlowId> flows;
  for (const uint32_t link : {0u, 1u, 0u, 1u}) flows.push_back(network.AddFlow(std::vector<LinkUse>{{link}}));
  // Two each on two links of 10 bytes/s: 5 bytes/s each. The last has 1e-9 bytes more: 0.2 ns, rounded away.
  for (size_t f = flows.size(); f > 0; --f) network.Start(flows[f - 1], f == 4 ? 5 + 1e-9 : 5);
  std::vector<FlowId> done;
  network.AdvanceTo(network.NextCompletion(), &done);
  EXPECT_EQ(network.now(), SimTime(kSecond));
  EXPECT_EQ(done, flows);
}

TEST(FlowNetwork, DeadLinkHoldsItsFlowsUntilRepair) {
  FlowNetwork network({10, 4});
  const FlowId flow = network.AddFlow(std::vector<LinkUse>{{0}, {1}});
  std::vector<FlowId> done;
  network.Start(flow, 8);
  network.AdvanceTo(SimTime(kSecond), &done);  // 4 of 8 bytes are through
  network.SetCapacity(1, 0);
  EXPECT_EQ(network.NextCompletion(), SimTime::Never());
  EXPECT_EQ(network.Rate(flow), 0);
  EXPECT_EQ(network.BottleneckLink(flow), 1u);
  network.AdvanceTo(SimTime(10 * kSecond), &done);
  EXPECT_DOUBLE_EQ(network.Remaining(flow), 4);
  network.SetRoute(flow, std::vector<LinkUse>{{0}});  // around it, at 10 bytes/s
  EXPECT_EQ(network.NextCompletion(), SimTime(10'400'000'000));
  network.SetRoute(flow, std::vector<LinkUse>{{0}, {1}});
  network.SetCapacity(1, 2);
  EXPECT_EQ(network.NextCompletion(), SimTime(12 * kSecond));
}

TEST(FlowNetwork, TellsWhatCrossesALink) {
  FlowNetwork network({10, 4});
  const FlowId a = network.AddFlow(std::vector<LinkUse>{{0}, {1}}, 1);
  const FlowId b = network.AddFlow(std::vector<LinkUse>{{0}}, 0);
  const FlowId idle = network.AddFlow(std::vector<LinkUse>{{0}}, 0);
  EXPECT_EQ(network.Load(0), 0);
  network.Start(a, 100);
  network.Start(b, 100);
  std::vector<FlowId> flows;
  network.AppendFlowsOn(0, &flows);
  EXPECT_THAT(flows, ElementsAre(b, a));
  EXPECT_EQ(network.Load(0), 10);
  EXPECT_EQ(network.Load(1), 0);
  EXPECT_FALSE(network.active(idle));
  network.Cancel(b);
  EXPECT_EQ(network.Load(0), 4);
  EXPECT_EQ(network.Load(1), 4);
  EXPECT_EQ(network.BottleneckLink(a), 1u);
}

TEST(FlowNetwork, RestartAtTheInstantOfCompletion) {
  // Two flows on one link of 10; whenever one ends it starts again, as the edges of a stepwise ring do: 5 bytes/s each,
  // 5 bytes each, so both end at every whole second.
  FlowNetwork network({10});
  const FlowId a = network.AddFlow(std::vector<LinkUse>{{0}});
  const FlowId b = network.AddFlow(std::vector<LinkUse>{{0}});
  network.Start(a, 5);
  network.Start(b, 5);
  for (int64_t second = 1; second <= 5; ++second) {
    std::vector<FlowId> done;
    ASSERT_EQ(network.NextCompletion(), SimTime(second * kSecond));
    network.AdvanceTo(network.NextCompletion(), &done);
    ASSERT_THAT(done, ElementsAre(a, b));
    EXPECT_FALSE(network.active(a));
    EXPECT_EQ(network.Remaining(a), 0);
    for (const FlowId flow : done) network.Start(flow, 5);
    EXPECT_EQ(network.Rate(a), 5);
  }
}

TEST(FlowNetwork, LongSharingKeepsNanoseconds) {
  // After 1e9 s a flow that started at 0 has had 2.5e19 bytes, where doubles are 4096 apart: 0.3 us at half the link. A
  // flow that joins it must not feel that: 1.25e10 bytes at 1.25e10 bytes/s take 1 s to the nanosecond.
  FlowNetwork network({2.5e10});
  const FlowId long_flow = network.AddFlow(std::vector<LinkUse>{{0}});
  const FlowId short_flow = network.AddFlow(std::vector<LinkUse>{{0}});
  network.Start(long_flow, 9e19);
  std::vector<FlowId> done;
  network.AdvanceTo(SimTime(1'000'000'000 * kSecond), &done);
  network.Start(short_flow, 1.25e10);
  EXPECT_EQ(network.NextCompletion(), SimTime(1'000'000'001 * kSecond));
}

// Runs a random workload to its end; returns each flow's completion, [order of `flows`].
std::vector<SimTime> RunToEnd(const std::vector<double>& capacities, const std::vector<ReferenceFlow>& flows,
                              const std::vector<double>& bytes) {
  FlowNetwork network(capacities);
  for (const ReferenceFlow& flow : flows) network.AddFlow(flow.route, flow.level, flow.weight);
  for (uint32_t f = 0; f < flows.size(); ++f) network.Start(FlowId(f), bytes[f]);
  std::vector<SimTime> ends(flows.size(), SimTime::Never());
  std::vector<FlowId> done;
  while (network.NextCompletion() < SimTime::Never()) {
    done.clear();
    network.AdvanceTo(network.NextCompletion(), &done);
    for (const FlowId flow : done) ends[flow.index()] = network.now();
  }
  return ends;
}

struct Workload {
  std::vector<double> capacities;
  std::vector<ReferenceFlow> flows;
  std::vector<double> bytes;
};

Workload RandomWorkload(Random& random) {
  const NetworkShape shape;
  Workload workload;
  const auto num_links = static_cast<uint32_t>(1 + random.Below(shape.max_links));
  for (uint32_t l = 0; l < num_links; ++l) workload.capacities.push_back(testing::RandomCapacity(shape, random));
  for (uint64_t f = 1 + random.Below(shape.max_flows); f > 0; --f) {
    workload.flows.push_back(testing::RandomFlow(num_links, shape, random));
    workload.bytes.push_back(random.Uniform(1, 100));
  }
  return workload;
}

// Roundings to 1 ns at up to 24 completions, each of which can shift later ones a little.
void ExpectSameTimes(const std::vector<SimTime>& a, const std::vector<SimTime>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t f = 0; f < a.size(); ++f) {
    ASSERT_EQ(a[f] == SimTime::Never(), b[f] == SimTime::Never());
    if (a[f] == SimTime::Never()) continue;
    const double seconds = a[f].seconds().value();
    ASSERT_NEAR(seconds, b[f].seconds().value(), 1e-6 * (1 + seconds));
  }
}

TEST(FlowNetworkLaws, ScalingCapacitiesAndBytesKeepsTimes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Workload workload = RandomWorkload(random);
    const std::vector<SimTime> ends = RunToEnd(workload.capacities, workload.flows, workload.bytes);
    const double factor = random.Uniform(1e-3, 1e9);
    for (double& capacity : workload.capacities) capacity *= factor;
    for (double& bytes : workload.bytes) bytes *= factor;
    ExpectSameTimes(ends, RunToEnd(workload.capacities, workload.flows, workload.bytes));
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

TEST(FlowNetworkLaws, RelabellingRelabelsTheAnswer) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Workload workload = RandomWorkload(random);
    std::vector<uint32_t> new_link(workload.capacities.size());
    std::vector<uint32_t> new_flow(workload.flows.size());
    std::iota(new_link.begin(), new_link.end(), 0);
    std::iota(new_flow.begin(), new_flow.end(), 0);
    random.Shuffle(std::span<uint32_t>(new_link));
    random.Shuffle(std::span<uint32_t>(new_flow));
    Workload renamed = workload;
    for (size_t l = 0; l < new_link.size(); ++l) renamed.capacities[new_link[l]] = workload.capacities[l];
    for (size_t f = 0; f < new_flow.size(); ++f) {
      ReferenceFlow flow = workload.flows[f];
      for (LinkUse& use : flow.route) use.link = new_link[use.link];
      renamed.flows[new_flow[f]] = flow;
      renamed.bytes[new_flow[f]] = workload.bytes[f];
    }
    const std::vector<SimTime> ends = RunToEnd(workload.capacities, workload.flows, workload.bytes);
    const std::vector<SimTime> renamed_ends = RunToEnd(renamed.capacities, renamed.flows, renamed.bytes);
    std::vector<SimTime> back(ends.size());
    for (size_t f = 0; f < new_flow.size(); ++f) back[f] = renamed_ends[new_flow[f]];
    ExpectSameTimes(ends, back);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

TEST(FlowNetworkLaws, HigherLevelsDoNotFeelLowerOnes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Workload workload = RandomWorkload(random);
    FlowNetwork network(workload.capacities);
    for (const ReferenceFlow& flow : workload.flows) network.AddFlow(flow.route, flow.level, flow.weight);
    std::vector<double> alone(workload.flows.size(), 0);
    for (uint32_t level = 0; level < 3; ++level) {
      for (uint32_t f = 0; f < alone.size(); ++f) {
        if (workload.flows[f].level == level) network.Start(FlowId(f), workload.bytes[f]);
      }
      for (uint32_t f = 0; f < alone.size(); ++f) {
        if (workload.flows[f].level == level) alone[f] = network.Rate(FlowId(f));
        // Not to the last bit only: nothing of a higher level was even touched.
        if (workload.flows[f].level < level) {
          ASSERT_EQ(network.Rate(FlowId(f)), alone[f]) << "seed " << seed;
        }
      }
    }
  }
}

TEST(FlowNetworkDeathTest, CallersErrorsAreCaught) {
  FlowNetwork network({10});
  EXPECT_DEATH(network.AddFlow({}), "must cross a link");
  EXPECT_DEATH(network.AddFlow(std::vector<LinkUse>{{1}}), "");
  const FlowId flow = network.AddFlow(std::vector<LinkUse>{{0}});
  EXPECT_DEATH(network.Start(flow, -1), "bytes");
  EXPECT_DEATH(network.Cancel(flow), "active");
  network.Start(flow, 10);
  std::vector<FlowId> done;
  EXPECT_DEATH(network.Start(flow, 1), "active already");
  EXPECT_DEATH(network.AdvanceTo(SimTime(2 * kSecond), &done), "can't pass");
}

}  // namespace
}  // namespace fairlead::fluid
