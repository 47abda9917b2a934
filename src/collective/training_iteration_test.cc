#include "collective/training_iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "collective/model_profiles.h"

namespace fairlead::collective {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr FlopPerSecond kA100(312e12);

ModelProfile Profile(std::string_view name) { return *ModelProfiles::BuiltIn().Find(name).value(); }

model::Iteration Build(std::string_view profile, const model::Parallelism& parallelism,
                       const IterationOptions& options = {}) {
  const uint32_t gpus = parallelism.tensor * parallelism.pipeline * parallelism.data;
  const RankLayout layout = gpus < 8 ? MakeRegularLayout(1, gpus) : MakeRegularLayout(gpus / 8, 8);
  return BuildIteration(Profile(profile), parallelism, layout, kA100, options).value();
}

std::vector<std::string> PhaseNames(const model::Iteration& iteration) {
  std::vector<std::string> names;
  for (const auto& phase : iteration.phases) names.push_back(phase.name);
  return names;
}

// Bytes that all GPUs together send in the phases of this name.
double BytesOf(const model::Iteration& iteration, std::string_view name) {
  double bytes = 0;
  for (const auto& phase : iteration.phases) {
    if (phase.name != name) continue;
    for (uint32_t i = 0; i < phase.num_flows; ++i) bytes += iteration.flows[phase.first_flow + i].bytes.value();
  }
  return bytes;
}

double TotalBytes(const model::Iteration& iteration) {
  double bytes = 0;
  for (const auto& flow : iteration.flows) bytes += flow.bytes.value();
  return bytes;
}

// GPT-3 175B, TP 8, PP 8, DP 2, 16 micro-batches of one sequence (C4, real job 3). FLOP: 32 sequences of
// 72 s l h^2 (1 + s/6h) + 6 s h V = 2.2026e15: 7.05e16; time = that / (128 * 312e12 * 0.5) = 3.53 s; bubble 7/16 of it.
TEST(TrainingIterationTest, Gpt175bOn128GpusByHand) {
  const auto iteration = Build("gpt-175b", {.tensor = 8, .pipeline = 8, .data = 2, .micro_batches = 16});
  const double l = 96, h = 12288, s = 2048, v = 50257;
  const double flop = 32 * (72 * s * l * h * h * (1 + s / (6 * h)) + 6 * s * h * v);
  EXPECT_NEAR(iteration.work.value() / flop, 1, 1e-12);
  EXPECT_NEAR(iteration.compute_time.value(), 3.53, 0.01);
  EXPECT_NEAR(iteration.bubble_time / iteration.compute_time, 7.0 / 16, 1e-12);

  EXPECT_EQ(PhaseNames(iteration), (std::vector<std::string>{"tp all-reduce", "pp send/recv", "dp all-reduce"}));
  const double hidden_states = s * h * 2;  // 50.3 MB
  // 128 ranks send 2*7/8 of S = 4 * 12 layers * 16 micro-batches of hidden states.
  EXPECT_NEAR(BytesOf(iteration, "tp all-reduce") / (128 * 1.75 * 4 * 12 * 16 * hidden_states), 1, 1e-12);
  // 7 boundaries * 16 ranks * 2 directions * 16 micro-batches of an eighth.
  EXPECT_NEAR(BytesOf(iteration, "pp send/recv") / (7 * 16 * 2 * 16 * hidden_states / 8), 1, 1e-12);
  // Two replicas: each of 128 ranks sends 2 * 1/2 of its 64th of the gradients, 2 bytes each.
  EXPECT_NEAR(BytesOf(iteration, "dp all-reduce") / (128 * 2 * Parameters(Profile("gpt-175b")) / 64), 1, 1e-12);
  EXPECT_TRUE(iteration.phases[0].blocks_compute);
  EXPECT_TRUE(iteration.phases[1].blocks_compute);
  EXPECT_FALSE(iteration.phases[2].blocks_compute);
  EXPECT_EQ(iteration.phases[0].start_fraction, 0.25);  // in the middle of what precedes the gradients
  EXPECT_EQ(iteration.phases[2].start_fraction, 0.5);
}

// Messages that wait for one another, by hand: the tensor group is one host (no steps between hosts), each boundary
// hands on 16 micro-batches one after the other, the two replicas' rings have two steps.
TEST(TrainingIterationTest, StepsOfGpt175b) {
  const auto iteration = Build("gpt-175b", {.tensor = 8, .pipeline = 8, .data = 2, .micro_batches = 16});
  ASSERT_EQ(PhaseNames(iteration), (std::vector<std::string>{"tp all-reduce", "pp send/recv", "dp all-reduce"}));
  EXPECT_EQ(iteration.phases[0].num_steps, 0);
  EXPECT_EQ(iteration.phases[1].num_steps, 16);
  EXPECT_EQ(iteration.phases[2].num_steps, 2);
}

// A tensor group over two hosts: 48 layers, 2 all-reduces each way in each, 4 micro-batches, 2 steps between hosts.
TEST(TrainingIterationTest, EveryCollectiveOfALayerHasItsSteps) {
  for (const uint32_t rounds : {1u, 3u}) {
    const auto iteration = Build("gpt-22b", {.tensor = 16, .data = 1, .micro_batches = 4}, {.blocking_rounds = rounds});
    double steps = 0;
    for (const auto& phase : iteration.phases) steps += phase.num_steps;
    EXPECT_NEAR(steps, 48 * 4 * 4 * 2, 1e-9) << rounds;
  }
}

// In four buckets, ready at thirds of the rest of the iteration after forward; the same bytes.
TEST(TrainingIterationTest, GradientsInBuckets) {
  const auto whole = Build("gpt-22b", {.tensor = 8, .data = 16});
  const double gradients = 2 * Parameters(Profile("gpt-22b")) / 8;
  const auto buckets = Build("gpt-22b", {.tensor = 8, .data = 16}, {.gradient_bucket = Bytes(gradients / 3.5)});
  std::vector<double> starts;
  for (const auto& phase : buckets.phases) {
    if (phase.name == "dp all-reduce") starts.push_back(phase.start_fraction);
  }
  EXPECT_THAT(starts, ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(2.0 / 3, 1e-12), DoubleNear(5.0 / 6, 1e-12),
                                  DoubleNear(1, 1e-12)));
  EXPECT_NEAR(BytesOf(buckets, "dp all-reduce") / BytesOf(whole, "dp all-reduce"), 1, 1e-12);
}

