// AITurbo: slide 21, gains, ballots, knees, and the promises of both variants.
#include "scheduling/aiturbo/aiturbo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "scheduling/aiturbo/aiturbo_literal.h"
#include "scheduling/aiturbo/unit_gains.h"
#include "scheduling/allocation_example.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {
namespace {

using testing::ElementsAre;

// Slide 21: remaining service after each operation, in the order of UnitOperation; placement of the numbers is ours.
constexpr double kServiceA = 10;
constexpr double kServiceB = 16;
constexpr std::array<double, kNumUnitOperations> kAfterA = {9, 8, 12, 6, 5, 12, 14, 12, 13, 18};
constexpr std::array<double, kNumUnitOperations> kAfterB = {22, 26, 18, 18, 24, 14, 15, 16, 16, 10};

// A job with remaining service `now`, and `after` one operation.
PsWorkerJob SlideJob(double now, const std::array<double, kNumUnitOperations>& after, const ResourceUnits& units) {
  PsWorkerJob job;
  job.config = {.num_ps = 3, .num_workers = 3, .cores_per_ps = 3, .cores_per_worker = 3, .num_gpus = 2};
  const PsWorkerLimits limits = job.limits;
  const PsWorkerConfig config = job.config;
  job.iteration_s = [=](const PsWorkerConfig& asked) {
    const double resources = units.Of({asked.num_gpus, asked.num_cores()});
    if (asked == config) return now / resources;
    for (const UnitOperation op : AllUnitOperations()) {
      if (Apply(op, config, limits) == asked) return after[static_cast<size_t>(op)] / resources;
    }
    return 0.0;
  };
  return job;
}

class Slide21Test : public testing::Test {
 protected:
  Slide21Test()
      : example_(2, 4, 64), a_(SlideJob(kServiceA, kAfterA, kUnits)), b_(SlideJob(kServiceB, kAfterB, kUnits)) {
    example_.snapshot.units = kUnits;
    for (const PsWorkerJob* job : {&a_, &b_}) {
      example_.AddJobWith({{job->config.num_gpus, job->config.num_cores(), 1}}, 1).ps_worker = job;
    }
  }

  UnitGains Gains(size_t j) { return ComputeUnitGains(example_.snapshot.jobs[j], kUnits).value(); }

