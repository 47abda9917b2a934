#include "traffic/c4p/replan_agenda.h"

#include <gtest/gtest.h>

namespace fairlead::traffic::c4p {
namespace {

TEST(ReplanAgendaTest, NothingIsPlannedWithoutAChangeAndAChangeOnce) {
  ReplanAgenda agenda;
  EXPECT_FALSE(agenda.Take().has_value());
  agenda.NoteHealth(1, 0, false);
  EXPECT_TRUE(agenda.Take().has_value());
  EXPECT_FALSE(agenda.Take().has_value());
}

TEST(ReplanAgendaTest, ALostLinkChangesHashesAndLeavesNothingToTryOrBalance) {
  ReplanAgenda agenda;
  agenda.NoteHealth(1, 0, false);
  const ReplanSteps steps = *agenda.Take();
  EXPECT_TRUE(steps.check_ports);
  EXPECT_FALSE(steps.try_again);
  EXPECT_FALSE(steps.balance_for.has_value());
}

// Down to probation: paths where nothing else is left. Probation to up: its share.
TEST(ReplanAgendaTest, ALinkThatIsBackIsTriedAtOnceAndBalancedWhenItIsAFirstChoice) {
  ReplanAgenda agenda;
  agenda.NoteHealth(0, 1e-6, false);
  ReplanSteps steps = *agenda.Take();
  EXPECT_TRUE(steps.check_ports);
  EXPECT_TRUE(steps.try_again);
  EXPECT_FALSE(steps.balance_for.has_value());
  agenda.NoteHealth(1e-6, 1, true);
  steps = *agenda.Take();
  EXPECT_FALSE(steps.check_ports) << "leaves hash over the same links";
  EXPECT_TRUE(steps.try_again);
  EXPECT_EQ(steps.balance_for, MoveCause::kLinkBack);
}

TEST(ReplanAgendaTest, ALinkThatIsBackIsTheCauseWhateverElseLosesCapacity) {
  ReplanAgenda agenda;
  agenda.NoteHealth(1, 0.5, true);
  EXPECT_EQ(agenda.Take()->balance_for, MoveCause::kLinkDegraded);
  agenda.NoteHealth(0.5, 1, true);
  agenda.NoteHealth(1, 0.5, true);
  EXPECT_EQ(agenda.Take()->balance_for, MoveCause::kLinkBack);
  agenda.NoteHealth(1, 0.5, true);
  agenda.NoteHealth(0.5, 1, true);
  EXPECT_EQ(agenda.Take()->balance_for, MoveCause::kLinkBack);
}

TEST(ReplanAgendaTest, AdoptedQueuePairsWithoutAPathAreTried) {
  ReplanAgenda agenda;
  agenda.NoteAdopted(/*has_path=*/true);
  ReplanSteps steps = *agenda.Take();
  EXPECT_FALSE(steps.try_again);
  EXPECT_FALSE(steps.check_ports);
  agenda.NoteAdopted(/*has_path=*/false);
  agenda.NoteAdopted(/*has_path=*/true);
  steps = *agenda.Take();
  EXPECT_TRUE(steps.try_again);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
