#include "workload/chakra_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "workload/chakra_example.h"
#include "workload/chakra_merge.h"
#include "workload/chakra_single_trace.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveSequence;
using collective::kUntilEnd;
using ::testing::HasSubstr;
using Kind = collective::StepGroup::Kind;

CollectiveSequence OneTrace(const ExampleTrace& example, uint32_t rank = 0, uint32_t num_gpus = 0) {
  const ChakraOptions options = {.num_gpus = num_gpus, .gpu_peak = {}, .memory_bandwidth = {}};
  auto sequence = SequenceOfOneTrace(example.Read(rank).value(), options);
  EXPECT_TRUE(sequence.ok()) << sequence.status().message();
  return std::move(sequence).value();
}

std::string ErrorOfOne(const ExampleTrace& example, uint32_t rank = 0) {
  const auto sequence = SequenceOfOneTrace(example.Read(rank).value(), {});
  return sequence.ok() ? "" : sequence.status().message();
}

Result<CollectiveSequence> Merge(const std::vector<ExampleTrace>& traces) {
  ChakraTraceMerger merger("job", static_cast<uint32_t>(traces.size()));
  for (uint32_t rank = 0; rank < traces.size(); ++rank) {
    FL_RETURN_IF_ERROR(merger.Add(traces[rank].Read(rank).value()));
  }
  return std::move(merger).Finish();
}

TEST(ChakraSequenceTest, OneTraceRepresentsGroupsOfItsShape) {
  const auto sequence = OneTrace(ExampleTrace()
                                     .Groups(0, R"([{"pg_name": "1", "ranks": [9, 1, 5, 13]}])")
                                     .Compute(1, {}, 1000)
                                     .Collective(2, {1}, kAllGather, 100, "1")
                                     .Compute(3, {2}, 500),
                                 1, 16);
  ASSERT_EQ(sequence.steps.size(), 2u);
  EXPECT_EQ(sequence.steps[0].group.kind, Kind::kStrided);
  EXPECT_EQ(sequence.steps[0].group.size, 4u);
  EXPECT_EQ(sequence.steps[0].group.stride, 4u);
  EXPECT_EQ(sequence.steps[0].bytes, Bytes(400)) << "each of four puts in 100";
  EXPECT_DOUBLE_EQ(sequence.steps[0].compute.value(), 1e-3);
  EXPECT_EQ(sequence.steps[0].overlap, Seconds(0)) << "the next computation needs it";
  EXPECT_DOUBLE_EQ(sequence.steps[1].compute.value(), 5e-4);
}

TEST(ChakraSequenceTest, GathersFromAllRanksNeedTheirNumber) {
  const ExampleTrace trace = ExampleTrace().Collective(1, {}, kAllGather, 100);
  EXPECT_THAT(ErrorOfOne(trace), HasSubstr("give the number of GPUs"));
  EXPECT_EQ(OneTrace(trace, 0, 8).steps[0].bytes, Bytes(800));
  EXPECT_EQ(OneTrace(trace, 0, 8).steps[0].overlap, kUntilEnd);
}

// A stage in the middle of a pipeline has both ends of what every stage does.
TEST(ChakraSequenceTest, OneTraceCountsBothEndsOfAMessageOnce) {
  const auto middle = OneTrace(ExampleTrace()
                                   .Receive(1, {}, 1, 10)  // from the stage before
                                   .Compute(2, {1}, 1000)
                                   .Send(3, {2}, 5, 10)     // to the next
                                   .Receive(4, {3}, 5, 20)  // and back
                                   .Compute(5, {4}, 1000)
                                   .Send(6, {5}, 1, 20),
                               3);
  double forward = 0;
  double backward = 0;
  for (const auto& step : middle.steps) {
    if (step.group.shift == 2) forward += step.bytes.value();
    if (step.group.shift == -2) backward += step.bytes.value();
  }
  EXPECT_EQ(forward, 10);
  EXPECT_EQ(backward, 20);
  const auto first = OneTrace(ExampleTrace().Compute(1, {}, 1).Send(2, {1}, 2, 10).Receive(3, {2}, 2, 20));
  EXPECT_EQ(first.steps[0].group.shift, 2);
  EXPECT_EQ(first.steps[0].bytes, Bytes(10));
  EXPECT_EQ(first.steps[1].group.shift, -2);
  EXPECT_EQ(first.steps[1].bytes, Bytes(20));
}

