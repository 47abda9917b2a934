#include "traffic/c4p/probe_schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

class ProbeScheduleTest : public ::testing::Test {
 protected:
  static C4pOptions Options() {
    C4pOptions options;
    options.probe_period = SecondsOf(5);
    options.lease_ttl = SecondsOf(60);
    return options;
  }
  static SimTime At(int64_t seconds) { return SimTime() + SecondsOf(seconds); }

  topology::Fabric fabric_ = MasterFabric();
  PathCatalogue catalogue_{fabric_};
  PortSteering ports_{&catalogue_, {}, 1000, 0};
  ProbeSchedule schedule_{&catalogue_, ports_, Options()};

  std::set<HostId> HostsIn(const ProbeRoundStarted& round) const {
    std::set<HostId> hosts;
    for (const ProbeTask& task : round.tasks) {
      hosts.insert(fabric_.host_of(task.pair.source));
      hosts.insert(fabric_.host_of(task.pair.destination));
    }
    return hosts;
  }
};

TEST_F(ProbeScheduleTest, ARoundAPeriodNumberedFromOne) {
  schedule_.Hear(HostId(0), At(0));
  EXPECT_FALSE(schedule_.StartRound(At(0)).has_value()) << "one host has nobody to probe";
  schedule_.Hear(HostId(4), At(1));
  EXPECT_FALSE(schedule_.StartRound(At(4)).has_value());
  EXPECT_EQ(schedule_.StartRound(At(5))->round, 1u);
  EXPECT_FALSE(schedule_.StartRound(At(9)).has_value());
  EXPECT_EQ(schedule_.StartRound(At(17))->round, 2u) << "a late call starts one";
  EXPECT_FALSE(schedule_.StartRound(At(21)).has_value());
}

TEST_F(ProbeScheduleTest, OnlyHostsThatWereHeardWithinTheTermAreAsked) {
  schedule_.Hear(HostId(0), At(0));
  schedule_.Hear(HostId(4), At(0));
  schedule_.Hear(HostId(5), At(30));
  EXPECT_EQ(HostsIn(*schedule_.StartRound(At(59))), (std::set{HostId(0), HostId(4), HostId(5)}));
  schedule_.Hear(HostId(4), At(59));
  EXPECT_EQ(HostsIn(*schedule_.StartRound(At(64))), (std::set{HostId(4), HostId(5)}));
  EXPECT_FALSE(schedule_.StartRound(At(90)).has_value());
  schedule_.Hear(HostId(0), At(95));
  EXPECT_EQ(schedule_.StartRound(At(95))->round, 3u);
}

TEST_F(ProbeScheduleTest, TasksHaveTheEpochOfTheirLeaves) {
  schedule_.Hear(HostId(0), At(0));
  schedule_.Hear(HostId(4), At(0));
  const LinkId cable =
      catalogue_.Paths(catalogue_.ports(NicId(0u))[0].leaf, catalogue_.ports(NicId(8u))[0].leaf).path(0)[0];
  catalogue_.SetHealth(cable, 0);
  schedule_.ReprobeAround(cable);
  const ProbeRoundStarted round = *schedule_.StartRound(At(0));
  ASSERT_FALSE(round.tasks.empty());
  std::set<uint64_t> epochs;
  for (const ProbeTask& task : round.tasks) {
    EXPECT_EQ(task.epoch, ports_.EpochOf(task.pair.source_leaf, task.pair.destination_leaf));
    epochs.insert(task.epoch);
  }
  EXPECT_GT(epochs.size(), 1u) << "the change concerns some leaves";
  const ProbePair& first = round.tasks.front().pair;
  EXPECT_TRUE(first.source_leaf == fabric_.source(cable) || first.destination_leaf == fabric_.source(cable));
}

}  // namespace
}  // namespace fairlead::traffic::c4p
