#include "sim/network_layout.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

// One job of one phase with a transfer for each of `bytes`, and the layout of its network.
struct LayoutOfFlows {
  model::Iteration iteration;
  JobState state;
  std::vector<TransferRoute> routes;  // [transfer]
  LinkSharing sharing;
  IdVector<LinkId, double> capacities;

  LayoutOfFlows(std::initializer_list<double> bytes, size_t num_links) : capacities(num_links, 100.0) {
    iteration.compute_time = Seconds(1);
    iteration.phases.push_back({"send", 1, false, 0, static_cast<uint32_t>(bytes.size())});
    for (const double b : bytes) iteration.flows.push_back({GpuId(0), GpuId(1), Bytes(b), 0});
    state = CreateJobState(JobId(0), 1, 0, iteration, Detail::kEdge, SimTime(), 1);
    routes.resize(bytes.size());
    for (uint32_t link = 0; link < num_links; ++link) sharing.contended_links.emplace_back(link);
  }
  LayoutOfFlows(const LayoutOfFlows&) = delete;

  NetworkLayout Compute(const IdVector<LinkId, double>* healthy_capacities = nullptr, bool aggregates = false) const {
    const JobState* const job = &state;
    const std::vector<TransferRoute>* const route = &routes;
    return ComputeNetworkLayout({&job, 1}, {&route, 1}, sharing, capacities, healthy_capacities, aggregates);
  }
};

