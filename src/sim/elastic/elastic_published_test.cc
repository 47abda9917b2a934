// Does the simulator reproduce what the Pollux benchmark published? Needs the benchmark's data beside the source tree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/batch_choice.h"
#include "sim/elastic/elastic_metrics.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elastic_summary.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/pollux_profile.h"

namespace fairlead::sim {
namespace {

constexpr int kNumWorkloads = 4;
const std::string kData = FAIRLEAD_SOURCE_DIR "/../shared/data/pollux-osdi21";

class ElasticPublishedTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData)) GTEST_SKIP() << "no data of the Pollux benchmark in " << kData;
    profiles_ = LoadPolluxProfiles(kData + "/traces").value();
  }

  void ExpectPass(std::string_view application, const GpusPerNode& placement, uint32_t local_batch, PassTime expected,
                  double tolerance = 1e-8) {
    const auto time = profiles_.at(std::string(application)).QueryPass(placement, local_batch);
    ASSERT_TRUE(time.has_value()) << application << " " << local_batch;
    EXPECT_NEAR(time->pass_s, expected.pass_s, tolerance) << application << " " << local_batch;
    EXPECT_NEAR(time->sync_s, expected.sync_s, tolerance) << application << " " << local_batch;
  }

  std::vector<ElasticJobSpec> Load(int workload) {
    return LoadPolluxWorkload(fmt::format("{}/workloads/workload-{}.csv", kData, workload), profiles_).value();
  }

  ElasticResult Simulate(std::string_view policy, int workload) {
    const auto created = scheduling::CreateAllocationPolicy(policy, 1).value();
    return RunElasticSimulation(Load(workload), *created, {}).value();
  }

  // Mean over workloads, and restarts per job.
  struct Average {
    double jct_s = 0;
    double restarts = 0;
  };
  Average SimulateAll(const scheduling::AllocationPolicy& policy, double predictable_share,
                      const ElasticOptions& options) {
    Average average;
    for (int w = 1; w <= kNumWorkloads; ++w) {
      auto jobs = Load(w);
      DrawUnpredictable(predictable_share, 1, &jobs);
      const ElasticResult result = RunElasticSimulation(jobs, policy, options).value();
      average.jct_s += MeanJct(result) / kNumWorkloads;
      average.restarts += Summarize(result, options.cluster).restarts_per_job / kNumWorkloads;
    }
    return average;
  }

  double MeanWithBatches(std::string_view policy, std::string_view folder) {
    const auto created = scheduling::CreateAllocationPolicy(policy, 1).value();
    double mean = 0;
    for (int w = 1; w <= kNumWorkloads; ++w) {
      auto jobs = LoadPolluxWorkload(fmt::format("{}/{}/workload-{}.csv", kData, folder, w), profiles_).value();
      LetJobsChooseBatches({}, &jobs);
      mean += MeanJct(RunElasticSimulation(jobs, *created, {}).value()) / kNumWorkloads;
    }
    return mean;
  }

  static double MeanJct(const ElasticResult& result) {
    EXPECT_TRUE(result.is_complete);
    const double sum = std::accumulate(result.jobs.begin(), result.jobs.end(), 0.0,
                                       [](double s, const ElasticJobResult& job) { return s + job.jct_s(); });
    return sum / static_cast<double>(result.jobs.size());
  }

  // Restarts of all jobs of all workloads.
  uint32_t ExpectMeanJcts(std::string_view policy, const std::array<double, kNumWorkloads>& expected,
                          double tolerance) {
    uint32_t restarts = 0;
    for (int w = 1; w <= kNumWorkloads; ++w) {
      const ElasticResult result = Simulate(policy, w);
      EXPECT_NEAR(MeanJct(result), expected[w - 1], tolerance * expected[w - 1]) << policy << ", workload " << w;
      for (const ElasticJobResult& job : result.jobs) {
        restarts += job.num_restarts;
        EXPECT_EQ(job.num_unknown_placements, 0u) << job.name;
      }
    }
    return restarts;
  }

  ProfileSet profiles_;
};

