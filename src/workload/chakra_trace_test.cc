#include "workload/chakra_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "workload/chakra_example.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const ExampleTrace& trace, uint32_t rank = 0) {
  const auto result = trace.Read(rank);
  return result.ok() ? "" : result.status().message();
}

TEST(ChakraTraceTest, ReadsEveryKindOfNode) {
  const auto trace = ExampleTrace()
                         .Groups(1, R"([{"pg_name": "7", "ranks": [4, 5]}, {"pg_name": "0", "ranks": []}])")
                         .Compute(2, {1}, 1500)
                         .Collective(3, {2}, kAllGather, 4096, "7")
                         .Send(4, {2, 3}, 6, 10)
                         .Receive(5, {}, 3, 20)
                         .Node(6, 2, {}, {})                                                      // memory
                         .Node(7, 4, {}, {BoolAttribute("is_cpu_op", true)}, NumberField(7, 30))  // host
                         .Node(8, 0, {}, {})                                                      // invalid
                         .Node(9, 7, {}, {IntAttribute("comm_type", 9)})                          // barrier
                         .Node(10, 4, {}, {}, Varint(4 << 3 | 2) + Varint(2) + Varint(8) + Varint(9))
                         .Read(5);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->nodes.size(), 10u);
  EXPECT_THAT(trace->groups.at("7"), ElementsAre(4, 5));
  EXPECT_TRUE(trace->groups.at("0").empty());
  EXPECT_EQ(trace->nodes[1].kind, ChakraNodeKind::kCompute);
  EXPECT_DOUBLE_EQ(trace->nodes[1].duration.value(), 1.5e-3);
  EXPECT_EQ(trace->nodes[2].collective, CollectiveKind::kHierarchicalAllGather);
  EXPECT_EQ(trace->nodes[2].bytes, Bytes(4096));
  EXPECT_EQ(trace->nodes[2].group, "7");
  EXPECT_EQ(trace->nodes[3].kind, ChakraNodeKind::kSend);
  EXPECT_EQ(trace->nodes[3].peer, 6u);
  EXPECT_THAT(trace->nodes[3].dependencies, ElementsAre(2, 3));
  EXPECT_EQ(trace->nodes[4].kind, ChakraNodeKind::kReceive);
  EXPECT_EQ(trace->nodes[4].peer, 3u);
  EXPECT_EQ(trace->num_memory_nodes, 1u);
  EXPECT_EQ(trace->num_host_nodes, 1u);
  EXPECT_DOUBLE_EQ(trace->host_time.value(), 30e-6);
  EXPECT_EQ(trace->num_barriers, 1u);
  for (const size_t nothing : {0, 5, 6, 7, 8}) EXPECT_EQ(trace->nodes[nothing].kind, ChakraNodeKind::kNothing);
  EXPECT_THAT(trace->nodes[9].dependencies, ElementsAre(8, 9)) << "control dependencies count";
}

TEST(ChakraTraceTest, AttributesMayHaveAnyNumericType) {
  // comm_size as double (field 3, eight bytes), uint64 (13) and sint64 (17, zigzag): 64.
  const std::string as_double =
      BytesField(1, "comm_size") + Varint(3 << 3 | 1) + std::string("\0\0\0\0\0\0\x50\x40", 8);
  const std::string as_uint = BytesField(1, "comm_size") + NumberField(13, 64);
  const std::string as_sint = BytesField(1, "comm_size") + NumberField(17, 128);
  for (const std::string& attribute : {as_double, as_uint, as_sint}) {
    const auto trace = ExampleTrace().Node(1, 7, {}, {IntAttribute("comm_type", 0), attribute}).Read();
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    EXPECT_EQ(trace->nodes[0].bytes, Bytes(64));
  }
}

TEST(ChakraTraceTest, SchemasOfBothForms) {
  for (const std::string& metadata :
       {BytesField(1, "0.0.4"), std::string(), BytesField(1, TextAttribute("schema", "1.0.2-chakra.1.0.0")),
        BytesField(2, TextAttribute("schema", "1.1.0-chakra.0.0.4")),
        BytesField(1, IntAttribute("pid", 7)) + BytesField(1, TextAttribute("schema", "1.0.3-chakra.0.0.4"))}) {
    EXPECT_TRUE(ExampleTrace(metadata).Compute(1, {}, 1).Read().ok());
  }
  for (const std::string& metadata :
       {BytesField(1, "0.0.3"), BytesField(1, TextAttribute("schema", "2.0.0-chakra.2.0.0"))}) {
    const auto refused = ExampleTrace(metadata).Read();
    EXPECT_EQ(refused.status().code(), StatusCode::kUnimplemented);
    EXPECT_THAT(refused.status().message(), HasSubstr("is not supported; supported: 0.0.4 and 1.0.0"));
  }
}

