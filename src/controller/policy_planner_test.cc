#include "controller/policy_planner.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "topology/clos_fabrics.h"
#include "traffic/policy_registry.h"

namespace fairlead::controller {
namespace {

// Gives every job level 3, or nothing to the last one.
class ConstantPolicy final : public traffic::TrafficPolicy {
 public:
  size_t num_left_out = 0;
  mutable std::vector<LinkId> changed_links;  // as of the last plan

  std::string_view name() const override { return "constant"; }
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot) const override {
    changed_links.assign(snapshot.changed_links.begin(), snapshot.changed_links.end());
    traffic::TrafficPlan plan;
    for (size_t j = 0; j + num_left_out < snapshot.jobs.size(); ++j) {
      plan.jobs.emplace_back();
      plan.jobs.back().id = snapshot.jobs[j].id;
      plan.jobs.back().level = 3;
    }
    return plan;
  }
};

class PolicyPlannerTest : public ::testing::Test {
 protected:
  PolicyPlannerTest() {
    for (uint32_t j = 0; j < 2; ++j) {
      views_.emplace_back();
      views_.back().id = JobId(j);
    }
  }

  topology::Fabric fabric_ = topology::BuildClos(topology::ClosSpec()).value();
  ConstantPolicy policy_;
  std::vector<traffic::JobView> views_;
  PolicyPlanner planner_{fabric_, policy_, {.num_levels = 4, .hash_seed = 5, .random_seed = 6}};
};

TEST_F(PolicyPlannerTest, PoliciesSeeTheFabricAsItIs) {
  const traffic::TrafficSnapshot whole = planner_.Snapshot(views_);
  EXPECT_EQ(whole.health, nullptr) << "all links are healthy";
  EXPECT_EQ(whole.num_levels, 4u);
  EXPECT_EQ(whole.hash_seed, 5u);
  EXPECT_EQ(whole.random_seed, 6u);
  EXPECT_EQ(planner_.Plan(whole).jobs.size(), 2u);
  EXPECT_EQ(planner_.NumLevels(2), 4u);

  planner_.SetHealth(LinkId(7), 0.25);
  planner_.SetHealth(LinkId(7), 0.25);  // no news
  const traffic::TrafficSnapshot hurt = planner_.Snapshot(views_);
  ASSERT_NE(hurt.health, nullptr);
  EXPECT_EQ(hurt.CapacityOf(LinkId(7)), fabric_.capacity(LinkId(7)) * 0.25);
  planner_.Plan(hurt);
  EXPECT_EQ(policy_.changed_links, std::vector<LinkId>{LinkId(7)});
  planner_.Plan(planner_.Snapshot(views_));
  EXPECT_TRUE(policy_.changed_links.empty()) << "since the last plan";

  planner_.SetHealth(LinkId(7), 1);
  planner_.ForgetChangedLinks();
  planner_.Plan(planner_.Snapshot(views_));
  EXPECT_TRUE(policy_.changed_links.empty());
  EXPECT_EQ(planner_.Snapshot(views_).health, nullptr);
}

TEST_F(PolicyPlannerTest, TheRouterIsToldOnceOfAllChanges) {
  EXPECT_FALSE(planner_.Refresh());
  const GpuId here(0);
  const GpuId there(fabric_.num_gpus() - 1);
  const uint64_t num_paths = planner_.router().CountPaths(here, there);
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) planner_.SetHealth(LinkId(l), 0);
  EXPECT_EQ(planner_.router().CountPaths(here, there), num_paths) << "not yet";
  EXPECT_TRUE(planner_.Refresh());
  EXPECT_EQ(planner_.router().CountPaths(here, there), 0u);
  EXPECT_FALSE(planner_.Refresh());
}

TEST_F(PolicyPlannerTest, APolicyThatForgetsAJobIsStopped) {
  policy_.num_left_out = 1;
  EXPECT_DEATH(planner_.Plan(planner_.Snapshot(views_)), "must plan every job");
}

// Two jobs between two hosts, planned by Crux.
TEST(PolicyPlannerMemoryTest, IsKeptUntilLinksChangeAndNotShortenedByPlansApart) {
  const topology::Fabric fabric = topology::BuildClos(topology::ClosSpec()).value();
  const std::unique_ptr<traffic::TrafficPolicy> policy = traffic::CreatePolicy("crux", {}).value();
  model::Iteration iteration;
  iteration.compute_time = Seconds(1);
  iteration.work = Flop(1e15);
  iteration.phases.push_back({.name = "", .num_flows = 1});
  iteration.flows.push_back({fabric.first_gpu(HostId(0)), fabric.first_gpu(HostId(1)), Bytes(1e9)});
  std::vector<traffic::JobView> views(2);
  for (uint32_t j = 0; j < 2; ++j) {
    views[j].id = JobId(j);
    views[j].iteration = &iteration;
  }
  PolicyPlanner planner(fabric, *policy, {});
  planner.Plan(planner.Snapshot(views));
  EXPECT_EQ(planner.memory().selection().num_jobs(), 2u);
  planner.PlanApart(planner.Snapshot(std::span(views).last(1)));
  EXPECT_EQ(planner.memory().selection().num_jobs(), 2u);
  planner.SetHealth(LinkId(0), 0.5);
  planner.Refresh();
  EXPECT_EQ(planner.memory().selection().num_jobs(), 0u);

  PolicyPlanner forgetful(fabric, *policy, {.remembers_plans = false});
  forgetful.Plan(forgetful.Snapshot(views));
  EXPECT_EQ(forgetful.memory().selection().num_jobs(), 0u);
}

}  // namespace
}  // namespace fairlead::controller
