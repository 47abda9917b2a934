// The simulator of elastic jobs on small profiles with results worked out by hand, and its laws on generated workloads.
#include "sim/elastic/elastic_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/random.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_metrics.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/pollux_profile.h"
#include "sim/elastic/scattered_interpolation.h"

namespace fairlead::sim {
namespace {

using scheduling::CreateAllocationPolicy;
using testing::HasSubstr;

// One second per pass whatever the batch and the placement, gradients without noise: progress counts iterations.
ProfileTables PlainTables() {
  ProfileTables tables;
  tables.name = "plain";
  tables.limits = {8, 8, 1, 8};
  tables.num_epochs = 2;
  for (const GpusPerNode& placement : {GpusPerNode{1}, GpusPerNode{2}, GpusPerNode{1, 1}, GpusPerNode{3}}) {
    for (const double batch : {1, 8}) tables.placements.push_back({placement, batch, {1, 0}});
  }
  tables.validations[8] = {{100, 100, 1, 0}, {250, 250, 1, 0}};
  return tables;
}

ElasticJobSpec JobOf(const ApplicationProfile& profile, double submission_s) {
  ElasticJobSpec job;
  job.name = "job at " + std::to_string(submission_s);
  job.profile = &profile;
  job.submission_s = submission_s;
  job.global_batch = 8;
  return job;
}

ElasticResult Simulate(const std::vector<ElasticJobSpec>& jobs, std::string_view policy,
                       const ElasticOptions& options) {
  return RunElasticSimulation(jobs, *CreateAllocationPolicy(policy, 1).value(), options).value();
}

// Comes at 10 s, is seen at 60 s, restarts until 90 s, trains 250 s: 340 s.
TEST(ElasticSimulationTest, OneJobAloneMatchesTheClosedForm) {
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  ElasticOptions options;
  options.cluster = {{{1, 1}}, 0, 0};
  const ElasticResult result = Simulate({JobOf(profile, 10)}, "fcfs", options);
  EXPECT_EQ(result.jobs[0].completion_s, 340);
  EXPECT_EQ(result.jobs[0].first_start_s, 60);
  EXPECT_EQ(result.jobs[0].waited_s, 50);
  EXPECT_EQ(result.jobs[0].attained_gpu_s, 280);
  EXPECT_EQ(result.jobs[0].num_restarts, 0u);
}

// The second waits for the end at 310 s (0 s: seen at 60 s, 30 + 250 s), seen at 360 s; ends at 360 + 280 s.
TEST(ElasticSimulationTest, ASecondJobWaitsForTheFirst) {
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  ElasticOptions options;
  options.cluster = {{{1, 1}}, 0, 0};
  const ElasticResult result = Simulate({JobOf(profile, 0), JobOf(profile, 30)}, "fcfs", options);
  EXPECT_EQ(result.jobs[0].completion_s, 340);
  EXPECT_EQ(result.jobs[1].completion_s, 640);
  const ElasticMetrics metrics = Summarize(result, options.cluster);
  EXPECT_EQ(metrics.mean_jct_s, (340 + 610) / 2.0);
  EXPECT_EQ(metrics.makespan_s, 640);
  // 2 x 280 GPU-s of 640 s.
  EXPECT_NEAR(metrics.gpu_utilization, 560.0 / 640, 0.05);
}

// Cores: each GPU needs 4 of 6, so the node carries one job at a time although it has two GPUs.
TEST(ElasticSimulationTest, CoresLimitJobsToo) {
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  ElasticOptions options;
  options.cluster = {{{1, 2}}, 6, 4};
  const ElasticResult result = Simulate({JobOf(profile, 0), JobOf(profile, 30)}, "fcfs", options);
  EXPECT_EQ(result.jobs[1].completion_s, 640);
}

TEST(ElasticSimulationTest, BadInputIsRefused) {
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  const auto policy = CreateAllocationPolicy("fcfs", 1).value();
  const auto message = [&](const std::vector<ElasticJobSpec>& jobs, const ElasticOptions& options = {}) {
    return RunElasticSimulation(jobs, *policy, options).status().message();
  };
  EXPECT_THAT(message({JobOf(profile, 0), JobOf(profile, 0)}), HasSubstr("two jobs are called"));
  ElasticJobSpec job = JobOf(profile, 0);
  job.global_batch = 9;
  EXPECT_THAT(message({job}), HasSubstr("has a batch of 9; plain takes 8 to 8"));
  job = JobOf(profile, 0);
  job.requested_gpus = 0;
  EXPECT_THAT(message({job}), HasSubstr("asks for 0 GPUs"));
  ElasticOptions options;
  options.cluster.cores_per_gpu = 8;
  EXPECT_THAT(message({}, options), HasSubstr("needs 8 cores, but its node has 0"));
}

TEST(ApplicationProfileTest, HolesAreReportedOrFilled) {
  ProfileTables tables = PlainTables();
  tables.validations[8].pop_back();
  EXPECT_THAT(ApplicationProfile::Create(tables).status().message(), HasSubstr("has 1 epochs; expected at least 2"));
  tables = PlainTables();
  tables.placements[0].time.pass_s = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ApplicationProfile::Create(tables).status().message(), HasSubstr("local batch 1 takes nan s"));
  tables = PlainTables();
  tables.validations[8][1].progress = 50;
  EXPECT_THAT(ApplicationProfile::Create(tables).status().message(), HasSubstr("ascending progress"));
  // Four nodes were never measured, and lie outside the hull: the job runs at the time of fewer.
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  EXPECT_FALSE(profile.QueryPass({1, 1, 1, 1}, 2).has_value());
  ElasticJobSpec job = JobOf(profile, 0);
  job.requested_gpus = 4;
  ElasticOptions options;
  options.cluster = {{{4, 1}}, 0, 0};
  const ElasticResult result = Simulate({job}, "fcfs", options);
  EXPECT_TRUE(result.is_complete);
  EXPECT_EQ(result.jobs[0].num_unknown_placements, 1u);
}

// Profiles of two types of GPU, of which the second takes other times for a pass.
struct TwoTypes {
  explicit TwoTypes(double second_pass_s) {
    ProfileTables tables = PlainTables();
    profiles.push_back(ApplicationProfile::Create(tables).value());
    for (PlacementRow& row : tables.placements) row.time.pass_s = second_pass_s;
    profiles.push_back(ApplicationProfile::Create(tables).value());
  }
  ElasticJobSpec Job() const {
    ElasticJobSpec job = JobOf(profiles[0], 10);
    job.type_profiles = {&profiles[0], &profiles[1]};
    return job;
  }

