// With memory a plan is what it is without, bit for bit, whatever has happened between two plans; and less is looked
// at.
#include "traffic/plan_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/plan_laws.h"
#include "traffic/policy_registry.h"

namespace fairlead::traffic {
namespace {

// A cluster in which anything may happen between two plans, as a controller would see it.
class ChangingCluster {
 public:
  ChangingCluster(topology::Fabric fabric, uint64_t seed)
      : fabric_(std::move(fabric)), router_(fabric_), health_(fabric_.num_links(), 1.0), random_(seed) {}

  TrafficSnapshot Snapshot() {
    views_.clear();
    for (auto& [id, job] : jobs_) {
      job.view.id = id;
      job.view.iteration = &job.iteration;
      job.view.paths = job.paths;
      views_.push_back(job.view);
    }
    return {.router = &router_,
            .health = is_healthy_ ? nullptr : &health_,
            .jobs = views_,
            .num_levels = 4,
            .changed_links = changed_links_};
  }

  void Happen() {
    const uint64_t event = random_.Below(10);
    if (jobs_.size() < 4 || event < 3) return Arrive();
    Job& job = AnyJob();
    if (event < 5) {
      jobs_.erase(job.view.id);
    } else if (event == 5) {
      for (model::FlowDemand& flow : job.iteration.flows) flow.bytes = flow.bytes * random_.Uniform(0.5, 2);
    } else if (event == 6) {
      job.iteration.work = job.iteration.work * random_.Uniform(0.5, 2);
      job.view.is_period_known = random_.Below(4) != 0;
      job.view.priority_uncertainty = random_.Below(2) * 0.2;
    } else if (event == 7) {
      job.view.relative_speed = random_.Uniform();
      job.view.starved_for = Seconds(random_.Uniform(0, 40));
    } else if (event == 8) {
      ChangeHealth();
    }
  }

  // Mostly all of the plan comes into force.
  void Adopt(const TrafficPlan& plan) {
    for (const JobPlan& planned : plan.jobs) {
      Job& job = jobs_.at(planned.id);
      if (random_.Below(20) == 0 && !job.paths.empty()) continue;
      job.paths = planned.paths;
      job.view.level = planned.level;
    }
    changed_links_.clear();
  }

  size_t num_jobs() const { return jobs_.size(); }

 private:
  struct Job {
    JobView view;
    model::Iteration iteration;
    std::vector<model::Path> paths;
  };

  Job& AnyJob() { return std::next(jobs_.begin(), static_cast<ptrdiff_t>(random_.Below(jobs_.size())))->second; }

  // Ids are used again. Two phases, of which the first may stay inside of hosts.
  void Arrive() {
    Job& job = jobs_[JobId(random_.Below(16))];
    job = {};
    job.view.num_gpus = 2;
    job.view.arrival_order = num_arrived_++;
    job.iteration.compute_time = Seconds(random_.Uniform(0.1, 2));
    job.iteration.work = Flop(random_.Uniform(1e14, 1e16));
    const uint64_t num_gpus = fabric_.num_gpus();
    for (uint32_t p = 0; p < 2; ++p) {
      model::CommunicationPhase phase;
      phase.blocks_compute = p == 0 && random_.Below(2) == 0;
      phase.first_flow = static_cast<uint32_t>(job.iteration.flows.size());
      phase.num_flows = static_cast<uint32_t>(random_.Below(5));
      for (uint32_t f = 0; f < phase.num_flows; ++f) {
        const auto source = static_cast<uint32_t>(random_.Below(num_gpus));
        const uint64_t step = 1 + random_.Below(p == 0 ? 3 : num_gpus - 1);
        job.iteration.flows.push_back({.source = GpuId(source),
                                       .destination = GpuId((source + step) % num_gpus),
                                       .bytes = Bytes(random_.Uniform(1e8, 1e10)),
                                       .group = job.iteration.num_groups++});
      }
      job.iteration.phases.push_back(phase);
    }
  }

  void ChangeHealth() {
    const LinkId link(random_.Below(fabric_.num_links()));
    const double health = random_.Below(2) == 0 ? 1.0 : static_cast<double>(random_.Below(3)) / 2;
    if (std::exchange(health_[link], health) == health) return;
    router_.SetHealth(health_);
    changed_links_.push_back(link);
    is_healthy_ = std::all_of(health_.begin(), health_.end(), [](double h) { return h == 1; });
  }

