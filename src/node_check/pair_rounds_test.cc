#include "node_check/pair_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/random.h"

namespace fairlead::node_check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Outcome = TransferResult::Outcome;
using Kind = HostVerdict::Kind;

constexpr double kRate = 1e9;

// What each host can send and receive, as a share of the rate, and whether its agent answers.
struct SimulatedHost {
  double sends = 1;
  double receives = 1;
  double lost_share = 0;
  bool answers = true;
};

TransferResult Measure(const Transfer& transfer, const std::vector<SimulatedHost>& hosts, Random* random) {
  const SimulatedHost& sender = hosts[transfer.sender];
  const SimulatedHost& receiver = hosts[transfer.receiver];
  if (!sender.answers || !receiver.answers) return {};
  const double share = std::min(sender.sends, receiver.receives);
  if (share == 0) return {.outcome = Outcome::kFailed, .rate = 0, .lost_share = 0, .rtt = {}, .error = "no route"};
  return {.outcome = Outcome::kMeasured,
          .rate = kRate * share * random->Uniform(0.97, 1.03),
          .lost_share = std::max(sender.lost_share, receiver.lost_share),
          .rtt = Seconds(1e-4),
          .error = ""};
}

// Checks on the way that nobody is in two transfers of one direction at once.
PairRounds CheckAll(const std::vector<SimulatedHost>& hosts) {
  std::vector<CheckedHost> checked;
  for (uint32_t h = 0; h < hosts.size(); ++h) checked.push_back({.leaf = 0, .num_nics = 1});
  PairRounds rounds(checked, {});
  Random random(hosts.size());
  while (!rounds.step().empty()) {
    std::vector<TransferResult> results;
    std::set<std::pair<uint32_t, uint32_t>> busy;
    for (const Transfer& transfer : rounds.step()) {
      EXPECT_TRUE(busy.insert({transfer.sender, transfer.sender_nic}).second);
      EXPECT_TRUE(busy.insert({transfer.receiver, transfer.receiver_nic}).second);
      results.push_back(Measure(transfer, hosts, &random));
    }
    rounds.Finish(results);
  }
  EXPECT_EQ(rounds.num_finished_steps(), rounds.num_steps());
  return rounds;
}

std::vector<uint32_t> Failed(const PairRounds& rounds) {
  std::vector<uint32_t> failed;
  const std::vector<HostVerdict> verdicts = rounds.Verdicts();
  for (uint32_t h = 0; h < verdicts.size(); ++h) {
    if (verdicts[h].kind == Kind::kFailed) failed.push_back(h);
  }
  return failed;
}

TEST(PairRoundsTest, HealthyHostsPass) {
  for (uint32_t n = 3; n <= 33; ++n) {
    for (const HostVerdict& verdict : CheckAll(std::vector<SimulatedHost>(n)).Verdicts()) {
      EXPECT_EQ(verdict.kind, Kind::kPassed) << n << " hosts";
      EXPECT_THAT(verdict.bad_with, IsEmpty());
      EXPECT_GE(verdict.num_partners, 2U);
    }
  }
}

TEST(PairRoundsTest, OfTwoHostsNeitherIsBlamed) {
  std::vector<SimulatedHost> hosts(2);
  hosts[1].receives = 0.3;
  const std::vector<HostVerdict> verdicts = CheckAll(hosts).Verdicts();
  EXPECT_EQ(verdicts[0].kind, Kind::kUndecided);
  EXPECT_EQ(verdicts[1].kind, Kind::kUndecided);
  EXPECT_THAT(verdicts[0].bad_with, ElementsAre(1));
}

TEST(PairRoundsTest, TheDirectionAndTheNicAreNamed) {
  std::vector<SimulatedHost> hosts(6);
  hosts[2].sends = 0.5;
  const HostVerdict verdict = CheckAll(hosts).Verdicts()[2];
  EXPECT_EQ(verdict.kind, Kind::kFailed);
  EXPECT_TRUE(verdict.sends);
  EXPECT_EQ(verdict.fault, TransferFault::kSlow);
  EXPECT_NEAR(verdict.rate_share, 0.5, 0.05);
  // Its partners are not to blame, and it is said who was slow with them.
  const std::vector<HostVerdict> all = CheckAll(hosts).Verdicts();
  EXPECT_EQ(all[3].kind, Kind::kPassed);
  EXPECT_THAT(all[3].bad_with, ElementsAre(2));
}

TEST(PairRoundsTest, OneNicOfManyIsEnough) {
  std::vector<CheckedHost> checked(5, {.leaf = 0, .num_nics = 4});
  PairRounds rounds(checked, {});
  while (!rounds.step().empty()) {
    std::vector<TransferResult> results;
    for (const Transfer& transfer : rounds.step()) {
      const bool is_slow = transfer.receiver == 4 && transfer.receiver_nic == 3;
      results.push_back({.outcome = Outcome::kMeasured, .rate = is_slow ? 7e8 : 1e9, .lost_share = 0, .rtt = {}});
    }
    rounds.Finish(results);
  }
  EXPECT_THAT(Failed(rounds), ElementsAre(4));
  EXPECT_EQ(rounds.Verdicts()[4].nic, 3U);
  EXPECT_FALSE(rounds.Verdicts()[4].sends);
}