TEST(NetworkLayoutTest, TransfersThatMoveAlikeAreOneVariable) {
  LayoutOfFlows flows({8, 5, 8, 8}, 1);
  for (TransferRoute& route : flows.routes) route = {.links = {{LinkId(0), 1}}, .top_rate = 100};
  const NetworkLayout layout = flows.Compute();
  ASSERT_EQ(layout.variables.size(), 2u);
  EXPECT_EQ(layout.variables[0].transfers, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(layout.variables[0].width, 3);
  EXPECT_EQ(layout.variables[1].transfers, (std::vector<uint32_t>{1}));
  EXPECT_EQ(layout.first_variable, (std::vector<std::vector<uint32_t>>{{0, 2}}));
  ASSERT_EQ(layout.links.size(), 1u) << "the link holds them to their top rate";
  EXPECT_EQ(layout.links[0].users.size(), 2u);
}

TEST(NetworkLayoutTest, OneThatHasLessLeftOfItsPhaseIsApart) {
  LayoutOfFlows flows({8, 8}, 1);
  for (TransferRoute& route : flows.routes) route = {.links = {{LinkId(0), 1}}, .top_rate = 100};
  flows.state.is_phase_running = true;
  flows.state.remaining = {8, 3};
  EXPECT_EQ(flows.Compute().variables.size(), 2u);
  flows.state.is_phase_running = false;
  EXPECT_EQ(flows.Compute().variables.size(), 1u);
}

TEST(NetworkLayoutTest, AnOwnLinkHoldsAVariableToItsTopRate) {
  // Transfers 0 and 1 could have the whole link, but no more than 40 each; transfer 2 meets nobody.
  LayoutOfFlows flows({8, 8, 8}, 2);
  flows.sharing.contended_links = {LinkId(0)};
  flows.routes[0] = flows.routes[1] = {.links = {{LinkId(0), 1}}, .top_rate = 40};
  flows.routes[2] = {.links = {{LinkId(1), 1}}, .top_rate = 100};
  const NetworkLayout layout = flows.Compute();
  ASSERT_EQ(layout.links.size(), 3u);
  EXPECT_EQ(layout.links[0].link, LinkId(0));
  EXPECT_EQ(layout.links[0].capacity, 100);
  EXPECT_FALSE(layout.links[1].link.valid());
  EXPECT_EQ(layout.links[1].capacity, 80) << "both of them";
  EXPECT_FALSE(layout.links[2].link.valid());
  EXPECT_EQ(layout.links[2].capacity, 100);
  EXPECT_EQ(layout.uses[0], (std::vector<fluid::LinkUse>{{0, 1}, {1, 1}}));
  EXPECT_EQ(layout.uses[1], (std::vector<fluid::LinkUse>{{2, 1}}));
}

TEST(NetworkLayoutTest, OfEqualLinksThatAreUsedAlikeOneIsKept) {
  // Four uplinks that a sprayed flow takes in equal parts; link 2 is slower, and link 3 is used by transfer 1, too.
  LayoutOfFlows flows({8, 5}, 4);
  flows.capacities[LinkId(2)] = 50;
  flows.routes[0] = {
      .links = {{LinkId(0), 1}, {LinkId(1), 1}, {LinkId(2), 1}, {LinkId(3), 1}}, .top_rate = 200, .parts = 4};
  flows.routes[1] = {.links = {{LinkId(3), 1}}, .top_rate = 100};
  const NetworkLayout layout = flows.Compute();
  ASSERT_EQ(layout.links.size(), 3u);
  EXPECT_EQ(layout.links[0].link, LinkId(0));
  EXPECT_EQ(layout.links[1].link, LinkId(2));
  EXPECT_EQ(layout.links[2].link, LinkId(3));
  EXPECT_EQ(layout.links[2].users.size(), 2u);
  EXPECT_EQ(layout.uses[0], (std::vector<fluid::LinkUse>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(layout.uses[1], (std::vector<fluid::LinkUse>{{2, 1}}));
  EXPECT_EQ(layout.variables[0].width, 0.25) << "multiplicities count parts";
}

TEST(NetworkLayoutTest, TheTightestLinkAndWhatIsLeftOfIt) {
  LayoutOfFlows flows({8}, 2);
  flows.routes[0] = {.links = {{LinkId(0), 1}, {LinkId(1), 1}}, .top_rate = 25};
  flows.capacities[LinkId(1)] = 25;
  const IdVector<LinkId, double> healthy(2, 100.0);
  const NetworkLayout layout = flows.Compute(&healthy);
  EXPECT_EQ(layout.variables[0].tightest, LinkId(1));
  EXPECT_EQ(layout.variables[0].tightest_health, 0.25);
  flows.routes[0] = {.links = {}, .top_rate = 0};
  EXPECT_FALSE(flows.Compute(&healthy).variables[0].tightest.valid()) << "cut off";
}

// Three flows of which each has an uplink of its own and all share a downlink; the fourth has less to send.
TEST(NetworkLayoutTest, VariablesThatCannotBeToldApartAreOne) {
  LayoutOfFlows flows({8, 8, 8, 5}, 5);
  for (uint32_t t = 0; t < 4; ++t) flows.routes[t] = {.links = {{LinkId(t), 1}, {LinkId(4), 1}}, .top_rate = 80};
  const NetworkLayout layout = flows.Compute(nullptr, true);
  ASSERT_EQ(layout.variables.size(), 2u);
  EXPECT_EQ(layout.variables[0].transfers, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(layout.variables[0].num_alike, 3u);
  EXPECT_EQ(layout.variables[0].width, 1) << "as wide as one of them";
  EXPECT_EQ(layout.first_variable, (std::vector<std::vector<uint32_t>>{{0, 2}}));
  // The uplinks of the first three, the downlink, their own links of 80; the other's uplink and own link.
  ASSERT_EQ(layout.links.size(), 5u);
  EXPECT_EQ(layout.links[0].link, LinkId(0));
  EXPECT_EQ(layout.links[1].link, LinkId(4));
  ASSERT_EQ(layout.links[1].users.size(), 2u);
  EXPECT_EQ(layout.links[1].users[0].multiplicity, 3u);
  EXPECT_EQ(layout.links[1].users[1].multiplicity, 1u);
  EXPECT_EQ(layout.uses[0], (std::vector<fluid::LinkUse>{{0, 1}, {1, 3}, {2, 1}}));
  EXPECT_FALSE(layout.links[layout.uses[0].back().link].link.valid()) << "its own is the last";
}

// A link that is as fast as another one but broken is not like it: it counts for losses.
TEST(NetworkLayoutTest, ABrokenLinkIsNotLikeASlowOne) {
  LayoutOfFlows flows({8, 8, 8, 8, 8, 8}, 6);
  for (uint32_t t = 0; t < 6; ++t) flows.routes[t] = {.links = {{LinkId(t), 1}}, .top_rate = 100};
  IdVector<LinkId, double> healthy(6, 100.0);
  EXPECT_EQ(flows.Compute(&healthy, true).variables.size(), 1u);
  healthy[LinkId(2)] = 200;
  EXPECT_EQ(flows.Compute(&healthy, true).variables.size(), 2u);
}

TEST(NetworkLayoutTest, FlowsThatChooseTheirPathsAreSimulatedOneByOne) {
  LayoutOfFlows flows({8, 8, 8}, 3);
  for (uint32_t t = 0; t < 3; ++t) flows.routes[t] = {.links = {{LinkId(t), 1}}, .top_rate = 100};
  EXPECT_EQ(flows.Compute(nullptr, true).variables.size(), 1u);
  flows.state.senders.choice.emplace();
  EXPECT_EQ(flows.Compute(nullptr, true).variables.size(), 3u);
}

}  // namespace
}  // namespace fairlead::sim