// 1,000 buckets are 64 phases with the steps of all of them.
TEST(TrainingIterationTest, ManyBucketsAreMerged) {
  const double gradients = 2 * Parameters(Profile("gpt-22b")) / 8;
  const auto iteration =
      Build("gpt-22b", {.tensor = 8, .data = 16}, {.gradient_bucket = Bytes(gradients / 1000 * (1 + 1e-9))});
  double steps = 0;
  size_t phases = 0;
  for (const auto& phase : iteration.phases) {
    if (phase.name != "dp all-reduce") continue;
    ++phases;
    steps += phase.num_steps;
  }
  EXPECT_EQ(phases, 64u);
  EXPECT_NEAR(steps, 1000 * 2 * 15, 1e-6);
}

TEST(TrainingIterationTest, ABucketOfNothingIsRefused) {
  const auto iteration = BuildIteration(Profile("gpt-22b"), {.tensor = 8, .data = 1}, MakeRegularLayout(1, 8), kA100,
                                        {.gradient_bucket = Bytes(0)});
  ASSERT_FALSE(iteration.ok());
  EXPECT_THAT(iteration.status().message(), HasSubstr("gradient_bucket"));
}

// 16 replicas on rails: each rank sends its share of the gradients once instead of 2 * 15/16 times.
TEST(TrainingIterationTest, SwitchesSumGradients) {
  const auto rings = Build("gpt-22b", {.tensor = 8, .data = 16});
  const auto tree = Build("gpt-22b", {.tensor = 8, .data = 16}, {.data_parallel = DataParallelAlgorithm::kInNetwork});
  EXPECT_NEAR(BytesOf(tree, "dp all-reduce") / BytesOf(rings, "dp all-reduce"), 16.0 / 30, 1e-12);
}

// 8 tensor ranks fill a host, so tensor traffic stays inside it, and the 16 replicas meet on rails.
TEST(TrainingIterationTest, TensorTrafficStaysInsideTheHostAndGradientsOnTheirRail) {
  const auto iteration = Build("gpt-22b", {.tensor = 8, .data = 16});
  ASSERT_EQ(PhaseNames(iteration), (std::vector<std::string>{"tp all-reduce", "dp all-reduce"}));
  for (const auto& phase : iteration.phases) {
    for (uint32_t i = 0; i < phase.num_flows; ++i) {
      const auto& flow = iteration.flows[phase.first_flow + i];
      const bool same_host = flow.source.value() / 8 == flow.destination.value() / 8;
      EXPECT_EQ(same_host, phase.name == "tp all-reduce");
      EXPECT_TRUE(same_host || flow.source.value() % 8 == flow.destination.value() % 8);
    }
  }
}