TEST(ChakraSequenceTest, OneTraceRefusesGroupsThatDoNotTile) {
  const auto error = [](const std::string& ranks, uint32_t rank) {
    const std::string json = R"([{"pg_name": "1", "ranks": [)" + ranks + "]}]";
    return ErrorOfOne(ExampleTrace().Groups(0, json).Collective(1, {}, kAllReduce, 8, "1"), rank);
  };
  EXPECT_EQ(error("0, 1, 2, 3", 0), "");
  EXPECT_EQ(error("4, 6", 4), "");
  EXPECT_THAT(error("0, 1, 3", 0), HasSubstr("equally spaced blocks; found ranks 0, 1, 3"));
  EXPECT_THAT(error("1, 2", 1), HasSubstr("equally spaced blocks")) << "ranks 0 and 3 would be alone";
  EXPECT_THAT(error("1, 2", 0), HasSubstr("expected the process group '1' to name rank 0"));
  EXPECT_THAT(error("0, 0", 0), HasSubstr("every rank once"));
  EXPECT_THAT(ErrorOfOne(ExampleTrace().Collective(1, {}, kAllReduce, 8, "tp")),
              HasSubstr("process group 'tp', which nothing describes"));
}

// Rank r of four: tensor group {0, 1} or {2, 3}, data group {0, 2} or {1, 3}; rank 3 computes twice as long.
ExampleTrace RankOfFour(uint32_t rank, uint64_t bytes = 64) {
  const std::string tensor = rank < 2 ? "[0, 1]" : "[2, 3]";
  const std::string data = rank % 2 == 0 ? "[0, 2]" : "[1, 3]";
  const uint64_t microseconds = rank == 3 ? 2000 : 1000;
  return ExampleTrace()
      .Groups(0, R"([{"pg_name": "tp", "ranks": )" + tensor + R"(}, {"pg_name": "dp", "ranks": )" + data + "}]")
      .Compute(1, {}, microseconds)
      .Collective(2, {1}, kAllReduce, bytes, "tp")
      .Compute(3, {2}, microseconds)
      .Collective(4, {3}, kReduceScatter, 128, "dp")
      .Collective(5, {4}, kAllReduce, 4, "");
}

TEST(ChakraSequenceTest, TracesOfAllRanksAreMerged) {
  const auto sequence = Merge({RankOfFour(0), RankOfFour(1), RankOfFour(2), RankOfFour(3)});
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  EXPECT_EQ(sequence->num_gpus, 4u);
  ASSERT_EQ(sequence->steps.size(), 4u);  // and the compute behind the last
  const auto& tensor = sequence->steps[0];
  EXPECT_EQ(sequence->listed[tensor.group.index], (collective::ListedGroup{{0, 1}, {2, 3}}));
  EXPECT_DOUBLE_EQ(tensor.compute.value(), 2e-3) << "half of the slowest rank's compute";
  EXPECT_EQ(tensor.overlap, Seconds(0));
  const auto& data = sequence->steps[1];
  EXPECT_EQ(sequence->listed[data.group.index], (collective::ListedGroup{{0, 2}, {1, 3}}));
  EXPECT_EQ(data.bytes, Bytes(128));
  EXPECT_EQ(data.overlap, kUntilEnd);
  EXPECT_EQ(sequence->steps[2].group.kind, Kind::kWorld);
}

TEST(ChakraSequenceTest, RanksThatDisagreeAreNamed) {
  EXPECT_THAT(
      Merge({RankOfFour(0), RankOfFour(1, 65), RankOfFour(2), RankOfFour(3)}).status().message(),
      HasSubstr("rank 1 has hierarchical-all-reduce of 65 bytes as collective 0 of ranks 0, 1, … where rank 0 has "
                "hierarchical-all-reduce of 64 bytes"));
  EXPECT_THAT(Merge({ExampleTrace().Collective(1, {}, kAllReduce, 8), ExampleTrace()}).status().message(),
              HasSubstr("only 1 of the 2 ranks"));
  EXPECT_THAT(Merge({ExampleTrace().Send(1, {}, 1, 8), ExampleTrace()}).status().message(),
              HasSubstr("rank 0 sends 1 messages to rank 1, which receives 0"));
  EXPECT_THAT(Merge({ExampleTrace().Send(1, {}, 1, 8), ExampleTrace().Receive(1, {}, 0, 9)}).status().message(),
              HasSubstr("sent with 8 bytes and received with 9"));
  EXPECT_THAT(Merge({ExampleTrace().Send(1, {}, 2, 8), ExampleTrace()}).status().message(), HasSubstr("names rank 2"));
}

// Three stages: what each hands on is one step of two messages; the receiver waits.
TEST(ChakraSequenceTest, MessagesOfAPipelineGoTogether) {
  const auto sequence = Merge({ExampleTrace().Compute(1, {}, 1000).Send(2, {1}, 1, 10),
                               ExampleTrace().Receive(1, {}, 0, 10).Compute(2, {1}, 1000).Send(3, {2}, 2, 10),
                               ExampleTrace().Receive(1, {}, 1, 10).Compute(2, {1}, 1000)});
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  ASSERT_EQ(sequence->steps.size(), 2u);
  EXPECT_EQ(sequence->listed[0], (collective::ListedGroup{{0, 1}, {1, 2}}));
  EXPECT_EQ(sequence->steps[0].overlap, Seconds(0));
}