TEST(ChakraTraceTest, OperationsBecomeTimeByTheRoofline) {
  const auto node = [](uint64_t operations, uint64_t bytes) {
    return ExampleTrace().Node(1, 4, {}, {IntAttribute("num_ops", operations), IntAttribute("tensor_size", bytes)});
  };
  EXPECT_THAT(node(1000000, 10).Read().status().message(), HasSubstr("give the peak rate of a GPU"));
  const ChakraOptions options = {
      .num_gpus = 0, .gpu_peak = FlopPerSecond(1e9), .memory_bandwidth = BytesPerSecond(1e6)};
  // 1e6 / 1e9 = 1 ms of arithmetic, 10 us of memory; then 1 ms and 5 ms.
  EXPECT_DOUBLE_EQ(node(1000000, 10).Read(0, options)->nodes[0].duration.value(), 1e-3);
  EXPECT_DOUBLE_EQ(node(1000000, 5000).Read(0, options)->nodes[0].duration.value(), 5e-3);
}

TEST(ChakraTraceTest, RefusesWithNodeExpectedAndFound) {
  EXPECT_EQ(
      ErrorOf(ExampleTrace().Node(3, 7, {}, {IntAttribute("comm_type", 3), IntAttribute("comm_size", 1)})),
      "t.et: node 3 'node': gather is not supported; supported: all-reduce, all-gather, reduce-scatter, all-to-all, "
      "broadcast, barrier");
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(3, 7, {}, {IntAttribute("comm_type", 0)})),
              HasSubstr("expected the attribute comm_size, found none"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(3, 7, {}, {TextAttribute("comm_type", "x")})),
              HasSubstr("comm_type: expected a number in [0, 1e+09], found something else"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(3, 5, {}, {IntAttribute("comm_size", 1)})), HasSubstr("attribute comm_dst"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Send(3, {}, 4, 1), 4), HasSubstr("expected another rank as partner, found 4"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(
                  3, 5, {}, {IntAttribute("comm_size", 1), IntAttribute("comm_dst", 1), IntAttribute("comm_src", 2)})),
              HasSubstr("sends from rank 2; this is the trace of rank 0"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(3, 8, {}, {})), HasSubstr("node type 8 is not supported"));
  const std::string dimensions = BytesField(1, "involved_dim") + BytesField(28, BytesField(1, std::string("\1\0", 2)));
  EXPECT_THAT(ErrorOf(ExampleTrace().Node(3, 7, {}, {IntAttribute("comm_type", 0), dimensions})),
              HasSubstr("involved_dim picks dimensions"));
  EXPECT_THAT(ErrorOf(ExampleTrace().Groups(1, R"([{"pg_name": 3, "ranks": []}])")), HasSubstr("not a list of"));
}

TEST(ChakraTraceTest, RefusesWhatIsNoTrace) {
  const auto read = [](const std::string& bytes) {
    std::istringstream input(bytes);
    return ReadChakraTrace(input, "t.et", 0, {}).status().message();
  };
  EXPECT_THAT(read(""), HasSubstr("is empty"));
  EXPECT_THAT(read("\x05"
                   "ab"),
              HasSubstr("ends inside a message of 5 bytes"));
  EXPECT_THAT(read("\xff"), HasSubstr("ends inside the length"));
  EXPECT_THAT(read("\xff\xff\xff\xff\x0f"), HasSubstr("a message of 4294967295 bytes; expected at most 16777216"));
  EXPECT_THAT(read(std::string(6, '\xff')), HasSubstr("a length of more than five bytes"));
  EXPECT_THAT(read(std::string("\x1f\x8b\x08\x00", 4) + std::string(40, 'x')), HasSubstr("is no GlobalMetadata"));
  EXPECT_THAT(read(std::string("\0", 1) + "\x03\xff\xff\xff"), HasSubstr("message 1 is no Node"));
  EXPECT_THAT(read("\x05\x0a\x03xyz"), HasSubstr("schema version 'xyz'"));
}

// Cut anywhere, a trace is an error or the nodes before the cut; with any byte changed, anything but a crash.
TEST(ChakraTraceTest, CutAndDamagedTracesNeverSurprise) {
  const std::string whole = ExampleTrace()
                                .Groups(1, R"([{"pg_name": "7", "ranks": [0, 1]}])")
                                .Compute(2, {1}, 1500)
                                .Collective(3, {2}, kAllReduce, 4096, "7")
                                .Send(4, {3}, 6, 10)
                                .bytes();
  Random random(1);
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    std::istringstream input(whole.substr(0, cut));
    const auto trace = ReadChakraTrace(input, "t.et", 0, {});
    ASSERT_TRUE(!trace.ok() || trace->nodes.size() < 4) << cut;
  }
  for (int trial = 0; trial < 20000; ++trial) {
    std::string damaged = whole;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    std::istringstream input(damaged);
    const auto trace = ReadChakraTrace(input, "t.et", 0, {});
    ASSERT_NE(trace.ok(), !trace.status().message().empty());
  }
}

TEST(ChakraGroupsTest, ReadsTheMapThatLiesBesideTraces) {
  const auto groups = ParseChakraGroups(R"({"1": [0, 1], "2": []})", "g.json");
  ASSERT_TRUE(groups.ok());
  EXPECT_THAT(groups->at("1"), ElementsAre(0, 1));
  for (const char* text : {"", "[]", R"({"1": 3})", R"({"1": [-1]})", R"({"1": [1.5]})", R"({"1": [99999999]})"}) {
    EXPECT_THAT(ParseChakraGroups(text, "g.json").status().message(), HasSubstr("g.json: expected a map")) << text;
  }
}

}  // namespace
}  // namespace fairlead::workload