  static constexpr ResourceUnits kUnits{10, 1};  // one GPU counts as ten cores
  ExampleSnapshot example_;
  const PsWorkerJob a_;
  const PsWorkerJob b_;
};

TEST_F(Slide21Test, AWantsAGpuAndBGivesOne) {
  const UnitGains a = Gains(0);
  EXPECT_EQ(a.queue, GainQueue::kIncrease);
  EXPECT_EQ(a.best->operation, UnitOperation::kAddGpu);
  EXPECT_NEAR(a.best->gain, 5, 1e-9);
  const UnitGains b = Gains(1);
  EXPECT_EQ(b.queue, GainQueue::kDecrease);
  EXPECT_EQ(b.best->operation, UnitOperation::kRemoveGpu);
  EXPECT_NEAR(b.best->gain, 6, 1e-9);
  EXPECT_EQ(a.gains.size(), kNumUnitOperations);
}

// V_A + V_B after one unit moves: 26 now; the slide's answer is 15.
TEST_F(Slide21Test, TotalsOfTransfers) {
  const auto total = [&](size_t taker, UnitOperation op) {
    const auto gain = [&](size_t j, UnitOperation wanted) {
      for (const OperationGain& g : Gains(j).gains) {
        if (g.operation == wanted) return g.gain;
      }
      return 0.0;
    };
    return kServiceA + kServiceB - gain(taker, op) - gain(1 - taker, Opposite(op));
  };
  const double expected_to_a[] = {23, 23, 28, 22, 15};
  const double expected_to_b[] = {34, 40, 30, 31, 42};
  for (size_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(total(0, static_cast<UnitOperation>(r)), expected_to_a[r], 1e-9);
    EXPECT_NEAR(total(1, static_cast<UnitOperation>(r)), expected_to_b[r], 1e-9);
  }
}

TEST_F(Slide21Test, TheLiteralPolicyMovesTheGpu) {
  const AllocationPlan plan = CreateAiturboLiteral().value()->Decide(example_.snapshot).value();
  EXPECT_EQ(plan.jobs[0].reason.applied, UnitOperation::kAddGpu);
  EXPECT_EQ(plan.jobs[1].reason.applied, UnitOperation::kRemoveGpu);
  EXPECT_EQ(plan.jobs[0].config->num_gpus, 3u);
  EXPECT_EQ(plan.jobs[1].config->num_gpus, 1u);
  EXPECT_EQ(plan.jobs[0].reason.gains.size(), kNumUnitOperations);
}

// Law 8.
TEST(UnitOperationTest, OutsideTheLimitsThereIsNoOperation) {
  PsWorkerLimits limits;
  PsWorkerConfig least = limits.min;
  PsWorkerConfig most = limits.max;
  for (const UnitOperation op : AllUnitOperations()) {
    EXPECT_EQ(Apply(op, least, limits).has_value(), IsIncrease(op)) << UnitOperationName(op);
    // Fewer workers than GPUs would be left.
    const bool is_possible = !IsIncrease(op) && op != UnitOperation::kRemoveWorker;
    EXPECT_EQ(Apply(op, most, limits).has_value(), is_possible) << UnitOperationName(op);
  }
}

TEST(UnitOperationTest, TheOppositeUndoes) {
  const PsWorkerLimits limits;
  const PsWorkerConfig config{.num_ps = 3, .num_workers = 3, .cores_per_ps = 3, .cores_per_worker = 3, .num_gpus = 2};
  for (const UnitOperation op : AllUnitOperations()) {
    EXPECT_EQ(Apply(Opposite(op), *Apply(op, config, limits), limits), config) << UnitOperationName(op);
  }
}

TEST(UnitGainsTest, OneGpuClusterHasNothingToResize) {
  ExampleSnapshot example(1, 1);
  const AllocationJob& job = example.AddJob(1, 1, 100);
  const auto gains = ComputeUnitGains(job, example.snapshot.units);
  EXPECT_TRUE(gains->gains.empty());
  EXPECT_FALSE(gains->is_applied);
}

// Law 7: what is applied lowers the predicted total of remaining service.
TEST(AiturboLiteralTest, AppliedChangesLowerTheTotal) {
  const auto policy = CreateAiturboLiteral().value();
  int num_applied = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      if (!plan.jobs[j].reason.applied) continue;
      ++num_applied;
      const AllocationJob& job = example.snapshot.jobs[j];
      AllocationJob changed = job;
      changed.memory = plan.jobs[j].memory;
      EXPECT_LT(RemainingService(changed, CurrentConfiguration(changed), example.snapshot.units),
                RemainingService(job, CurrentConfiguration(job), example.snapshot.units));
    }
  }
  EXPECT_GT(num_applied, 0);
}

// Law 6.
TEST(AiturboLiteralTest, BetterOnBothBallotsIsNeverLater) {
  const auto policy = CreateAiturboLiteral().value();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    example.Apply(policy->Decide(example.snapshot).value(), 300);
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    const auto queue = [&](size_t j) { return ComputeUnitGains(example.snapshot.jobs[j], {})->queue; };
    for (size_t a = 0; a < plan.jobs.size(); ++a) {
      for (size_t b = 0; b < plan.jobs.size(); ++b) {
        const JobReason& first = plan.jobs[a].reason;
        const JobReason& second = plan.jobs[b].reason;
        if (!first.remaining_position || !second.remaining_position || first.queue != second.queue) continue;
        if (queue(a) != queue(b)) continue;
        if (*first.service_position < *second.service_position &&
            *first.remaining_position < *second.remaining_position) {
          EXPECT_LT(first.order, second.order) << "seed " << seed;
        }
      }
    }
  }
}

TEST(AiturboLiteralTest, BetweenRoundsNothingChanges) {
  const auto policy = CreateAiturboLiteral().value();
  ExampleSnapshot example = DrawSnapshot(4);
  const AllocationPlan first = policy->Decide(example.snapshot).value();
  example.Apply(first, 60);
  const AllocationPlan second = policy->Decide(example.snapshot).value();
  for (size_t j = 0; j < first.jobs.size(); ++j) EXPECT_EQ(first.jobs[j].nodes, second.jobs[j].nodes);
  EXPECT_EQ(first.next_wake_up, second.next_wake_up);
}

