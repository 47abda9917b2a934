// The controller with an allocation policy: laws on random histories, and what it tells the policy.
#include "controller/job_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/random.h"
#include "controller/cluster_controller.h"
#include "controller/host_allocation.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/placement_policy.h"
#include "topology/clos_fabrics.h"
#include "traffic/policy_registry.h"

namespace fairlead::controller {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kHosts = 4;
constexpr uint32_t kGpus = 8 * kHosts;

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

// 1 s of compute on 8 GPUs, less on more; on several hosts 0.1 s of network after it.
Result<std::vector<prediction::SpeedPoint>> ProfileOf(const model::Job& job) {
  std::vector<prediction::SpeedPoint> profile;
  for (const uint32_t gpus : UsableSizes(job, kGpus)) {
    const double network = gpus > 8 ? 0.1 : 0;
    profile.push_back({gpus, (gpus + 7) / 8, Seconds(8.0 / gpus + network), Seconds(8.0 / gpus), Seconds(network)});
  }
  return profile;
}

Event Submit(model::Job job) { return JobSubmitted{std::move(job)}; }

class JobAllocatorTest : public ::testing::Test {
 protected:
  JobAllocatorTest() {
    topology::ClosSpec spec;
    spec.leaves = 2;
    spec.hosts_per_leaf = kHosts / 2;
    spec.spines = 2;
    fabric_ = topology::BuildClos(spec).value();
    placement_ = scheduling::CreatePlacementPolicy("locality-first", 1).value();
    traffic_ = traffic::CreatePolicy("ecmp", {}).value();
  }

  AllocationOptions Options(std::string_view policy, decltype(AllocationOptions::observer) observer = {}) {
    policy_ = scheduling::CreateAllocationPolicy(policy, 1).value();
    AllocationOptions options;
    options.policy = policy_.get();
    options.speeds = SpeedsOfProfiles(ProfileOf);
    options.observer = std::move(observer);
    return options;
  }

  std::unique_ptr<ClusterController> Create(std::string_view policy) {
    ControllerOptions options;
    options.allocation = Options(policy);
    const auto iterations = [](const model::Job& job, const model::Placement& placement) -> Result<model::Iteration> {
      if (job.name == "bad") return InvalidArgument("bad model");
      model::Iteration iteration;
      iteration.compute_time = Seconds(8.0 / static_cast<double>(placement.gpus.size()));
      return iteration;
    };
    return std::make_unique<ClusterController>(fabric_, *placement_, *traffic_, iterations, options);
  }

  static auto KeptIn(std::vector<scheduling::AllocationSnapshot>* seen) {
    return [seen](const scheduling::AllocationSnapshot& snapshot, const scheduling::AllocationPlan&) {
      seen->push_back(snapshot);
    };
  }

  static model::Job MakeJob(uint32_t id, uint32_t gpus, std::vector<uint32_t> sizes, double arrival_s = 0) {
    model::Job job;
    job.id = JobId(id);
    job.name = "job" + std::to_string(id);
    job.num_gpus = gpus;
    job.arrival = At(arrival_s);
    job.num_iterations = 10000;
    job.elasticity.sizes = std::move(sizes);
    job.elasticity.restart_cost = SimDuration::FromSeconds(Seconds(30));
    return job;
  }

  topology::Fabric fabric_;
  std::unique_ptr<scheduling::PlacementPolicy> placement_;
  std::unique_ptr<traffic::TrafficPolicy> traffic_;
  std::unique_ptr<scheduling::AllocationPolicy> policy_;
};

// What a shell would keep: which job holds which GPU.
class GpuLedger {
 public:
  void Carry(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* start = std::get_if<StartJob>(&action)) {
        EXPECT_FALSE(held_.contains(start->job)) << "started twice";
        for (const GpuId gpu : start->placement.gpus) EXPECT_TRUE(taken_.insert(gpu).second) << "a GPU given twice";
        held_[start->job] = start->placement.gpus;
      } else if (const auto* stop = std::get_if<SuspendJob>(&action)) {
        Return(stop->job);
      }
    }
  }
  void Return(JobId job) {
    ASSERT_TRUE(held_.contains(job)) << "stopped, but does not run";
    for (const GpuId gpu : held_[job]) taken_.erase(gpu);
    held_.erase(job);
  }
  const std::map<JobId, std::vector<GpuId>>& held() const { return held_; }

 private:
  std::map<JobId, std::vector<GpuId>> held_;
  std::set<GpuId> taken_;
};