// Values of the reference simulator.
TEST_F(ElasticPublishedTest, MeasuredPlacementsAreInterpolatedInTheBatch) {
  ExpectPass("cifar10", {2}, 200, {0.166088345, 0.001050128});
  ExpectPass("cifar10", {4, 2}, 300, {0.249994837, 0.030990803});
  ExpectPass("imagenet", {4, 4, 4}, 150, {0.773608431, 0.041213778});
  ExpectPass("bert", {1}, 7, {0.636325836, 0.013717270});
  ExpectPass("deepspeech2", {3, 1, 3}, 15, {0.913410875, 0.261470693});
  ExpectPass("ncf", {1}, 32768, {0.021315532, 0.000345870});
}

TEST_F(ElasticPublishedTest, OtherPlacementsAreInterpolatedInSpace) {
  ExpectPass("cifar10", GpusPerNode(6, 4), 86, {0.203570686, 0.131198266});
  ExpectPass("imagenet", GpusPerNode(8, 4), 100, {0.694503516, 0.168973821});
  // On a face that two cells cut differently: both diagonals are right, ours is 4 % lower.
  ExpectPass("yolov3", {4, 4, 4, 4, 2}, 7, {1.278457195, 0.848414984}, 0.06);
  ExpectPass("deepspeech2", GpusPerNode(5, 4), 16, {1.250779522, 0.478710156});
}

TEST_F(ElasticPublishedTest, OutsideTheTablesNothingIsKnown) {
  EXPECT_FALSE(profiles_.at("cifar10").QueryPass({2}, 5000).has_value());
  EXPECT_FALSE(profiles_.at("cifar10").QueryPass(GpusPerNode(5, 4), 5000).has_value());
}

// Iterations left at the end of an epoch: it(B, E - 1) - it(B, e).
TEST_F(ElasticPublishedTest, RemainingIterations) {
  const auto left = [&](const char* application, double batch, uint32_t epoch) {
    const ApplicationProfile& profile = profiles_.at(application);
    return profile.IterationsAtEndOf(batch, profile.num_epochs() - 1) - profile.IterationsAtEndOf(batch, epoch);
  };
  EXPECT_NEAR(profiles_.at("cifar10").IterationsAtEndOf(2048, 10), 710, 0.5);
  EXPECT_NEAR(profiles_.at("imagenet").IterationsAtEndOf(3000, 5), 4560, 0.5);
  EXPECT_NEAR(profiles_.at("deepspeech2").IterationsAtEndOf(320, 79), 2264, 0.5);
  EXPECT_GT(left("cifar10", 2048, 10), 0);
  EXPECT_EQ(left("cifar10", 2048, 99), 0);
}

// The benchmark's published averages, to the last digit.
TEST_F(ElasticPublishedTest, Tiresias) {
  ExpectMeanJcts("tiresias", {2473.65, 5144.9625, 3876.25625, 3280.2625}, 1e-9);
}

// The triangulation is not unique; ours comes within 0.03 %.
TEST_F(ElasticPublishedTest, Optimus) { ExpectMeanJcts("optimus", {4087.0625, 6913.875, 3944.00625, 5967.75}, 1e-3); }

// Measured with the reference simulator, rounded to seconds.
TEST_F(ElasticPublishedTest, FirstComeFirstServed) {
  ExpectMeanJcts("fcfs", {8865, 44337, 4991, 28388}, 2e-4);
  ExpectMeanJcts("fcfs-skip", {4758, 8532, 3871, 15024}, 2e-4);
}

TEST_F(ElasticPublishedTest, ShortestFirst) {
  EXPECT_EQ(ExpectMeanJcts("srtf", {2330, 3781, 3063, 3116}, 2e-4), 299u);
  EXPECT_EQ(ExpectMeanJcts("srsf", {2322, 3868, 3032, 3120}, 2e-4), 256u);
}

TEST_F(ElasticPublishedTest, DominantResourceFairness) {
  EXPECT_EQ(ExpectMeanJcts("drf", {2895, 4922, 3757, 3752}, 2e-4), 2571u);
}