// Law 9. T(k) = k^-p, so the efficiency of k is k^(p - 1): with p = 0.8, e = 0.75: k <= 0.75^(-1/0.2) = 4.21.
TEST(KneeTest, FollowsTheScalingCurve) {
  ExampleSnapshot example;
  EXPECT_EQ(FindKnee(example.AddJob(16, 1, 1), 0.75, {}), 15u);
  EXPECT_EQ(FindKnee(example.AddJob(16, 0, 1), 0.75, {}), 0u);
  EXPECT_EQ(FindKnee(example.AddJob(16, 0.8, 1), 0.75, {}), 3u);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const AllocationJob& job = example.AddJob(32, random.Uniform(), 1);
    uint32_t last = 31;
    for (double e = 0.05; e <= 1; e += 0.05) {
      const uint32_t knee = FindKnee(job, e, {});
      EXPECT_LE(knee, last);
      last = knee;
    }
  }
}

TEST(KneeTest, SizesOfUnknownSpeedDoNotCount) {
  ExampleSnapshot example;
  EXPECT_EQ(FindKnee(example.AddJobWith({{1, 0, 1.0}, {2, 0, 0}, {3, 0, 0.34}, {4, 0, 0}}, 1), 0.75, {}), 2u);
}

// Law 5. Attained 30000, 100, 5000, which are levels 2, 0 and 1 (600 x 4^2 = 9600): least first; two fit.
TEST(AiturboTest, UnpredictableJobsGoByAttainedService) {
  ExampleSnapshot example(1, 4);
  for (const double attained : {30000, 100, 5000}) {
    AllocationJob& job = example.AddJob(2, 1, 0);
    job.is_predictable = false;
    job.requested = 1;
    job.attained_service = attained;
  }
  EXPECT_THAT(GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value()), ElementsAre(0, 2, 2));
}

// Remaining service 800, 200, 400 GPU-s at their knees of 4, 4, 4 GPUs (perfect scaling): the shortest two of three
// run.
TEST(AiturboTest, PredictableJobsGoByRemainingService) {
  ExampleSnapshot example(2, 4);
  for (const double remaining : {800, 200, 400}) example.AddJob(4, 1, remaining);
  const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
  EXPECT_THAT(GpusOf(plan), ElementsAre(0, 4, 4));
  EXPECT_EQ(plan.jobs[1].reason.order, 1u);
  EXPECT_EQ(plan.jobs[0].reason.remaining_position, 3u);
}

// Positions: by attained service U = 1, P = 2; by remaining service P = 1, stretched by 2 jobs / 1 predictable = 2.
// 1 < 2: the unpredictable job is first. Once it has attained more than P, its position is 2, and submission decides.
TEST(AiturboTest, OneOrderForBothKinds) {
  ExampleSnapshot example(1, 2);
  AllocationJob& predictable = example.AddJob(2, 1, 1000);
  predictable.attained_service = 5000;
  AllocationJob& unknown = example.AddJob(2, 1, 0);
  unknown.is_predictable = false;
  unknown.requested = 1;
  const auto policy = CreateAiturbo().value();
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(0, 2));
  example.snapshot.jobs[1].attained_service = 60000;
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(2, 0));
}

// Free resources go to the job that they speed up most, and to none below fill_min: knees 1 (no scaling) and 8
// (perfect).
TEST(AiturboTest, TheFillEndsWhereItDoesNotHelp) {
  ExampleSnapshot example(4, 4);
  example.AddJob(16, 0, 100);
  example.AddJob(8, 1, 100);
  EXPECT_THAT(GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value()), ElementsAre(1, 8));
}

// Law 11: growth from 4 to 8 GPUs with 30 s restarts and kappa 10 has to save 300 s. T(4) = 1/4, T(8) = 1/8: remaining
// / 8 s are saved, so it takes 2400 iterations.
TEST(AiturboTest, GrowthPaysForItsRestart) {
  const auto policy = CreateAiturbo().value();
  for (const auto& [remaining, expected] : {std::pair(2390.0, 4u), std::pair(2410.0, 8u)}) {
    ExampleSnapshot example(2, 4);
    AllocationJob& job = example.AddJob(8, 1, remaining);
    job.current = {{HostId(0), 4, 0}};
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    EXPECT_THAT(GpusOf(plan), ElementsAre(expected));
    EXPECT_EQ(plan.jobs[0].reason.was_held, expected == 4);
  }
}

