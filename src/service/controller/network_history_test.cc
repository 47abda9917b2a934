#include "service/controller/network_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

#include "topology/clos_fabrics.h"

namespace fairlead::service {
namespace {

using Conditions = std::vector<report::LinkCondition>;

SimTime NetworkMoment(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

topology::Fabric BuildHistoryFabric(uint32_t hosts_per_leaf = 2, uint32_t spines = 2) {
  auto fabric = topology::BuildClos({.leaves = 2, .hosts_per_leaf = hosts_per_leaf, .spines = spines});
  EXPECT_TRUE(fabric.ok());
  return std::move(fabric).value();
}

const NetworkHistoryOptions kShort = {.period = SimDuration(10'000'000'000), .num_periods = 4};

TEST(NetworkHistoryTest, APeriodHasMeanLoadsAndTheWorstState) {
  const topology::Fabric fabric = BuildHistoryFabric(2, 6);
  NetworkHistory history(fabric, kShort);
  Conditions first(fabric.num_links()), second(fabric.num_links());
  const auto link = [&](size_t spine) { return fabric.FindLink(fmt::format("leaf0->spine{}", spine)).index(); };
  first[link(0)] = {.load = 1};
  second[link(0)] = {.load = 0.5};
  first[link(1)] = {.load = 0.2, .health = 0, .is_down = true, .is_in_doubt = true};  // for a moment
  second[link(2)] = {.health = 0.37, .is_in_doubt = true};
  second[link(3)] = {.is_in_doubt = true};
  first[link(4)] = {.load = 1e-6};
  EXPECT_FALSE(history.Add(NetworkMoment(100), first));
  EXPECT_FALSE(history.Add(NetworkMoment(105), second));
  EXPECT_TRUE(history.Begins().empty()) << "it is under way";
  EXPECT_FALSE(history.At(105));
  EXPECT_TRUE(history.Add(NetworkMoment(111), second));
  EXPECT_EQ(history.Begins(), std::vector<int64_t>{100});
  for (const int64_t at_s : {100, 109}) {
    const auto kept = history.At(at_s);
    ASSERT_TRUE(kept);
    EXPECT_NEAR((*kept)[link(0)].load, 0.75, 0.004);
    EXPECT_FALSE((*kept)[link(0)].is_down || (*kept)[link(0)].is_in_doubt);
    EXPECT_EQ((*kept)[link(0)].health, 1);
    EXPECT_TRUE((*kept)[link(1)].is_down);
    EXPECT_EQ((*kept)[link(1)].health, 0);
    EXPECT_NEAR((*kept)[link(2)].health, 0.37, 0.01);
    EXPECT_TRUE((*kept)[link(2)].is_in_doubt);
    EXPECT_FALSE((*kept)[link(2)].is_down);
    EXPECT_TRUE((*kept)[link(3)].is_in_doubt);
    EXPECT_EQ((*kept)[link(3)].health, 1);
    EXPECT_GT((*kept)[link(4)].load, 0) << "little is not none";
    EXPECT_EQ((*kept)[link(5)].load, 0);
  }
  EXPECT_FALSE(history.At(99));
  EXPECT_FALSE(history.At(110));
}

// A day of random conditions, with a controller that starts anew now and then, against a list of all that was told.
TEST(NetworkHistoryTest, ARingThatOutlivesControllers) {
  const topology::Fabric fabric = BuildHistoryFabric();
  std::mt19937 random(7);
  std::map<std::string, std::string> store;
  std::map<int64_t, Conditions> told;  // [begin of the period]
  auto history = std::make_unique<NetworkHistory>(fabric, kShort);
  for (int64_t now_s = 1000; now_s < 2000; now_s += 10) {
    if (random() % 8 == 0) {
      history = std::make_unique<NetworkHistory>(fabric, kShort);
      std::vector<store::Record> records;
      for (const auto& [key, value] : store) records.push_back({key, value});
      history->Restore(NetworkMoment(static_cast<double>(now_s)), records);
      now_s += 10 * static_cast<int64_t>(random() % 3);
    }
    Conditions conditions(fabric.num_links());
    for (uint32_t l = 0; l < fabric.num_links(); ++l) {
      if (topology::IsNetwork(fabric.tier(LinkId(l)))) conditions[l].load = static_cast<double>(random() % 251) / 250;
    }
    if (const auto change = history->Add(NetworkMoment(static_cast<double>(now_s)), conditions)) {
      store[change->key] = *change->value;
    }
    told[now_s] = conditions;
    EXPECT_LE(store.size(), kShort.num_periods);
    const std::vector<int64_t> begins = history->Begins();
    EXPECT_LE(begins.size(), kShort.num_periods);
    EXPECT_TRUE(std::ranges::is_sorted(begins));
    for (const int64_t begin : begins) {
      ASSERT_TRUE(told.contains(begin));
      const auto kept = history->At(begin);
      ASSERT_TRUE(kept);
      for (size_t link = 0; link < kept->size(); ++link)
        ASSERT_NEAR((*kept)[link].load, told[begin][link].load, 0.0041);
    }
  }
}

TEST(NetworkHistoryTest, WhatIsNotOfThisFabricOrDamagedIsLeftOut) {
  const topology::Fabric fabric = BuildHistoryFabric();
  NetworkHistory history(fabric, kShort);
  const Conditions conditions(fabric.num_links(), {.load = 0.5});
  (void)history.Add(NetworkMoment(100), conditions);
  const auto change = history.Add(NetworkMoment(110), conditions);
  ASSERT_TRUE(change);
  const auto restored = [&](const topology::Fabric& of, const std::string& value, double now_s = 120) {
    NetworkHistory next(of, kShort);
    const std::vector<store::Record> records = {{change->key, value}};
    next.Restore(NetworkMoment(now_s), records);
    return next.Begins().size();
  };
  EXPECT_EQ(restored(fabric, *change->value), 1u);
  EXPECT_EQ(restored(BuildHistoryFabric(3), *change->value), 0u);
  EXPECT_EQ(restored(fabric, *change->value, 145), 0u) << "older than the ring";
  EXPECT_EQ(restored(fabric, *change->value, 90), 0u) << "of the future";
  for (size_t size = 0; size < change->value->size(); ++size) {
    EXPECT_EQ(restored(fabric, change->value->substr(0, size)), 0u) << size;
  }
  // Nothing that is in a damaged one is read beyond its end.
  for (size_t i = 0; i < change->value->size(); ++i) {
    std::string damaged = *change->value;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    (void)restored(fabric, damaged);
  }
}

// The size of the claim in network_history.h: 10,240 hosts; a third of the links is in use.
TEST(NetworkHistoryTest, ADayOfALargeClusterIsSmall) {
  const auto fabric = topology::BuildClos({.leaves = 320, .hosts_per_leaf = 32, .spines = 64});
  ASSERT_TRUE(fabric.ok());
  NetworkHistory history(*fabric);
  std::mt19937 random(3);
  Conditions conditions(fabric->num_links());
  for (report::LinkCondition& condition : conditions) {
    if (random() % 3 == 0) condition.load = static_cast<double>(random() % 9) / 8;
  }
  (void)history.Add(NetworkMoment(300), conditions);
  const auto change = history.Add(NetworkMoment(600), conditions);
  ASSERT_TRUE(change);
  EXPECT_LT(change->value->size() * 288, 20'000'000u);
}

}  // namespace
}  // namespace fairlead::service