std::string Describe(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    if (const auto* start = std::get_if<StartJob>(&action)) {
      text += "start " + std::to_string(start->job.value()) + " on " + std::to_string(start->placement.gpus.size());
      text += ";";
    }
    if (const auto* stop = std::get_if<SuspendJob>(&action)) text += "stop " + std::to_string(stop->job.value()) + ";";
    if (const auto* reject = std::get_if<RejectJob>(&action)) {
      text += "reject " + std::to_string(reject->job.value()) + ";";
    }
  }
  return text;
}

// A random life of some jobs under a policy; returns all actions as text.
std::string RunRandomHistory(ClusterController& controller, uint64_t seed, const std::vector<model::Job>& jobs) {
  Random random(seed);
  GpuLedger book;
  std::string text;
  std::map<JobId, double> done;
  double now_s = 0;
  size_t next = 0;
  for (int turn = 0; turn < 60; ++turn) {
    now_s += random.Uniform(1, 400);
    std::vector<Event> events;
    for (const auto& [job, gpus] : book.held()) {
      done[job] += random.Uniform(0, 300);
      events.emplace_back(JobProgressed{job, done[job], Seconds(random.Uniform(0.1, 3)), Seconds(60)});
    }
    if (!book.held().empty() && random.Uniform() < 0.3) {
      const JobId ended =
          std::next(book.held().begin(), static_cast<ptrdiff_t>(random.Below(book.held().size())))->first;
      book.Return(ended);
      events.emplace_back(JobFinished{ended});
    }
    while (next < jobs.size() && jobs[next].arrival <= At(now_s)) events.push_back(Submit(jobs[next++]));
    if (controller.next_wake_up() <= At(now_s)) events.emplace_back(WakeUp{});
    const std::vector<Action> actions = controller.Handle(events, At(now_s));
    book.Carry(actions);
    text += Describe(actions);
    EXPECT_EQ(controller.num_running(), book.held().size());
    for (const auto& [job, gpus] : book.held()) {
      const auto& sizes = jobs[job.index()].elasticity.sizes;
      EXPECT_NE(std::ranges::find(sizes, gpus.size()), sizes.end()) << gpus.size() << " GPUs are no size of the job";
    }
  }
  return text;
}

TEST_F(JobAllocatorTest, NoGpuIsGivenTwiceUnderAnyPolicyAndReplayGivesTheSame) {
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Random random(seed);
      std::vector<model::Job> jobs;
      double arrival_s = 0;
      for (uint32_t j = 0; j < 20; ++j) {
        std::vector<uint32_t> sizes;
        for (uint32_t gpus = 1u << random.Below(3); gpus <= kGpus; gpus *= 2) sizes.push_back(gpus);
        const uint32_t asked = sizes[random.Below(sizes.size())];
        jobs.push_back(MakeJob(j, asked, sizes, arrival_s += random.Uniform(0, 500)));
        jobs.back().elasticity.predictable_after.reset();
        if (random.Uniform() < 0.7) jobs.back().elasticity.predictable_after = random.Uniform(0, 0.2);
      }
      SCOPED_TRACE(std::string(policy) + " seed " + std::to_string(seed));
      const std::string first = RunRandomHistory(*Create(policy), seed, jobs);
      EXPECT_THAT(first, HasSubstr("start"));
      EXPECT_EQ(first, RunRandomHistory(*Create(policy), seed, jobs));
    }
  }
}

TEST_F(JobAllocatorTest, FixedSizesUnderFcfsStartInOrderAsTheQueueDoes) {
  const auto controller = Create("fcfs");
  // 8 + 32 do not fit into 32 GPUs; job 2 would, but must not overtake.
  const Event events[] = {Submit(MakeJob(0, 8, {}, 0)), Submit(MakeJob(1, 32, {}, 1)), Submit(MakeJob(2, 8, {}, 2))};
  EXPECT_EQ(Describe(controller->Handle(events, At(2))), "start 0 on 8;");
  EXPECT_EQ(controller->num_queued(), 2u);
  const Event ended[] = {JobFinished{JobId(0)}};
  EXPECT_EQ(Describe(controller->Handle(ended, At(100))), "start 1 on 32;");
  const Event ended_too[] = {JobFinished{JobId(1)}};
  EXPECT_EQ(Describe(controller->Handle(ended_too, At(200))), "start 2 on 8;");
}