// Efficiencies of the specification, for sqr 0.6 and var 1.8: 0.8, 0.571429 and 0.114286 of twice, 4 and 32 times the
// first batch.
TEST(GainOfTest, IsEfficiencyTimesScale) {
  EXPECT_NEAR(GainOf({0.6, 1.8}, 2), 2 * 0.8, 1e-6);
  EXPECT_NEAR(GainOf({0.6, 1.8}, 4), 4 * 0.571429, 1e-5);
  EXPECT_NEAR(GainOf({0.6, 1.8}, 32), 32 * 0.114286, 1e-4);
  EXPECT_EQ(GainOf({0, 0}, 2), 1);
}

constexpr double kTiresiasMean = 3693.78;  // of the four published averages
constexpr double kSrtfMean = 3073;
constexpr double kFcfsSkipMean = 8046;

constexpr double kOptimusMean = 5228.17;

// Bands of the specification, and its aims (set on all eight workloads; four are at hand): 24 % below Tiresias, 46 %
// below Optimus.
TEST_F(ElasticPublishedTest, AiturboIsAheadOfAllOthers) {
  scheduling::aiturbo::AiturboOptions options;
  const Average with_hold = SimulateAll(*scheduling::aiturbo::CreateAiturbo(options).value(), 1, {});
  EXPECT_LT(with_hold.jct_s, kSrtfMean);
  EXPECT_LT(with_hold.jct_s, 0.76 * kTiresiasMean);
  EXPECT_LT(with_hold.jct_s, 0.54 * kOptimusMean);
  EXPECT_LT(with_hold.jct_s, kFcfsSkipMean / 2);
  EXPECT_LT(with_hold.restarts, 3);
  for (const double knee : {0.75, 0.8, 0.85}) {
    options.hold_s = 0;
    options.restart_budget = 0;
    options.patience_s = 7200;
    options.price_factor = 0;
    options.knee_efficiency = knee;
    const Average without = SimulateAll(*scheduling::aiturbo::CreateAiturbo(options).value(), 1, {});
    EXPECT_LT(without.jct_s, 2960) << knee;
  }
}

// With nothing known but declared epochs: the aim of 3100 s is for all eight workloads, whose oracle mean is 1.068
// times that of these four.
TEST_F(ElasticPublishedTest, DeclaredEpochsAreEnough) {
  const auto policy = scheduling::CreateAllocationPolicy("aiturbo", 1).value();
  ElasticOptions options;
  options.learned = LearnedOptions{.lengths = LengthSource::kDeclared};
  std::vector<ElasticResult> results;
  for (int w = 1; w <= kNumWorkloads; ++w) results.push_back(RunElasticSimulation(Load(w), *policy, options).value());
  const ElasticSummary summary = SummarizeRuns(results, options.cluster);
  EXPECT_LT(summary.jct_s.mean, 3100 / 1.068);
  EXPECT_LT(summary.first_wait_s.max, 2 * 9297);  // Tiresias' longest
}

// Most restarts of one job, their mean, and the p95 of JCT, at each load; the last is Tiresias' (29,634 s) at load 2,
// and up to 10 % above it (14,150, 14,158 and 18,453 s) elsewhere: on 24 drawn workloads of each load it is 0 to 7 %
// above.
TEST_F(ElasticPublishedTest, DeclaredEpochsWithFewRestartsAndAShortTail) {
  const auto policy = scheduling::CreateAllocationPolicy("aiturbo", 1).value();
  ElasticOptions options;
  options.learned = LearnedOptions{.lengths = LengthSource::kDeclared};
  // It is 1.00, 1.06 and 1.05 of Tiresias'; variants of the budget that differ by rounding gave 0.96 to 1.05 at 1.5.
  for (const auto& [folder, p95] : {std::pair("workloads-0.5", 1.1 * 14'150), std::pair("workloads", 1.1 * 14'158),
                                    std::pair("workloads-1.5", 1.1 * 18'453), std::pair("workloads-2.0", 29'634.0)}) {
    std::vector<ElasticResult> results;
    for (int w = 1; w <= kNumWorkloads; ++w) {
      const auto jobs = LoadPolluxWorkload(fmt::format("{}/{}/workload-{}.csv", kData, folder, w), profiles_).value();
      results.push_back(RunElasticSimulation(jobs, *policy, options).value());
    }
    const ElasticSummary summary = SummarizeRuns(results, options.cluster);
    EXPECT_LE(summary.restarts.max, 20) << folder;
    EXPECT_LT(summary.restarts.mean, 2) << folder;
    EXPECT_LE(summary.jct_s.p95, p95) << folder;
  }
}

