// Answers of NCCL RAS: ranks that have not begun what others have, are gone, or give no answer.
#include "telemetry/nccl_ras.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/import_texts.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;
using model::OperationRecord;
using model::RankId;
using testing::Contains;
using testing::HasSubstr;

// One rank as NCCL 2.28.7 prints it.
std::string RankText(int rank, int process, uint64_t all_reduces, const char* finalize = "false") {
  return fmt::format(
      R"({{ "rank": {}, "host": "10.0.0.{}", "pid": {}, "cuda_dev": {}, "nvml_dev": {}, "status": {{ "init_state": 0,
      "async_error": 0, "finalize_called": {}, "destroy_flag": false, "abort_flag": false }},
      "collective_counts": {{ "Broadcast": 3, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": {},
      "SendRecv": 0, "Send": 5, "Recv": 0 }} }})",
      rank, 1 + process / 2, 900 + process, process % 2, process % 2, finalize, all_reduces);
}

std::string MissingText(int rank, int process, bool is_unresponsive, bool is_dead, const char* comma = ",") {
  return fmt::format(
      R"({{ "rank": {}, "host": "10.0.0.{}", "pid": {}, "cuda_dev": {}, "nvml_dev": {}{}
      "status": {{ "unresponsive": {}, "considered_dead": {} }} }})",
      rank, 1 + process / 2, 900 + process, process % 2, process % 2, comma, is_unresponsive, is_dead);
}

std::string Join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ",\n")); }

std::string CommunicatorText(const char* hash, int size, const std::vector<std::string>& ranks,
                             const std::vector<std::string>& missing = {}) {
  return fmt::format(R"({{ "hash": "{}", "secondary_hash": "0x1:0x2", "size": {}, "ranks_count": {},
      "missing_ranks_count": {}, "ranks": [ {} ], "missing_ranks": [ {} ] }})",
                     hash, size, ranks.size(), missing.size(), Join(ranks), Join(missing));
}

std::string Answer(const std::vector<std::string>& communicators, const char* time = "2026-01-31 12:00:00") {
  return fmt::format(
      R"({{ "nccl_version": "2.28.9+cuda12.9", "cuda_runtime_version": 12090, "cuda_driver_version": 13000,
      "timestamp": "{}", "communicators_count": {}, "communicators": [ {} ],
      "ras": {{ "collection_time_sec": 0.004, "timeouts_count": 0 }} }})",
      time, communicators.size(), Join(communicators));
}

const OperationRecord* FindOperation(const model::RankReport& report, OperationKind kind, uint64_t sequence) {
  for (const OperationRecord& operation : report.operations) {
    if (operation.kind == kind && operation.sequence == sequence) return &operation;
  }
  return nullptr;
}

TEST(NcclRasTest, TheRankThatIsBehindHasNotBegun) {
  const std::string answer = Answer({CommunicatorText(
      "0xa", 4, {RankText(0, 0, 101), RankText(1, 1, 100), RankText(2, 2, 101), RankText(3, 3, 101)})});
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"ras.json", "OK\n" + answer}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(recording->layout.ranks.size(), 4u);
  EXPECT_EQ(recording->host_names, (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const model::RankReport* report = FindReport(*recording, rank);
    ASSERT_NE(report, nullptr);
    // Operation 99 is the last that all have begun; 100 is under way on all but rank 1.
    ASSERT_NE(FindOperation(*report, OperationKind::kAllReduce, 99), nullptr);
    EXPECT_TRUE(FindOperation(*report, OperationKind::kAllReduce, 99)->finished);
    const OperationRecord* next = FindOperation(*report, OperationKind::kAllReduce, 100);
    ASSERT_EQ(next == nullptr, rank == 1);
    if (next != nullptr) {
      EXPECT_TRUE(next->started && !next->finished);
    }
    EXPECT_TRUE(FindOperation(*report, OperationKind::kBroadcast, 2)->finished);
    EXPECT_EQ(FindOperation(*report, OperationKind::kSend, 4), nullptr);  // the receiver is not given
  }
  EXPECT_THAT(recording->notes, Contains(HasSubstr("up to 1 operations apart")));
}