TEST(PairRoundsTest, WhatFailsAndWhatLosesIsBad) {
  std::vector<SimulatedHost> hosts(8);
  hosts[1].receives = 0;
  hosts[6].lost_share = 0.03;
  const PairRounds rounds = CheckAll(hosts);
  EXPECT_THAT(Failed(rounds), ElementsAre(1, 6));
  EXPECT_EQ(rounds.Verdicts()[1].fault, TransferFault::kFailed);
  EXPECT_EQ(rounds.Verdicts()[6].fault, TransferFault::kLossy);
  // All lose alike: that is the fabric, or its congestion control.
  for (SimulatedHost& host : hosts) host = {.lost_share = 0.03};
  EXPECT_THAT(Failed(CheckAll(hosts)), IsEmpty());
}

TEST(PairRoundsTest, WhoGivesNoAnswerIsNotBlamed) {
  std::vector<SimulatedHost> hosts(7);
  hosts[0].answers = false;
  hosts[5].receives = 0.4;
  const PairRounds rounds = CheckAll(hosts);
  EXPECT_THAT(Failed(rounds), ElementsAre(5));
  EXPECT_EQ(rounds.Verdicts()[0].kind, Kind::kUndecided);
  EXPECT_EQ(rounds.Verdicts()[0].num_partners, 0U);
  for (SimulatedHost& host : hosts) host.answers = false;
  for (const HostVerdict& verdict : CheckAll(hosts).Verdicts()) EXPECT_EQ(verdict.kind, Kind::kUndecided);
  EXPECT_EQ(CheckAll(hosts).usual_rate(), 0);
}

// Pairs below different leaves share cables: they are compared with each other only.
TEST(PairRoundsTest, FarPairsAreSlowerThanNearOnes) {
  std::vector<CheckedHost> checked;
  for (uint32_t h = 0; h < 16; ++h) checked.push_back({.leaf = h / 4, .num_nics = 1});
  PairRounds rounds(checked, {});
  while (!rounds.step().empty()) {
    std::vector<TransferResult> results;
    for (const Transfer& transfer : rounds.step()) {
      double rate = transfer.sender / 4 == transfer.receiver / 4 ? 1e9 : 4e8;
      if (transfer.sender == 9) rate *= 0.7;
      results.push_back({.outcome = Outcome::kMeasured, .rate = rate, .lost_share = 0, .rtt = {}});
    }
    rounds.Finish(results);
  }
  EXPECT_THAT(Failed(rounds), ElementsAre(9));
}

// A fabric that is oversubscribed: all hosts of a leaf share one cable to the spines, all of a pod one to the core.
// Those that are in a transfer through it at once have a share of it each.
struct Oversubscribed {
  std::vector<CheckedHost> hosts;
  double of_leaf = 1;  // what its cable carries, in rates of a host
  double of_pod = 1;
};

std::vector<TransferResult> MeasureStep(const Oversubscribed& fabric, const std::vector<SimulatedHost>& hosts,
                                        std::span<const Transfer> step, Random* random) {
  using Cable = std::tuple<bool, bool, uint32_t>;  // of a pod, up, number
  const auto cables_of = [&](const Transfer& transfer) {
    const CheckedHost& from = fabric.hosts[transfer.sender];
    const CheckedHost& to = fabric.hosts[transfer.receiver];
    std::vector<Cable> cables;
    if (from.leaf != to.leaf)
      cables.insert(cables.end(), {Cable(false, true, from.leaf), Cable(false, false, to.leaf)});
    if (from.pod != to.pod) cables.insert(cables.end(), {Cable(true, true, from.pod), Cable(true, false, to.pod)});
    return cables;
  };
  std::map<Cable, int> users;
  for (const Transfer& transfer : step) {
    for (const Cable& cable : cables_of(transfer)) ++users[cable];
  }
  std::vector<TransferResult> results;
  for (const Transfer& transfer : step) {
    TransferResult result = Measure(transfer, hosts, random);
    for (const Cable& cable : cables_of(transfer)) {
      const double capacity = std::get<0>(cable) ? fabric.of_pod : fabric.of_leaf;
      result.rate = std::min(result.rate, kRate * capacity / users[cable]);
    }
    results.push_back(result);
  }
  return results;
}

PairRounds CheckAll(const Oversubscribed& fabric, const std::vector<SimulatedHost>& hosts, Random* random) {
  PairRounds rounds(fabric.hosts, {});
  while (!rounds.step().empty()) rounds.Finish(MeasureStep(fabric, hosts, rounds.step(), random));
  EXPECT_EQ(rounds.num_finished_steps(), rounds.num_steps());
  return rounds;
}

