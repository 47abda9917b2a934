// Parameter servers and workers on CPUs and GPUs, failing nodes, and learned models in the elastic simulator.
#include "sim/elastic/ps_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_metrics.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/learned_ps_speeds.h"

namespace fairlead::sim {
namespace {

using scheduling::CreateAllocationPolicy;
using scheduling::PsWorkerConfig;
using testing::HasSubstr;

PsWorkerConfig DrawConfig(Random* random) {
  const auto one_to = [&](uint32_t n) { return 1 + static_cast<uint32_t>(random->Below(n)); };
  return {one_to(10), one_to(4), one_to(5), one_to(5), 0};
}

// Jobs with equal workers take the time of the speed model.
TEST(PsApplicationTest, WorkersOfOneKindFollowTheSpeedModel) {
  for (const auto& [name, application] : GeneratePsApplications(3)) {
    ASSERT_TRUE(application.Validate().ok());
    Random random(1);
    for (int i = 0; i < 30; ++i) {
      PsWorkerConfig config = DrawConfig(&random);
      EXPECT_NEAR(SimulateIteration(application, config, 64).iteration_s,
                  application.cpu_workers.IterationTime(ConfigurationOf(config, 64)).value(), 1e-9);
      config.num_gpus = config.num_workers;
      EXPECT_NEAR(SimulateIteration(application, config, 64).iteration_s,
                  application.gpu_workers.IterationTime(ConfigurationOf(config, 64)).value(), 1e-9);
    }
  }
}

// A batch of 12 on a GPU worker of 0.1 s a sample and a CPU worker of 0.3 s: 9 and 3 samples in 0.9 s. Nothing else
// takes time, so both compute all the time.
TEST(PsApplicationTest, MixedWorkersEndTogether) {
  PsApplication application;
  application.name = "mixed";
  application.gpu_workers.coefficients[0] = 0.1;
  application.cpu_workers.coefficients[0] = 0.3;
  const PsIteration iteration = SimulateIteration(application, {1, 2, 1, 1, 1}, 12);
  EXPECT_NEAR(iteration.iteration_s, 0.9, 1e-12);
  EXPECT_NEAR(iteration.busy.gpus, 1, 1e-12);
  EXPECT_NEAR(iteration.busy.cores, 2, 1e-12);
  // A CPU worker that needs 2 s before its first sample only holds the GPU up, and gets none: 1.2 s.
  application.cpu_workers.coefficients[1] = 2;
  EXPECT_NEAR(SimulateIteration(application, {1, 2, 1, 1, 1}, 12).iteration_s, 1.2, 1e-12);
}

// A sample takes a GPU 0.1 s and 0.6 core-seconds of preparation. On two cores 0.3 s: 20 samples on two GPU workers
// take 3 s, of which each GPU computes 1 s and all four cores are busy. On six cores the GPU is the bottleneck: 1 s, in
// which the cores of a worker prepare 6 core-seconds; of eight of them, one idles: another runs the loop of training.
TEST(PsApplicationTest, TheInputPipelineBoundsAGpu) {
  PsApplication application;
  application.name = "fed";
  application.gpu_workers.coefficients[0] = 0.1;
  application.prepare_core_s = 0.6;
  const auto simulate = [&](uint32_t cores) {
    return SimulateIteration(
        application, {.num_ps = 1, .num_workers = 2, .cores_per_ps = 1, .cores_per_worker = cores, .num_gpus = 2}, 20);
  };
  EXPECT_NEAR(simulate(2).iteration_s, 3, 1e-12);
  EXPECT_NEAR(simulate(2).busy.gpus, 2 * 1.0 / 3, 1e-12);
  EXPECT_NEAR(simulate(2).busy.cores, 4, 1e-12);
  EXPECT_NEAR(simulate(6).iteration_s, 1, 1e-12);
  EXPECT_NEAR(simulate(6).busy.gpus, 2, 1e-12);
  EXPECT_NEAR(simulate(8).iteration_s, 1, 1e-12);
  EXPECT_NEAR(simulate(8).busy.cores, 2 * 7, 1e-12);
}

// Beside a CPU worker of 0.3 s a sample, a GPU that is fed a sample each 0.3 s is one more such worker.
TEST(PsApplicationTest, AMixedJobSplitsItsBatchByWhatCoresPrepare) {
  PsApplication application;
  application.name = "mixed";
  application.gpu_workers.coefficients[0] = 0.1;
  application.cpu_workers.coefficients[0] = 0.3;
  application.prepare_core_s = 0.3;
  const PsIteration iteration = SimulateIteration(application, {1, 2, 1, 1, 1}, 12);
  EXPECT_NEAR(iteration.iteration_s, 6 * 0.3, 1e-12);
  EXPECT_NEAR(iteration.busy.gpus, 6 * 0.1 / 1.8, 1e-12);
}

TEST(PsApplicationTest, NoMoreIsBusyThanIsHeld) {
  for (const auto& [name, application] : GeneratePsApplications(5, true)) {
    Random random(2);
    for (int i = 0; i < 50; ++i) {
      PsWorkerConfig config = DrawConfig(&random);
      config.num_gpus = static_cast<uint32_t>(random.Below(config.num_workers + 1));
      const BusyResources busy = SimulateIteration(application, config, 128).busy;
      EXPECT_GE(busy.gpus, 0);
      EXPECT_LE(busy.gpus, config.num_gpus);
      EXPECT_LE(busy.cores, config.num_cores());
    }
  }
}

ElasticOptions PsCluster() {
  ElasticOptions options;
  options.cluster = {{{4, 4}}, 40, 0};
  options.units = {10, 1};
  options.only_events = true;
  return options;
}

class PsWorkloadTest : public testing::TestWithParam<std::string_view> {
 protected:
  static const PsApplicationSet& Applications() {
    static const PsApplicationSet kApplications = GeneratePsApplications(1);
    return kApplications;
  }
  static std::vector<ElasticJobSpec> Workload(uint64_t seed) {
    PsWorkloadOptions options;
    options.num_jobs = 30;
    options.arrivals_s = 3600;
    options.predictable_share = 0.7;
    options.predictable_at_once = false;
    options.seed = seed;
    return GeneratePsWorkload(Applications(), options).value();
  }
  static ElasticResult Simulate(const std::vector<ElasticJobSpec>& jobs, const ElasticOptions& options) {
    return RunElasticSimulation(jobs, *CreateAllocationPolicy(GetParam(), 1).value(), options).value();
  }
};

// Laws 1 to 3 for both resources: also while two nodes fail, and come back.
TEST_P(PsWorkloadTest, EveryJobEndsAndAccountsAgree) {
  ElasticOptions options = PsCluster();
  options.node_events = {
      {1000, HostId(1), false}, {1500, HostId(2), false}, {4000, HostId(1), true}, {4000, HostId(2), true}};
  const ElasticResult result = Simulate(Workload(1), options);
  EXPECT_TRUE(result.is_complete);
  double core_s = 0;
  double gpu_s = 0;
  uint32_t num_failures = 0;
  for (const ElasticJobResult& job : result.jobs) {
    core_s += job.attained_core_s;
    gpu_s += job.attained_gpu_s;
    num_failures += job.num_failures;
  }
  EXPECT_GT(num_failures, 0u);
  for (const ElasticInterval& interval : result.intervals) {
    core_s -= interval.cores * options.interval_s;
    gpu_s -= interval.gpus * options.interval_s;
    const bool has_failed = interval.begin_s >= 1500 && interval.begin_s < 4020;
    EXPECT_LE(interval.cores, (has_failed ? 80 : 160) + 1e-6);
    EXPECT_LE(interval.gpus, (has_failed ? 8 : 16) + 1e-6);
    EXPECT_LE(interval.busy.cores, interval.cores + 1e-6);
    EXPECT_LE(interval.busy.gpus, interval.gpus + 1e-6);
  }
  EXPECT_NEAR(core_s, 0, 1);
  EXPECT_NEAR(gpu_s, 0, 1);
  const ElasticResult again = Simulate(Workload(1), options);
  for (size_t j = 0; j < result.jobs.size(); ++j) EXPECT_EQ(result.jobs[j].completion_s, again.jobs[j].completion_s);
}

INSTANTIATE_TEST_SUITE_P(Policies, PsWorkloadTest, testing::ValuesIn(scheduling::AllocationPolicyNames()),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// One job of a second an iteration on one worker and one server.
class OnePsJobTest : public testing::Test {
 protected:
  OnePsJobTest() {
    application_.name = "plain";
    application_.cpu_workers.coefficients[1] = 1;  // whatever the batch
    application_.limits.max = {1, 1, 1, 1, 0};
    job_.name = "job";
    job_.ps_application = &application_;
    job_.global_batch = 8;
    job_.num_iterations = 1000;
    options_.cluster = {{{2, 1}}, 2, 0};
  }
  ElasticResult Simulate() const {
    return RunElasticSimulation({job_}, *CreateAllocationPolicy("fcfs", 1).value(), options_).value();
  }

  PsApplication application_;
  ElasticJobSpec job_;
  ElasticOptions options_;
};

// Seen at 60 s, restarts until 90 s, trains 1000 s.
TEST_F(OnePsJobTest, MatchesTheClosedForm) {
  const ElasticResult result = Simulate();
  EXPECT_NEAR(*result.jobs[0].completion_s, 1090, 1e-6);
  EXPECT_NEAR(result.jobs[0].attained_core_s, 2 * 1030, 1e-6);
  EXPECT_EQ(result.jobs[0].attained_gpu_s, 0);
}

// Node 0 fails at 960 s: 870 s are done, of which 570 s (from 90 s to the end of the interval at 660 s) are in the
// checkpoint of 600 s or 10 intervals: trained 30 + 9 * 60 = 570 s at 660 s is below 600, at 720 s 630 s are. So 630 s
// are kept. It starts on node 1 at once: 960 + 30 + 370 s.
TEST_F(OnePsJobTest, AFailureCostsWhatTheCheckpointLacks) {
  options_.node_events = {{960, HostId(0), false}};
  const ElasticResult result = Simulate();
  EXPECT_EQ(result.jobs[0].num_failures, 1u);
  EXPECT_NEAR(*result.jobs[0].completion_s, 1360, 1e-6);
}

// Both nodes are down from 960 s to 1200 s.
TEST_F(OnePsJobTest, WaitsUntilANodeIsBack) {
  options_.node_events = {{960, HostId(0), false}, {500, HostId(1), false}, {1170, HostId(1), true}};
  const ElasticResult result = Simulate();
  EXPECT_NEAR(*result.jobs[0].completion_s, 1600, 1e-6);
  EXPECT_NEAR(result.jobs[0].waited_s, 60 + 240, 1e-6);
}

TEST_F(OnePsJobTest, BadInputIsRefused) {
  const auto policy = CreateAllocationPolicy("fcfs", 1).value();
  const auto message = [&](const ElasticJobSpec& job, const ElasticOptions& options) {
    return RunElasticSimulation({job}, *policy, options).status().message();
  };
  ElasticJobSpec job = job_;
  job.requested_config.num_workers = 3;
  EXPECT_THAT(message(job, options_), HasSubstr("asks for 1 servers, 3 workers"));
  job = job_;
  job.num_iterations = 0;
  EXPECT_THAT(message(job, options_), HasSubstr("has 0 iterations"));
  ElasticOptions options = options_;
  options.node_events = {{5, HostId(7), false}};
  EXPECT_THAT(message(job_, options), HasSubstr("node 7 fails or returns at 5 s; expected one of 2 nodes"));
  options = options_;
  options.learned = LearnedOptions{};
  options.learned->fewest_ps_configurations = 0;
  EXPECT_THAT(message(job_, options), HasSubstr("used after 0 measured configurations"));
  application_.cpu_workers.coefficients[1] = 0;
  EXPECT_THAT(message(job_, options_), HasSubstr("an iteration takes 0 s"));
}

class LearnedPsSpeedsTest : public testing::Test {
 protected:
  LearnedPsSpeedsTest() : application_(GeneratePsApplications(1).at("conv-small")) {
    job_.ps_application = &application_;
    job_.global_batch = 128;
  }
  // Without noise.
  void Measure(const PsWorkerConfig& config) {
    const double iteration_s = SimulateIteration(application_, config, job_.global_batch).iteration_s;
    speeds_.Measure(application_, {ConfigurationOf(config, job_.global_batch), Seconds(iteration_s)});
  }

  PsApplication application_;
  ElasticJobSpec job_;
  LearnedPsSpeeds speeds_{prediction::kNumSpeedTerms};
};

// Six configurations are not enough, seven are; the same one again teaches nothing.
TEST_F(LearnedPsSpeedsTest, SevenConfigurationsMakeASpeedKnown) {
  for (uint32_t w = 1; w <= 3; ++w) {
    for (uint32_t p = 1; p <= 2; ++p) Measure({p, w, 5, 5, 0});
  }
  Measure({1, 1, 5, 5, 0});
  EXPECT_TRUE(speeds_.IsMeasured("conv-small", ConfigurationOf({1, 1, 5, 5, 0}, 128)));
  EXPECT_FALSE(speeds_.IsMeasured("conv-small", ConfigurationOf({1, 1, 5, 5, 0}, 64)));
  EXPECT_FALSE(speeds_.Describe(job_, {1, 1, 5, 5, 0}).iteration_s);
  Measure({3, 3, 5, 5, 0});
  EXPECT_TRUE(speeds_.Describe(job_, {1, 1, 5, 5, 0}).iteration_s);
  // No GPU was measured: a job on CPUs gets limits without GPUs, one on a GPU gets none.
  EXPECT_EQ(speeds_.Describe(job_, {1, 1, 5, 5, 0}).limits.max.num_gpus, 0u);
  job_.requested_config.num_gpus = 1;
  EXPECT_FALSE(speeds_.Describe(job_, job_.requested_config).iteration_s);
}

// The form of the model is the true one, and configurations that differ in every number show its terms: without noise,
// what was never measured is known. But jobs of GPU workers alone have as many GPUs as workers, so the overhead of a
// GPU is mistaken for that of a worker: in a mixed job, w - g times too often.
TEST_F(LearnedPsSpeedsTest, WithoutNoiseTheTruthIsFound) {
  Random random(4);
  for (int i = 0; i < 40; ++i) {
    PsWorkerConfig config = DrawConfig(&random);
    config.num_gpus = i % 2 == 0 ? config.num_workers : 0;
    Measure(config);
  }
  const scheduling::PsWorkerJob described = speeds_.Describe(job_, {1, 1, 1, 1, 0});
  ASSERT_TRUE(described.iteration_s);
  EXPECT_EQ(described.limits.max.num_gpus, application_.limits.max.num_gpus);
  for (int i = 0; i < 100; ++i) {
    PsWorkerConfig config = DrawConfig(&random);
    config.num_gpus = static_cast<uint32_t>(random.Below(config.num_workers + 1));
    const double truth_s = SimulateIteration(application_, config, job_.global_batch).iteration_s;
    const double of_gpu_s = application_.gpu_workers.coefficient(prediction::SpeedTerm::kGpuAggregation);
    const double too_often = config.num_gpus == 0 ? 0 : config.num_workers - config.num_gpus;
    EXPECT_NEAR(described.iteration_s(config), truth_s + too_often * of_gpu_s, 1e-5 * truth_s);
  }
}

// Jobs of servers with speeds learned on the way all end, and the same way each time. Knowing them beforehand is better
// than learning them, and learning better than a policy that knows nothing: 3 times as many jobs as the cluster can run
// as they are asked for.
TEST(LearnedModelsTest, LearnSpeedsOfServers) {
  const PsApplicationSet applications = GeneratePsApplications(1);
  PsWorkloadOptions workload;
  workload.num_jobs = 160;
  workload.arrivals_s = 4 * 3600;
  const auto jobs = GeneratePsWorkload(applications, workload).value();
  ElasticOptions options = PsCluster();
  const auto mean_jct_s = [&](std::string_view policy) {
    const auto created = CreateAllocationPolicy(policy, 1).value();
    const ElasticResult result = RunElasticSimulation(jobs, *created, options).value();
    EXPECT_TRUE(result.is_complete) << policy;
    return Summarize(result, options.cluster, workload.arrivals_s).mean_jct_s;
  };
  const double known_s = mean_jct_s("aiturbo");
  const double unknown_s = mean_jct_s("tiresias");
  options.learned = LearnedOptions{};
  options.learned->num_training_jobs = 30;
  const double learned_s = mean_jct_s("aiturbo");
  EXPECT_LT(known_s, learned_s);
  EXPECT_LT(learned_s, unknown_s);
  EXPECT_EQ(learned_s, mean_jct_s("aiturbo"));
}

// Every job ends, some are found predictable, and none of those that may not be.
TEST(LearnedModelsTest, LearnOnTheWay) {
  const ProfileSet profiles = GenerateProfiles(1).value();
  GeneratedWorkloadOptions workload;
  workload.num_jobs = 40;
  workload.arrivals_s = 2 * 3600;
  auto jobs = GenerateWorkload(profiles, workload).value();
  ElasticOptions options;
  options.learned = LearnedOptions{};
  options.learned->num_training_jobs = 30;
  const auto policy = CreateAllocationPolicy("aiturbo", 1).value();
  const ElasticResult result = RunElasticSimulation(jobs, *policy, options).value();
  EXPECT_TRUE(result.is_complete);
  EXPECT_GT(result.num_flips, 0u);
  EXPECT_LT(result.num_flips, 40u);
  const ElasticResult again = RunElasticSimulation(jobs, *policy, options).value();
  for (size_t j = 0; j < jobs.size(); ++j) EXPECT_EQ(result.jobs[j].completion_s, again.jobs[j].completion_s);
  DrawUnpredictable(0, 1, &jobs);
  EXPECT_EQ(RunElasticSimulation(jobs, *policy, options).value().num_flips, 0u);
}

}  // namespace
}  // namespace fairlead::sim