TEST(TrainingIterationTest, ThousandGpusStayLinear) {
  // Tensor rings: 1024 edges; 8 rails of 128 replicas: 1024 edges in 8 groups.
  const auto iteration = Build("gpt-22b", {.tensor = 8, .data = 128});
  EXPECT_EQ(iteration.flows.size(), 2048u);
  EXPECT_EQ(iteration.num_groups, 128u + 8u);
}

TEST(TrainingIterationTest, ZeroStagesMoveTheBytesOfTheirPaper) {
  // Gradients and parameters have 2 bytes. All-reduce = reduce-scatter + all-gather: stages 0, 1 and 2 move the same;
  // stage 3 gathers twice: 1.5 times (Rajbhandari et al. 2020, section 7.2.2).
  model::Parallelism parallelism = {.data = 32};
  const double stage0 = TotalBytes(Build("llama-7b", parallelism));
  for (uint32_t stage : {1u, 2u}) {
    parallelism.zero_stage = stage;
    const auto iteration = Build("llama-7b", parallelism);
    EXPECT_EQ(PhaseNames(iteration), (std::vector<std::string>{"dp reduce-scatter", "dp all-gather"}));
    EXPECT_EQ(iteration.phases[0].start_fraction, 0.5);
    EXPECT_EQ(iteration.phases[1].start_fraction, 1);  // after the optimizer step
    EXPECT_NEAR(TotalBytes(iteration) / stage0, 1, 1e-12);
  }
  parallelism.zero_stage = 3;
  const auto stage3 = Build("llama-7b", parallelism);
  EXPECT_EQ(PhaseNames(stage3),
            (std::vector<std::string>{"dp all-gather forward", "dp all-gather backward", "dp reduce-scatter"}));
  EXPECT_NEAR(TotalBytes(stage3) / stage0, 1.5, 1e-12);
  // Gradients cannot leave before the parameters of backward are there, however early they may start.
  const auto early = Build("llama-7b", parallelism, {.overlap_start = 0.2});
  EXPECT_EQ(PhaseNames(early), PhaseNames(stage3));
  EXPECT_EQ(early.phases[1].start_fraction, 0.2);
  parallelism.micro_batches = 4;  // parameters are gathered for each micro-batch: (2 * 4 + 1) / 2
  EXPECT_NEAR(TotalBytes(Build("llama-7b", parallelism)) / stage0, 4.5, 1e-12);
}

TEST(TrainingIterationTest, GradientAccumulationSynchronizesReplicasOnce) {
  model::Parallelism parallelism = {.tensor = 2, .pipeline = 2, .data = 16, .expert = 8, .micro_batches = 4};
  const auto few = Build("moe", parallelism);
  parallelism.micro_batches = 12;
  const auto many = Build("moe", parallelism);
  for (const char* name : {"tp all-reduce", "ep all-to-all", "pp send/recv"}) {
    EXPECT_GT(BytesOf(few, name), 0) << name;
    EXPECT_NEAR(BytesOf(many, name) / BytesOf(few, name), 3, 1e-12) << name;
  }
  EXPECT_DOUBLE_EQ(BytesOf(many, "dp all-reduce"), BytesOf(few, "dp all-reduce"));
  EXPECT_NEAR(many.compute_time / few.compute_time, 3, 1e-12);
  EXPECT_NEAR(many.bubble_time.value(), few.bubble_time.value(), 1e-12);  // (P-1)/m of m micro-batches: P-1 of one
}

// 32 GPUs, 8 experts: 4 expert groups of one host each. Per layer and rank: 4 * 2 active * hidden states, 7/8 of it
// leaves the rank. Expert gradients: an eighth of the experts among 4 replicas; dense ones among 32.
TEST(TrainingIterationTest, ExpertsExchangeTokensInTheirGroupAndGradientsAmongTheirReplicas) {
  const ModelProfile moe = Profile("moe");
  const auto iteration = Build("moe", {.data = 32, .expert = 8});
  const double hidden_states = 4096.0 * 4096 * 2;
  EXPECT_NEAR(BytesOf(iteration, "ep all-to-all") / (32 * 32 * 4 * 2 * hidden_states * 7 / 8), 1, 1e-12);
  const double dense = 32 * 2.0 * 31 / 32 * DenseParameters(moe) * 2;
  const double experts = 32 * 2.0 * 3 / 4 * ExpertParameters(moe) / 8 * 2;
  EXPECT_NEAR(BytesOf(iteration, "dp all-reduce") / (dense + experts), 1, 1e-12);
}