TEST_F(JobAllocatorTest, RejectsWhatCanNeverRun) {
  const auto controller = Create("aiturbo");
  model::Job endless = MakeJob(1, 8, {});
  endless.num_iterations = 0;
  model::Job bad = MakeJob(4, 8, {});
  bad.name = "bad";
  const Event events[] = {Submit(MakeJob(0, 64, {64})),   Submit(endless), Submit(MakeJob(2, 8, {4, 16})),
                          Submit(MakeJob(3, 8, {8, 8})),  Submit(bad),     Submit(MakeJob(5, 8, {8})),
                          Submit(MakeJob(5, 8, {8}, 0.5))};  // a repeated event
  EXPECT_EQ(Describe(controller->Handle(events, At(1))), "reject 0;reject 1;reject 2;reject 3;reject 4;start 5 on 8;");
  EXPECT_EQ(controller->num_queued(), 0u);
}

// Job 0 on 16 GPUs of two hosts: 0.6 s an iteration when alone; efficiency 1 x 8 / (0.6 x 16) = 0.83. Job 1 needs 24 of
// the 32 GPUs and has more left to do: it waits. Once 1.6 s are measured, the network takes 11 times as long as alone,
// 8 GPUs inside one host (1 s) are faster, and both jobs have room.
TEST_F(JobAllocatorTest, ContentionThatIsMeasuredMakesAiturboLeaveTheNetwork) {
  for (const double measured_s : {0.6, 1.6}) {
    const auto controller = Create("aiturbo");
    model::Job large = MakeJob(1, 24, {24}, 1);
    large.num_iterations = 1'000'000;
    const Event submit[] = {Submit(MakeJob(0, 8, {8, 16}))};
    EXPECT_EQ(Describe(controller->Handle(submit, At(0))), "start 0 on 16;");
    EXPECT_EQ(controller->next_wake_up(), At(240));
    const Event submit_large[] = {Submit(large)};
    EXPECT_EQ(Describe(controller->Handle(submit_large, At(1))), "");
    const Event progress[] = {JobProgressed{JobId(0), 100, Seconds(measured_s), Seconds(160)}, WakeUp{}};
    EXPECT_EQ(Describe(controller->Handle(progress, At(241))), "") << "resized 241 s ago: held";
    const Event later[] = {JobProgressed{JobId(0), 250, Seconds(measured_s), Seconds(240)}, WakeUp{}};
    EXPECT_EQ(Describe(controller->Handle(later, At(481))), measured_s > 1 ? "stop 0;start 0 on 8;start 1 on 24;" : "");
  }
}

TEST_F(JobAllocatorTest, TellsThePolicyWhatIsLeftOnceItCanBeForeseen) {
  std::vector<scheduling::AllocationSnapshot> seen;
  const AllocationOptions options = Options("aiturbo", KeptIn(&seen));
  JobAllocator allocator(fabric_, options);
  model::Job job = MakeJob(0, 8, {});
  job.elasticity.predictable_after = 0.5;
  ASSERT_TRUE(allocator.Submit(job, At(0)).ok());
  ASSERT_EQ(allocator.Decide(At(0)).size(), 1u);
  EXPECT_FALSE(seen.back().jobs[0].is_predictable);
  EXPECT_EQ(seen.back().trigger, scheduling::Trigger::kArrival);

  allocator.Adopt({JobId(0), 4999, Seconds(1), Seconds(100)});
  EXPECT_TRUE(allocator.Decide(At(100)).empty());
  EXPECT_EQ(seen.size(), 1u) << "nothing happened, and it is not time yet";

  allocator.Adopt({JobId(0), 5000, Seconds(1), Seconds(1)});
  EXPECT_TRUE(allocator.Decide(At(101)).empty());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.back().trigger, scheduling::Trigger::kFlip);
  EXPECT_TRUE(seen.back().jobs[0].is_predictable);
  EXPECT_EQ(seen.back().jobs[0].remaining_iterations, 5000);
  // 8 GPUs for 101 s, restart included.
  EXPECT_DOUBLE_EQ(seen.back().jobs[0].attained_service, 808);

  allocator.Remove(JobId(0), At(102));
  EXPECT_TRUE(allocator.Decide(At(102)).empty());
  EXPECT_EQ(allocator.next_wake_up(), SimTime::Never());
}