  std::vector<ApplicationProfile> profiles;
};

// Seen at 60 s, restarts until 90 s, trains 250 passes of half a second on the second type, which suits it better.
TEST(ElasticSimulationTest, ATypeOfGpuHasItsOwnTimes) {
  const TwoTypes types(0.5);
  ElasticOptions options;
  options.cluster = {{{1, 1}, {1, 1}}, 0, 0};
  EXPECT_EQ(Simulate({types.Job()}, "gavel", options).jobs[0].completion_s, 215);
  ElasticJobSpec only_first = types.Job();
  only_first.type_profiles[1] = nullptr;
  EXPECT_EQ(Simulate({only_first}, "gavel", options).jobs[0].completion_s, 340);
}

// One GPU of the first type and two of the second: these train, at 2 s a pass, and the other idles.
TEST(ElasticSimulationTest, OfAMixedAllocationTheMostFrequentTypeTrains) {
  const TwoTypes types(2);
  ElasticJobSpec job = types.Job();
  job.requested_gpus = 3;
  ElasticOptions options;
  options.cluster = {{{1, 1}, {1, 2}}, 0, 0};
  const ElasticResult result = Simulate({job}, "fcfs", options);
  EXPECT_EQ(result.jobs[0].completion_s, 590);
  EXPECT_EQ(result.jobs[0].attained_gpu_s, 3 * 530);
}

// A job that trains at half the speed of its profile and restarts in 10 s: 60 + 10 + 2 * 250 s.
TEST(ElasticSimulationTest, AJobMayBeSlowerThanItsProfileAndHaveItsOwnRestarts) {
  const ApplicationProfile profile = ApplicationProfile::Create(PlainTables()).value();
  ElasticJobSpec job = JobOf(profile, 10);
  job.slowdown = 2;
  job.restart_s = 10;
  ElasticOptions options;
  options.cluster = {{{1, 1}}, 0, 0};
  EXPECT_EQ(Simulate({job}, "fcfs", options).jobs[0].completion_s, 570);
}

// Puts the first job on one node and the other in turn.
class Wandering : public scheduling::AllocationPolicy {
 public:
  std::string_view name() const override { return "wandering"; }