// DLRM: 2 * 8192 samples * 26 * 128 * 4 bytes, 15/16 of it leaves each of 16 ranks. By rail, half a host's pieces cross
// NVLink first: bytes on the network are those of direct flows.
TEST(TrainingIterationTest, RecommendersExchangeEmbeddings) {
  const model::Parallelism parallelism = {.data = 16};
  const auto direct = Build("ctr-recommender", parallelism, {.rail_all_to_all = false});
  EXPECT_NEAR(BytesOf(direct, "embedding all-to-all") / (16 * 15.0 / 16 * 2 * 8192 * 26 * 128 * 4), 1, 1e-12);
  const auto by_rail = Build("ctr-recommender", parallelism);
  const auto network_bytes = [](const model::Iteration& iteration) {
    double bytes = 0;
    for (const auto& flow : iteration.flows) {
      if (flow.source.value() / 8 != flow.destination.value() / 8) bytes += flow.bytes.value();
    }
    return bytes;
  };
  EXPECT_NEAR(network_bytes(by_rail) / network_bytes(direct), 1, 1e-12);
  EXPECT_LT(by_rail.flows.size(), direct.flows.size());
}

TEST(TrainingIterationTest, DataParallelAlgorithmsMoveTheSameGradientBytes) {
  // Ring and hierarchy: 2(n-1)/n a rank, n ranks; tree: 2(n-1) S in all. The same sum.
  const model::Parallelism parallelism = {.data = 32};
  const double hierarchical = TotalBytes(Build("bert-large", parallelism));
  for (const auto algorithm : {DataParallelAlgorithm::kRing, DataParallelAlgorithm::kTree}) {
    EXPECT_NEAR(TotalBytes(Build("bert-large", parallelism, {.data_parallel = algorithm})) / hierarchical, 1, 1e-12);
  }
  EXPECT_EQ(Build("bert-large", parallelism, {.data_parallel = DataParallelAlgorithm::kRing}).num_groups, 1u);
  EXPECT_EQ(Build("bert-large", parallelism, {.data_parallel = DataParallelAlgorithm::kTree}).num_groups, 2u);
}

TEST(TrainingIterationTest, OverlapStartIsTheProfilesOrTheCallers) {
  EXPECT_EQ(Build("bert-large", {.data = 8}).phases[0].start_fraction, 0.5);
  EXPECT_EQ(Build("bert-large", {.data = 8}, {.overlap_start = 1}).phases[0].start_fraction, 1);
}

TEST(TrainingIterationTest, BlockingRoundsSpreadTheSameBytes) {
  const model::Parallelism parallelism = {.tensor = 4, .pipeline = 2, .data = 4, .micro_batches = 8};
  const auto once = Build("llama-30b", parallelism);
  const auto spread = Build("llama-30b", parallelism, {.blocking_rounds = 4});
  EXPECT_EQ(spread.phases.size(), 4 * 2 + 1u);
  for (const char* name : {"tp all-reduce", "pp send/recv", "dp all-reduce"}) {
    EXPECT_NEAR(BytesOf(spread, name) / BytesOf(once, name), 1, 1e-12);
  }
  for (size_t round = 0; round < 4; ++round) {  // before 0.5, where gradients start
    EXPECT_DOUBLE_EQ(spread.phases[2 * round].start_fraction, 0.5 * static_cast<double>(round + 1) / 5);
  }
}

// What consumers of model::Iteration rely on, for every split of every profile.
TEST(TrainingIterationTest, EveryIterationIsWellFormed) {
  Random random(5);
  const ModelProfiles profiles = ModelProfiles::BuiltIn();
  const std::vector<std::string> names = profiles.Names();
  int built = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const ModelProfile& profile = *profiles.Find(names[random.Below(names.size())]).value();
    const auto power = [&](uint64_t max) { return 1u << random.Below(max); };
    const model::Parallelism parallelism = {.tensor = power(4),
                                            .pipeline = power(3),
                                            .data = power(5),
                                            .expert = power(3),
                                            .zero_stage = static_cast<uint32_t>(random.Below(4)),
                                            .micro_batches = power(4)};
    RankLayout layout = MakeRegularLayout(64, 8);
    layout.ranks.resize(size_t{parallelism.tensor} * parallelism.pipeline * parallelism.data);
    const IterationOptions options = {.data_parallel = static_cast<DataParallelAlgorithm>(random.Below(3)),
                                      .rail_all_to_all = random.Below(2) == 0,
                                      .overlap_start = random.Uniform(),
                                      .blocking_rounds = static_cast<uint32_t>(1 + random.Below(3))};
    const auto result = BuildIteration(profile, parallelism, layout, kA100, options);
    if (!result.ok()) continue;
    ++built;
    const model::Iteration& iteration = result.value();
    uint32_t next_flow = 0;
    double last_start = 0;
    for (const auto& phase : iteration.phases) {
      ASSERT_EQ(phase.first_flow, next_flow);
      ASSERT_GT(phase.num_flows, 0u);
      ASSERT_GE(phase.start_fraction, last_start);
      ASSERT_LE(phase.start_fraction, 1);
      next_flow += phase.num_flows;
      last_start = phase.start_fraction;
    }
    ASSERT_EQ(next_flow, iteration.flows.size());
    std::vector<double> bytes_of_group(iteration.num_groups, 0);
    for (const auto& flow : iteration.flows) {
      ASSERT_GT(flow.bytes, Bytes(0));
      ASSERT_LT(flow.group, iteration.num_groups);
      double& bytes = bytes_of_group[flow.group];
      ASSERT_TRUE(bytes == 0 || bytes == flow.bytes.value());
      bytes = flow.bytes.value();
    }
    for (const double bytes : bytes_of_group) ASSERT_GT(bytes, 0);
  }
  EXPECT_GT(built, 1000);
}

