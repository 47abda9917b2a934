#include "workload/simai_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using collective::CollectiveSequence;
using collective::kUntilEnd;
using collective::SequenceStep;
using collective::TrainingPass;
using ::testing::HasSubstr;
using Kind = collective::StepGroup::Kind;

Result<CollectiveSequence> Parse(const std::string& text) {
  std::istringstream input(text);
  return ParseSimaiWorkload(input, "w.txt");
}

CollectiveSequence Sequence(const std::string& text) {
  auto sequence = Parse(text);
  EXPECT_TRUE(sequence.ok()) << sequence.status().message();
  return std::move(sequence).value();
}

std::string ErrorOf(const std::string& text) {
  const auto sequence = Parse(text);
  return sequence.ok() ? "" : sequence.status().message();
}

constexpr char kHeader[] =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 2 pp: 2 vpp: 1 ga: 4 "
    "all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 1000.0\n";

SequenceStep Step(double ns, CollectiveKind kind, Kind group, double bytes, Seconds overlap, TrainingPass pass) {
  return {Seconds(ns * 1e-9), Bytes(bytes), overlap, kind, {.kind = group}, pass};
}

TEST(SimaiWorkloadTest, TransformerLayersRunForwardThenBack) {
  const CollectiveSequence sequence =
      Sequence(std::string(kHeader) +
               "2\n"
               "first\t-1\t10\tALLREDUCE\t1\t20\tNONE\t0\t30\tREDUCESCATTER\t2\t100\n"
               "second  -1  40 ALLTOALL_EP 3  50 ALLGATHER 4  60 ALLGATHER_DP_EP 5 7\r\n");
  const Seconds kBlocking(0);
  const auto kSend = CollectiveKind::kSendReceive;
  const std::vector<SequenceStep> expected = {
      Step(10, CollectiveKind::kHierarchicalAllReduce, Kind::kTensor, 1, kBlocking, TrainingPass::kForward),
      Step(40, CollectiveKind::kRailAllToAll, Kind::kExpert, 3, kBlocking, TrainingPass::kForward),
      // Four micro-batches of 1000 bytes.
      Step(0, kSend, Kind::kPipeline, 4000, kBlocking, TrainingPass::kForward),
      Step(50, CollectiveKind::kHierarchicalAllGather, Kind::kTensor, 4, kBlocking, TrainingPass::kInputGradient),
      Step(60, CollectiveKind::kHierarchicalAllGather, Kind::kExpertData, 5, kUntilEnd, TrainingPass::kWeightGradient),
      Step(20, CollectiveKind::kHierarchicalAllReduce, Kind::kWorld, 0, kBlocking, TrainingPass::kInputGradient),
      Step(30, CollectiveKind::kHierarchicalReduceScatter, Kind::kData, 2, kUntilEnd, TrainingPass::kWeightGradient),
      Step(0, kSend, Kind::kPipeline, 4000, kBlocking, TrainingPass::kInputGradient)};
  EXPECT_EQ(sequence.steps, expected);
  EXPECT_EQ(sequence.num_layers, 2u);
  EXPECT_EQ(sequence.num_gpus, 64u);
  const auto parallelism = ParallelismOf(sequence, 64);
  ASSERT_TRUE(parallelism.ok());
  EXPECT_EQ(*parallelism, (model::Parallelism{.tensor = 8, .pipeline = 2, .data = 4, .expert = 2, .micro_batches = 4}));
  EXPECT_THAT(sequence.notes, testing::Contains(HasSubstr("update times are left out: 0.000107 ms")));
}

TEST(SimaiWorkloadTest, HeadersOfOlderFilesSayLess) {
  const CollectiveSequence sequence =
      Sequence("HYBRID_TRANSFORMER\tmodel_parallel_NPU_group: 4\t\t\n1\nfc -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n\n");
  EXPECT_EQ(sequence.num_gpus, 0u);
  EXPECT_EQ(ParallelismOf(sequence, 32)->data, 8u);
  EXPECT_EQ(ParallelismOf(sequence, 32)->tensor, 4u);
}

TEST(SimaiWorkloadTest, DataParallelLayersSendTheirGradientsBesideTheRest) {
  const CollectiveSequence sequence = Sequence(
      "DATA\n2\n"
      "a -1 1 NONE 0 10 NONE 0 100 ALLREDUCE 7 1\n"
      "b -1 2 ALLREDUCE 5 20 NONE 0 200 ALLREDUCE 9 1\n");
  // Forward 1 + 2; b: 200, send, 20; a: 100, send; the input gradient of the first layer is never needed.
  std::vector<double> compute_ns;
  for (const SequenceStep& step : sequence.steps) compute_ns.push_back(step.compute.value() * 1e9);
  EXPECT_THAT(compute_ns, testing::Pointwise(testing::DoubleEq(), std::vector<double>{1, 2, 200, 20, 100}));
  EXPECT_EQ(sequence.steps[1].bytes, Bytes(0)) << "forward collectives play no role in this parallelism";
  EXPECT_EQ(sequence.steps[2].bytes, Bytes(9));
  EXPECT_EQ(sequence.steps[2].group.kind, Kind::kWorld);
  EXPECT_EQ(sequence.steps[2].overlap, kUntilEnd);
  EXPECT_EQ(sequence.steps[4].bytes, Bytes(7));
}

