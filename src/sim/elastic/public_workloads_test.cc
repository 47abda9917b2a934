// Measured speeds as profiles, and the readers of ElasticFlow's and Gavel's public data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elasticflow_workload.h"
#include "sim/elastic/gavel_speeds.h"
#include "sim/elastic/measured_speeds.h"

namespace fairlead::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string SharedData(const std::string& name) { return std::string(FAIRLEAD_SOURCE_DIR "/../shared/data/") + name; }

// Seconds of an iteration of the whole batch on so many GPUs, on one node and scattered.
double IterationOn(const ApplicationProfile& profile, uint32_t gpus, uint32_t gpus_per_node, uint32_t batch,
                   SingleGpuRule rule) {
  const BatchSplit split = SplitBatch(profile.limits(), gpus, batch, rule);
  const auto pass = profile.QueryPass(DensePlacement(gpus, gpus_per_node), split.local_batch);
  return pass ? IterationSeconds(*pass, split.num_accumulations) : kNan;
}

TEST(MeasuredSpeedsTest, MeasuredSizesAreExactWhereverTheGpusAre) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    MeasuredApplication application{"app", 64u << random.Below(3), random.Uniform(100, 1e6), {}};
    for (uint32_t gpus = 1; gpus <= 32; gpus *= 2) application.speeds[gpus] = random.Uniform(0.1, 50);
    const auto profile = ProfileOfMeasured(application);
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    EXPECT_EQ(profile->MaxGpus(application.global_batch), 32u);
    for (const auto& [gpus, speed] : application.speeds) {
      for (const uint32_t gpus_per_node : {1u, 4u, 8u}) {
        for (const auto rule : {SingleGpuRule::kAlways, SingleGpuRule::kLargeBatches}) {
          EXPECT_NEAR(IterationOn(*profile, gpus, gpus_per_node, application.global_batch, rule) * speed, 1, 1e-6)
              << "seed " << seed << ", " << gpus << " GPUs, " << gpus_per_node << " a node";
        }
      }
    }
    EXPECT_NEAR(profile->ProgressAtEndOf(profile->num_epochs() - 1), application.num_iterations, 1e-6);
  }
}

TEST(MeasuredSpeedsTest, FillsHolesAndOffersNothingBeyondTheLastSize) {
  // Half-way between 2 and 8 in the logarithm is 4: (1/2 + 1/6) / 2 = 1/3 s. 16 ran out of memory.
  const auto profile = ProfileOfMeasured({"app", 64, 1000, {{1, 1}, {2, 2}, {4, 0}, {8, 6}, {16, 0}, {32, kNan}}});
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->MaxGpus(64), 8u);
  EXPECT_NEAR(IterationOn(*profile, 4, 8, 64, SingleGpuRule::kAlways), 1.0 / 3, 1e-9);
}

TEST(MeasuredSpeedsTest, RefusesWhatIsNoApplication) {
  const auto message = [](const MeasuredApplication& application) {
    return std::string(ProfileOfMeasured(application).status().message());
  };
  EXPECT_THAT(message({"app", 64, 10, {}}), HasSubstr("speeds of app, batch 64: no speed above 0"));
  EXPECT_THAT(message({"app", 64, 10, {{1, 0}, {2, -1}}}), HasSubstr("no speed above 0"));
  EXPECT_THAT(message({"app", 64, 10, {{2, 1}}}), HasSubstr("no speed on one GPU"));
  EXPECT_THAT(message({"app", 64, 10, {{1, kInfinity}}}), HasSubstr("not finite"));
  EXPECT_THAT(message({"app", 0, 10, {{1, 1}}}), HasSubstr("expected a batch above 0"));
  EXPECT_THAT(message({"app", 64, 0, {{1, 1}}}), HasSubstr("0 iterations"));
  EXPECT_THAT(message({"app", 64, kNan, {{1, 1}}}), HasSubstr("iterations"));
  EXPECT_THAT(message({"app", 10000, 1, {{1, 1}, {8192, 2}}}), HasSubstr("more than 4096 GPUs"));
}

class ElasticflowTest : public ::testing::Test {
 protected:
  ElasticflowTest() { Write("bert.csv", "global_batch_size,1,2,4\n64,2,3,4\n128,1,,0\n"); }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(speeds_.File(name)) << text; }

  Result<OwnedWorkload> Load(const std::string& rows, size_t most_jobs = 100) const {
    const auto speeds = LoadElasticflowSpeeds(speeds_.path());
    if (!speeds.ok()) return speeds.status();
    const std::string path = jobs_.File("elasticflow_jobs.csv");
    std::ofstream(path) << "job_id,submit_time,model_name,batch_size,num_gpu,iteration\n" << rows;
    return LoadElasticflowWorkload(path, *speeds, most_jobs);
  }

  // A folder of speeds holds nothing else.
  const TemporaryFolder speeds_, jobs_;
};