// Relabelling law: other GPUs and hosts, same shape: the flows are the same under the relabelling.
TEST(TrainingIterationTest, OnlyTheShapeOfTheLayoutMatters) {
  const model::Parallelism parallelism = {.tensor = 2, .pipeline = 2, .data = 8, .expert = 4, .micro_batches = 2};
  RankLayout layout = MakeRegularLayout(4, 8);
  const auto first = BuildIteration(Profile("moe"), parallelism, layout, kA100).value();
  const uint32_t new_host[] = {17, 3, 99, 4};
  for (RankPlace& rank : layout.ranks) {
    rank.host = HostId(new_host[rank.host.value()]);
    rank.gpu = GpuId(8 * rank.host.value() + rank.local_index);
  }
  auto second = BuildIteration(Profile("moe"), parallelism, layout, kA100).value();
  std::map<GpuId, GpuId> old_of;
  for (uint32_t i = 0; i < 32; ++i) old_of[layout.ranks[i].gpu] = GpuId(i);
  for (auto& flow : second.flows) flow = {old_of.at(flow.source), old_of.at(flow.destination), flow.bytes, flow.group};
  EXPECT_EQ(first, second);
}

std::string ErrorOf(std::string_view profile, const model::Parallelism& parallelism,
                    const IterationOptions& options = {}) {
  const uint32_t gpus = parallelism.tensor * parallelism.pipeline * parallelism.data;
  const auto iteration = BuildIteration(Profile(profile), parallelism, MakeRegularLayout(gpus, 1), kA100, options);
  return iteration.ok() ? "" : iteration.status().message();
}

TEST(TrainingIterationTest, RefusesWithAClearMessage) {
  EXPECT_EQ(ErrorOf("gpt-175b", {.pipeline = 7}),
            "iteration of model 'gpt-175b': 96 layers cannot be divided into 7 pipeline stages");
  EXPECT_THAT(ErrorOf("gpt-7b", {.tensor = 3}), HasSubstr("32 heads cannot be divided among tensor size 3"));
  EXPECT_THAT(ErrorOf("gpt-7b", {.data = 2, .expert = 2}),
              HasSubstr("1 experts cannot be divided among expert size 2"));
  EXPECT_THAT(ErrorOf("resnet-50", {.tensor = 2}), HasSubstr("only transformers can have tensor"));
  EXPECT_THAT(ErrorOf("gpt-7b", {.zero_stage = 4}), HasSubstr("zero_stage 4"));
  EXPECT_THAT(ErrorOf("gpt-7b", {.micro_batches = 0}), HasSubstr("micro_batches"));
  EXPECT_THAT(ErrorOf("gpt-7b", {}, {.overlap_start = 1.5}), HasSubstr("overlap_start 1.5"));
  EXPECT_THAT(ErrorOf("gpt-7b", {}, {.blocking_rounds = 0}), HasSubstr("blocking_rounds 0"));
  const auto wrong_size = BuildIteration(Profile("gpt-7b"), {.data = 3}, MakeRegularLayout(1, 4), kA100);
  EXPECT_THAT(wrong_size.status().message(), HasSubstr("is not the number of GPUs, 4"));
  const auto no_peak = BuildIteration(Profile("gpt-7b"), {}, MakeRegularLayout(1, 1), FlopPerSecond(0));
  EXPECT_THAT(no_peak.status().message(), HasSubstr("peak rate"));
}

}  // namespace
}  // namespace fairlead::collective
