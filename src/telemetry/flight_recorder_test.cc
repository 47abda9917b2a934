// Dumps of PyTorch's flight recorder: operations are matched over ranks whatever each ring buffer still holds.
#include "telemetry/flight_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/random.h"
#include "telemetry/import_texts.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;
using model::OperationRecord;
using testing::HasSubstr;

// As PyTorch 2.6 writes it, without members that are never read; rank 1 never comes to the third all-reduce.
std::string TwoRankFile(int rank) {
  const auto entry = [](int record, int sequence, const char* state, int64_t started, int64_t finished) {
    return fmt::format(
        R"({{"collective_seq_id":{},"duration_ms":0.02,"input_dtypes":["Float"],"input_sizes":[[3,4]],"is_p2p":false,)"
        R"("op_id":{},"output_dtypes":["Float"],"output_sizes":[[3,4]],"p2p_seq_id":0,"pg_id":0,)"
        R"("process_group":["0","default_pg"],"profiling_name":"nccl:all_reduce","record_id":{},"retired":{},)"
        R"("state":"{}","time_created_ns":{},"time_discovered_completed_ns":{},"time_discovered_started_ns":{},)"
        R"("timeout_ms":600000}})",
        sequence, sequence, record, finished > 0, state, 1724779239936775000 + int64_t{1000} * record, finished,
        started);
  };
  std::string entries = entry(0, 1, "completed", 1724779239936775100, 1724779239936775200) + "," +
                        entry(1, 2, "completed", 1724779239936776100, 1724779239936776200);
  if (rank == 0) entries += "," + entry(2, 3, "started", 1724779239936777100, 0);
  return fmt::format(R"({{"entries":[{}],"nccl_comm_state":{{}},"nccl_version":"2.21.5",)"
                     R"("pg_config":{{"0":{{"desc":"default_pg","name":"0","ranks":"[0, 1]"}}}},)"
                     R"("pg_status":{{"0":{{"last_completed_collective":"2","last_enqueued_collective":"3",)"
                     R"("last_started_collective":"3"}}}},"version":"2.5"}})",
                     entries);
}