std::map<std::pair<GpuId, GpuId>, double> BytesPerPair(const CollectiveSequence& sequence, uint32_t num_gpus) {
  const auto iteration =
      BuildSequenceIteration(sequence, ParallelismOf(sequence, num_gpus).value(),
                             collective::MakeRegularLayout(num_gpus / 4, 4), FlopPerSecond(312e12), {});
  EXPECT_TRUE(iteration.ok()) << iteration.status().message();
  std::map<std::pair<GpuId, GpuId>, double> bytes;
  for (const auto& flow : iteration.value().flows) bytes[{flow.source, flow.destination}] += flow.bytes.value();
  return bytes;
}

// Law: where all ranks do the same, one trace says as much as all of them.
TEST(ChakraSequenceTest, OneTraceAndAllTracesAgreeOnEqualRanks) {
  const auto rank_trace = [](uint32_t rank) {
    std::string tensor;
    std::string data;
    for (uint32_t r = 0; r < 16; ++r) {
      if (r / 4 == rank / 4) tensor += (tensor.empty() ? "" : ", ") + std::to_string(r);
      if (r % 4 == rank % 4) data += (data.empty() ? "" : ", ") + std::to_string(r);
    }
    ExampleTrace trace;
    trace.Groups(0, R"([{"pg_name": "tp", "ranks": [)" + tensor + R"(]}, {"pg_name": "dp", "ranks": [)" + data + "]}]");
    for (uint64_t layer = 0; layer < 5; ++layer) {
      const uint64_t id = 1 + 4 * layer;
      trace.Compute(id, {}, 1000)
          .Collective(id + 1, {id}, kAllGather, 1000 + layer, "tp")
          .Compute(id + 2, {id + 1}, 500)
          .Collective(id + 3, {id + 2}, layer % 2 == 0 ? kAllReduce : kAllToAll, 777, "dp");
    }
    return trace;
  };
  std::vector<ExampleTrace> all;
  for (uint32_t rank = 0; rank < 16; ++rank) all.push_back(rank_trace(rank));
  const auto merged = Merge(all);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const auto one = OneTrace(all[6], 6, 16);
  const auto expected = BytesPerPair(*merged, 16);
  const auto found = BytesPerPair(one, 16);
  ASSERT_EQ(expected.size(), found.size());
  for (const auto& [pair, bytes] : expected) EXPECT_NEAR(found.at(pair), bytes, 1e-6 * bytes);
  ASSERT_EQ(one.steps.size(), merged->steps.size());
  for (size_t i = 0; i < one.steps.size(); ++i) {
    EXPECT_NEAR(one.steps[i].compute.value(), merged->steps[i].compute.value(), 1e-12);
    if (one.steps[i].overlap == kUntilEnd) {
      EXPECT_EQ(merged->steps[i].overlap, kUntilEnd);
    } else {
      EXPECT_NEAR(one.steps[i].overlap.value(), merged->steps[i].overlap.value(), 1e-12);
    }
  }
}

class ChakraFilesTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.File(name), std::ios::binary) << bytes;
  }
  Result<CollectiveSequence> Load(const std::string& name, uint32_t num_gpus = 0) const {
    return LoadChakraWorkload(folder_.File(name), {.num_gpus = num_gpus, .gpu_peak = {}, .memory_bandwidth = {}});
  }

  const TemporaryFolder folder_;
};

TEST_F(ChakraFilesTest, ATraceAPrefixOrAFolder) {
  for (uint32_t rank = 0; rank < 4; ++rank) Write("gpt." + std::to_string(rank) + ".et", RankOfFour(rank).bytes());
  Write("notes.txt", "not a trace");
  for (const char* name : {"gpt", ""}) {
    const auto sequence = Load(name);
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    EXPECT_EQ(sequence->num_gpus, 4u);
  }
  const auto one = Load("gpt.2.et", 8);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->num_gpus, 8u);
  Write("other.0.et", ExampleTrace().bytes());
  EXPECT_THAT(Load("").status().message(), HasSubstr("found 2 prefixes"));
  std::filesystem::remove(folder_.File("gpt.1.et"));
  EXPECT_THAT(Load("gpt").status().message(), HasSubstr("gpt.1.et: there is no such trace, but one of rank 2"));
  EXPECT_EQ(Load("nothing").status().code(), StatusCode::kNotFound);
}

TEST_F(ChakraFilesTest, GroupsMayLieBesideTheTraces) {
  const std::string trace = ExampleTrace().Collective(1, {}, kAllReduce, 8, "3").bytes();
  Write("a.0.et", trace);
  EXPECT_THAT(Load("a").status().message(), HasSubstr("PREFIX.json"));
  Write("a.json", R"({"3": [0, 1]})");
  const auto sequence = Load("a");
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  EXPECT_EQ(sequence->steps[0].group.kind, Kind::kStrided);
  Write("a.json", "{");
  EXPECT_THAT(Load("a").status().message(), HasSubstr("a.json: expected a map"));
}

}  // namespace
}  // namespace fairlead::workload
