#include "collective/collective_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/random.h"

namespace fairlead::collective {
namespace {

using ::testing::HasSubstr;
using Kind = StepGroup::Kind;

constexpr FlopPerSecond kA100(312e12);
const model::Parallelism kParallelism = {.tensor = 4, .pipeline = 2, .data = 4, .expert = 2, .micro_batches = 8};

SequenceStep Step(double seconds, CollectiveKind kind, Kind group, double bytes, Seconds overlap = Seconds(0),
                  TrainingPass pass = TrainingPass::kForward) {
  return {Seconds(seconds), Bytes(bytes), overlap, kind, {.kind = group}, pass};
}

CollectiveSequence Sequence(std::vector<SequenceStep> steps) {
  CollectiveSequence sequence;
  sequence.name = "test";
  sequence.steps = std::move(steps);
  return sequence;
}

model::Iteration Build(const CollectiveSequence& sequence, const SequenceOptions& options = {}) {
  auto iteration = BuildSequenceIteration(sequence, kParallelism, MakeRegularLayout(4, 8), kA100, options);
  EXPECT_TRUE(iteration.ok()) << iteration.status().message();
  return std::move(iteration).value();
}

using Pairs = std::map<std::pair<GpuId, GpuId>, double>;

Pairs BytesPerPair(const model::Iteration& iteration) {
  Pairs bytes;
  for (const auto& flow : iteration.flows) bytes[{flow.source, flow.destination}] += flow.bytes.value();
  return bytes;
}

// Every (group, kind) that importers make.
std::vector<SequenceStep> OneOfEach() {
  const auto kGather = CollectiveKind::kHierarchicalAllGather;
  std::vector<SequenceStep> steps = {
      Step(0.1, CollectiveKind::kHierarchicalAllReduce, Kind::kTensor, 1e6),
      Step(0.1, CollectiveKind::kHierarchicalAllReduce, Kind::kData, 2e6, kUntilEnd),
      Step(0.1, CollectiveKind::kRailAllToAll, Kind::kExpert, 3e6),
      Step(0.1, CollectiveKind::kHierarchicalReduceScatter, Kind::kExpertData, 4e6, Seconds(0.05)),
      Step(0.1, CollectiveKind::kSendReceive, Kind::kPipeline, 5e6),
      Step(0.1, CollectiveKind::kSendReceive, Kind::kPipeline, 5e6, Seconds(0), TrainingPass::kInputGradient),
      Step(0.1, kGather, Kind::kWorld, 6e6)};
  SequenceStep strided = Step(0.1, kGather, Kind::kStrided, 7e6);
  strided.group = {.kind = Kind::kStrided, .size = 4, .stride = 8};
  SequenceStep shifted = Step(0.1, CollectiveKind::kSendReceive, Kind::kShifted, 8e6);
  shifted.group = {.kind = Kind::kShifted, .shift = -8};
  SequenceStep listed = Step(0.1, CollectiveKind::kBroadcast, Kind::kListed, 9e6);
  steps.insert(steps.end(), {strided, shifted, listed});
  return steps;
}

CollectiveSequence LongSequence(int times) {
  CollectiveSequence sequence = Sequence({});
  sequence.listed = {{{3, 1, 30}, {4, 5}}};
  for (int i = 0; i < times; ++i) {
    for (const SequenceStep& step : OneOfEach()) sequence.steps.push_back(step);
  }
  return sequence;
}

TEST(CollectiveSequenceTest, MergingChangesNeitherBytesOfAnyPairNorComputeNorWork) {
  const CollectiveSequence sequence = LongSequence(50);
  const model::Iteration unmerged = Build(sequence, {.max_rounds = 0});
  EXPECT_GT(unmerged.phases.size(), 450u);
  for (const uint32_t rounds : {1u, 7u, 16u}) {
    const model::Iteration merged = Build(sequence, {.max_rounds = rounds});
    EXPECT_LE(merged.phases.size(), rounds * 11);  // ten kinds, and one wait
    EXPECT_EQ(merged.compute_time, unmerged.compute_time);
    EXPECT_EQ(merged.work, unmerged.work);
    EXPECT_EQ(merged.bubble_time, unmerged.bubble_time);
    const Pairs expected = BytesPerPair(unmerged);
    const Pairs found = BytesPerPair(merged);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [pair, bytes] : expected) ASSERT_NEAR(found.at(pair), bytes, 1e-9 * bytes);
  }
}

// A tensor group is 4 neighbours: a ring in each direction pair gets 2 * 3/4 of the bytes.
TEST(CollectiveSequenceTest, BytesAreThoseOfTheCollectives) {
  const auto iteration = Build(Sequence({Step(1, CollectiveKind::kHierarchicalAllReduce, Kind::kTensor, 4e6)}));
  EXPECT_EQ(iteration.flows.size(), 32u);
  for (const auto& flow : iteration.flows) {
    EXPECT_EQ(flow.source.value() / 4, flow.destination.value() / 4);
    EXPECT_NEAR(flow.bytes.value(), 6e6, 1e-3);
  }
  EXPECT_EQ(iteration.num_groups, 8u);
}

TEST(CollectiveSequenceTest, PipelineMessagesGoBothWays) {
  const auto forward = Build(Sequence({Step(1, CollectiveKind::kSendReceive, Kind::kPipeline, 1)}));
  const auto backward = Build(
      Sequence({Step(1, CollectiveKind::kSendReceive, Kind::kPipeline, 1, Seconds(0), TrainingPass::kInputGradient)}));
  ASSERT_EQ(forward.flows.size(), 16u);  // two stages of 16 ranks
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(forward.flows[i].destination.value() - forward.flows[i].source.value(), 16u);
    EXPECT_EQ(forward.flows[i].source, backward.flows[i].destination);
    EXPECT_EQ(forward.flows[i].destination, backward.flows[i].source);
  }
}

