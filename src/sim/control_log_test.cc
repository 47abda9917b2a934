#include "sim/control_log.h"

#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

TEST(ControlLogTest, APlanThatMovesJobsIsNotedWithWhatBroughtIt) {
  ControlLog log;
  const std::vector<controller::Event> events = {controller::JobFinished{JobId(1)},
                                                 controller::LinkHealthChanged{LinkId(0), 0.5},
                                                 controller::LinkHealthChanged{LinkId(1), 0.5}, controller::WakeUp{}};
  const std::vector<controller::Action> actions = {controller::StartJob{.job = JobId(2), .placement = {}, .reason = ""},
                                                   controller::RejectJob{JobId(3), "too large"}};
  log.NotePlan(AtSimSecond(3), events, actions, {.plans = 1, .path_changes = 4, .level_changes = 2},
               {.plans = 2, .path_changes = 7, .level_changes = 3});
  log.NotePlan(AtSimSecond(4), events, actions, {.plans = 2}, {.plans = 3});
  const std::vector<ControlChange> changes = log.Take();
  ASSERT_EQ(changes.size(), 1u) << "the second one changed nothing";
  EXPECT_EQ(changes[0].time_s, 3);
  EXPECT_EQ(changes[0].path_changes, 3u);
  EXPECT_EQ(changes[0].level_changes, 1u);
  EXPECT_EQ(changes[0].jobs_started, 1u);
  EXPECT_EQ(changes[0].jobs_ended, 1u);
  EXPECT_EQ(changes[0].links_changed, 2u);
  EXPECT_EQ(log.live_counters().plans, 0u);
}

TEST(ControlLogTest, LiveChangesAreCountedEvenThoseThatChangeNothing) {
  ControlLog log;
  log.NoteLive({.time_s = 1, .path_changes = 2, .level_changes = 1});
  log.NoteLive({.time_s = 2});
  log.NoteLive({.time_s = 3, .path_changes = 1});
  EXPECT_EQ(log.live_counters().plans, 3u);
  EXPECT_EQ(log.live_counters().path_changes, 3u);
  EXPECT_EQ(log.live_counters().level_changes, 1u);
  EXPECT_EQ(log.Take().size(), 2u);
}

}  // namespace
}  // namespace fairlead::sim
