// Our own form of recordings: identity, and one clear error for everything that is no recording.
#include "telemetry/telemetry_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "telemetry/random_telemetry.h"

namespace fairlead::telemetry {
namespace {

using testing::HasSubstr;

const char* const kLayout = R"({"fairlead_telemetry":1,"layout":{"job":4,"ranks":[{"host":0},{"host":7,"nic":3}],)"
                            R"("communicators":[{"name":"data","ranks":[0,1]}]}})";

// What was read of `text`: the records after the layout, and how reading ended.
struct ReadBack {
  Status status;
  model::JobLayout layout;
  std::vector<model::TelemetryRecord> records;
  bool is_cut_off = false;
};

ReadBack Read(const std::string& text, const TelemetryReaderOptions& options = {}) {
  auto reader = TelemetryReader::FromStream(std::make_unique<std::istringstream>(text), "dump.jsonl", options);
  ReadBack result;
  result.status = reader.status();
  if (!reader.ok()) return result;
  result.layout = reader->layout();
  while (reader->Next()) result.records.push_back(reader->record());
  result.status = reader->status();
  result.is_cut_off = reader->is_cut_off();
  EXPECT_EQ(reader->num_records(), result.records.size());
  return result;
}

std::string Write(const std::vector<model::TelemetryRecord>& records) {
  std::ostringstream out;
  TelemetryWriter writer(out);
  for (const model::TelemetryRecord& record : records) {
    const Status status = writer.Write(record);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return out.str();
}

TEST(TelemetryDumpTest, WriteThenReadIsIdentity) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const std::vector<model::TelemetryRecord> records = DrawRecording(random.Below(6), random);
    const ReadBack back = Read(Write(records));
    ASSERT_TRUE(back.status.ok()) << seed << ": " << back.status.message();
    ASSERT_EQ(back.layout, std::get<model::JobLayout>(records[0])) << seed;
    ASSERT_EQ(back.records, std::vector(records.begin() + 1, records.end())) << seed;
  }
}

TEST(TelemetryDumpTest, TruncationAnywhereIsReportedOrAccepted) {
  Random random(7);
  const std::vector<model::TelemetryRecord> records = DrawRecording(4, random);
  const std::string text = Write(records);
  const size_t layout_end = text.find('\n') + 1;
  for (size_t size = layout_end; size < text.size(); ++size) {
    const std::string part = text.substr(0, size);
    // A line that misses only its end is whole.
    const bool is_whole = part.back() == '\n' || text[size] == '\n';
    const auto num_whole = static_cast<size_t>(std::count(part.begin(), part.end(), '\n')) - 1 +
                           static_cast<size_t>(is_whole && part.back() != '\n');
    const ReadBack strict = Read(part);
    ASSERT_EQ(strict.status.ok(), is_whole) << size;
    if (!is_whole) {
      EXPECT_THAT(strict.status.message(), HasSubstr("ends within a record"));
      EXPECT_THAT(strict.status.message(), HasSubstr("The " + std::to_string(num_whole) + " records before"));
    }
    const ReadBack lenient = Read(part, {.accept_cut_off = true});
    ASSERT_TRUE(lenient.status.ok()) << lenient.status.message();
    ASSERT_EQ(lenient.is_cut_off, !is_whole);
    ASSERT_EQ(lenient.records.size(), num_whole);
  }
}

TEST(TelemetryDumpTest, EveryMistakeHasItsMessage) {
  const std::pair<const char*, const char*> kMistakes[] = {
      {R"({"rank_report":{"rank":2,"number":0,"at":0,"job":4}})",
       "2: rank_report.rank: expected one of the layout's 2"},
      {R"({"rank_report":{"rank":0,"number":-1,"at":0,"job":4}})", "rank_report.number: expected an integer from 0"},
      {R"({"rank_report":{"rank":0,"number":1.5,"at":0,"job":4}})", "found 1.5"},
      {R"({"rank_report":{"rank":0,"number":"1","at":0,"job":4}})", "found '1'"},
      {R"({"rank_report":{"rank":0,"number":99999999999999999999,"at":0,"job":4}})", "found 1e+20"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":5}})", "rank_report.job: expected 4, the layout's, found 5"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0}})", "rank_report.job: expected 4, the layout's, found none"},
      {R"({"rank_report":{"rank":0,"at":0,"job":4}})", "rank_report.number: is missing"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"mood":1}})", "rank_report: unknown key 'mood'"},
      {R"({"rank_report":{"rank":0,"rank":1,"number":0,"at":0,"job":4}})", "the key 'rank' appears twice"},
      {R"({"rank_report":[]})", "rank_report: expected an object, found a list"},
      {R"({"host_report":{"host":1,"number":0,"at":0,"job":4}})", "host_report.host: expected one of the layout's 2"},
      {R"({"host_report":{"host":7,"number":0,"at":0,"job":4,"ranks":[{"rank":1},{"rank":1}]}})",
       "host_report.ranks[1]: appears twice"},
      {R"({"host_report":{"host":7,"number":0,"at":0,"job":4,"ranks":[{"rank":1,"state":3}]}})",
       "host_report.ranks[0].state: expected an integer from 0 to 2"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"operations":[)"
       R"({"communicator":1,"kind":0,"root":-1,"enqueued":0}]}})",
       "rank_report.operations[0].communicator: expected one of the layout's 1, found 1"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"operations":[)"
       R"({"communicator":0,"kind":0,"root":2,"enqueued":0}]}})",
       "operations[0].root: expected a rank of the communicator, below 2, or -1, found 2"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"progress":[{"communicator":1,"kind":9}]}})",
       "rank_report.progress[0].communicator: expected one of the layout's 1, found 1"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"progress":[{"communicator":0,"kind":6,"peer":2}]}})",
       "rank_report.progress[0].peer: expected one of the layout's 2, found 2"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"progress":[)"
       R"({"communicator":0,"kind":9},{"communicator":0,"kind":9}]}})",
       "rank_report.progress[1]: appears twice"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4,"connections":[)"
       R"({"key":{"communicator":0,"direction":0,"peer":1},"wire_time":-5}]}})",
       "connections[0].wire_time: expected 0 or more, found -5"},
      {R"({"rank_report":{"rank":0,"number":0,"at":0,"job":4},"host_report":{"host":0,"number":0,"at":0}})",
       "expected one rank_report or host_report"},
      {R"({})", "expected one rank_report or host_report"},
      {R"([1])", "expected an object, found a list"},
      {R"({"layout":{"job":4,"ranks":[],"communicators":[]}})", "layout: appears twice"},
      {"\x80\x02}q", "dump.jsonl:2: not JSON"},
      {"", "dump.jsonl:2: not JSON"},
  };
  for (const auto& [line, expected] : kMistakes) {
    const ReadBack back = Read(std::string(kLayout) + "\n" + line + "\n");
    EXPECT_EQ(back.status.code(), StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(back.status.message(), HasSubstr(expected)) << line;
    EXPECT_THAT(back.status.message(), testing::StartsWith("dump.jsonl:2: ")) << line;
  }
}

