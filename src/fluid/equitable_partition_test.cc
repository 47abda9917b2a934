// Rates of the quotient against those of every flow, by progressive filling.
#include "fluid/equitable_partition.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/random.h"
#include "fluid/max_min_reference.h"

namespace fairlead::fluid {
namespace {

struct Network {
  std::vector<double> capacities;            // [link]
  std::vector<std::vector<LinkUse>> routes;  // [flow]
  std::vector<double> weights;               // [flow]

  uint32_t AddLink(double capacity) {
    capacities.push_back(capacity);
    return static_cast<uint32_t>(capacities.size() - 1);
  }
  void AddFlow(std::vector<LinkUse> route, double weight = 1) {
    routes.push_back(std::move(route));
    weights.push_back(weight);
  }

  EquitablePartition Partition() const {
    std::vector<uint64_t> flow_colors;
    for (const double weight : weights) flow_colors.push_back(static_cast<uint64_t>(weight * 1000));
    std::vector<uint64_t> link_colors;
    for (const double capacity : capacities) link_colors.push_back(static_cast<uint64_t>(capacity * 1000));
    return FindEquitablePartition(flow_colors, link_colors, routes);
  }
  std::vector<double> Rates() const {
    std::vector<ReferenceFlow> flows;
    for (size_t f = 0; f < routes.size(); ++f) flows.push_back({.route = routes[f], .weight = weights[f]});
    return ComputeMaxMinReference(capacities, flows);
  }
  // [flow] by way of one flow of each class.
  std::vector<double> RatesOfQuotient(const EquitablePartition& partition) const {
    std::vector<double> class_capacities;
    for (const uint32_t link : partition.first_link) class_capacities.push_back(capacities[link]);
    std::vector<ReferenceFlow> flows;
    const std::vector<std::vector<LinkUse>> quotient = QuotientRoutes(partition, routes);
    for (size_t c = 0; c < quotient.size(); ++c) {
      flows.push_back({.route = quotient[c], .weight = weights[partition.first_flow[c]]});
    }
    const std::vector<double> class_rates = ComputeMaxMinReference(class_capacities, flows);
    std::vector<double> rates;
    for (const uint32_t c : partition.flow_class) rates.push_back(class_rates[c]);
    return rates;
  }
  void ExpectSameRates() const {
    const std::vector<double> plain = Rates();
    const std::vector<double> quotient = RatesOfQuotient(Partition());
    for (size_t f = 0; f < plain.size(); ++f) ASSERT_NEAR(quotient[f], plain[f], 1e-9 * plain[f]) << "flow " << f;
  }
};

// Hosts under leaves, each with one link up and one down; spines as one pipe up and one down a leaf.
struct LeafSpine : Network {
  std::vector<uint32_t> up, down, leaf_up, leaf_down;

  // Args: hosts: [leaf].
  LeafSpine(const std::vector<uint32_t>& hosts, double pipe) {
    for (size_t leaf = 0; leaf < hosts.size(); ++leaf) {
      leaf_up.push_back(AddLink(pipe));
      leaf_down.push_back(AddLink(pipe));
      for (uint32_t h = 0; h < hosts[leaf]; ++h) {
        leaf_of_.push_back(leaf);
        up.push_back(AddLink(10));
        down.push_back(AddLink(10));
      }
    }
  }
  void AddPair(uint32_t from, uint32_t to, double weight = 1) {
    if (leaf_of_[from] == leaf_of_[to]) return AddFlow({{up[from]}, {down[to]}}, weight);
    AddFlow({{up[from]}, {leaf_up[leaf_of_[from]]}, {leaf_down[leaf_of_[to]]}, {down[to]}}, weight);
  }
  void AddAllToAll(const std::vector<uint32_t>& hosts) {
    for (const uint32_t from : hosts) {
      for (const uint32_t to : hosts) {
        if (from != to) AddPair(from, to);
      }
    }
  }
  std::vector<uint32_t> AllHosts() const {
    std::vector<uint32_t> hosts(up.size());
    std::iota(hosts.begin(), hosts.end(), 0u);
    return hosts;
  }