// A cluster on which changes fail: what is so counts, not what was decided.
TEST_F(JobAllocatorTest, WhereAJobIsInTruthCounts) {
  std::vector<scheduling::AllocationSnapshot> seen;
  const AllocationOptions options = Options("fcfs", KeptIn(&seen));
  JobAllocator allocator(fabric_, options);
  ASSERT_TRUE(allocator.Submit(MakeJob(0, 8, {}), At(0)).ok());
  const std::vector<AllocationChange> started = allocator.Decide(At(0));
  ASSERT_EQ(started.size(), 1u);
  ASSERT_EQ(allocator.nodes(JobId(0)), started[0].nodes);

  allocator.Adopt(JobFound{JobId(0), started[0].nodes}, At(10));
  EXPECT_TRUE(allocator.Decide(At(10)).empty());
  ASSERT_EQ(seen.size(), 1u) << "no news";

  // It did not start after all, and is started again.
  allocator.Adopt(JobFound{JobId(0), {}}, At(20));
  const std::vector<AllocationChange> again = allocator.Decide(At(20));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_FALSE(again[0].nodes.empty());
  EXPECT_FALSE(seen.back().jobs[0].is_running());
  EXPECT_EQ(seen.back().jobs[0].waiting_since, At(20));
  EXPECT_EQ(seen.back().jobs[0].attained_service, 160) << "20 s of 8 GPUs that it was thought to have";

  // Somebody else has moved it, and a second job gets the hosts that it does not have.
  const std::vector<scheduling::NodeShare> elsewhere = {{HostId(2), 8, 0}};
  allocator.Adopt(JobFound{JobId(0), elsewhere}, At(30));
  ASSERT_TRUE(allocator.Submit(MakeJob(1, 24, {}), At(30)).ok());
  const std::vector<AllocationChange> beside = allocator.Decide(At(30));
  ASSERT_EQ(beside.size(), 1u);
  EXPECT_EQ(beside[0].job, JobId(1));
  for (const scheduling::NodeShare& share : beside[0].nodes) EXPECT_NE(share.node, HostId(2));

  allocator.Adopt(RestartMeasured{JobId(0), SimDuration::FromSeconds(Seconds(75))});
  allocator.Remove(JobId(1), At(40));
  EXPECT_TRUE(allocator.Decide(At(40)).empty());
  EXPECT_EQ(seen.back().jobs[0].restart_cost_s, 75);
  allocator.Adopt(JobFound{JobId(7), elsewhere}, At(50));  // unknown
  EXPECT_TRUE(allocator.Decide(At(50)).empty());
}

// Somebody is at a job: it is not decided about, nobody gets what it holds or is promised, and who waits for that is
// looked at as soon as it is free.
TEST_F(JobAllocatorTest, PinnedJobsKeepWhatTheyHoldAndArePromised) {
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    SCOPED_TRACE(policy);
    const AllocationOptions options = Options(policy);
    JobAllocator allocator(fabric_, options);
    ASSERT_TRUE(allocator.Submit(MakeJob(0, 8, {8, 16, 32}), At(0)).ok());
    allocator.Adopt(JobFound{JobId(0), {{HostId(0), 8, 0}}}, At(0));
    // It moves to h1; h2 is promised to one that this allocator does not know; h3 drains.
    allocator.SetPinned({{JobId(0), {{{HostId(0), 8, 0}, {HostId(1), 8, 0}}, 8}}, {JobId(9), {{{HostId(2), 8, 0}}, 0}}},
                        At(0));
    allocator.Adopt(HostStateChanged{HostId(3), HostState::kDraining});
    EXPECT_TRUE(allocator.Decide(At(1)).empty());
    ASSERT_TRUE(allocator.Submit(MakeJob(1, 8, {8, 16}), At(2)).ok());
    EXPECT_TRUE(allocator.Decide(At(2)).empty());
    allocator.Adopt(HostStateChanged{HostId(3), HostState::kUp});
    const std::vector<AllocationChange> beside = allocator.Decide(At(3));
    for (const AllocationChange& change : beside) {
      EXPECT_EQ(change.job, JobId(1));
      for (const scheduling::NodeShare& share : change.nodes) EXPECT_EQ(share.node, HostId(3));
    }
    EXPECT_EQ(allocator.nodes(JobId(0)), (std::vector<scheduling::NodeShare>{{HostId(0), 8, 0}}));
  }
}