TEST(AiturboTest, ARecentResizeHolds) {
  ExampleSnapshot example(2, 4);
  AllocationJob& job = example.AddJob(8, 1, 1e6);
  job.current = {{HostId(0), 4, 0}};
  job.resized_at = example.snapshot.now - SimDuration::FromSeconds(Seconds(299));
  const auto policy = CreateAiturbo().value();
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(4));
  example.snapshot.jobs[0].resized_at = example.snapshot.now - SimDuration::FromSeconds(Seconds(300));
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(8));
}

// Both have position 2; the predictable one came first.
TEST(AiturboTest, AnUnpredictableJobRunsForAWhile) {
  ExampleSnapshot example(1, 2);
  example.AddJob(2, 1, 10);
  AllocationJob& running = example.AddJob(2, 1, 0);
  running.is_predictable = false;
  running.requested = 1;
  running.attained_service = 1e6;
  running.current = {{HostId(0), 2, 0}};
  running.running_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(599));
  const auto policy = CreateAiturbo().value();
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(0, 2));
  example.snapshot.jobs[1].running_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(600));
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(2, 0));
}

// A start that took 500 s is to be used for 1000.
TEST(AiturboTest, AJobRunsForTwiceWhatItsRestartCosts) {
  ExampleSnapshot example(1, 2);
  example.AddJob(2, 1, 100);
  AllocationJob& running = example.AddJob(2, 1, 100);
  running.is_predictable = false;
  running.requested = 1;
  running.attained_service = 1e9;
  running.current = {{HostId(0), 2, 0}};
  running.restart_cost_s = 500;
  running.running_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(999));
  const auto policy = CreateAiturbo().value();
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(0, 2));
  example.snapshot.jobs[1].running_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(1000));
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(2, 0));
}

// 32 GPUs are held by a job of unknown length that has had its time. One short job has just come; two dozen others have
// waited for longer than they should.
TEST(AiturboTest, JobsThatWaitedTooLongHaveTheirShareOfTheCluster) {
  ExampleSnapshot example(8, 4);
  AllocationJob& shortest = example.AddJobWith({{8, 0, 1.0}}, 1);
  shortest.submission = shortest.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(60));
  for (int i = 0; i < 24; ++i) {
    AllocationJob& aged = example.AddJobWith({{4, 0, 1.0}}, 1e6);
    aged.submission = aged.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(20'000 - i));
  }
  const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    EXPECT_EQ(plan.jobs[j].reason.was_promoted, j == 1 || j == 2)
        << "a quarter of 32 GPUs, longest waiting first; job " << j;
  }
  EXPECT_EQ(GpusOf(plan)[0], 8u);
  AiturboOptions whole;
  whole.aged_share = 1;
  EXPECT_EQ(GpusOf(CreateAiturbo(whole).value()->Decide(example.snapshot).value())[0], 0u);
}

// Nodes are away, so that it can't start.
TEST(AiturboTest, AJobThatIsTooLargeForNowKeepsNobodyWaiting) {
  ExampleSnapshot example(2, 4);
  for (const uint32_t gpus : {16, 4}) {
    AllocationJob& aged = example.AddJobWith({{gpus, 0, 1.0}}, 1e6);
    aged.submission = aged.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(20'000));
  }
  AllocationJob& shortest = example.AddJobWith({{8, 0, 1.0}}, 1);
  shortest.submission = shortest.waiting_since = example.snapshot.now;
  EXPECT_THAT(GpusOf(CreateAiturbo().value()->Decide(example.snapshot).value()), ElementsAre(0, 4, 0));
}

// A job of twice the work that came 1000 s earlier goes first on a usual day, not where ten clusters are waited for.
TEST(AiturboTest, WhereManyWaitAnHourSaysLess) {
  for (const int others : {0, 40}) {
    ExampleSnapshot example(1, 4);
    AllocationJob& newer = example.AddJobWith({{4, 0, 1.0}}, 100);
    newer.submission = newer.waiting_since = example.snapshot.now;
    AllocationJob& older = example.AddJobWith({{4, 0, 1.0}}, 200);
    older.submission = older.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(1000));
    for (int i = 0; i < others; ++i) example.AddJobWith({{4, 0, 1.0}}, 1e6);
    const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
    EXPECT_EQ(GpusOf(plan)[0], others == 0 ? 0u : 4u);
    EXPECT_EQ(GpusOf(plan)[1], others == 0 ? 4u : 0u);
  }
}