TEST_F(ElasticflowTest, ReadsSpeedsAndJobs) {
  const auto workload = Load("7,1000,bert,64,2,500\n8,1060,bert,128,1,20\n9,1070,bert,64,1,20\n", 2);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  ASSERT_EQ(workload->jobs.size(), 2u);
  EXPECT_EQ(workload->jobs[0].name, "7");
  EXPECT_EQ(workload->jobs[0].submission_s, 0);
  EXPECT_EQ(workload->jobs[1].submission_s, 60);
  EXPECT_EQ(workload->jobs[0].requested_gpus, 2u);
  EXPECT_EQ(workload->jobs[0].profile->MaxGpus(64), 4u);
  EXPECT_EQ(workload->jobs[1].profile->MaxGpus(128), 1u) << "2 was not measured, 4 ran out of memory";
}

TEST_F(ElasticflowTest, BadInputNamesLineColumnAndWhatIsExpected) {
  struct BadRow {
    const char* row;
    const char* message;
  };
  const BadRow rows[] = {
      {"7,1000,gpt9,64,2,500\n", ":2: model_name: no speeds of 'gpt9'"},
      {"7,1000,bert,99,2,500\n", ":2: batch_size: no speeds of bert with a batch of 99"},
      {"7,1000,bert,64,0,500\n", ":2: num_gpu: expected a whole number above 0, found 0"},
      {"7,1000,bert,64,1.5,500\n", ":2: num_gpu: expected a whole number"},
      {"7,1000,bert,-64,1,500\n", ":2: batch_size: expected a whole number"},
      {"7,soon,bert,64,1,500\n", ":2: submit_time: expected a number, found 'soon'"},
      {"7,1000,bert,64,1,0\n", ":2: speeds of bert, batch 64: 0 iterations"},
      {"7,1000,bert,64,1,nan\n", "iterations; expected more than 0"},
      {"7,nan,bert,64,1,5\n", "expected 0 or later"},
      {"7,1000,bert,64,1,5\n7,1001,bert,64,1,5\n", "two jobs are called '7'"},
      {"7,1000,bert\n", ":2"},
  };
  for (const BadRow& bad : rows) {
    const auto workload = Load(bad.row);
    ASSERT_FALSE(workload.ok()) << bad.row;
    EXPECT_THAT(std::string(workload.status().message()),
                AllOf(HasSubstr("elasticflow_jobs.csv"), HasSubstr(bad.message)));
  }
  Write("bad.csv", "global_batch_size,1,2\n64,1,2\n64,3,4\n");
  EXPECT_THAT(std::string(LoadElasticflowSpeeds(speeds_.path()).status().message()),
              HasSubstr("bad.csv:3: the batch 64"));
  Write("bad.csv", "global_batch_size,one\n64,1\n");
  EXPECT_THAT(std::string(LoadElasticflowSpeeds(speeds_.path()).status().message()),
              HasSubstr("bad.csv:1: no column is a"));
  Write("bad.csv", "global_batch_size,1\n64,fast\n");
  EXPECT_THAT(std::string(LoadElasticflowSpeeds(speeds_.path()).status().message()), HasSubstr("found 'fast'"));
  EXPECT_EQ(LoadElasticflowSpeeds(speeds_.File("none")).status().code(), StatusCode::kNotFound);
}

// The data's own column says how long a job runs on the GPUs that it asks for: iterations over the measured speed.
TEST_F(ElasticflowTest, PublicJobsTakeAsLongAsInTheirData) {
  const std::string folder = SharedData("elasticflow");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no public data in " << folder;
  const auto speeds = LoadElasticflowSpeeds(folder + "/throughputs_A100");
  ASSERT_TRUE(speeds.ok()) << speeds.status().message();
  EXPECT_EQ(speeds->size(), 7u);
  EXPECT_EQ(speeds->at("resnet50_cifar10").begin()->second.at(16), 0) << "out of memory is kept as it is";
  auto workload = LoadElasticflowWorkload(folder + "/philly_103959.csv", *speeds, 60);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  // Job 2: vgg16, batch 64, one GPU: 118,680 iterations at 5.053/s are 23,487 s.
  const ElasticJob job(workload->jobs[2], {{{16, 8}}, 0, 0}, {}, 2);
  ASSERT_TRUE(job.run().SecondsAlone().has_value());
  EXPECT_NEAR(*job.run().SecondsAlone(), 23487, 1);

  // The first jobs, all at once: whatever the policy, all end.
  workload->jobs.resize(20);
  for (const std::string_view policy : {"aiturbo", "tiresias"}) {
    const auto created = scheduling::CreateAllocationPolicy(policy, 1).value();
    ElasticOptions options;
    options.give_up_s = 1e8;
    options.interval_s = 600;
    const auto result = RunElasticSimulation(workload->jobs, *created, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->is_complete) << policy;
  }
}

