#include "controller/cluster_controller.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "topology/clos_fabrics.h"

namespace fairlead::controller {
namespace {

// Sends every flow over path 0 and gives every job the level of its place in the snapshot.
class FirstPathPolicy final : public traffic::TrafficPolicy {
 public:
  mutable std::map<JobId, model::Iteration> seen;  // as of the last plan that each job was part of
  mutable std::map<JobId, double> speeds;

  std::string_view name() const override { return "first-path"; }
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot) const override {
    traffic::TrafficPlan plan;
    for (const traffic::JobView& job : snapshot.jobs) {
      traffic::JobPlan job_plan;
      job_plan.id = job.id;
      seen[job.id] = *job.iteration;
      speeds[job.id] = job.relative_speed;
      job_plan.level = std::min<uint32_t>(static_cast<uint32_t>(plan.jobs.size()), snapshot.num_levels - 1);
      for (const model::FlowDemand& flow : job.iteration->flows) {
        model::Path path;
        if (snapshot.router->CountPaths(flow.source, flow.destination) > 0) {
          snapshot.router->AppendPath(flow.source, flow.destination, 0, &path);
        }
        job_plan.paths.push_back(path);
      }
      plan.jobs.push_back(job_plan);
    }
    return plan;
  }
};

class ClusterControllerTest : public ::testing::Test {
 protected:
  // Two leaves with one host of 8 GPUs each, two spines.
  ClusterControllerTest() {
    topology::ClosSpec spec;
    spec.leaves = 2;
    spec.hosts_per_leaf = 1;
    spec.spines = 2;
    fabric_ = topology::BuildClos(spec).value();
    placement_ = scheduling::CreatePlacementPolicy("locality-first", 1).value();
  }

  ClusterController Create() {
    const auto iterations = [this](const model::Job& job,
                                   const model::Placement& placement) -> Result<model::Iteration> {
      if (job.name == "bad") return InvalidArgument("bad model");
      model::Iteration iteration;
      iteration.compute_time = Seconds(1);
      if (fabric_.host_of(placement.gpus.front()) != fabric_.host_of(placement.gpus.back())) {
        iteration.flows.push_back({placement.gpus.front(), placement.gpus.back(), Bytes(1e9), 0});
        iteration.phases.push_back({"send", 1, false, 0, 1});
        iteration.num_groups = 1;
      }
      return iteration;
    };
    return ClusterController(fabric_, *placement_, policy_, iterations, options_);
  }

  // gpus_per_host 4: half of each of two hosts, so that the job needs the network.
  static Event Submit(uint32_t id, uint32_t gpus, std::string name = "job", uint32_t gpus_per_host = 8) {
    model::Job job;
    job.gpus_per_host = gpus_per_host;
    job.id = JobId(id);
    job.num_gpus = gpus;
    job.name = std::move(name);
    return JobSubmitted{job};
  }

  static std::vector<std::string> Describe(const std::vector<Action>& actions) {
    std::vector<std::string> lines;
    for (const Action& action : actions) {
      if (const auto* start = std::get_if<StartJob>(&action))
        lines.push_back("start " + std::to_string(start->job.value()));
      if (const auto* set = std::get_if<SetTraffic>(&action)) {
        lines.push_back("traffic " + std::to_string(set->job.value()) + " level " + std::to_string(set->level));
      }
      if (const auto* profile = std::get_if<StartProfiling>(&action)) {
        lines.push_back("profile " + std::to_string(profile->job.value()));
      }
      if (const auto* reject = std::get_if<RejectJob>(&action))
        lines.push_back("reject " + std::to_string(reject->job.value()));
    }
    return lines;
  }

  using Lines = std::vector<std::string>;