TEST(FlightRecorderTest, RealFilesOfTwoRanks) {
  const auto recording = ImportTexts(RecordingFormat::kFlightRecorder,
                                     {{"dir/trace_1", TwoRankFile(1)}, {"dir/trace_0.json", TwoRankFile(0)}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  ASSERT_EQ(recording->layout.ranks.size(), 2u);
  ASSERT_EQ(recording->layout.communicators.size(), 1u);
  EXPECT_EQ(recording->layout.communicators[0].name, "0 default_pg");
  ASSERT_NE(FindReport(*recording, 0), nullptr);
  const std::vector<OperationRecord>& ahead = FindReport(*recording, 0)->operations;
  ASSERT_EQ(ahead.size(), 3u);
  EXPECT_EQ(ahead[2].kind, OperationKind::kAllReduce);
  EXPECT_EQ(ahead[2].sequence, 2u);
  EXPECT_EQ(ahead[2].bytes, 48u);  // 3 * 4 elements of 4 bytes
  EXPECT_EQ(ahead[2].data_type, "ncclFloat32");
  EXPECT_EQ(ahead[2].enqueued, SimTime(2000));  // the first entry is the origin
  EXPECT_EQ(ahead[2].started, SimTime(2100));
  EXPECT_FALSE(ahead[2].finished.has_value());
  const std::vector<OperationRecord>& behind = FindReport(*recording, 1)->operations;
  ASSERT_EQ(behind.size(), 2u);
  EXPECT_EQ(behind[1].finished, SimTime(1200));
  EXPECT_EQ(recording->notes.size(), 1u);  // about hosts
}

// A program of one process group, and how far each rank came.
struct Program {
  std::vector<std::string> names;     // of the operations
  std::vector<size_t> num_issued;     // [rank]
  std::vector<size_t> num_completed;  // [rank]
};

// The newest `buffer` operations of a rank; with `only_active` those that are not complete.
std::string WriteTrace(const Program& program, size_t rank, size_t buffer, bool only_active, bool with_status) {
  std::string entries;
  const size_t end = program.num_issued[rank];
  for (size_t i = end - std::min(end, buffer); i < end; ++i) {
    const bool is_complete = i < program.num_completed[rank];
    if (is_complete && only_active) continue;
    entries += fmt::format(
        R"({}{{"record_id":{},"pg_id":3,"process_group":["7","data"],"collective_seq_id":{},"profiling_name":"nccl:{}",)"
        R"("time_created_ns":{},"time_discovered_started_ns":{},"state":"{}"}})",
        entries.empty() ? "" : ",", i, i + 1, program.names[i], 5000 + i, is_complete ? 6000 + i : 0,
        is_complete ? "completed" : "scheduled");
  }
  std::string ranks;
  for (size_t r = 0; r < program.num_issued.size(); ++r) ranks += fmt::format("{}{}", r == 0 ? "" : ", ", r);
  const std::string status =
      with_status ? fmt::format(R"("pg_status":{{"3":{{"last_completed_collective":{}}}}},)",
                                program.num_completed[rank] == 0 ? -1 : static_cast<int>(program.num_completed[rank]))
                  : "";
  return fmt::format(R"({{"version":"2.10",{}"pg_config":{{"7":{{"name":"7","ranks":"[{}]"}}}},"entries":[{}]}})",
                     status, ranks, entries);
}

Program DrawProgram(Random& random) {
  const char* const kNames[] = {"all_reduce", "_all_gather_base", "_reduce_scatter_base", "broadcast", "scatter"};
  Program program;
  const size_t num_operations = 1 + random.Below(60);
  for (size_t i = 0; i < num_operations; ++i) program.names.emplace_back(kNames[random.Below(5)]);
  // Collectives keep ranks together: none completes what another has not issued.
  const size_t num_ranks = 2 + random.Below(6);
  size_t least = num_operations;
  for (size_t r = 0; r < num_ranks; ++r) {
    program.num_issued.push_back(num_operations - std::min<size_t>(num_operations, random.Below(4)));
    least = std::min(least, program.num_issued.back());
  }
  for (size_t r = 0; r < num_ranks; ++r)
    program.num_completed.push_back(least - std::min<size_t>(least, random.Below(3)));
  return program;
}

// Of all ranks, an operation has one position, one kind and one number of its kind; what a rank has issued and not
// completed is pending, and nothing else is.
TEST(FlightRecorderTest, OperationsMatchWhateverTheBuffersHold) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed);
    const Program program = DrawProgram(random);
    const bool with_status = random.Below(2) == 0;
    const bool only_active = with_status && random.Below(2) == 0;
    std::vector<std::pair<std::string, std::string>> files;
    for (size_t rank = 0; rank < program.num_issued.size(); ++rank) {
      files.emplace_back(fmt::format("t{}", rank),
                         WriteTrace(program, rank, 6 + random.Below(60), only_active, with_status));
    }
    random.Shuffle(std::span(files));
    const auto recording = ImportTexts(RecordingFormat::kFlightRecorder, files);
    ASSERT_TRUE(recording.ok()) << seed << ": " << recording.status().message();
    std::map<uint64_t, std::tuple<OperationKind, uint64_t>> at_position;
    std::vector<std::set<uint64_t>> reported(program.num_issued.size());
    for (size_t rank = 0; rank < program.num_issued.size(); ++rank) {
      const model::RankReport* report = FindReport(*recording, static_cast<uint32_t>(rank));
      ASSERT_NE(report, nullptr);
      size_t num_pending = 0;
      for (const OperationRecord& operation : report->operations) {
        num_pending += !operation.finished;
        reported[rank].insert(operation.issue_index);
        const std::tuple<OperationKind, uint64_t> what = {operation.kind, operation.sequence};
        ASSERT_EQ(at_position.emplace(operation.issue_index, what).first->second, what) << seed;
      }
      ASSERT_EQ(num_pending, program.num_issued[rank] - program.num_completed[rank]) << seed << " rank " << rank;
      // Instants of starts are known where any completed operation is in the file; else the oldest counts as started.
      if (num_pending > 0 && only_active) {
        EXPECT_TRUE(report->operations[report->operations.size() - num_pending].started.has_value());
      }
    }
    // A rank misses of what others tell only what it has not issued: nothing that its buffer lost looks missing.
    const size_t most = *std::max_element(program.num_issued.begin(), program.num_issued.end());
    for (size_t rank = 0; rank < reported.size() && !at_position.empty(); ++rank) {
      const size_t num_behind = std::min(most - program.num_issued[rank], at_position.size());
      ASSERT_EQ(reported[rank].size(), at_position.size() - num_behind) << seed << " rank " << rank;
      const uint64_t last = std::prev(at_position.end(), static_cast<int>(num_behind)) == at_position.begin()
                                ? 0
                                : std::prev(at_position.end(), static_cast<int>(num_behind) + 1)->first;
      if (!reported[rank].empty()) {
        ASSERT_EQ(*reported[rank].rbegin(), last) << seed << " rank " << rank;
      }
    }
  }
}