TEST_F(JobAllocatorTest, WhatWasDecidedWithoutAJobIsLookedAtAnewOnceItIsFree) {
  size_t num_asked = 0;
  const AllocationOptions options = Options("fcfs", [&](const auto&, const auto&) { ++num_asked; });
  JobAllocator allocator(fabric_, options);
  ASSERT_TRUE(allocator.Submit(MakeJob(0, 24, {}), At(0)).ok());
  ASSERT_EQ(allocator.Decide(At(0)).size(), 1u);
  const PinnedJobs pinned = {{JobId(0), {allocator.nodes(JobId(0)), 24}}};
  allocator.SetPinned(pinned, At(1));
  EXPECT_TRUE(allocator.Decide(At(1)).empty());
  allocator.SetPinned({}, At(2));
  EXPECT_TRUE(allocator.Decide(At(2)).empty());
  EXPECT_EQ(num_asked, 1u) << "nothing has happened meanwhile";
  ASSERT_TRUE(allocator.Submit(MakeJob(1, 16, {}), At(3)).ok());
  allocator.SetPinned(pinned, At(3));
  EXPECT_TRUE(allocator.Decide(At(3)).empty()) << "no room";
  EXPECT_EQ(num_asked, 2u);
  EXPECT_TRUE(allocator.Decide(At(4)).empty());
  EXPECT_EQ(num_asked, 2u);
  allocator.SetPinned({}, At(5));
  EXPECT_TRUE(allocator.Decide(At(5)).empty());
  EXPECT_EQ(num_asked, 3u);
}

// A job that waits for its hosts has had nothing of them, and its time there begins when it has them; one that is to
// stop has what it still holds.
TEST_F(JobAllocatorTest, WhatAPinnedJobHoldsCounts) {
  std::vector<scheduling::AllocationSnapshot> seen;
  const AllocationOptions options = Options("fcfs", KeptIn(&seen));
  JobAllocator allocator(fabric_, options);
  ASSERT_TRUE(allocator.Submit(MakeJob(0, 16, {}), At(0)).ok());
  ASSERT_EQ(allocator.Decide(At(0)).size(), 1u);
  allocator.SetPinned({{JobId(0), {allocator.nodes(JobId(0)), 0}}}, At(0));
  allocator.SetPinned({{JobId(0), {allocator.nodes(JobId(0)), 0}}}, At(400));
  EXPECT_EQ(allocator.HistoryOf(JobId(0)).attained_service, 0);
  allocator.SetPinned({{JobId(0), {allocator.nodes(JobId(0)), 16}}}, At(410));
  allocator.SetPinned({}, At(420));
  EXPECT_EQ(allocator.HistoryOf(JobId(0)).attained_service, 160) << "10 s of 16 GPUs";
  EXPECT_EQ(allocator.HistoryOf(JobId(0)).executed_s, 10);
  ASSERT_TRUE(allocator.Submit(MakeJob(1, 24, {}), At(420)).ok());
  allocator.Decide(At(420));
  EXPECT_EQ(seen.back().jobs[0].running_since, At(400));
  EXPECT_EQ(seen.back().jobs[0].resized_at, At(400));
}

// An allocator that begins beside running jobs is told what they have had, and asks its policy as the one before it.
TEST_F(JobAllocatorTest, AnotherAllocatorGoesOnWithAJob) {
  std::vector<scheduling::AllocationSnapshot> seen;
  const AllocationOptions options = Options("fcfs", KeptIn(&seen));
  JobAllocator first(fabric_, options);
  ASSERT_TRUE(first.Submit(MakeJob(0, 8, {}), At(0)).ok());
  ASSERT_EQ(first.Decide(At(0)).size(), 1u);
  first.Adopt(JobProgressed{JobId(0), 123, Seconds(1), Seconds(50)});
  first.Adopt(HostStateChanged{HostId(3), HostState::kDraining});
  EXPECT_TRUE(first.Decide(At(100)).empty());
  const scheduling::AllocationJob before = seen.back().jobs[0];

  JobAllocator second(fabric_, options);
  ASSERT_TRUE(second.Submit(MakeJob(0, 8, {}), At(100), first.HistoryOf(JobId(0))).ok());
  second.Adopt(JobFound{JobId(0), first.nodes(JobId(0))}, At(100));
  EXPECT_TRUE(second.Decide(At(100)).empty());
  const scheduling::AllocationJob& after = seen.back().jobs[0];
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.attained_service, before.attained_service);
  EXPECT_EQ(after.executed_s, before.executed_s);
  EXPECT_EQ(after.num_restarts, before.num_restarts);
  EXPECT_EQ(after.remaining_iterations, before.remaining_iterations);
}