TEST(TelemetryDumpTest, TheFirstLineIsTheLayout) {
  const std::pair<std::string, const char*> kMistakes[] = {
      {"", "dump.jsonl: is empty"},
      {"\n", "dump.jsonl:1: not JSON"},
      {"{}\n", "expected a recording that begins with"},
      {R"({"fairlead_telemetry":4,"layout":{}})", "expected version 1 to 3, found 4"},
      {R"({"fairlead_telemetry":0,"layout":{}})", "expected version 1 to 3, found 0"},
      {R"({"fairlead_telemetry":"2","layout":{}})", "expected version 1 to 3, found '2'"},
      {R"({"fairlead_telemetry":1})", "expected the layout"},
      {R"({"fairlead_telemetry":1,"layout":{"ranks":[{"host":-1}],"communicators":[]}})", "layout.ranks[0].host"},
      {R"({"fairlead_telemetry":1,"layout":{"ranks":[{"host":1}],"communicators":[{"ranks":[1]}]}})",
       "layout.communicators[0].ranks: expected one of the layout's 1, found 1"},
      {R"({"fairlead_telemetry":1,"layout":{"ranks":[{"host":1}],"communicators":[{"ranks":[0,0]}]}})",
       "layout.communicators[0].ranks: rank 0 appears twice"},
      {std::string(5000, '['), "nested deeper than 64"},
      {std::string(kLayout).substr(0, 50), "not JSON"},
  };
  for (const auto& [text, expected] : kMistakes) {
    const ReadBack back = Read(text);
    EXPECT_EQ(back.status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(back.status.message(), HasSubstr(expected)) << text;
  }
  EXPECT_TRUE(Read(std::string("\xef\xbb\xbf") + kLayout + "\r\n").status.ok());
}

// As version 1 was written: what it did not tell is not known.
TEST(TelemetryDumpTest, OlderRecordingsAreRead) {
  const std::string report = R"({"rank_report":{"job":4,"rank":1,"number":0,"at":5,"operations":[)"
                             R"({"communicator":0,"kind":0,"root":-1,"enqueued":1,"started":2}]}})";
  const ReadBack back = Read(std::string(kLayout) + "\n" + report + "\n");
  ASSERT_TRUE(back.status.ok()) << back.status.message();
  ASSERT_EQ(back.records.size(), 1u);
  const auto& read = std::get<model::RankReport>(back.records[0]);
  ASSERT_EQ(read.operations.size(), 1u);
  EXPECT_EQ(read.operations[0].started, SimTime(2));
  EXPECT_TRUE(read.progress.empty());
  EXPECT_FALSE(read.operations_since.has_value());
  EXPECT_FALSE(read.busy_connections.has_value());
}

TEST(TelemetryDumpTest, LongLinesAreRefused) {
  const std::string line = std::string(kLayout) + "\n";
  EXPECT_TRUE(Read(line, {.line_bytes_max = line.size() - 1}).status.ok());
  EXPECT_THAT(Read(line, {.line_bytes_max = line.size() - 2}).status.message(), HasSubstr("dump.jsonl:1: the line"));
}

TEST(TelemetryDumpTest, TheWriterRefusesWhatTheReaderWould) {
  std::ostringstream out;
  TelemetryWriter writer(out);
  EXPECT_THAT(writer.Write(model::RankReport()).message(), HasSubstr("the first record must be the layout"));
  model::JobLayout layout{.job = JobId(1), .ranks = std::vector<model::RankPlace>(1), .communicators = {}};
  layout.ranks[0].host = HostId(0);
  EXPECT_TRUE(writer.Write(layout).ok());
  EXPECT_THAT(writer.Write(layout).message(), HasSubstr("layout: appears twice"));
  model::RankReport report;
  report.job = layout.job;
  report.rank = model::RankId(1);
  EXPECT_THAT(writer.Write(report).message(), HasSubstr("rank_report.rank"));
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

}  // namespace
}  // namespace fairlead::telemetry