TEST(SimaiWorkloadTest, ModelParallelLayersHideInputGradientsBehindTheirWeightGradients) {
  const CollectiveSequence sequence = Sequence(
      "MODEL\n2\n"
      "a -1 1 ALLGATHER 5 10 ALLREDUCE 6 100 NONE 0 1\n"
      "b -1 2 ALLGATHER 7 20 ALLREDUCE 8 200 NONE 0 1\n");
  ASSERT_EQ(sequence.steps.size(), 6u);
  EXPECT_EQ(sequence.steps[0].overlap, Seconds(0));
  EXPECT_EQ(sequence.steps[2].bytes, Bytes(8));
  EXPECT_DOUBLE_EQ(sequence.steps[2].overlap.value(), 200e-9);
  EXPECT_EQ(sequence.steps[4].bytes, Bytes(0)) << "nobody needs the input gradient of the first layer";
}

TEST(SimaiWorkloadTest, MicroBenchmarksAreCollectivesInARow) {
  const CollectiveSequence sequence =
      Sequence("MICRO\n2\nt -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4096 1\nt -1 1 NONE 0 1 NONE 0 1 ALLGATHER 8192 1\n");
  ASSERT_EQ(sequence.steps.size(), 2u);
  EXPECT_EQ(sequence.steps[0].kind, CollectiveKind::kRailAllToAll);
  EXPECT_EQ(sequence.steps[1].bytes, Bytes(8192));
  EXPECT_EQ(sequence.steps[1].compute + sequence.steps[0].compute, Seconds(0));
}

TEST(SimaiWorkloadTest, RefusesWithFileLineExpectedAndFound) {
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  EXPECT_EQ(ErrorOf("TRANSFORMER\n"),
            "w.txt:1: parallelism: expected one of HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, DATA, MODEL, "
            "MICRO, found 'TRANSFORMER'");
  EXPECT_THAT(ErrorOf(""), HasSubstr("found the end of the file"));
  EXPECT_THAT(ErrorOf("DATA gas: 4\n"), HasSubstr("w.txt:1: first line: expected the keys"));
  EXPECT_THAT(ErrorOf("DATA ga:\n"), HasSubstr("ga: expected a number behind it"));
  EXPECT_THAT(ErrorOf("DATA ga: 0\n"), HasSubstr("expected a whole number in [1, 1e9], found '0'"));
  EXPECT_THAT(ErrorOf("DATA ga: 1.5\n"), HasSubstr("found '1.5'"));
  EXPECT_THAT(ErrorOf("DATA ga: many\n"), HasSubstr("expected a number in [0, 1e18], found 'many'"));
  EXPECT_THAT(ErrorOf("DATA\nx\n"), HasSubstr("w.txt:2: second line: expected the number of layers"));
  EXPECT_THAT(ErrorOf("DATA\n1e9\n"), HasSubstr("found '1e9'"));
  EXPECT_THAT(ErrorOf("DATA\n2\n" + layer), HasSubstr("w.txt:4: layers: expected 2 as in the second line, found the "
                                                      "end after 1"));
  EXPECT_THAT(ErrorOf("DATA\n1\n" + layer + layer), HasSubstr("w.txt:4: layers: expected 1"));
  EXPECT_THAT(ErrorOf("DATA\n1\na -1 1 NONE 0\n"), HasSubstr("w.txt:3: layer: expected 12 columns"));
  EXPECT_THAT(ErrorOf("DATA\n1\na -1 1 NONE 0 1 NONE 0 -1 NONE 0 1\n"),
              HasSubstr("w.txt:3: weight-grad compute time: expected a number in [0, 1e18], found '-1'"));
  EXPECT_THAT(ErrorOf("DATA\n1\na -1 1 NONE nan 1 NONE 0 1 NONE 0 1\n"), HasSubstr("forward bytes"));
  EXPECT_THAT(ErrorOf("DATA\n1\n" + std::string(5000, 'x')), HasSubstr("expected at most 4096 characters"));
}

TEST(SimaiWorkloadTest, UnsupportedFormatsNameTheSupportedOnes) {
  const auto refused = Parse("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 3\n");
  EXPECT_EQ(refused.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(refused.status().message(),
            "w.txt:1: the parallelism HYBRID_DLRM is not supported; supported: HYBRID_TRANSFORMER, "
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD, DATA, MODEL, MICRO");
  EXPECT_THAT(ErrorOf("HYBRID_TRANSFORMER checkpoints: 2 1 2\n"), HasSubstr("recomputing activations"));
  for (const char* name : {"BROADCAST", "ALLREDUCEALLTOALL", "ALLREDUCE_TP", "ALLGATHER_EP_DP", "none"}) {
    const std::string text = std::string(kHeader) + "1\na -1 1 " + name + " 9 1 NONE 0 1 NONE 0 1\n";
    EXPECT_EQ(Parse(text).status().code(), StatusCode::kUnimplemented) << name;
    EXPECT_THAT(ErrorOf(text), HasSubstr("w.txt:3: the collective '" + std::string(name) + "' of the forward pass"));
    EXPECT_THAT(ErrorOf(text), HasSubstr("ALLTOALL, each also with _EP and _DP_EP"));
  }
  EXPECT_THAT(ErrorOf("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_EP 8 1\n"), HasSubstr("not supported"));
}

TEST(SimaiWorkloadTest, MissingFileIsNamed) {
  EXPECT_EQ(LoadSimaiWorkload("/nonexistent/x.txt").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(LoadSimaiWorkload("/tmp").status().message(), HasSubstr("/tmp: cannot read"));
}

}  // namespace
}  // namespace fairlead::workload