std::string OneRankFile(const std::string& members) {
  return R"({"version":"2.4","pg_config":{"0":{"desc":"default_pg","name":"0","ranks":[0,1,2]}},"entries":[)" +
         members + "]}";
}

std::string P2pEntry(int record, int sequence, const char* name, bool is_complete) {
  return fmt::format(
      R"({{"record_id":{},"process_group":["0","default_pg"],"p2p_seq_id":{},"collective_seq_id":0,"is_p2p":true,)"
      R"("profiling_name":"nccl:{}","time_created_ns":{},"state":"{}"}})",
      record, sequence, name, 100 + record, is_complete ? "completed" : "scheduled");
}

TEST(FlightRecorderTest, SendsAndReceivesAreCountedPerPeer) {
  const std::string sender = OneRankFile(P2pEntry(0, 1, "send 0->1", true) + "," + P2pEntry(1, 2, "send 0->2", true) +
                                         "," + P2pEntry(2, 3, "send 0->1", false));
  const std::string receiver = OneRankFile(P2pEntry(0, 1, "recv 1<-0", true));
  const auto recording = ImportTexts(RecordingFormat::kFlightRecorder, {{"r0", sender}, {"r1", receiver}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  ASSERT_EQ(recording->layout.communicators.size(), 2u);
  EXPECT_EQ(recording->layout.communicators[1].name, "0 default_pg p2p");
  const std::vector<OperationRecord>& sends = FindReport(*recording, 0)->operations;
  ASSERT_EQ(sends.size(), 3u);
  EXPECT_EQ(sends[2].kind, OperationKind::kSend);
  EXPECT_EQ(sends[2].peer, model::RankId(1));
  EXPECT_EQ(sends[2].sequence, 1u);  // the second one to rank 1
  EXPECT_TRUE(sends[2].started.has_value());
  EXPECT_EQ(FindReport(*recording, 1)->operations[0].peer, model::RankId(0));
  EXPECT_THAT(recording->notes, testing::Contains(HasSubstr("no file of rank 2")));
}

TEST(FlightRecorderTest, MembersOfAGroupEndWithIt) {
  const auto entry = [](int record, int sequence, const char* name, const char* state) {
    return fmt::format(
        R"({{"record_id":{},"process_group":["0","default_pg"],"collective_seq_id":{},"profiling_name":"nccl:{}",)"
        R"("time_created_ns":{},"state":"{}"}})",
        record, sequence, name, 100 + record, state);
  };
  const std::string file =
      OneRankFile(entry(0, 1, "_all_gather_base", "scheduled") + "," + entry(1, 1, "_all_gather_base", "scheduled") +
                  "," + entry(2, 1, "ALLGATHER_coalesced", "completed") + "," + entry(3, 2, "all_reduce", "scheduled"));
  const auto recording = ImportTexts(RecordingFormat::kFlightRecorder, {{"r0", file}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  const std::vector<OperationRecord>& operations = FindReport(*recording, 0)->operations;
  ASSERT_EQ(operations.size(), 3u);  // the end of the group is no operation
  EXPECT_TRUE(operations[0].finished && operations[1].finished);
  EXPECT_EQ(operations[1].sequence, 1u);
  EXPECT_FALSE(operations[2].finished);
}

TEST(FlightRecorderTest, MistakesHaveMessages) {
  const auto entry = [](const char* members) {
    return OneRankFile(fmt::format(R"({{"record_id":0,"process_group":["0","default_pg"],"collective_seq_id":1,)"
                                   R"("profiling_name":"nccl:all_reduce","time_created_ns":5,"state":"started",{}}})",
                                   members));
  };
  const std::tuple<const char*, std::string, const char*> kMistakes[] = {
      {"r0", "", "r0:1: not JSON"},
      {"r0", "[]", "expected an object, found a list"},
      {"r0", "{}", "version: is missing"},
      {"r0", R"({"version":"1.5"})", "version: expected 2.x (PyTorch 2.4 and later), found '1.5'"},
      {"trace", OneRankFile(""), "whose rank is this?"},
      {"r99999999999", OneRankFile(""), "whose rank is this?"},
      {"r7", OneRankFile(""), "process group '0' has 3 ranks and 7 is none of them"},
      {"r0", R"({"version":"2.1","pg_config":{"0":{"ranks":"[0, 0]"}}})", "pg_config: a rank appears twice"},
      {"r0", R"({"version":"2.1","pg_config":{"0":{"ranks":[4000000000]}}})",
       "pg_config: expected ranks below 1048576"},
      {"r0", R"({"version":"2.1","pg_config":{"0":{"ranks":"zero"}}})", "pg_config: ranks:1: not JSON"},
      {"r0", OneRankFile("7"), "entries[0]: expected an object, found 7"},
      {"r0", OneRankFile("{}"), "entries[0].record_id: is missing"},
      {"r0", OneRankFile(P2pEntry(0, 1, "send 0->", true)), "entries[0].profiling_name: expected"},
      {"r0", OneRankFile(P2pEntry(0, 1, "send 0->3", true)), "names rank 3 of a process group of 3"},
      {"r0", entry(R"("time_discovered_started_ns":-3)"), "entries[0]: -3 is no instant"},
      {"r0", entry(R"("timeout_ms":9223372036854775807)"), "is no instant"},
  };
  for (const auto& [name, text, expected] : kMistakes) {
    const auto recording = ImportTexts(RecordingFormat::kFlightRecorder, {{name, text}});
    EXPECT_EQ(recording.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(recording.status().message(), HasSubstr(expected));
    EXPECT_THAT(recording.status().message(), testing::StartsWith(name));
  }
  EXPECT_EQ(ImportTexts(RecordingFormat::kFlightRecorder, {{"r0", entry(R"("timeout_ms":5)")}}).status(), OkStatus());
}

TEST(FlightRecorderTest, FilesOfDifferentJobsAreRefused) {
  const std::string other = R"({"version":"2.4","pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[0, 1]"}}})";
  const auto mixed = ImportTexts(RecordingFormat::kFlightRecorder, {{"a0", OneRankFile("")}, {"b1", other}});
  EXPECT_THAT(mixed.status().message(), HasSubstr("a0 and b1 are of different jobs: 3 and 2 ranks"));
  const auto twice = ImportTexts(RecordingFormat::kFlightRecorder, {{"a0", OneRankFile("")}, {"b0", OneRankFile("")}});
  EXPECT_THAT(twice.status().message(), HasSubstr("a0 and b0 are both of rank 0"));
  EXPECT_THAT(ImportTexts(RecordingFormat::kFlightRecorder, {}).status().message(), HasSubstr("no file"));
}

}  // namespace
}  // namespace fairlead::telemetry