 private:
  scheduling::AllocationPlan Plan(const scheduling::AllocationSnapshot& snapshot) const override {
    scheduling::AllocationPlan plan;
    plan.jobs.resize(snapshot.jobs.size());
    if (plan.jobs.empty()) return plan;
    const auto round = static_cast<uint32_t>(snapshot.now.seconds().value() / 60);
    plan.jobs[0].resources = {1, 0};
    plan.jobs[0].nodes = {{HostId(round % 2), 1, 0}};
    return plan;
  }
};

// Seen at 60 s; moves at 120, 180, 240 and 300 s, each a restart of 30 s where moves aren't free; types differ, so they
// never are with two of them.
TEST(ElasticSimulationTest, MovesInsideATypeMayBeFree) {
  const TwoTypes types(1);
  ElasticOptions options;
  options.cluster = {{{2, 1}}, 0, 0};
  options.moves_are_free = true;
  const ElasticResult free = RunElasticSimulation({JobOf(types.profiles[0], 10)}, Wandering(), options).value();
  EXPECT_EQ(free.jobs[0].completion_s, 340);
  EXPECT_EQ(free.jobs[0].num_restarts, 0u);
  options.moves_are_free = false;
  const ElasticResult paid = RunElasticSimulation({JobOf(types.profiles[0], 10)}, Wandering(), options).value();
  EXPECT_GT(paid.jobs[0].num_restarts, 3u);
  options.moves_are_free = true;
  options.cluster = {{{1, 1}, {1, 1}}, 0, 0};
  const ElasticResult between = RunElasticSimulation({types.Job()}, Wandering(), options).value();
  EXPECT_EQ(between.jobs[0].num_restarts, paid.jobs[0].num_restarts);
}

TEST(ElasticSimulationTest, SpeedsAreLearnedForOneTypeOnly) {
  const TwoTypes types(2);
  ElasticOptions options;
  options.cluster = {{{1, 1}, {1, 1}}, 0, 0};
  options.learned = LearnedOptions{.lengths = LengthSource::kDeclared};
  const auto refused = RunElasticSimulation({types.Job()}, *CreateAllocationPolicy("fcfs", 1).value(), options);
  EXPECT_THAT(refused.status().message(), HasSubstr("learned for one type of GPU; the cluster has 2"));
}

// local = ceil(B / k), passes = ceil(local / local_max); one GPU with more than the first batch accumulates at least
// once.
TEST(SplitBatchTest, FollowsTheBenchmark) {
  const BatchLimits limits{128, 4096, 32, 1024};
  const auto split = [&](uint32_t k, uint32_t batch, SingleGpuRule rule) { return SplitBatch(limits, k, batch, rule); };
  EXPECT_EQ(split(2, 2048, SingleGpuRule::kLargeBatches).local_batch, 1024u);
  EXPECT_EQ(split(2, 2048, SingleGpuRule::kLargeBatches).num_accumulations, 0u);
  EXPECT_EQ(split(1, 4096, SingleGpuRule::kLargeBatches).num_accumulations, 3u);
  EXPECT_EQ(split(1, 512, SingleGpuRule::kLargeBatches).local_batch, 256u);
  EXPECT_EQ(split(1, 128, SingleGpuRule::kLargeBatches).num_accumulations, 0u);
  EXPECT_EQ(split(1, 128, SingleGpuRule::kAlways).local_batch, 64u);
  EXPECT_EQ(split(3, 1000, SingleGpuRule::kLargeBatches).local_batch, 334u);
}

TEST(TriangulationTest, LinearFunctionsAreExact) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<Point3> points;
    for (int i = 0; i < 60; ++i) points.push_back({random.Uniform(), random.Uniform(), random.Uniform()});
    const auto f = [](const Point3& p) { return 3 * p[0] - 2 * p[1] + 5 * p[2] + 1; };
    const Triangulation triangulation = Triangulation::Create(points).value();
    int num_inside = 0;
    for (int i = 0; i < 60; ++i) {
      const Point3 query = {random.Uniform(), random.Uniform(), random.Uniform()};
      const auto found = triangulation.Locate(query);
      if (!found) continue;
      ++num_inside;
      double value = 0;
      for (size_t c = 0; c < 4; ++c) value += found->weights[c] * f(points[found->points[c]]);
      EXPECT_NEAR(value, f(query), 1e-9);
    }
    EXPECT_GT(num_inside, 10);
    EXPECT_FALSE(triangulation.Locate({2, 2, 2}).has_value());
  }
}