  const topology::Fabric fabric_;
  topology::Router router_;
  topology::LinkHealth health_;
  bool is_healthy_ = true;
  std::map<JobId, Job> jobs_;
  std::vector<JobView> views_;
  std::vector<LinkId> changed_links_;
  uint64_t num_arrived_ = 0;
  Random random_;
};

topology::Fabric MakeThreeLayers() {
  topology::ClosSpec spec;
  spec.pods = 2;
  spec.leaves = 2;
  spec.hosts_per_leaf = 2;
  spec.spines = 2;
  spec.cores = 4;
  return topology::BuildClos(spec).value();
}

topology::Fabric DrawFabric(Random* random) {
  switch (random->Below(3)) {
    case 0:
      return MakeSmallClos(4, 4, 4);
    case 1:
      return MakeBondedClos();
    default:
      return MakeThreeLayers();
  }
}

void ExpectSamePlan(const TrafficPlan& plain, const TrafficPlan& again) {
  ExpectSameDecisions(plain, again);
  for (size_t j = 0; j < plain.jobs.size(); ++j) {
    EXPECT_EQ(plain.jobs[j].id, again.jobs[j].id);
    EXPECT_EQ(plain.jobs[j].priority, again.jobs[j].priority);
    EXPECT_EQ(plain.jobs[j].balances_shares, again.jobs[j].balances_shares);
    EXPECT_EQ(plain.jobs[j].reason, again.jobs[j].reason);
  }
}

// Returns: of how many jobs that got paths from it the flows were not looked at.
size_t ExpectSamePlans(const TrafficPolicy& policy, uint64_t seed, int num_plans) {
  Random random(seed);
  ChangingCluster cluster(DrawFabric(&random), seed);
  PlanMemory memory;
  size_t num_kept = 0;
  for (int i = 0; i < num_plans && !testing::Test::HasFailure(); ++i) {
    for (uint64_t e = random.Below(4); e > 0; --e) cluster.Happen();
    const TrafficPlan plain = policy.Plan(cluster.Snapshot());
    ExpectSamePlan(plain, policy.PlanAgain(cluster.Snapshot(), &memory));
    EXPECT_LE(memory.traffic().num_jobs(), cluster.num_jobs());
    EXPECT_LE(memory.selection().num_jobs(), cluster.num_jobs());
    num_kept += memory.selection().num_jobs() - memory.selection().num_chosen();
    cluster.Adopt(plain);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
  return num_kept;
}

crux::CruxOptions DrawCruxOptions(Random* random) {
  crux::CruxOptions options;
  options.paths.unit = random->Below(4) == 0 ? PathUnit::kJob : PathUnit::kFlow;
  options.paths.congestion = static_cast<CongestionMeasure>(random->Below(3));
  options.paths.hysteresis = random->Below(2) * 0.2;
  if (random->Below(3) == 0) options.paths.max_moved_jobs = random->Below(3);
  options.select_paths = random->Below(8) != 0;
  options.compress = random->Below(8) != 0;
  options.edge_weight = random->Below(3) == 0 ? crux::EdgeWeight::kGain : crux::EdgeWeight::kIntensity;
  options.level_hysteresis = random->Below(2) * 0.1;
  options.max_candidates = random->Below(3) == 0 ? 3 : 128;
  options.fairness = random->Below(3) * 0.5;
  options.starvation_guard = Seconds(random->Below(2) * 20.0);
  return options;
}

TEST(PlanMemoryTest, WithMemoryCruxPlansTheSame) {
  size_t num_kept = 0;
  for (uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Random random(seed);
    num_kept += ExpectSamePlans(crux::CruxPolicy(DrawCruxOptions(&random)), seed, 12);
  }
  EXPECT_GT(num_kept, 1000u) << "a memory that is never used proves nothing";
}

TEST(PlanMemoryTest, WithMemoryEveryPolicyPlansTheSame) {
  for (const std::string_view name : PolicyNames()) {
    const std::unique_ptr<TrafficPolicy> policy = CreatePolicy(name, {}).value();
    for (uint64_t seed = 0; seed < 10 && !HasFailure(); ++seed) ExpectSamePlans(*policy, seed, 10);
    ASSERT_FALSE(HasFailure()) << name;
  }
}

// Four leaves of two hosts. Jobs 0 and 1 send from leaf 0 to leaf 1, job 2 from leaf 2 to leaf 3: no way of one of them
// is one of the other. Job 0 has most work for its bytes, job 2 least.
class LookedAtTest : public testing::Test {
 protected:
  LookedAtTest() {
    Add(0, 4e15, 0, 2);
    Add(1, 2e15, 1, 3);
    Add(2, 1e15, 4, 6);
  }

  void Add(uint32_t id, double work, uint32_t from, uint32_t to) {
    cluster_.AddJob(id, work, {{cluster_.gpu(from), cluster_.gpu(to), Bytes(1e9), 0}});
  }
  // Of the first jobs only; their paths are in force afterwards.
  void Plan(size_t num_jobs) {
    TrafficSnapshot snapshot = cluster_.Snapshot();
    const size_t num_all = snapshot.jobs.size();
    snapshot.jobs = snapshot.jobs.first(num_jobs);
    TrafficPlan plan = policy_.PlanAgain(snapshot, &memory_);
    plan.jobs.resize(num_all);
    cluster_.Apply(plan);
  }
  size_t num_chosen() const { return memory_.selection().num_chosen(); }
  size_t num_measured() const { return memory_.traffic().num_measured(); }

  ExampleCluster cluster_{MakeSmallClos(4, 2, 2)};
  crux::CruxPolicy policy_{{}};
  PlanMemory memory_;
};

TEST_F(LookedAtTest, NothingOnceNothingChanges) {
  Plan(3);
  EXPECT_EQ(num_chosen(), 3u);
  // Hashed paths are measured for the order, chosen ones for who meets; these are known to the next plan.
  Plan(3);
  EXPECT_EQ(num_chosen(), 0u);
  const size_t measured = num_measured();
  Plan(3);
  EXPECT_EQ(num_chosen(), 0u);
  EXPECT_EQ(num_measured(), measured);
}

TEST_F(LookedAtTest, ANewcomerAndThoseBehindItThatItMayMeet) {
  // Job 3, with more work than any other, sends from leaf 0 to leaf 1: jobs 0 and 1 may have to make room, job 2 not.
  Add(3, 9e15, 0, 3);
  Plan(3);
  Plan(4);
  EXPECT_EQ(num_chosen(), 3u);
}

TEST_F(LookedAtTest, NobodyBeforeTheNewcomer) {
  Add(3, 1e14, 0, 3);
  Plan(3);
  Plan(4);
  EXPECT_EQ(num_chosen(), 1u);
}

TEST_F(LookedAtTest, NobodyBeforeOneThatLeaves) {
  Add(3, 1e14, 1, 2);
  Plan(4);
  Plan(3);
  EXPECT_EQ(num_chosen(), 0u);
}

TEST_F(LookedAtTest, ThoseBehindOneThatLeavesThatMayHaveMetIt) {
  Add(3, 9e15, 0, 3);
  Plan(4);
  Plan(3);
  EXPECT_EQ(num_chosen(), 2u) << "jobs 0 and 1";
}

TEST_F(LookedAtTest, JobsThatLeftAreForgotten) {
  Plan(3);
  Plan(1);
  EXPECT_EQ(memory_.selection().num_jobs(), 1u);
  EXPECT_EQ(memory_.traffic().num_jobs(), 1u);
  Plan(0);
  EXPECT_EQ(memory_.selection().num_jobs(), 0u);
  EXPECT_EQ(memory_.traffic().num_jobs(), 0u);
}

TEST_F(LookedAtTest, AllOnceALinkHasChanged) {
  Plan(3);
  Plan(3);
  cluster_.SetHealth(LinkId(0), 0.5);
  Plan(3);
  EXPECT_EQ(num_chosen(), 3u);
  Plan(3);
  EXPECT_EQ(num_chosen(), 0u);
}

}  // namespace
}  // namespace fairlead::traffic
