#include "service/controller/telemetry_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "telemetry/random_telemetry.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;
using model::TelemetryRecord;
using telemetry::TelemetryReader;

// Remembers what it was given; each call finds one thing.
class FakeDiagnosis final : public diagnosis::JobDiagnosis {
 public:
  explicit FakeDiagnosis(std::vector<TelemetryRecord>* given) : given_(given) {}
  std::vector<model::Finding> Handle(SimTime, std::span<const TelemetryRecord> records) override {
    given_->insert(given_->end(), records.begin(), records.end());
    return std::vector<model::Finding>(1);
  }
  void NoteAnswer(SimTime, HostId) override {}
  void ExcuseUntil(SimTime time) override { excused_until = time; }
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const override {
    return model::FindingProof{.seen_at = SimTime(id.value()), .blocks = {}, .waits = {}, .delays = {}, .host_of = {}};
  }
  bool HasCrashed(SimTime now) const override { return now == SimTime(7); }

  static inline SimTime excused_until;

 private:
  std::vector<TelemetryRecord>* given_;
};

class TelemetryRecorderTest : public testing::Test {
 protected:
  std::unique_ptr<diagnosis::JobDiagnosis> Make(const std::string& job, uint64_t bytes_max = 1'000'000'000) {
    auto factory =
        RecordTelemetry({.folder = folder_.File("recordings"), .bytes_max = bytes_max},
                        [this](const std::string& name) { return std::make_unique<FakeDiagnosis>(&given_[name]); });
    EXPECT_TRUE(factory.ok()) << factory.status().message();
    return (*factory)(job);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_.File("recordings"))) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }

  // Layout and reports of a file.
  static std::vector<TelemetryRecord> Read(const std::string& file) {
    auto reader = TelemetryReader::Open(file);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    std::vector<TelemetryRecord> records = {reader->layout()};
    while (reader->Next()) records.push_back(reader->record());
    EXPECT_TRUE(reader->status().ok()) << reader->status().message();
    return records;
  }

  uint64_t BytesOfAll() const {
    uint64_t bytes = 0;
    for (const std::string& file : Files()) bytes += fs::file_size(file);
    return bytes;
  }

  TemporaryFolder folder_;
  std::map<std::string, std::vector<TelemetryRecord>> given_;
};

constexpr SimTime kNow = SimTime(1'764'120'600'000'000'000);  // 2025-11-26 01:30:00 UTC

TEST_F(TelemetryRecorderTest, WhatIsReadBackIsWhatTheDiagnosisWasGiven) {
  Random random(1);
  for (int run = 0; run < 20; ++run) {
    const auto records = telemetry::DrawRecording(30, random);
    const std::string job = "job" + std::to_string(run);
    {
      const auto diagnosis = Make(job);
      for (size_t begin = 0; begin < records.size(); begin += 7) {
        const auto part = std::span(records).subspan(begin, std::min<size_t>(7, records.size() - begin));
        EXPECT_EQ(diagnosis->Handle(kNow, part).size(), 1U) << "findings come through";
      }
    }
    EXPECT_EQ(given_[job].size(), records.size());
    const auto files = Files();
    const auto file =
        std::ranges::find_if(files, [&](const auto& path) { return path.find(job + "-2025") != path.npos; });
    ASSERT_NE(file, files.end());
    const auto read = Read(*file);
    ASSERT_EQ(read.size(), records.size());
    EXPECT_EQ(std::get<model::JobLayout>(read[0]), std::get<model::JobLayout>(records[0]));
    for (size_t i = 1; i < read.size(); ++i) EXPECT_EQ(read[i].index(), records[i].index());
  }
}

TEST_F(TelemetryRecorderTest, AnswersAreThoseOfTheDiagnosis) {
  const auto diagnosis = Make("gpt");
  const auto proof = diagnosis->ProofOf(model::FindingId(3));
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->seen_at, SimTime(3));
  EXPECT_TRUE(diagnosis->HasCrashed(SimTime(7)));
  EXPECT_FALSE(diagnosis->HasCrashed(SimTime(8)));
}