  topology::Fabric fabric_;
  std::unique_ptr<scheduling::PlacementPolicy> placement_;
  FirstPathPolicy policy_;
  ControllerOptions options_;
};

TEST_F(ClusterControllerTest, StartsInOrderAndQueuesWithoutOvertaking) {
  ClusterController controller = Create();
  // Job 1 (16 GPUs) does not fit beside job 0, and job 2 (8 GPUs), which would, must not overtake it.
  const Event events[] = {Submit(0, 8), Submit(1, 16), Submit(2, 8)};
  EXPECT_EQ(Describe(controller.Handle(events)), (Lines{"start 0", "traffic 0 level 0"}));
  EXPECT_EQ(controller.num_queued(), 2u);
  const Event finished[] = {JobFinished{JobId(0)}};
  EXPECT_EQ(Describe(controller.Handle(finished)), (Lines{"start 1", "traffic 1 level 0"}));
  const Event finished_too[] = {JobFinished{JobId(1)}};
  EXPECT_EQ(Describe(controller.Handle(finished_too)), (Lines{"start 2", "traffic 2 level 0"}));
}

TEST_F(ClusterControllerTest, RejectsWhatCanNeverRun) {
  ClusterController controller = Create();
  const Event events[] = {Submit(0, 17), Submit(1, 8, "bad"), Submit(2, 0), Submit(3, 8)};
  EXPECT_EQ(Describe(controller.Handle(events)),
            (Lines{"reject 0", "reject 2", "reject 1", "start 3", "traffic 3 level 0"}));
}

TEST_F(ClusterControllerTest, OnlyDifferencesBecomeActionsAndAreCounted) {
  ClusterController controller = Create();
  const Event first[] = {Submit(1, 8, "job", 4)};
  controller.Handle(first);
  EXPECT_TRUE(controller.Handle({}).empty());
  // A job with a lower id comes in: job 1 moves from place 0 to place 1.
  const Event second[] = {Submit(0, 8, "job", 4)};
  EXPECT_EQ(Describe(controller.Handle(second)), (Lines{"start 0", "traffic 0 level 0", "traffic 1 level 1"}));
  EXPECT_EQ(controller.counters().level_changes, 1u);
  EXPECT_EQ(controller.counters().path_changes, 0u);
}

TEST_F(ClusterControllerTest, LinkFailureMovesFlowsAndRepairMovesThemBack) {
  ClusterController controller = Create();
  const Event submit[] = {Submit(0, 16)};
  const auto actions = controller.Handle(submit);
  const model::Path before = std::get<SetTraffic>(actions.back()).paths.front();
  LinkId uplink;
  for (LinkId link : before) {
    if (fabric_.tier(link) == topology::LinkTier::kLeafSpine) {
      uplink = link;
      break;
    }
  }
  const Event fail[] = {LinkHealthChanged{uplink, 0}};
  const auto moved = controller.Handle(fail);
  ASSERT_EQ(moved.size(), 1u);
  const model::Path& after = std::get<SetTraffic>(moved.front()).paths.front();
  EXPECT_EQ(std::count(after.begin(), after.end(), uplink), 0);
  EXPECT_EQ(controller.counters().path_changes, 1u);
  const Event repair[] = {LinkHealthChanged{uplink, 1}};
  EXPECT_EQ(std::get<SetTraffic>(controller.Handle(repair).front()).paths.front(), before);
  // A degraded link stays in use.
  const Event degrade[] = {LinkHealthChanged{uplink, 0.5}};
  EXPECT_TRUE(controller.Handle(degrade).empty());
}

TEST_F(ClusterControllerTest, LateAndRepeatedEventsAreIgnored) {
  ClusterController controller = Create();
  const Event finish_unknown[] = {JobFinished{JobId(7)}};
  EXPECT_TRUE(controller.Handle(finish_unknown).empty());
  const Event submit[] = {Submit(0, 8)};
  controller.Handle(submit);
  const Event finish_twice[] = {JobFinished{JobId(0)}, JobFinished{JobId(0)}};
  controller.Handle(finish_twice);
  EXPECT_EQ(controller.num_running(), 0u);
}

TEST_F(ClusterControllerTest, AJobSubmittedTwiceRunsOnce) {
  ClusterController controller = Create();
  // Twice 8 GPUs: job 1 fits only if the second submission of job 0 took nothing.
  const Event events[] = {Submit(0, 8), Submit(0, 8), Submit(1, 8), Submit(2, 8), Submit(2, 8)};
  EXPECT_EQ(Describe(controller.Handle(events)),
            (Lines{"start 0", "start 1", "traffic 0 level 0", "traffic 1 level 1"}));
  EXPECT_EQ(controller.num_queued(), 1u);
  const Event again[] = {Submit(0, 8)};
  EXPECT_TRUE(controller.Handle(again).empty());
  // Afterwards the id is free again.
  const Event finished[] = {JobFinished{JobId(0)}, JobFinished{JobId(1)}};
  EXPECT_EQ(Describe(controller.Handle(finished)), (Lines{"start 2", "traffic 2 level 0"}));
  EXPECT_EQ(Describe(controller.Handle(again)), (Lines{"start 0", "traffic 0 level 0"}));
}

TEST_F(ClusterControllerTest, JobsThatStayOnNvlinkDoNotDisturbTheOthers) {
  ClusterController controller = Create();
  const Event first[] = {Submit(2, 8, "job", 4)};
  controller.Handle(first);
  // The policy of this test would move job 2 to a later place, but nothing asks it to.
  const Event local[] = {Submit(0, 4), Submit(1, 4)};
  EXPECT_EQ(Describe(controller.Handle(local)),
            (Lines{"start 0", "start 1", "traffic 0 level 0", "traffic 1 level 1"}));
  const Event leaves[] = {JobFinished{JobId(0)}};
  EXPECT_TRUE(controller.Handle(leaves).empty());
  EXPECT_EQ(controller.counters().level_changes, 0u);
  // With the next job that needs the network all jobs are planned.
  const Event finished[] = {JobFinished{JobId(2)}};
  EXPECT_EQ(Describe(controller.Handle(finished)), (Lines{"traffic 1 level 0"}));
}

TEST_F(ClusterControllerTest, JobsAreProfiledInOrderOfArrivalAndKnownAfterwards) {
  options_.profile_jobs = true;
  ClusterController controller = Create();
  const auto profile_of = [](uint32_t job) {
    return JobProfiled{JobId(job), {Seconds(2), Seconds(0.5), 0.5, Flop(3), {Bytes(7)}}};
  };
  const Event both[] = {Submit(1, 8, "job", 4), Submit(0, 8, "job", 4)};
  // Job 1 came first: the top level to itself. Job 0 waits on the last of eight.
  EXPECT_EQ(Describe(controller.Handle(both)),
            (Lines{"start 1", "start 0", "profile 1", "traffic 0 level 7", "traffic 1 level 0"}));
  EXPECT_TRUE(policy_.seen.empty()) << "policies must not see what nobody has measured";
  // Now the policy has job 1, on the first level that is not kept for profiling.
  const Event known[] = {profile_of(1)};
  EXPECT_EQ(Describe(controller.Handle(known)), (Lines{"profile 0", "traffic 0 level 0", "traffic 1 level 1"}));
  EXPECT_EQ(policy_.seen.at(JobId(1)).compute_time, Seconds(0.5));
  EXPECT_EQ(policy_.seen.at(JobId(1)).flows.at(0).bytes, Bytes(7));
  // A job that ends while it is profiled makes room for no other; late messages about it are ignored.
  const Event gone[] = {JobFinished{JobId(0)}};
  controller.Handle(gone);
  const Event late[] = {profile_of(0)};
  EXPECT_TRUE(controller.Handle(late).empty());
}

TEST_F(ClusterControllerTest, MeasuredSpeedsReachThePolicy) {
  ClusterController controller = Create();
  const Event submit[] = {Submit(0, 8, "job", 4)};
  controller.Handle(submit);
  EXPECT_EQ(policy_.speeds.at(JobId(0)), 1);
  const Event slow[] = {JobSpeedMeasured{JobId(0), 0.05, Seconds(70)}, JobSpeedMeasured{JobId(9), 0.5, Seconds(0)}};
  controller.Handle(slow);
  EXPECT_EQ(policy_.speeds.at(JobId(0)), 0.05);
}

// Offers the first hosts with room, then others, as many as are wanted.
class HostsInTurn final : public scheduling::PlacementPolicy {
 public:
  std::string_view name() const override { return "in-turn"; }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override {
    const auto all = Offer({&pool, {}}, job, 1);
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  bool OffersSeveral() const override { return true; }
  std::vector<model::Placement> Offer(const scheduling::ClusterView& cluster, const model::Job& job,
                                      uint32_t most) const override {
    std::vector<model::Placement> offered;
    for (uint32_t h = 0; h < cluster.pool->fabric().num_hosts() && offered.size() < most; ++h) {
      if (cluster.pool->num_free(HostId(h)) < job.num_gpus) continue;
      offered.push_back(scheduling::PlaceOnHosts(*cluster.pool, job, {HostId(h)}));
    }
    return offered;
  }
};

// Takes the last candidate, and keeps what it was shown.
class LastPlacePolicy final : public traffic::TrafficPolicy {
 public:
  mutable std::vector<JobId> running;
  mutable size_t num_candidates = 0;