// Hosts that fail, are isolated, drained and brought back at random, under every policy: no job runs on a host that is
// gone, none starts on one that drains, and none that only holds such hosts is stopped: nobody else may have them.
TEST_F(JobAllocatorTest, HostsComeAndGoUnderAnyPolicy) {
  for (const std::string_view policy : scheduling::AllocationPolicyNames()) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(std::string(policy) + " seed " + std::to_string(seed));
      Random random(seed);
      const auto controller = Create(policy);
      GpuLedger book;
      std::vector<HostState> states(kHosts, HostState::kUp);
      states[kHosts - 1] = HostState::kSpare;
      std::vector<Event> events = {HostStateChanged{HostId(kHosts - 1), HostState::kSpare}};
      double now_s = 0;
      uint32_t next = 0;
      for (int turn = 0; turn < 60; ++turn) {
        now_s += random.Uniform(1, 400);
        if (random.Uniform() < 0.5) {
          model::Job job = MakeJob(next++, 8, {4, 8, 16}, now_s);
          if (random.Uniform() < 0.5) job.elasticity.predictable_after = 0;
          events.push_back(Submit(job));
        }
        if (random.Uniform() < 0.4) {
          const auto host = static_cast<uint32_t>(random.Below(kHosts - 1));
          states[host] =
              std::array{HostState::kUp, HostState::kDraining, HostState::kIsolated, HostState::kDown}[random.Below(4)];
          events.emplace_back(HostStateChanged{HostId(host), states[host]});
        }
        if (!book.held().empty() && random.Uniform() < 0.2) {
          const JobId ended = book.held().begin()->first;
          book.Return(ended);
          events.emplace_back(JobFinished{ended});
        }
        events.emplace_back(WakeUp{});
        std::vector<JobId> pinned;
        for (const auto& [job, gpus] : book.held()) {
          const auto drains = [&](GpuId gpu) { return states[gpu.index() / 8] == HostState::kDraining; };
          if (std::ranges::all_of(gpus, drains)) pinned.push_back(job);
        }
        const std::vector<Action> actions = controller->Handle(events, At(now_s));
        events.clear();
        book.Carry(actions);
        for (const JobId job : pinned) EXPECT_TRUE(book.held().contains(job)) << turn;
        const bool has_lost =
            std::ranges::any_of(states, [](HostState s) { return s == HostState::kDown || s == HostState::kIsolated; });
        for (const Action& action : actions) {
          const auto* start = std::get_if<StartJob>(&action);
          if (start == nullptr) continue;
          for (const GpuId gpu : start->placement.gpus) {
            const HostState state = states[gpu.index() / 8];
            EXPECT_TRUE(state == HostState::kUp || (state == HostState::kSpare && has_lost)) << turn;
          }
        }
        for (const auto& [job, gpus] : book.held()) {
          for (const GpuId gpu : gpus) {
            EXPECT_NE(states[gpu.index() / 8], HostState::kDown) << turn;
            EXPECT_NE(states[gpu.index() / 8], HostState::kIsolated) << turn;
          }
        }
      }
      EXPECT_FALSE(book.held().empty());
    }
  }
}