TEST(TriangulationTest, FlatPointsAreRefused) {
  std::vector<Point3> points;
  for (int i = 0; i < 9; ++i) points.push_back({i % 3 + 0.0, std::floor(i / 3.0), 7});
  EXPECT_THAT(Triangulation::Create(points).status().message(), HasSubstr("lie in one plane"));
}

TEST(PolluxProfileTest, MissingFilesAreNamed) {
  EXPECT_THAT(LoadPolluxProfile("/nowhere/bert").status().message(), HasSubstr("/nowhere/bert/placements.csv"));
  EXPECT_THAT(LoadPolluxProfile("/nowhere/gpt", "rtx").status().message(),
              HasSubstr("/nowhere/gpt/placements-rtx.csv"));
  EXPECT_THAT(LoadPolluxProfiles("/nowhere").status().message(), HasSubstr("/nowhere"));
}

class GeneratedTest : public testing::TestWithParam<std::string_view> {
 protected:
  static const ProfileSet& Profiles() {
    static const ProfileSet kProfiles = GenerateProfiles(1).value();
    return kProfiles;
  }
  static std::vector<ElasticJobSpec> Workload(uint64_t seed) {
    GeneratedWorkloadOptions options;
    options.num_jobs = 40;
    options.arrivals_s = 2 * 3600;
    options.predictable_share = 0.6;
    options.predictable_at_once = false;
    options.seed = seed;
    return GenerateWorkload(Profiles(), options).value();
  }
};

// Laws 1 to 3: every job ends, nothing beyond the cluster is used, service is the integral of what is held, and a
// second run is equal.
TEST_P(GeneratedTest, EveryJobEndsAndAccountsAgree) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const ElasticOptions options;
    const ElasticResult result = Simulate(Workload(seed), GetParam(), options);
    EXPECT_TRUE(result.is_complete);
    double attained = 0;
    for (const ElasticJobResult& job : result.jobs) {
      attained += job.attained_gpu_s;
      EXPECT_EQ(job.num_unknown_placements, 0u) << job.name;
      EXPECT_GE(job.jct_s(), job.waited_s);
    }
    double integral = 0;
    for (const ElasticInterval& interval : result.intervals) {
      integral += interval.gpus * options.interval_s;
      // A completion time is rounded to whole seconds, which may add one to an interval.
      EXPECT_LE(interval.gpus, options.cluster.num_gpus() * (1 + 1 / options.interval_s));
    }
    EXPECT_NEAR(attained, integral, 1e-6 * attained);
    const ElasticResult again = Simulate(Workload(seed), GetParam(), options);
    for (size_t j = 0; j < result.jobs.size(); ++j) EXPECT_EQ(result.jobs[j].completion_s, again.jobs[j].completion_s);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, GeneratedTest, testing::ValuesIn(scheduling::AllocationPolicyNames()),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(GeneratedTest, TheSeedDecides) {
  const auto first = Workload(1);
  const auto same = Workload(1);
  const auto other = Workload(2);
  bool differs = false;
  for (size_t j = 0; j < first.size(); ++j) {
    EXPECT_EQ(first[j].name, same[j].name);
    EXPECT_EQ(first[j].submission_s, same[j].submission_s);
    differs |= first[j].submission_s != other[j].submission_s;
  }
  EXPECT_TRUE(differs);
}

TEST_F(GeneratedTest, AllDrawsAreNested) {
  auto few = Workload(3);
  auto many = Workload(3);
  DrawUnpredictable(0.3, 5, &few);
  DrawUnpredictable(0.7, 5, &many);
  for (size_t j = 0; j < few.size(); ++j)
    EXPECT_LE(few[j].predictable_after.has_value(), many[j].predictable_after.has_value());
}

}  // namespace
}  // namespace fairlead::sim
