#include "controller/steered_hosts.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::controller {
namespace {

constexpr HostId kHost(3);

TEST(SteeredHostsTest, AHostThatIsIsolatedTestedAndReturned) {
  SteeredHosts hosts;
  EXPECT_EQ(hosts.ConditionOf(kHost), std::nullopt);
  hosts.BeginIsolation(kHost);
  EXPECT_EQ(hosts.ConditionOf(kHost), HostCondition::kIsolating);
  EXPECT_TRUE(hosts.IsIsolated(kHost));
  EXPECT_FALSE(hosts.IsAway(kHost));
  hosts.FinishIsolation(kHost);
  EXPECT_EQ(hosts.ConditionOf(kHost), HostCondition::kIsolated);
  EXPECT_TRUE(hosts.IsAway(kHost));
  hosts.BeginTest(kHost, 17);
  EXPECT_EQ(hosts.EndTest(kHost), 17u);
  EXPECT_EQ(hosts.EndTest(kHost), std::nullopt);
  EXPECT_TRUE(hosts.BeginReturn(kHost));
  EXPECT_TRUE(hosts.IsReturning(kHost));
  EXPECT_EQ(hosts.ConditionOf(kHost), HostCondition::kIsolated) << "until it is done";
  hosts.FinishReturn(kHost);
  EXPECT_FALSE(hosts.IsReturning(kHost));
  EXPECT_EQ(hosts.ConditionOf(kHost), std::nullopt);
}

TEST(SteeredHostsTest, OnlyAHostThatIsAwayReturnsAndOnce) {
  SteeredHosts hosts;
  EXPECT_FALSE(hosts.BeginReturn(kHost));
  hosts.BeginIsolation(kHost);
  EXPECT_FALSE(hosts.BeginReturn(kHost)) << "who is last, isolation or return?";
  hosts.FinishIsolation(kHost);
  EXPECT_TRUE(hosts.BeginReturn(kHost));
  EXPECT_FALSE(hosts.BeginReturn(kHost));
  hosts.GiveUpReturn(kHost);
  EXPECT_EQ(hosts.ConditionOf(kHost), HostCondition::kIsolated);
  EXPECT_TRUE(hosts.BeginReturn(kHost));
}

TEST(SteeredHostsTest, AnIsolationThatIsGivenUpLeavesDoubtAndOneThatIsCancelledDoesNot) {
  SteeredHosts hosts;
  hosts.BeginIsolation(HostId(1));
  hosts.BeginIsolation(HostId(2));
  hosts.GiveUpIsolation(HostId(1));
  hosts.CancelIsolation(HostId(2));
  EXPECT_TRUE(hosts.isolated().empty());
  EXPECT_EQ(hosts.ConditionOf(HostId(1)), HostCondition::kInDoubt);
  EXPECT_EQ(hosts.ConditionOf(HostId(2)), std::nullopt);
  hosts.EndDoubt(HostId(1));
  EXPECT_EQ(hosts.ConditionOf(HostId(1)), std::nullopt);
}

TEST(SteeredHostsTest, SparesAreTakenFromTheLowestNumberOn) {
  SteeredHosts hosts;
  for (const uint32_t host : {9, 4, 7}) hosts.Free(HostId(host));
  hosts.NoteUsed(HostId(7));
  EXPECT_EQ(hosts.TakeSpare(), HostId(4));
  EXPECT_EQ(hosts.ConditionOf(HostId(4)), std::nullopt);
  EXPECT_EQ(hosts.TakeSpare(), HostId(9));
  EXPECT_EQ(hosts.TakeSpare(), std::nullopt);
}

TEST(SteeredHostsTest, WhatIsAbandonedStaysIsolated) {
  SteeredHosts hosts;
  hosts.BeginIsolation(HostId(1));
  hosts.BeginIsolation(HostId(2));
  hosts.FinishIsolation(HostId(2));
  hosts.BeginTest(HostId(2), 5);
  hosts.BeginReturn(HostId(2));
  hosts.Abandon();
  for (const HostId host : {HostId(1), HostId(2)}) EXPECT_TRUE(hosts.IsAway(host));
  EXPECT_FALSE(hosts.IsReturning(HostId(2)));
  EXPECT_EQ(hosts.EndTest(HostId(2)), std::nullopt);
}

// Whatever the order of calls: a host that is about to be isolated counts as isolated, marked hosts are those that have
// a condition, and what is kept makes the same state.
TEST(SteeredHostsTest, LawsHoldForAnyCalls) {
  constexpr uint32_t kNumLedgerHosts = 6;
  Random random(1);
  SteeredHosts hosts;
  for (uint32_t i = 0; i < 5000 && !HasFailure(); ++i) {
    const HostId host(random.Below(kNumLedgerHosts));
    switch (random.Below(11)) {
      case 0:
        hosts.Free(host);
        break;
      case 1:
        hosts.TakeSpare();
        break;
      case 2:
        hosts.NoteUsed(host);
        break;
      case 3:
        hosts.EndDoubt(host);
        break;
      case 4:
        hosts.BeginIsolation(host);
        break;
      case 5:
        hosts.FinishIsolation(host);
        break;
      case 6:
        hosts.CancelIsolation(host);
        break;
      case 7:
        hosts.GiveUpIsolation(host);
        break;
      case 8:
        hosts.BeginTest(host, i);
        break;
      case 9:
        hosts.BeginReturn(host);
        break;
      default:
        hosts.FinishReturn(host);
        break;
    }
    for (uint32_t h = 0; h < kNumLedgerHosts; ++h) {
      const std::optional<HostCondition> condition = hosts.ConditionOf(HostId(h));
      EXPECT_EQ(hosts.Marked().contains(HostId(h)), condition.has_value());
      EXPECT_EQ(hosts.IsIsolated(HostId(h)),
                condition == HostCondition::kIsolated || condition == HostCondition::kIsolating);
      EXPECT_EQ(hosts.IsAway(HostId(h)), condition == HostCondition::kIsolated);
    }
    SteeredHosts restored;
    restored.Restore(hosts.Keep());
    for (uint32_t h = 0; h < kNumLedgerHosts; ++h) {
      EXPECT_EQ(restored.ConditionOf(HostId(h)), hosts.ConditionOf(HostId(h)));
      EXPECT_EQ(restored.IsReturning(HostId(h)), hosts.IsReturning(HostId(h)));
    }
    EXPECT_EQ(restored.spares(), hosts.spares());
    EXPECT_EQ(restored.Keep().tests.size(), hosts.Keep().tests.size());
  }
}

TEST(SteeredHostsTest, HostsThatAreLostAreForgotten) {
  SteeredHosts hosts;
  hosts.Restore({.spares = {HostId(), HostId(1)},
                 .isolated = {HostId()},
                 .in_doubt = {HostId()},
                 .returning = {HostId()},
                 .isolating = {HostId()},
                 .tests = {{HostId(), 4}}});
  hosts.ForgetLost();
  EXPECT_EQ(hosts.Marked(), std::set<HostId>{HostId(1)});
  EXPECT_FALSE(hosts.IsReturning(HostId()));
  EXPECT_EQ(hosts.EndTest(HostId()), std::nullopt);
}

}  // namespace
}  // namespace fairlead::controller