TEST_F(TelemetryRecorderTest, FilesAreNamedByJobAndTimeAndBelongToTheirOwnerOnly) {
  Random random(2);
  const auto records = telemetry::DrawRecording(3, random);
  for (int run = 0; run < 2; ++run) Make("gpt@1001.slurm-7")->Handle(kNow, records);
  ASSERT_EQ(Files().size(), 2U) << "neither takes the other's name";
  EXPECT_EQ(fs::path(Files()[0]).filename(), "telemetry-gpt@1001.slurm-7-20251126T013000Z-0.jsonl");
  struct stat status = {};
  ASSERT_EQ(stat(Files()[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(stat(folder_.File("recordings").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(TelemetryRecorderTest, ALayoutBeginsAFileOfItsOwn) {
  Random random(3);
  const auto first = telemetry::DrawRecording(5, random);
  const auto second = telemetry::DrawRecording(6, random);
  std::vector<TelemetryRecord> both = first;
  both.insert(both.end(), second.begin(), second.end());
  Make("gpt")->Handle(kNow, both);
  ASSERT_EQ(Files().size(), 2U);
  EXPECT_EQ(Read(Files()[0]).size(), first.size());
  EXPECT_EQ(Read(Files()[1]).size(), second.size());
}

TEST_F(TelemetryRecorderTest, WithoutReportsThereIsNoFile) {
  Random random(4);
  const TelemetryRecord layout = telemetry::DrawLayout(random);
  const auto diagnosis = Make("gpt");
  diagnosis->Handle(kNow, std::span(&layout, 1));
  diagnosis->ExcuseUntil(SimTime(5));
  EXPECT_EQ(FakeDiagnosis::excused_until, SimTime(5));
  EXPECT_THAT(Files(), testing::IsEmpty());
}

TEST_F(TelemetryRecorderTest, TheOldestFilesGoWhenTheSpaceIsFull) {
  constexpr uint64_t kSpace = 1'000'000;
  Random random(5);
  const auto records = telemetry::DrawRecording(200, random);
  const auto diagnosis = Make("gpt", kSpace);
  diagnosis->Handle(kNow, std::span(records).first(1));
  const auto reports = std::span(records).subspan(1);
  uint64_t greatest = 0;
  for (int second = 0; second < 200; ++second) {
    diagnosis->Handle(kNow + SimDuration(second * 1'000'000'000LL), reports);
    greatest = std::max(greatest, BytesOfAll());
  }
  EXPECT_GT(greatest, kSpace / 2);
  EXPECT_LT(greatest, kSpace * 5 / 4) << "more by one tick's reports at most";
  EXPECT_EQ(Files().front().find("T013000Z"), std::string::npos) << "the first one is gone";
  for (const std::string& file : Files()) EXPECT_GT(Read(file).size(), 1U);
}

TEST_F(TelemetryRecorderTest, ForeignFilesStay) {
  Random random(6);
  const auto records = telemetry::DrawRecording(200, random);
  const auto diagnosis = Make("gpt", 1'000'000);
  std::ofstream(folder_.File("recordings/notes.txt")) << std::string(2'000'000, 'x');
  diagnosis->Handle(kNow, std::span(records).first(1));
  for (int second = 0; second < 50; ++second) diagnosis->Handle(kNow, std::span(records).subspan(1));
  EXPECT_TRUE(fs::exists(folder_.File("recordings/notes.txt")));
}

TEST_F(TelemetryRecorderTest, ADiskThatFailsDoesNotDisturbTheDiagnosis) {
  Random random(7);
  const auto records = telemetry::DrawRecording(10, random);
  const auto reports = std::span(records).subspan(1);
  const auto diagnosis = Make("gpt");
  fs::remove_all(folder_.File("recordings"));
  EXPECT_EQ(diagnosis->Handle(kNow, records).size(), 1U);
  fs::create_directory(folder_.File("recordings"));
  diagnosis->Handle(kNow + SimDuration(59'000'000'000), reports);
  EXPECT_THAT(Files(), testing::IsEmpty()) << "not yet";
  diagnosis->Handle(kNow + SimDuration(60'000'000'000), reports);
  ASSERT_EQ(Files().size(), 1U);
  EXPECT_EQ(Read(Files()[0]).size(), records.size()) << "with the layout of before";
  EXPECT_EQ(given_["gpt"].size(), records.size() + 2 * reports.size());
}

TEST_F(TelemetryRecorderTest, WhatCanNotBeAFolderIsRefused) {
  std::ofstream(folder_.File("file")) << "x";
  const auto is_file = RecordTelemetry({.folder = folder_.File("file")}, {});
  ASSERT_EQ(is_file.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(is_file.status().message(), testing::EndsWith("Not a directory"));
  const auto no_parent = RecordTelemetry({.folder = folder_.File("missing/folder")}, {});
  EXPECT_THAT(no_parent.status().message(), testing::HasSubstr("No such file or directory"));
  const auto small = RecordTelemetry({.folder = folder_.File("recordings"), .bytes_max = 999'999}, {});
  EXPECT_EQ(small.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fairlead::service