TEST(CollectiveSequenceTest, StridedGroupsTileAllRanksAndShiftsStopAtTheEnds) {
  SequenceStep strided = Step(1, CollectiveKind::kRingAllGather, Kind::kStrided, 2);
  strided.group = {.kind = Kind::kStrided, .size = 2, .stride = 4};
  // Groups {0, 4}, {1, 5}, …, {8, 12}, …: rings of two, one byte each way.
  const auto rings = Build(Sequence({strided}));
  EXPECT_EQ(rings.flows.size(), 32u);
  for (const auto& flow : rings.flows) EXPECT_EQ(flow.source.value() ^ flow.destination.value(), 4u);
  SequenceStep shifted = Step(1, CollectiveKind::kSendReceive, Kind::kShifted, 2);
  shifted.group = {.kind = Kind::kShifted, .shift = -30};
  const auto sends = Build(Sequence({shifted}));
  ASSERT_EQ(sends.flows.size(), 2u);
  EXPECT_EQ(sends.flows[0].source, GpuId(30u));
  EXPECT_EQ(sends.flows[1].destination, GpuId(1u));
}

TEST(CollectiveSequenceTest, WorkIsGivenOrAssumed) {
  CollectiveSequence sequence = Sequence({Step(2, CollectiveKind::kBroadcast, Kind::kWorld, 1)});
  // 2 s on 32 GPUs at 40 % of 312 TFLOP/s.
  EXPECT_DOUBLE_EQ(Build(sequence).work.value(), 2 * 32 * 312e12 * 0.4);
  EXPECT_DOUBLE_EQ(Build(sequence, {.flop_utilization = 0.5}).work.value(), 2 * 32 * 312e12 * 0.5);
  sequence.work = Flop(1e15);
  EXPECT_DOUBLE_EQ(Build(sequence).work.value(), 1e15);
  EXPECT_DOUBLE_EQ(Build(sequence).bubble_time.value(), 2.0 / 8);  // two stages, eight micro-batches
}

TEST(CollectiveSequenceTest, FewerRoundsWhereFlowsWouldBeTooMany) {
  const CollectiveSequence sequence = LongSequence(200);
  const model::Iteration many = Build(sequence);
  const model::Iteration few = Build(sequence, {.max_flows = 2000});
  EXPECT_GT(many.flows.size(), 2000u);
  EXPECT_LE(few.flows.size(), 2000u);
  EXPECT_GE(few.phases.size(), 10u);
  EXPECT_GE(Build(sequence, {.max_flows = 1}).phases.size(), 10u);  // one round there always is
}