// The transfers of a check must not be what slows its transfers.
TEST(PairRoundsTest, PairsOfOneStepDoNotShareCables) {
  Random random(1);
  for (int run = 0; run < 2000; ++run) {
    Oversubscribed fabric{.hosts = {}, .of_leaf = random.Uniform(0.5, 2), .of_pod = random.Uniform(0.25, 1)};
    const auto num_leaves = static_cast<uint32_t>(1 + random.Below(6));
    for (uint32_t leaf = 0; leaf < num_leaves; ++leaf) {
      const uint64_t num_hosts = 1 + random.Below(6);
      for (uint64_t h = 0; h < num_hosts; ++h) fabric.hosts.push_back({.leaf = leaf, .pod = leaf / 3, .num_nics = 1});
    }
    const auto n = static_cast<uint32_t>(fabric.hosts.size());
    if (n < 3) continue;
    std::vector<SimulatedHost> hosts(n);
    std::set<uint32_t> bad;
    for (uint32_t h = 0; h < n; ++h) {
      if (random.Uniform() >= 0.15) continue;
      bad.insert(h);
      (random.Uniform() < 0.5 ? hosts[h].sends : hosts[h].receives) = random.Uniform(0.1, 0.2);
    }
    // Where most are bad, that is what is usual.
    const bool are_few = std::ranges::all_of(SplitIntoRegions(fabric.hosts, 3), [&](const HostGroup& region) {
      const auto num_bad = std::ranges::count_if(region, [&](uint32_t host) { return bad.contains(host); });
      return 2 * static_cast<size_t>(num_bad) < region.size();
    });
    if (!are_few) continue;
    const std::vector<HostVerdict> verdicts = CheckAll(fabric, hosts, &random).Verdicts();
    for (uint32_t h = 0; h < n; ++h) {
      if (bad.contains(h)) {
        // One that is alone below its leaf, and slow, may be taken for the path; another bad one may pass beside it.
        const bool is_among_many = std::ranges::all_of(fabric.hosts, [&](const CheckedHost& host) {
          return std::ranges::count(fabric.hosts, host.leaf, &CheckedHost::leaf) >= 3;
        });
        if (is_among_many && verdicts[h].kind == Kind::kPassed) ADD_FAILURE() << "run " << run << " host " << h;
        continue;
      }
      EXPECT_NE(verdicts[h].kind, Kind::kFailed) << "run " << run << " host " << h << " of " << n;
      if (verdicts[h].kind == Kind::kUndecided) continue;
      for (const uint32_t other : verdicts[h].bad_with) {
        EXPECT_TRUE(bad.contains(other)) << "run " << run << ": " << h << " and " << other << " of " << n;
      }
    }
  }
}

// A host with a neighbour and one far partner, which is the neighbour's, too: what they do without it tells.
TEST(PairRoundsTest, OfThreeHostsBelowTwoLeavesTheSlowOneIsNamed) {
  Random random(2);
  for (uint32_t slow = 0; slow < 3; ++slow) {
    std::vector<SimulatedHost> hosts(3);
    hosts[slow].receives = 0.3;
    const Oversubscribed fabric{.hosts = {{.leaf = 0}, {.leaf = 1}, {.leaf = 1}}, .of_leaf = 1, .of_pod = 1};
    const std::vector<HostVerdict> verdicts = CheckAll(fabric, hosts, &random).Verdicts();
    // The only one below its leaf may be as slow as all paths from there.
    EXPECT_EQ(verdicts[slow].kind, slow == 0 ? Kind::kUndecided : Kind::kFailed) << slow;
  }
}

// Every set of bad hosts among up to 9, bad in every way.
TEST(PairRoundsTest, NobodyInnocentFailsWhileMostAreWell) {
  const std::vector<SimulatedHost> ways = {
      {.sends = 0.5}, {.receives = 0.5}, {.sends = 0.6, .receives = 0.6}, {.sends = 0, .receives = 0}};
  for (uint32_t n = 3; n <= 9; ++n) {
    for (uint32_t bad = 1; bad < 1U << n; ++bad) {
      const auto num_bad = static_cast<uint32_t>(std::popcount(bad));
      if (2 * num_bad >= n) continue;
      for (size_t way = 0; way <= ways.size(); ++way) {
        std::vector<SimulatedHost> hosts(n);
        std::vector<uint32_t> expected;
        for (uint32_t h = 0; h < n; ++h) {
          if ((bad >> h & 1) == 0) continue;
          hosts[h] = ways[way == ways.size() ? h % ways.size() : way];
          expected.push_back(h);
        }
        const std::vector<uint32_t> failed = Failed(CheckAll(hosts));
        for (const uint32_t h : failed) EXPECT_TRUE(bad >> h & 1) << n << " hosts, bad " << bad << ", way " << way;
        if (3 * num_bad > n) continue;
        EXPECT_EQ(failed, expected) << n << " hosts, bad " << bad << ", way " << way;
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::node_check