// Nobody declares anything, and no policy is told anything else.
TEST_F(ElasticPublishedTest, WithoutDeclarationsAiturboIsNeverAboveTiresias) {
  const auto policy = scheduling::CreateAllocationPolicy("aiturbo", 1).value();
  ElasticOptions options;
  options.learned = LearnedOptions{.lengths = LengthSource::kHistory};
  for (const auto& [folder, tiresias] : {std::pair("workloads-0.5", 1900.22), std::pair("workloads", kTiresiasMean),
                                         std::pair("workloads-1.5", 5998.34), std::pair("workloads-2.0", 9796.68)}) {
    double mean = 0;
    for (int w = 1; w <= kNumWorkloads; ++w) {
      const auto jobs = LoadPolluxWorkload(fmt::format("{}/{}/workload-{}.csv", kData, folder, w), profiles_).value();
      mean += MeanJct(RunElasticSimulation(jobs, *policy, options).value()) / kNumWorkloads;
    }
    EXPECT_LT(mean, tiresias) << folder;
  }
}

TEST_F(ElasticPublishedTest, AiturboWithHalfOfTheJobsUnpredictableIsAheadOfTiresias) {
  const auto policy = scheduling::CreateAllocationPolicy("aiturbo", 1).value();
  const Average exact = SimulateAll(*policy, 0.5, {});
  EXPECT_LT(exact.jct_s, kTiresiasMean);
  EXPECT_LT(exact.restarts, 3);
  // Remaining times that are off by a factor of 1.22 in the median (sigma 0.3), speeds by 1.1.
  ElasticOptions options;
  options.errors = {0.3, 0.15, 1};
  const Average wrong = SimulateAll(*policy, 0.5, options);
  EXPECT_LT(wrong.jct_s, kTiresiasMean);
}

// cifar10 on one node of four GPUs, epoch 10, in passes of 384: values of the specification.
TEST_F(ElasticPublishedTest, TheBestBatchIsNoWorseThanAny) {
  const ApplicationProfile& cifar10 = profiles_.at("cifar10");
  const double gain = GainOf(cifar10.QueryGradients(4 * 384, 10), 4 * 384 / 128.0);
  EXPECT_NEAR(gain, 7.95364265, 1e-6);
  const auto pass = cifar10.QueryPass({4}, 384).value();
  EXPECT_NEAR(gain / pass.pass_s, 26.9437514, 1e-5);
  const auto best = BatchMenu(cifar10, {4}).Best(cifar10, 10);
  ASSERT_TRUE(best.has_value());
  EXPECT_GE(best->goodput, 0.999 * gain / pass.pass_s);
  EXPECT_EQ(best->option.split.GlobalBatch(4), best->option.batch);
}

// Published means. Ours knows true speeds, searches sizes instead of placements, and packs them densely: at load 1
// it is 3.2 % faster than the publication, at the others within 1.2 %. Of aiturbo the aim is tested; at load 1 its mean
// is 2250 to 2510 s for nearly the same options, by what happens to a few large jobs.
TEST_F(ElasticPublishedTest, PolluxWithItsBatches) {
  for (const auto& [folder, published] : {std::pair("workloads-0.5", 1423.52), std::pair("workloads", 2580.30),
                                          std::pair("workloads-1.5", 3609.74), std::pair("workloads-2.0", 5192.83)}) {
    EXPECT_NEAR(MeanWithBatches("pollux", folder), published, 0.035 * published) << folder;
    EXPECT_LT(MeanWithBatches("aiturbo", folder), published) << folder;
  }
}

// The published variant does worse on GPUs alone: R = k leaves it no reason to grow. Measured by the specification's
// author: 4483 s on average. Readings that the text leaves open, with their numbers: docs/papers/aiturbo.md.
TEST_F(ElasticPublishedTest, TheLiteralVariantIsBehind) {
  const Average literal = SimulateAll(*scheduling::CreateAllocationPolicy("aiturbo-literal", 1).value(), 1, {});
  EXPECT_NEAR(literal.jct_s, 4483, 0.05 * 4483);
}

}  // namespace
}  // namespace fairlead::sim