TEST(CollectiveSequenceTest, RepeatedStepsAreTheScaledIteration) {
  Random random(6);
  for (int trial = 0; trial < 20; ++trial) {
    CollectiveSequence once = LongSequence(1);
    for (SequenceStep& step : once.steps) step.bytes = step.bytes * (1 + random.Uniform());
    CollectiveSequence thrice = once;
    for (SequenceStep& step : thrice.steps) {
      step.bytes = step.bytes * 3;
      step.compute = step.compute * 3;
      step.overlap = step.overlap * 3;
    }
    const auto a = Build(once);
    const auto b = Build(thrice);
    ASSERT_EQ(a.flows.size(), b.flows.size());
    for (size_t i = 0; i < a.flows.size(); ++i) {
      ASSERT_EQ(a.flows[i].source, b.flows[i].source);
      ASSERT_NEAR(b.flows[i].bytes / a.flows[i].bytes, 3, 1e-9);
    }
    for (size_t p = 0; p < a.phases.size(); ++p) {
      ASSERT_NEAR(a.phases[p].start_fraction, b.phases[p].start_fraction, 1e-12);
    }
  }
}

std::string ErrorOf(const CollectiveSequence& sequence, const SequenceOptions& options = {}) {
  const auto iteration = BuildSequenceIteration(sequence, kParallelism, MakeRegularLayout(4, 8), kA100, options);
  return iteration.ok() ? "" : iteration.status().message();
}

TEST(CollectiveSequenceTest, RefusesWithAClearMessage) {
  const auto kKind = CollectiveKind::kBroadcast;
  EXPECT_EQ(ErrorOf(Sequence({Step(1, kKind, Kind::kWorld, 1), Step(-1, kKind, Kind::kWorld, 1)})),
            "workload 'test': step 1: compute of -1 s is not in [0, 1e9]");
  EXPECT_THAT(ErrorOf(Sequence({Step(1, kKind, Kind::kWorld, 1e19)})), HasSubstr("bytes are not in [0, 1e18]"));
  EXPECT_THAT(ErrorOf(Sequence({Step(1, kKind, Kind::kWorld, 1, Seconds(-1))})), HasSubstr("overlap of -1 s"));
  EXPECT_THAT(ErrorOf(Sequence({Step(1, kKind, Kind::kPipeline, 1)})), HasSubstr("expected send-receive"));
  SequenceStep step = Step(1, kKind, Kind::kStrided, 1);
  step.group = {.kind = Kind::kStrided, .size = 3, .stride = 8};
  EXPECT_THAT(ErrorOf(Sequence({step})), HasSubstr("groups of 3 ranks, 8 apart, don't tile 32 GPUs"));
  step = Step(1, CollectiveKind::kSendReceive, Kind::kShifted, 1);
  step.group = {.kind = Kind::kShifted, .shift = 32};
  EXPECT_THAT(ErrorOf(Sequence({step})), HasSubstr("the rank +32 away"));
  CollectiveSequence listed = Sequence({Step(1, kKind, Kind::kListed, 1)});
  EXPECT_THAT(ErrorOf(listed), HasSubstr("no list of ranks 0"));
  listed.listed = {{{0, 32}}};
  EXPECT_THAT(ErrorOf(listed), HasSubstr("names rank 32, the job has 32 GPUs"));
  listed.listed = {{{0, 1, 0}}};
  EXPECT_THAT(ErrorOf(listed), HasSubstr("names a rank twice"));
  EXPECT_THAT(ErrorOf(Sequence({}), {.max_rounds = 5000}), HasSubstr("max_rounds 5000"));
  EXPECT_THAT(ErrorOf(Sequence({}), {.max_flows = 0}), HasSubstr("max_flows"));
  EXPECT_THAT(ErrorOf(Sequence({}), {.flop_utilization = 0}), HasSubstr("flop_utilization 0"));
  const auto wrong = BuildSequenceIteration(Sequence({Step(1, kKind, Kind::kTensor, 1)}), {.tensor = 5, .data = 1},
                                            MakeRegularLayout(4, 8), kA100);
  EXPECT_THAT(wrong.status().message(), HasSubstr("is not the number of GPUs, 32"));
}

TEST(CollectiveSequenceTest, ParallelismIsCompletedByTheNumberOfGpus) {
  CollectiveSequence sequence = Sequence({});
  sequence.parallelism = {.tensor = 4, .pipeline = 2, .data = 0};
  EXPECT_EQ(ParallelismOf(sequence, 64).value().data, 8u);
  EXPECT_THAT(ParallelismOf(sequence, 60).status().message(), HasSubstr("does not divide 60 GPUs"));
  sequence.num_gpus = 64;
  EXPECT_THAT(ParallelismOf(sequence, 32).status().message(), HasSubstr("was made for 64 GPUs"));
}

}  // namespace
}  // namespace fairlead::collective
