#include "node_check/pair_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace fairlead::node_check {
namespace {

using testing::ElementsAre;

std::vector<CheckedHost> HostsOfLeaves(std::initializer_list<uint32_t> leaves) {
  std::vector<CheckedHost> hosts;
  for (const uint32_t leaf : leaves) hosts.push_back({.leaf = leaf, .pod = leaf / 10, .num_nics = 1});
  return hosts;
}

TEST(PairScheduleTest, RegionsAreAsNearAsCanBe) {
  // Three of leaf 1, one each of leaves 2, 3, 4 of the same pod, and three of other pods.
  const auto hosts = HostsOfLeaves({1, 1, 2, 3, 1, 4, 15, 25, 35});
  EXPECT_THAT(SplitIntoRegions(hosts, 3),
              ElementsAre(ElementsAre(0, 1, 4), ElementsAre(2, 3, 5), ElementsAre(6, 7, 8)));
  // Too few to be a region join one of their pod.
  EXPECT_THAT(SplitIntoRegions(HostsOfLeaves({1, 1, 1, 11, 11, 11, 2}), 3),
              ElementsAre(ElementsAre(0, 1, 2, 6), ElementsAre(3, 4, 5)));
  EXPECT_THAT(SplitIntoRegions(HostsOfLeaves({1, 12}), 3), ElementsAre(ElementsAre(0, 1)));
}

TEST(PairScheduleTest, PairsBelowOneLeafAreMeasuredAtOnce) {
  const auto hosts = HostsOfLeaves({0, 0, 0, 0, 1, 1});
  const auto steps = ScheduleSteps(PairUp(std::vector<uint32_t>{0, 1, 2, 3, 4, 5}), hosts);
  EXPECT_THAT(steps, ElementsAre(ElementsAre(HostTransfer{0, 1}, HostTransfer{2, 3}, HostTransfer{4, 5}),
                                 ElementsAre(HostTransfer{1, 0}, HostTransfer{3, 2}, HostTransfer{5, 4})));
}

TEST(PairScheduleTest, OneTransferAtATimeLeavesALeaf) {
  const auto hosts = HostsOfLeaves({0, 0, 1, 1});
  const std::vector<HostGroup> groups = {{0, 2}, {1, 3}};
  // The cables up and those down are not the same.
  EXPECT_THAT(ScheduleSteps(groups, hosts), ElementsAre(ElementsAre(HostTransfer{0, 2}, HostTransfer{3, 1}),
                                                        ElementsAre(HostTransfer{1, 3}, HostTransfer{2, 0})));
}

// Each direction of each pair once; in no step anything twice.
TEST(PairScheduleTest, NothingIsUsedTwiceInAStep) {
  Random random(3);
  for (int run = 0; run < 300; ++run) {
    std::vector<CheckedHost> hosts;
    const uint64_t n = 2 + random.Below(40);
    for (uint64_t h = 0; h < n; ++h) {
      const auto leaf = static_cast<uint32_t>(random.Below(8));
      hosts.push_back({.leaf = leaf, .pod = leaf / 3, .num_nics = 1});
    }
    std::vector<HostGroup> groups;
    std::set<uint32_t> grouped;
    for (const HostGroup& region : SplitIntoRegions(hosts, 3)) {
      for (const HostGroup& group : PairUp(region)) {
        groups.push_back(group);
        for (const uint32_t host : group) EXPECT_TRUE(grouped.insert(host).second);
      }
    }
    EXPECT_EQ(grouped.size(), hosts.size());
    std::set<HostTransfer> done;
    for (const auto& step : ScheduleSteps(groups, hosts)) {
      EXPECT_FALSE(step.empty());
      std::map<std::pair<char, uint32_t>, int> uses;
      for (const HostTransfer& transfer : step) {
        EXPECT_TRUE(done.insert(transfer).second);
        const CheckedHost& from = hosts[transfer.sender];
        const CheckedHost& to = hosts[transfer.receiver];
        ++uses[{'h', transfer.sender}];
        ++uses[{'h', transfer.receiver}];
        if (from.leaf != to.leaf) ++uses[{'u', from.leaf}], ++uses[{'d', to.leaf}];
        if (from.pod != to.pod) ++uses[{'U', from.pod}], ++uses[{'D', to.pod}];
      }
      for (const auto& [place, count] : uses) EXPECT_EQ(count, 1) << place.first << place.second;
    }
    size_t expected = 0;
    for (const HostGroup& group : groups) expected += group.size() * (group.size() - 1);
    EXPECT_EQ(done.size(), expected);
  }
}

}  // namespace
}  // namespace fairlead::node_check
