#include "controller/plan_in_force.h"

#include <gtest/gtest.h>

#include "controller/job_queue.h"
#include "controller/profiling_turns.h"

namespace fairlead::controller {
namespace {

traffic::JobPlan PlanOf(uint32_t level, std::vector<model::Path> paths) {
  traffic::JobPlan plan;
  plan.id = JobId(1);
  plan.level = level;
  plan.paths = std::move(paths);
  return plan;
}

TEST(PlanInForceTest, OnlyDifferencesAreNews) {
  PlanInForce in_force;
  EXPECT_FALSE(in_force.is_planned());
  const model::Path left = {LinkId(1)};
  const model::Path right = {LinkId(2)};
  PlanInForce::Change change = in_force.Adopt(PlanOf(2, {left, left}));
  EXPECT_TRUE(change.is_news);
  EXPECT_EQ(change.num_moved, 0u) << "nothing was anywhere before";
  EXPECT_FALSE(change.is_relevelled);

  change = in_force.Adopt(PlanOf(2, {left, left}));
  EXPECT_FALSE(change.is_news);
  change = in_force.Adopt(PlanOf(2, {left, right}));
  EXPECT_TRUE(change.is_news);
  EXPECT_EQ(change.num_moved, 1u);
  change = in_force.Adopt(PlanOf(1, {left, right}));
  EXPECT_TRUE(change.is_news);
  EXPECT_TRUE(change.is_relevelled);

  // For people, or for the order of jobs: neither is a change of control.
  traffic::JobPlan other = PlanOf(1, {left, right});
  other.reason = "another one";
  change = in_force.Adopt(other);
  EXPECT_TRUE(change.is_news);
  EXPECT_EQ(change.num_moved, 0u);
  EXPECT_FALSE(change.is_relevelled);
  EXPECT_EQ(in_force.plan().reason, "another one");
  other.balances_shares = true;
  EXPECT_TRUE(in_force.Adopt(other).is_news);
}

TEST(ProfilingTurnsTest, OneAtATimeInOrderOfArrival) {
  ProfilingTurns turns;
  EXPECT_EQ(turns.BeginNext(), std::nullopt);
  turns.Add(JobId(5), 1);
  turns.Add(JobId(3), 2);
  turns.Add(JobId(4), 0);
  EXPECT_EQ(turns.BeginNext(), JobId(4));
  EXPECT_EQ(turns.BeginNext(), std::nullopt) << "it is under way";
  EXPECT_TRUE(turns.IsUnderWay(JobId(4)));
  turns.Remove(JobId(5), 1);  // ended before its turn
  EXPECT_EQ(turns.BeginNext(), std::nullopt);
  turns.Remove(JobId(4), 0);
  EXPECT_EQ(turns.BeginNext(), JobId(3));
}

TEST(JobQueueTest, WhoComesFirstGoesFirst) {
  JobQueue queue;
  model::Job job;
  for (const uint32_t id : {7u, 2u}) {
    job.id = JobId(id);
    queue.Add(job);
  }
  EXPECT_TRUE(queue.Contains(JobId(7)));
  EXPECT_EQ(queue.front().id, JobId(7));
  queue.PopFront();
  EXPECT_FALSE(queue.Contains(JobId(7)));
  EXPECT_EQ(queue.size(), 1u);
  queue.PopFront();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace fairlead::controller