TEST(GavelSpeedsTest, ReadsTypesKindsAndBatches) {
  const auto speeds = ParseGavelSpeeds(R"json({"v100": {
    "('ResNet-18 (batch size 16)', 1)": {"null": 32.5, "('A3C', 1)": [3, 4]},
    "('ResNet-18 (batch size 16)', 2)": {"null": 60},
    "('A3C', 1)": {"null": 5}}})json",
                                       "g.json");
  ASSERT_TRUE(speeds.ok()) << speeds.status().message();
  EXPECT_EQ(speeds->at("v100").at("ResNet-18").at(16), (MeasuredSpeeds{{1, 32.5}, {2, 60}}));
  EXPECT_EQ(speeds->at("v100").at("A3C").at(1), (MeasuredSpeeds{{1, 5}}));
}

TEST(GavelSpeedsTest, BadInputNamesFileAndKey) {
  struct BadText {
    const char* text;
    const char* message;
  };
  const BadText texts[] = {
      {"{\"v100\":", "g.json: expected JSON"},
      {"[]", "g.json: expected an object of types of GPU"},
      {"{}", "g.json: expected an object of types of GPU"},
      {"{\"v100\": 3}", "g.json: v100: expected an object of kinds"},
      {"{\"v100\": {\"ResNet\": {\"null\": 1}}}", "g.json: v100: expected a key like"},
      {"{\"v100\": {\"('ResNet (batch size x)', 1)\": {\"null\": 1}}}", "found \"('ResNet (batch size x)', 1)\""},
      {"{\"v100\": {\"('ResNet', 0)\": {\"null\": 1}}}", "expected a key like"},
      {"{\"v100\": {\"('ResNet', 1) \": {\"null\": 1}}}", "expected a key like"},
      {"{\"v100\": {\"('', 1)\": {\"null\": 1}}}", "expected a key like"},
      {"{\"v100\": {\"('ResNet', 1)\": 1}}", "('ResNet', 1): expected an object with a number \"null\""},
      {"{\"v100\": {\"('ResNet', 1)\": {\"null\": \"fast\"}}}", "expected an object with a number"},
      {"{\"v100\": {\"('ResNet', 1)\": {}}}", "expected an object with a number"},
  };
  for (const BadText& bad : texts) {
    const auto speeds = ParseGavelSpeeds(bad.text, "g.json");
    ASSERT_FALSE(speeds.ok()) << bad.text;
    EXPECT_THAT(std::string(speeds.status().message()), HasSubstr(bad.message)) << bad.text;
  }
  EXPECT_EQ(LoadGavelSpeeds("/nonexistent.json").status().code(), StatusCode::kNotFound);
}

TEST(GavelSpeedsTest, PublicTableHasSixTypesAndEveryKindOnEach) {
  const std::string path = SharedData("gavel/simulation_throughputs.json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no public data at " << path;
  const auto speeds = LoadGavelSpeeds(path);
  ASSERT_TRUE(speeds.ok()) << speeds.status().message();
  EXPECT_EQ(speeds->size(), 6u);  // k80, p100, v100, each also unconsolidated
  size_t kinds = 0;
  for (const auto& [model, batches] : speeds->at("v100")) {
    for (const auto& [batch, sizes] : batches) kinds += sizes.size();
  }
  EXPECT_EQ(kinds, 83u);
  EXPECT_NEAR(speeds->at("v100").at("ResNet-18").at(16).at(1), 32.353384328946916, 1e-12);
  // Every kind that fits one GPU can be simulated.
  for (const auto& [model, batches] : speeds->at("v100")) {
    for (const auto& [batch, sizes] : batches) {
      if (!sizes.contains(1) || sizes.at(1) <= 0) continue;
      EXPECT_TRUE(ProfileOfMeasured({model, std::max(batch, 64u), 1000, sizes}).ok()) << model << " " << batch;
    }
  }
}

}  // namespace
}  // namespace fairlead::sim