TEST(NcclRasTest, ASecondAnswerShowsWhatWentOn) {
  const auto answer = [](uint64_t first, uint64_t second, const char* time) {
    return Answer({CommunicatorText("0xa", 2, {RankText(0, 0, first), RankText(1, 2, second)})}, time);
  };
  // In the wrong order; the time stamps tell.
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"late", answer(205, 205, "2026-02-01 00:00:30")},
                                                             {"early", answer(101, 100, "2026-01-31 23:59:30")}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  std::vector<const model::RankReport*> reports;
  for (const model::TelemetryRecord& record : recording->reports) {
    const auto* report = std::get_if<model::RankReport>(&record);
    if (report != nullptr && report->rank == RankId(0)) reports.push_back(report);
  }
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1]->number, 1u);
  EXPECT_EQ(reports[1]->at, SimTime(60'000'000'000));
  EXPECT_FALSE(FindOperation(*reports[0], OperationKind::kAllReduce, 100)->finished);
  const OperationRecord* done = FindOperation(*reports[1], OperationKind::kAllReduce, 100);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->enqueued, SimTime(0));
  EXPECT_TRUE(done->finished);
  EXPECT_TRUE(recording->notes.empty());
}

TEST(NcclRasTest, MovingConnectionsAreNotReportedAsInFlight) {
  const auto answer = [](uint64_t first, uint64_t second, const char* time) {
    return Answer({CommunicatorText("0xa", 2, {RankText(0, 0, first), RankText(1, 2, second)})}, time);
  };
  const auto count_pending = [](const Recording& recording) {
    std::set<std::pair<uint64_t, bool>> reported;  // (sequence, finished), all-reduces of rank 0
    for (const model::TelemetryRecord& record : recording.reports) {
      const auto* report = std::get_if<model::RankReport>(&record);
      if (report == nullptr || report->rank != RankId(0)) continue;
      for (const OperationRecord& o : report->operations) {
        if (o.kind == OperationKind::kAllReduce) reported.emplace(o.sequence, o.finished.has_value());
      }
    }
    return std::count_if(reported.begin(), reported.end(), [&](const auto& entry) {
      return !entry.second && !reported.contains({entry.first, true});
    });
  };
  const std::pair<std::string, std::string> early = {"a", answer(101, 100, "2026-01-31 12:00:00")};
  const auto moves = ImportTexts(RecordingFormat::kRas, {early, {"b", answer(301, 300, "2026-01-31 12:01:00")}});
  const auto stands = ImportTexts(RecordingFormat::kRas, {early, {"b", answer(101, 100, "2026-01-31 12:01:00")}});
  ASSERT_TRUE(moves.ok() && stands.ok());
  EXPECT_EQ(count_pending(*moves), 0);
  EXPECT_EQ(count_pending(*stands), 1);
}

TEST(NcclRasTest, DeadAndSilentRanks) {
  // NCCL 2.28.9 forgets the comma before "status".
  const std::string answer = Answer({CommunicatorText(
      "0xa", 6, {RankText(0, 0, 9), RankText(1, 1, 9), RankText(2, 2, 9)},
      {MissingText(3, 3, false, true, ""), MissingText(4, 4, true, false, ""), MissingText(5, 5, true, false, "")})});
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"ras.json", answer}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_THAT(recording->notes, Contains("The process of rank 4 and 5 gives no answer to RAS."));
  EXPECT_EQ(recording->unanswered, (std::vector<RankId>{RankId(4), RankId(5)}));
  EXPECT_FALSE(recording->is_stalled) << "one answer does not tell";
  std::map<RankId, model::ProcessState> states;
  for (const model::TelemetryRecord& record : recording->reports) {
    const auto* report = std::get_if<model::HostReport>(&record);
    if (report == nullptr) continue;
    for (const model::RankLiveness& liveness : report->ranks) {
      states[liveness.rank] = liveness.state;
      EXPECT_EQ(liveness.exit.is_broken(), liveness.state == model::ProcessState::kGone);
      EXPECT_FALSE(liveness.exit.code.has_value()) << "RAS does not know it";
    }
    EXPECT_NE(recording->host_names[report->host.index()], "10.0.0.3");  // both of its ranks are silent
  }
  const std::map<RankId, model::ProcessState> expected = {{RankId(0), model::ProcessState::kRunning},
                                                          {RankId(1), model::ProcessState::kRunning},
                                                          {RankId(2), model::ProcessState::kRunning},
                                                          {RankId(3), model::ProcessState::kGone}};
  EXPECT_EQ(states, expected);
  for (uint32_t rank = 0; rank < 6; ++rank) EXPECT_EQ(FindReport(*recording, rank) != nullptr, rank < 3) << rank;
}