  std::string_view name() const override { return "last-place"; }
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot) const override { return first_.Plan(snapshot); }
  uint32_t NumPlacements() const override { return 10; }
  traffic::PlacementChoice ChoosePlacement(const traffic::TrafficSnapshot& snapshot,
                                           std::span<const traffic::JobView> candidates) const override {
    running.clear();
    for (const traffic::JobView& job : snapshot.jobs) running.push_back(job.id);
    num_candidates = candidates.size();
    return {.candidate = static_cast<uint32_t>(candidates.size()) - 1};
  }

 private:
  FirstPathPolicy first_;
};

TEST_F(ClusterControllerTest, TheTrafficPolicyChoosesAmongOfferedPlacements) {
  const HostsInTurn placement;
  const LastPlacePolicy policy;
  std::vector<std::pair<JobId, GpuId>> placed;
  options_.placement_observer = [&](JobId job, const model::Placement& where) {
    placed.emplace_back(job, where.gpus.front());
  };
  const auto iterations = [](const model::Job& job, const model::Placement&) -> Result<model::Iteration> {
    if (job.name == "bad") return InvalidArgument("bad model");
    model::Iteration iteration;
    iteration.compute_time = Seconds(1);
    return iteration;
  };
  ClusterController controller(fabric_, placement, policy, iterations, options_);
  ASSERT_TRUE(controller.ChoosesPlacements());
  // Two hosts. The first job goes to the second one; so does the next, which has seen it; the third has no choice.
  const Event first[] = {Submit(7, 4), Submit(3, 4)};
  EXPECT_EQ(Describe(controller.Handle(first)).size(), 4u);
  EXPECT_EQ(policy.running, std::vector{JobId(7)});
  EXPECT_EQ(policy.num_candidates, 2u);
  const Event second[] = {Submit(4, 4)};
  controller.Handle(second);
  EXPECT_EQ(placed,
            (std::vector<std::pair<JobId, GpuId>>{{JobId(7), GpuId(8)}, {JobId(3), GpuId(12)}, {JobId(4), GpuId(0)}}));
  EXPECT_EQ(controller.placements().num_choices, 2u);
  EXPECT_EQ(controller.placements().num_candidates, 4u);
  EXPECT_EQ(controller.placements().num_changed, 2u);
  // What can't run anywhere is rejected as ever, and has made no choice.
  const Event gone[] = {JobFinished{JobId(7)}, Submit(5, 4, "bad")};
  EXPECT_EQ(Describe(controller.Handle(gone)).front(), "reject 5");
  EXPECT_EQ(controller.placements().num_choices, 2u);
}

TEST_F(ClusterControllerTest, NoGpusPerHostIsRejected) {
  ClusterController controller = Create();
  model::Job job;
  job.id = JobId(0);
  job.num_gpus = 8;
  job.gpus_per_host = 0;
  const Event events[] = {JobSubmitted{job}};
  EXPECT_EQ(Describe(controller.Handle(events)), (Lines{"reject 0"}));
}

}  // namespace
}  // namespace fairlead::controller