// Executed 2000 s: after 8 * 2000 s of waiting it goes first.
TEST(AiturboTest, AStoppedJobComesBackAfterEightTimesWhatItRan) {
  const auto policy = CreateAiturbo().value();
  for (const auto& [waited_s, is_first] : {std::pair(15'999, false), std::pair(16'001, true)}) {
    ExampleSnapshot example(1, 2);
    AllocationJob& stopped = example.AddJobWith({{2, 0, 1.0}}, 1e6);
    stopped.executed_s = 2000;
    stopped.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(waited_s));
    example.AddJobWith({{2, 0, 1.0}}, 10);
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    EXPECT_EQ(plan.jobs[0].reason.was_promoted, is_first);
    EXPECT_EQ(GpusOf(plan), (is_first ? std::vector<uint64_t>{2, 0} : std::vector<uint64_t>{0, 2})) << waited_s;
  }
}

// Four jobs on eight GPUs, the first of which could use all of them, and has waited for too long.
TEST(AiturboTest, WhoGoesFirstClaimsAFairShare) {
  ExampleSnapshot example(2, 4);
  AllocationJob& aged = example.AddJob(8, 1, 1e6);
  aged.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(20'000));
  for (int j = 0; j < 3; ++j) example.AddJobWith({{2, 0, 1.0}}, 100);
  const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
  EXPECT_TRUE(plan.jobs[0].reason.was_promoted);
  EXPECT_THAT(GpusOf(plan), ElementsAre(2, 2, 2, 2));
}

TEST(AiturboTest, OptionsAreChecked) {
  AiturboOptions options;
  options.knee_efficiency = 1.5;
  EXPECT_THAT(CreateAiturbo(options).status().message(), testing::HasSubstr("knee_efficiency is 1.5"));
  LiteralOptions literal;
  literal.level_limits = {5, 5};
  EXPECT_THAT(CreateAiturboLiteral(literal).status().message(), testing::HasSubstr("ascending"));
}

// The whole cluster for 100 s or for 200: the shorter one first, unless the longer one counts for three.
TEST(AiturboTest, WhoWeighsMoreGoesFirst) {
  const auto policy = CreateAiturbo({}).value();
  ExampleSnapshot example(1, 4);
  example.AddJobWith({{4, 0, 1.0}}, 100);
  example.AddJobWith({{4, 0, 1.0}}, 200);
  EXPECT_EQ(GpusOf(policy->Decide(example.snapshot).value()), (std::vector<uint64_t>{4, 0}));
  example.snapshot.jobs[1].weight = 3;
  EXPECT_EQ(GpusOf(policy->Decide(example.snapshot).value()), (std::vector<uint64_t>{0, 4}));
}

// A job in its turn, another like it and a short one on eight GPUs: the first falls from eight to half of its share,
// 8 / 3, or 3 / 5 of eight where it weighs three.
TEST(AiturboTest, TurnsAreByWeights) {
  const auto policy = CreateAiturbo({}).value();
  for (const auto& [weight, turn] : {std::pair(1.0, 1u), std::pair(3.0, 2u)}) {
    ExampleSnapshot example(2, 4);
    for (int j = 0; j < 2; ++j) example.AddJob(8, 1, 1e5);
    AllocationJob& saving = example.snapshot.jobs[0];
    saving.num_restarts = 16;
    saving.executed_s = 1e5;
    saving.resized_at = example.snapshot.now;
    saving.weight = weight;
    saving.current = {{HostId(0), 4, 0}, {HostId(1), 4, 0}};
    example.AddJobWith({{5, 0, 1.0}}, 10);
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    EXPECT_EQ(plan.jobs[0].resources.num_gpus, turn) << weight;
    EXPECT_EQ(plan.jobs[2].resources.num_gpus, 5u);
  }
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