TEST(NcclRasTest, RanksOfSmallCommunicatorsAreTranslated) {
  const std::string answer = Answer(
      {CommunicatorText("0xb", 2, {RankText(0, 1, 5), RankText(1, 3, 5, "true")}),
       CommunicatorText("0xa", 4, {RankText(0, 0, 7), RankText(1, 1, 7), RankText(2, 2, 7), RankText(3, 3, 7)})});
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"ras.json", answer}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  ASSERT_EQ(recording->layout.communicators.size(), 2u);
  EXPECT_EQ(recording->layout.communicators[1].name, "0xb 0x1:0x2");
  EXPECT_EQ(recording->layout.communicators[1].ranks, (std::vector{RankId(1), RankId(3)}));
  EXPECT_TRUE(FindReport(*recording, 3)->is_finalizing);
  EXPECT_FALSE(FindReport(*recording, 1)->is_finalizing);
}

// RAS may not know the process of a rank that does not answer; its number in the largest communicator identifies it.
TEST(NcclRasTest, UnknownProcesses) {
  const auto unknown = [](int rank) {
    return fmt::format(R"({{"rank": {}, "host": "unknown", "pid": -1, "cuda_dev": 0,
        "status": {{"unresponsive": true, "considered_dead": true}}}})",
                       rank);
  };
  const std::string answer =
      Answer({CommunicatorText("0xa", 4, {RankText(0, 0, 9), RankText(1, 1, 9)}, {unknown(2), unknown(3)}),
              CommunicatorText("0xb", 2, {RankText(0, 0, 9)}, {unknown(1)})});
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"ras.json", answer}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_EQ(recording->layout.ranks.size(), 4u);
  EXPECT_EQ(recording->host_names[recording->layout.ranks[3].host.index()], "host of rank 3");
  size_t num_gone = 0;
  for (const model::TelemetryRecord& record : recording->reports) {
    const auto* report = std::get_if<model::HostReport>(&record);
    if (report == nullptr) continue;
    for (const model::RankLiveness& liveness : report->ranks) num_gone += liveness.state == model::ProcessState::kGone;
  }
  EXPECT_EQ(num_gone, 2u);
}

TEST(NcclRasTest, MistakesHaveMessages) {
  const std::string good = CommunicatorText("0xa", 2, {RankText(0, 0, 9), RankText(1, 1, 9)});
  const std::pair<std::string, const char*> kMistakes[] = {
      {"", "f:1: not JSON"},
      {"Connection refused", "f:1: not JSON"},
      {"{", "f:1: not JSON"},
      {"{}", "f: nccl_version: is missing"},
      {Answer({}), "f: tells of no communicator"},
      {Answer({good}, "yesterday"), "f: timestamp: expected such as"},
      {Answer({CommunicatorText("0xa", 1, {RankText(0, 0, 9), RankText(1, 1, 9)})}),
       "has 1 ranks and none with number 1"},
      {Answer({CommunicatorText("0xa", -1, {})}), "communicators[0].size: expected an integer from 0"},
      {Answer({CommunicatorText("0xa", 2, {RankText(0, 0, 9), RankText(0, 1, 9)})}), "rank 0 is process 900 of"},
  };
  for (const auto& [text, expected] : kMistakes) {
    const auto recording = ImportTexts(RecordingFormat::kRas, {{"f", text}});
    EXPECT_EQ(recording.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(recording.status().message(), HasSubstr(expected));
  }
  const auto years =
      ImportTexts(RecordingFormat::kRas, {{"a", Answer({good}, "1900-01-01 00:00:00")}, {"b", Answer({good})}});
  EXPECT_THAT(years.status().message(), HasSubstr("a and b are years apart"));
}

TEST(NcclRasTest, HugeCountsTakeLittle) {
  const std::string answer = Answer({CommunicatorText("0xa", 2, {RankText(0, 0, UINT64_MAX), RankText(1, 1, 1)})});
  const auto recording = ImportTexts(RecordingFormat::kRas, {{"f", answer}});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  EXPECT_LT(FindReport(*recording, 0)->operations.size(), 100u);
}

}  // namespace
}  // namespace fairlead::telemetry