 private:
  std::vector<size_t> leaf_of_;
};

TEST(EquitablePartitionTest, AllToAllOfEvenLeavesHasTwoKindsOfFlows) {
  for (const uint32_t hosts_per_leaf : {2u, 4u, 8u}) {
    LeafSpine fabric(std::vector<uint32_t>(4, hosts_per_leaf), 10.0 * hosts_per_leaf / 2);
    fabric.AddAllToAll(fabric.AllHosts());
    const EquitablePartition partition = fabric.Partition();
    EXPECT_EQ(partition.first_flow.size(), 2u) << "under one leaf, and across";
    EXPECT_EQ(partition.first_link.size(), 2u) << "of hosts and of leaves; up and down are alike";
    fabric.ExpectSameRates();
  }
}

// n hosts, h of them under each leaf, uplinks o times too slow: a host sends (n - h) messages across.
TEST(EquitablePartitionTest, RatesAreThoseOfTheClosedForm) {
  const uint32_t h = 4;
  const double oversubscription = 2;
  LeafSpine fabric(std::vector<uint32_t>(4, h), 10.0 * h / oversubscription);
  fabric.AddAllToAll(fabric.AllHosts());
  const std::vector<double> rates = fabric.RatesOfQuotient(fabric.Partition());
  const double across = 10.0 * h / oversubscription / (h * 12);
  for (size_t f = 0; f < rates.size(); ++f) {
    EXPECT_NEAR(rates[f], fabric.routes[f].size() == 4 ? across : (10.0 - 12 * across) / 3, 1e-9);
  }
}

TEST(EquitablePartitionTest, UnevenLeavesAreToldApart) {
  LeafSpine fabric({4, 4, 2}, 20);
  fabric.AddAllToAll(fabric.AllHosts());
  // Under a leaf of four, of two; four to four, four to two, which is like two to four.
  EXPECT_EQ(fabric.Partition().first_flow.size(), 4u);
  fabric.ExpectSameRates();
}

TEST(EquitablePartitionTest, AnotherJobOrADeadLinkSplitsOnlyWhatItTouches) {
  LeafSpine with_job(std::vector<uint32_t>(4, 4), 20);
  with_job.AddAllToAll(with_job.AllHosts());
  with_job.AddPair(0, 5);
  const size_t num_classes = with_job.Partition().first_flow.size();
  EXPECT_GT(num_classes, 5u);
  EXPECT_LT(num_classes, 40u);
  with_job.ExpectSameRates();

  LeafSpine broken(std::vector<uint32_t>(4, 4), 20);
  broken.AddAllToAll(broken.AllHosts());
  broken.capacities[broken.leaf_up[1]] = 5;
  EXPECT_LT(broken.Partition().first_flow.size(), 20u);
  broken.ExpectSameRates();
}

// What no permutation of hosts maps onto each other may still be alike: each link carries two flows, whatever ring they
// belong to.
TEST(EquitablePartitionTest, RingsOfDifferentLengthsAreAlikeWhereNothingElseTellsThemApart) {
  Network network;
  std::vector<uint32_t> links;
  for (int l = 0; l < 7; ++l) links.push_back(network.AddLink(10));
  for (uint32_t i = 0; i < 3; ++i) network.AddFlow({{links[i]}, {links[(i + 1) % 3]}});
  for (uint32_t i = 0; i < 4; ++i) network.AddFlow({{links[3 + i]}, {links[3 + (i + 1) % 4]}});
  EXPECT_EQ(network.Partition().first_flow.size(), 1u);
  EXPECT_EQ(network.RatesOfQuotient(network.Partition()), std::vector<double>(7, 5.0));
}

TEST(EquitablePartitionTest, NothingIsSaidToBeAlikeWhereMostFlowsDiffer) {
  Network network;
  for (int f = 0; f < 6; ++f) network.AddFlow({{network.AddLink(f + 1)}});
  EXPECT_EQ(network.Partition().first_flow.size(), 6u);
  EXPECT_EQ(network.Partition().first_link.size(), 6u);
}

TEST(EquitablePartitionTest, NoFlows) {
  const EquitablePartition partition = FindEquitablePartition({}, {}, {});
  EXPECT_TRUE(partition.first_flow.empty());
  EXPECT_TRUE(QuotientRoutes(partition, {}).empty());
}

// Copies of a random network, with jobs that run across some of the copies: symmetric in part, with multiplicities and
// weights.
TEST(EquitablePartitionTest, RandomNetworksHaveTheRatesOfAllTheirFlows) {
  Random random(7);
  size_t num_merged = 0;
  for (int round = 0; round < 300; ++round) {
    Network network;
    const auto num_copies = static_cast<uint32_t>(2 + random.Below(4));
    const auto num_links = static_cast<uint32_t>(1 + random.Below(6));
    std::vector<double> capacities;
    for (uint32_t l = 0; l < num_links; ++l) capacities.push_back(static_cast<double>(1 + random.Below(3)));
    for (uint32_t copy = 0; copy < num_copies; ++copy) {
      for (const double capacity : capacities) network.AddLink(capacity);
    }
    const auto draw_route = [&] {
      std::vector<LinkUse> route;
      std::set<uint32_t> links;
      for (uint64_t hops = 1 + random.Below(3); hops > 0; --hops)
        links.insert(static_cast<uint32_t>(random.Below(num_links)));
      for (const uint32_t link : links) route.push_back({link, static_cast<uint32_t>(1 + random.Below(2))});
      return route;
    };
    for (uint64_t f = 1 + random.Below(8); f > 0; --f) {
      const std::vector<LinkUse> route = draw_route();
      const double weight = static_cast<double>(1 + random.Below(2));
      for (uint32_t copy = 0; copy < num_copies; ++copy) {
        std::vector<LinkUse> moved = route;
        for (LinkUse& use : moved) use.link += copy * num_links;
        network.AddFlow(std::move(moved), weight);
      }
    }
    if (random.Below(2) == 0) network.AddFlow(draw_route());
    num_merged += network.Partition().first_flow.size() < network.routes.size() ? 1 : 0;
    network.ExpectSameRates();
  }
  EXPECT_GT(num_merged, 150u);
}

}  // namespace
}  // namespace fairlead::fluid
