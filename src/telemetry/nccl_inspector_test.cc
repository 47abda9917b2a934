// Files of NCCL Inspector: instants from traces, or such that ranks end together; connections from proxy traces.
#include "telemetry/nccl_inspector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "telemetry/import_texts.h"
#include "telemetry/inspector_timeline.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;
using model::OperationRecord;
using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000;  // in microseconds
constexpr int64_t kStart = 1772585717 * kSecond;

std::string Who(int rank, int num_ranks, int64_t dumped_us, const char* id = "0xad56c683b0c4ef") {
  return fmt::format(
      R"("header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":2}},"metadata":{{"inspector_output_format_version":"v4.0",)"
      R"("git_rev":"abc","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":{},"hostname":"worker-{}",)"
      R"("pid":{}}})",
      id, rank, num_ranks, dumped_us, rank / 2, 48 + rank % 2);
}

std::string Collective(const char* name, int sequence, double duration_us, const std::string& more = "") {
  return fmt::format(R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":2360832,"coll_exec_time_us":{},)"
                     R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":0.416887,"coll_busbw_gbs":0.555850{}}})",
                     name, sequence, duration_us, more);
}

// Rank 1 came last to the all-reduce: it took least.
TEST(NcclInspectorTest, WithoutInstantsRanksEndTogether) {
  std::vector<std::pair<std::string, std::string>> files;
  const double durations[] = {5000, 1000, 5000.5, 5000};
  for (int rank = 0; rank < 4; ++rank) {
    const std::string who = Who(rank, 4, kStart + int64_t{10} * rank);
    files.emplace_back(fmt::format("worker-pid{}.log", rank),
                       fmt::format("{{{0},{1}}}\n{{{0},{2}}}\n", who, Collective("AllGather", 7, 200),
                                   Collective("AllReduce", 8995, durations[rank])));
  }
  const auto recording = ImportTexts(RecordingFormat::kInspector, files);
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(recording->host_names, (std::vector<std::string>{"worker-0", "worker-1"}));
  EXPECT_EQ(recording->layout.ranks[3].host, HostId(1));
  EXPECT_EQ(recording->layout.ranks[3].gpu, 1u);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const model::RankReport* report = FindReport(*recording, rank);
    ASSERT_NE(report, nullptr);
    ASSERT_EQ(report->operations.size(), 2u);
    const OperationRecord& gather = report->operations[0];
    const OperationRecord& reduce = report->operations[1];
    EXPECT_EQ(gather.issue_index, 0u);
    EXPECT_EQ(reduce.kind, OperationKind::kAllReduce);
    EXPECT_EQ(reduce.sequence, 8995u);
    EXPECT_EQ(reduce.issue_index, 1u);
    EXPECT_EQ(reduce.bytes, 2360832u);
    // The first dump came at kStart; the gather began 200 us before the reduce, which took up to 5000 us: the origin
    // is 5200 us before kStart.
    EXPECT_EQ(reduce.finished, SimTime(5'200'000));
    EXPECT_EQ(*reduce.finished - *reduce.started, SimDuration(rank == 1 ? 1000'000 : 5000'000));
    EXPECT_EQ(gather.finished, SimTime(200'000));
  }
  EXPECT_THAT(recording->notes, Contains(HasSubstr("NCCL_INSPECTOR_DUMP_VERBOSE=1")));
}

TEST(NcclInspectorTest, EventTracesTellInstants) {
  const std::string trace = fmt::format(
      R"(,"event_trace_sn":{{"coll_start_sn":1}},"event_trace_ts":{{"coll_start_ts":{},"coll_stop_ts":{},"kernel_events":[)"
      R"({{"channel_id":0,"kernel_start_ts":{},"kernel_stop_ts":{},"kernel_record_ts":0}},)"
      R"({{"channel_id":1,"kernel_start_ts":{},"kernel_stop_ts":{},"kernel_record_ts":0}}]}})",
      kStart, kStart + 1, kStart + 7, kStart + 30, kStart + 5, kStart + 40);
  const auto recording =
      ImportTexts(RecordingFormat::kInspector,
                  {{"a", "{" + Who(0, 1, kStart + kSecond) + "," + Collective("Broadcast", 0, 35, trace) + "}\n"}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  const OperationRecord& operation = FindReport(*recording, 0)->operations.at(0);
  EXPECT_EQ(operation.enqueued, SimTime(0));
  EXPECT_EQ(operation.started, SimTime(5000));  // of the first channel to start
  EXPECT_EQ(operation.finished, SimTime(40'000));
  EXPECT_TRUE(recording->notes.empty());
}

TEST(NcclInspectorTest, ADumpBeforeItsOperationsIsNotBeforeTime) {
  const std::string trace = fmt::format(
      R"(,"event_trace_ts":{{"coll_start_ts":{},"kernel_events":[{{"kernel_start_ts":{},"kernel_stop_ts":{}}}]}})",
      kStart, kStart, kStart + 9);
  const auto recording =
      ImportTexts(RecordingFormat::kInspector,
                  {{"a", "{" + Who(0, 1, kStart - kSecond) + "," + Collective("Reduce", 0, 9, trace) + "}\n"}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(FindReport(*recording, 0)->at, SimTime(0));
}

TEST(NcclInspectorTest, AFileGivenTwiceAddsNothing) {
  const std::string text = "{" + Who(0, 1, kStart) + "," + Collective("Reduce", 0, 9) + "}\n";
  const auto recording = ImportTexts(RecordingFormat::kInspector, {{"a", text}, {"a", text}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(FindReport(*recording, 0)->operations.size(), 1u);
}

// Version 4.4: the writer is on a separate line, and steps of the proxy in lines or in lists.
TEST(NcclInspectorTest, ProxyTracesBecomeConnections) {
  const auto file = [](int rank) {
    return "{" + Who(rank, 2, kStart) + R"(,"dump_stats":{"coll_records":0}})" + "\n" +
           R"({"proxy_trace":{"record_type":"proxy_step","channel_id":3,"peer":1,"direction":"send","step":0,)"
           R"("trans_size_bytes":524288,"gpu_produce_us":2,"peer_credit_us":3,"wire_us":64,"total_us":69}})"
           "\n"
           R"({"proxy_trace":{"record_type":"proxy_op","channel_id":3,"peer":1,"direction":"send","steps":[)"
           R"({"trans_size_bytes":100,"wire_us":10},{"trans_size_bytes":100,"total_us":9}]}})"
           "\n"
           R"({"proxy_trace":{"record_type":"proxy_op","channel_id":0,"peer":0,"direction":"recv","steps":[)"
           R"({"trans_size_bytes":7,"wire_us":50,"flush_us":4,"gpu_consume_us":5}]}})"
           "\n";
  };
  const auto recording = ImportTexts(RecordingFormat::kInspector, {{"a", file(0)}, {"b", file(1)}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  const std::vector<model::ConnectionRecord>& connections = FindReport(*recording, 0)->connections;
  ASSERT_EQ(connections.size(), 2u);
  const model::ConnectionRecord& receive = connections[0];
  EXPECT_EQ(receive.key.direction, model::Direction::kReceive);
  EXPECT_EQ(receive.wait_for_peer, SimDuration(50'000));
  EXPECT_EQ(receive.wait_for_gpu, SimDuration(9000));
  EXPECT_EQ(receive.wire_time, SimDuration(0));
  const model::ConnectionRecord& send = connections[1];
  EXPECT_EQ(send.key.channel, 3u);
  EXPECT_EQ(send.key.peer, model::RankId(1));
  EXPECT_EQ(send.messages, 2u);  // the third has no time on the wire
  EXPECT_EQ(send.bytes, 524388u);
  EXPECT_EQ(send.wire_time, SimDuration(74'000));
  EXPECT_EQ(send.wire_time_max, SimDuration(64'000));
  EXPECT_EQ(send.wait_for_gpu, SimDuration(2000));
  EXPECT_EQ(send.wait_for_peer, SimDuration(3000));
  EXPECT_EQ(send.wire_time_bins[6], 1u);  // 64 .. 128 us
  EXPECT_EQ(send.wire_time_bins[3], 1u);  // 8 .. 16 us
}

TEST(NcclInspectorTest, SendsAndReceivesHaveACommunicatorOfTheirOwn) {
  const auto p2p = [](int rank, const char* name, int peer) {
    return fmt::format(R"({{{},"p2p_perf":{{"p2p":"{}","p2p_sn":4,"p2p_peer":{},"p2p_msg_size_bytes":8,)"
                       R"("p2p_exec_time_us":12}}}})"
                       "\n",
                       Who(rank, 3, kStart), name, peer);
  };
  const auto recording = ImportTexts(RecordingFormat::kInspector,
                                     {{"a", p2p(0, "Send", 1) + p2p(0, "Send", 2)}, {"b", p2p(1, "Recv", 0)}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  ASSERT_EQ(recording->layout.communicators.size(), 2u);
  ASSERT_EQ(FindReport(*recording, 0)->operations.size(), 1u);
  const OperationRecord& send = FindReport(*recording, 0)->operations[0];
  EXPECT_EQ(send.communicator, model::CommunicatorId(1));
  EXPECT_EQ(send.peer, model::RankId(1));
  EXPECT_EQ(send.sequence, 0u);
  EXPECT_THAT(recording->notes, Contains(HasSubstr("1 operations or messages with a rank that wrote nothing")));
  EXPECT_THAT(recording->notes, Contains(HasSubstr("Nothing is known of rank 2")));
}

// However long operations took and whenever they were dumped: ranks end each together, in order of its sequence, not
// after the first dump that has it, and last as long as they reported.
TEST(NcclInspectorTest, PlacesInTime) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const uint32_t num_ranks = 1 + static_cast<uint32_t>(random.Below(4));
    std::vector<InspectorSource> sources;
    std::vector<InspectorOperation> operations;
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      sources.push_back({"c", num_ranks, rank, {"h", rank, -1}});
      int64_t dumped_us = kStart;
      for (uint64_t sequence = 0; sequence < 20; ++sequence) {
        dumped_us += random.Below(3) == 0 ? static_cast<int64_t>(random.Below(kSecond)) : 0;
        InspectorOperation operation;
        operation.source = rank;
        operation.kind = OperationKind::kAllReduce;
        operation.sequence = sequence;
        operation.duration_us = static_cast<int64_t>(random.Below(2000));
        operation.dumped_us = dumped_us;
        operations.push_back(operation);
      }
    }
    random.Shuffle(std::span(operations));
    PlaceInTime(sources, &operations);
    std::vector<int64_t> end_us(20, 0);
    for (const InspectorOperation& operation : operations) {
      int64_t& end = end_us[operation.sequence];
      if (end == 0) end = operation.finished_us;
      ASSERT_EQ(operation.finished_us, end) << seed;
      ASSERT_EQ(operation.finished_us - operation.started_us, operation.duration_us);
      ASSERT_LE(operation.finished_us, operation.dumped_us);
    }
    for (const InspectorOperation& operation : operations) {
      if (operation.sequence > 0) {
        ASSERT_GE(operation.started_us, end_us[operation.sequence - 1]);
      }
    }
  }
}

TEST(NcclInspectorTest, SmallCommunicatorsAreTranslated) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int rank = 0; rank < 4; ++rank) {
    // {0, 2} and {1, 3} have communicators of their own.
    const std::string small = fmt::format(
        R"({{"header":{{"id":"0x{}","rank":{},"n_ranks":2}},"metadata":{{"inspector_output_format_version":"v5.0",)"
        R"("dump_timestamp_us":{},"hostname":"worker-{}","pid":{}}},{}}})",
        rank % 2, rank / 2, kStart, rank / 2, 48 + rank % 2, Collective("AllReduce", 0, 5));
    files.emplace_back(fmt::format("f{}", 9 - rank),
                       "{" + Who(rank, 4, kStart) + "," + Collective("AllReduce", 0, 9) + "}\n" + small + "\n");
  }
  const auto recording = ImportTexts(RecordingFormat::kInspector, files);
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  ASSERT_EQ(recording->layout.communicators.size(), 3u);
  EXPECT_EQ(recording->layout.communicators[2].ranks, (std::vector{model::RankId(1), model::RankId(3)}));
}

TEST(NcclInspectorTest, MistakesHaveMessages) {
  const std::string good = "{" + Who(0, 2, kStart) + "," + Collective("AllReduce", 0, 5) + "}";
  const std::pair<std::string, const char*> kMistakes[] = {
      {"{" + Collective("AllReduce", 0, 5) + "}\n", "f:1: expected a header and metadata"},
      {good + "\n" + good + "}\n", "f:2: not JSON"},
      {good.substr(0, 40), "f:1: not JSON"},
      {"{" + Who(0, 2, kStart) + "," + Collective("AllReduce", 0, -5) + "}\n", "f:1: coll_perf: -5 microseconds"},
      {"{" + Who(0, 2, kStart) + "," + Collective("AllReduce", -1, 5) + "}\n", "f:1: coll_perf.coll_sn: expected"},
      {"{" + Who(2, 2, kStart) + "," + Collective("AllReduce", 0, 5) + "}\n", "has 2 ranks and none with number 2"},
      {"{" + Who(0, 2000000, kStart) + "," + Collective("AllReduce", 0, 5) + "}\n", "expected 1 to 1048576 ranks"},
      {good + "\n{" + Who(0, 3, kStart) + "," + Collective("AllReduce", 0, 5) + "}\n",
       "has 3 ranks here and 2 elsewhere"},
      {good + "\n{" + Who(1, 2, kStart).replace(Who(1, 2, kStart).find("\"pid\":49"), 8, "\"pid\":48") + "}\n",
       "process 48 of worker-0 holds ranks 0 and 1"},
      {R"({"header":{"id":"x","rank":0,"n_ranks":1},"metadata":{"inspector_output_format_version":"v9","hostname":"h",)"
       R"("dump_timestamp_us":1,"pid":1}})",
       "inspector_output_format_version: expected v4.x or v5.x, found 'v9'"},
      {"\n\n", "hold no operation"},
  };
  for (const auto& [text, expected] : kMistakes) {
    const auto recording = ImportTexts(RecordingFormat::kInspector, {{"f", text}});
    EXPECT_EQ(recording.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(recording.status().message(), HasSubstr(expected));
  }
  // The last line of a process that still runs may be cut off.
  EXPECT_TRUE(ImportTexts(RecordingFormat::kInspector, {{"f", good + "\n" + good.substr(0, 99)}}).ok());
}

}  // namespace
}  // namespace fairlead::telemetry