// Four hosts of 8 GPUs, each with a job of 8. The host of the longest drains, and a short job comes, which under SRTF
// goes before it. The longest stays where it is, as nobody else may have its GPUs.
TEST_F(JobAllocatorTest, StoppingAJobOnDrainingHostsFreesNothing) {
  const AllocationOptions options = Options("srtf");
  JobAllocator allocator(fabric_, options);
  const auto submit = [&](uint32_t id, uint64_t iterations, double now_s) {
    model::Job job = MakeJob(id, 8, {}, now_s);
    job.num_iterations = iterations;
    job.elasticity.predictable_after = 0;
    ASSERT_TRUE(allocator.Submit(job, At(now_s)).ok());
    allocator.Adopt(JobProgressed{job.id, 0, Seconds(1), Seconds(1)});
  };
  for (uint32_t j = 0; j < kHosts; ++j) submit(j, j == 0 ? 100000 : 10000, 0);
  ASSERT_EQ(allocator.Decide(At(0)).size(), kHosts);
  const auto draining = allocator.nodes(JobId(0));
  allocator.Adopt(HostStateChanged{draining.front().node, HostState::kDraining});
  submit(4, 100, 10);
  const std::vector<AllocationChange> changes = allocator.Decide(At(10));
  EXPECT_EQ(allocator.nodes(JobId(0)), draining) << "nobody else may have its GPUs";
  EXPECT_FALSE(allocator.nodes(JobId(4)).empty()) << "in place of the next longest";
  EXPECT_EQ(changes.size(), 2u);

  // Where its host is gone, it stops.
  allocator.Adopt(HostStateChanged{draining.front().node, HostState::kDown});
  allocator.Decide(At(20));
  EXPECT_TRUE(allocator.nodes(JobId(0)).empty());
}

// It waits for GPUs again, and gets the same ones: who failed it is not known to the allocator.
TEST_F(JobAllocatorTest, AFailedJobIsStartedAgain) {
  const auto controller = Create("fcfs");
  const std::vector<Event> submitted = {Submit(MakeJob(0, 8, {}, 0)), Submit(MakeJob(1, 8, {}, 1))};
  EXPECT_EQ(Describe(controller->Handle(submitted, At(4))), "start 0 on 8;start 1 on 8;");
  const Event failed[] = {JobFailed{JobId(0)}, JobFailed{JobId(7)}};
  EXPECT_EQ(Describe(controller->Handle(failed, At(10))), "stop 0;start 0 on 8;");
  EXPECT_EQ(controller->num_running(), 2u);
}

// Diagnosis and allocation in one loop: what steering isolates, the allocator leaves; and comes back to.
TEST_F(JobAllocatorTest, WhatSteeringIsolatesHasNoRoom) {
  EXPECT_EQ(AllocationStateOf(HostCondition::kInJob, HostState::kUp), HostState::kUp);
  EXPECT_EQ(AllocationStateOf(HostCondition::kIsolating, HostState::kUp), HostState::kDraining);
  EXPECT_EQ(AllocationStateOf(HostCondition::kIsolated, HostState::kUp), HostState::kIsolated);
  EXPECT_EQ(AllocationStateOf(HostCondition::kInDoubt, HostState::kDown), HostState::kDown);
  EXPECT_EQ(AllocationStateOf(HostCondition::kSpare, HostState::kSpare), HostState::kSpare);
}

// Four hosts of 8 GPUs, the last one a spare, three jobs of 8. A host is isolated: its job goes to the spare. It comes
// back: the job stays where it is, but a new one takes the host that is back, not the spare.
TEST_F(JobAllocatorTest, ASpareStandsInForAnIsolatedHost) {
  const auto controller = Create("fcfs");
  std::vector<Event> events = {HostStateChanged{HostId(3), HostState::kSpare}};
  for (uint32_t j = 0; j < 4; ++j) events.push_back(Submit(MakeJob(j, 8, {}, j)));
  EXPECT_EQ(Describe(controller->Handle(events, At(4))), "start 0 on 8;start 1 on 8;start 2 on 8;");
  const Event isolated[] = {HostStateChanged{HostId(0), HostState::kIsolated}};
  const std::vector<Action> moved = controller->Handle(isolated, At(10));
  ASSERT_EQ(moved.size(), 2u + 1) << "suspended, started, and its traffic";
  const auto* start = std::get_if<StartJob>(&moved[1]);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->placement.gpus.front().index() / 8, 3u);
  const Event back[] = {HostStateChanged{HostId(0), HostState::kUp}};
  const std::vector<Action> next = controller->Handle(back, At(20));
  EXPECT_EQ(Describe(next), "start 3 on 8;");
  EXPECT_EQ(std::get<StartJob>(next.front()).placement.gpus.front().index() / 8, 0u);
}

}  // namespace
}  // namespace fairlead::controller
