#include "trace/lingjun_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/temporary_folder.h"
#include "trace/lingjun_example.h"
#include "trace/lingjun_time.h"
#include "trace/neutral_trace.h"
#include "trace/pod_resources.h"

namespace fairlead::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<std::istream> Stream(const std::string& text) { return std::make_unique<std::istringstream>(text); }

Result<LingjunImport> Import(const LingjunExample& example, const LingjunImportOptions& options = {}) {
  return ImportLingjun(
      {.jobs = Stream(example.jobs), .workers = Stream(example.workers), .topology = Stream(example.topology)},
      options);
}

TEST(LingjunTimeTest, ReadsTheFormOfTheFilesOnly) {
  // Days from 1970-01-01 to 2023-07-05: 53 years of 365, 13 leap days (1972 … 2020), 185 days of 2023 before it.
  EXPECT_EQ(ParseLingjunTime("2023/7/5 15:18"), (53 * 365 + 13 + 185) * 86400LL + 15 * 3600LL + 18 * 60LL);
  EXPECT_EQ(ParseLingjunTime("2023/12/31 0:05").value() + 86400 - 300, ParseLingjunTime("2024/1/1 00:00"));
  EXPECT_EQ(ParseLingjunTime("2024/2/29 00:00").value() + 86400, ParseLingjunTime("2024/3/1 00:00"));
  for (const char* text : {"", "2023/7/5", "2023-7-5 15:18", "2023/7/5 15:18:00", "2023/13/1 00:00", "2023/2/29 00:00",
                           "2023/7/5 24:00", "2023/7/5 15:60", "2023/7/5 15:", "x", "2023/7/-5 15:18",
                           "99999/7/5 15:18", "2023/7/5 15:18 ", "2023/7/005 15:18"}) {
    EXPECT_FALSE(ParseLingjunTime(text).has_value()) << text;
  }
}

TEST(LingjunTimeTest, FormatIsTheInverse) {
  for (int64_t s = 0; s < 4'000'000'000; s += 86400 * 17 + 60 * 61)
    EXPECT_EQ(ParseLingjunTime(FormatLingjunTime(s)), s);
}

TEST(PodResourcesTest, ReadsQuantities) {
  const auto r = ParsePodResources(
      R"({"cpu": "96500m", "memory": "1600Gi", "nvidia.com/gpu": "8", "ephemeral-storage": "4Ti", "koordinator.sh/rdma": "1"})");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_DOUBLE_EQ(r->cpu_cores, 96.5);
  EXPECT_DOUBLE_EQ(r->memory.value(), 1600.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(r->disk.value(), 4.0 * 1024 * 1024 * 1024 * 1024);
  EXPECT_EQ(r->gpus, 8u);
  EXPECT_TRUE(r->rdma);
  EXPECT_EQ(ParsePodResources(R"({"cpu": "4"})")->gpus, 0u) << "the key is absent for pods without GPUs";
  EXPECT_EQ(ParsePodResources(R"({"nvidia.com/gpu": 2})")->gpus, 2u) << "a number instead of a text";
  EXPECT_DOUBLE_EQ(ParseQuantity("3Ki").value(), 3072);
  EXPECT_DOUBLE_EQ(ParseQuantity("1.5Mi").value(), 1.5 * 1024 * 1024);
}

TEST(PodResourcesTest, RefusesWhatIsNoQuantity) {
  for (const char* json : {"", "8", "[]", "{", R"({"cpu": "many"})", R"({"cpu": "-1"})", R"({"memory": "1 Gi"})",
                           R"({"memory": "1gi"})", R"({"nvidia.com/gpu": "0.5"})", R"({"nvidia.com/gpu": "500m"})",
                           R"({"nvidia.com/gpu": "9999999"})", R"({"nvidia.com/gpu": "inf"})", R"({"cpu": {}})"}) {
    EXPECT_FALSE(ParsePodResources(json).ok()) << json;
  }
}

class ExampleTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ExampleTest, EveryTrapIsCountedAndEveryGoodJobComesOut) {
  const LingjunExample example = MakeLingjunExample(200, GetParam());
  const auto import = Import(example);
  ASSERT_TRUE(import.ok()) << import.status().message();
  EXPECT_EQ(RenderNeutralTrace(import->trace.jobs).value(), RenderNeutralTrace(example.expected).value());
  const CleaningReport& report = import->report;
  for (const TrapText& text : TrapTexts()) {
    EXPECT_EQ(report.count(text.trap), example.planted.count(text.trap)) << text.what;
    EXPECT_GT(report.count(text.trap), 0u) << "the example lacks: " << text.what;
    EXPECT_FALSE(report.examples[static_cast<size_t>(text.trap)].empty()) << text.what;
  }
  EXPECT_EQ(report.num_job_rows, example.planted.num_job_rows);
  EXPECT_EQ(report.num_worker_rows, example.planted.num_worker_rows);
  EXPECT_EQ(report.num_hosts, example.planted.num_hosts);
  EXPECT_EQ(report.num_jobs, example.planted.num_jobs);
  EXPECT_EQ(report.num_gpu_jobs, example.planted.num_gpu_jobs);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExampleTest, ::testing::Range<uint64_t>(1, 6));

// Rows for the tests of single rules: one job of one pod with 8 GPUs, 10:00 to 12:00.
LingjunJobRow GoodRow(const std::string& id) {
  return {.id = id,
          .job_name = "dlc" + id,
          .model = "llama",
          .status = "Succeeded",
          .submitted = "2023/7/15 09:58",
          .running = "2023/7/15 10:00",
          .stopped = "",
          .finished = "2023/7/15 12:00",
          .created = "2023/7/15 09:58"};
}
LingjunPodRow GoodPod(const std::string& id) {
  return {"dlc" + id, "host", "2023/7/15 09:58", "", "2023/7/15 12:00", R"({"nvidia.com/gpu": "8"})"};
}
Result<LingjunImport> ImportRows(const std::vector<LingjunJobRow>& rows, const std::vector<LingjunPodRow>& pods,
                                 const LingjunImportOptions& options = {}) {
  std::string jobs = LingjunJobHeader(), workers = LingjunPodHeader();
  for (const LingjunJobRow& row : rows) jobs += RenderRow(row);
  for (const LingjunPodRow& pod : pods) workers += RenderRow(pod);
  return ImportLingjun({.jobs = Stream(jobs), .workers = Stream(workers), .topology = nullptr}, options);
}

TEST(LingjunTraceTest, SecondZeroIsTheMidnightBeforeTheFirstSubmission) {
  const auto import = ImportRows({GoodRow("1")}, {GoodPod("1"), GoodPod("1")});
  ASSERT_TRUE(import.ok()) << import.status().message();
  EXPECT_THAT(import->trace.jobs, ElementsAre(TraceJob{.id = "1",
                                                       .submit_s = 9 * 3600 + 58 * 60,
                                                       .duration_s = 7200,
                                                       .gpus = 16,
                                                       .gpus_per_host = 8,
                                                       .model = "llama"}));
  EXPECT_THAT(import->trace.notes.back(), HasSubstr("2023/7/15 00:00"));
}

TEST(LingjunTraceTest, RunningJobsEndWithTheTraceWhenAsked) {
  LingjunJobRow running = GoodRow("2");
  running.finished = "";
  running.running = "2023/7/15 11:00";
  EXPECT_EQ(ImportRows({GoodRow("1"), running}, {})->trace.jobs.size(), 1u);
  const auto import = ImportRows({GoodRow("1"), running}, {}, {.keep_still_running = true});
  ASSERT_EQ(import->trace.jobs.size(), 2u);
  EXPECT_EQ(import->trace.jobs[1].duration_s, 3600) << "from 11:00 to 12:00, the latest end";
}

TEST(LingjunTraceTest, ZeroMinutesGetTheLeastRunTime) {
  LingjunJobRow row = GoodRow("1");
  row.finished = row.running;
  EXPECT_EQ(ImportRows({row}, {})->trace.jobs[0].duration_s, 0);
  EXPECT_EQ(ImportRows({row}, {}, {.min_duration_s = 60})->trace.jobs[0].duration_s, 60);
}

TEST(LingjunTraceTest, PodsWithoutDurationAreDroppedWhenAsked) {
  LingjunPodRow pod = GoodPod("1");
  pod.finished = pod.created;
  EXPECT_EQ(ImportRows({GoodRow("1")}, {GoodPod("1"), pod})->trace.jobs[0].gpus, 16u);
  EXPECT_EQ(ImportRows({GoodRow("1")}, {GoodPod("1"), pod}, {.drop_pods_without_duration = true})->trace.jobs[0].gpus,
            8u);
}

TEST(LingjunTraceTest, LabelsThatDifferInCaseStayApartAndAreReported) {
  std::vector<LingjunJobRow> rows;
  for (const char* model : {"GPT-13b", "GPT-13B", "GPT-13b", "gpt", "llama"}) {
    rows.push_back(GoodRow(std::to_string(rows.size())));
    rows.back().model = model;
  }
  const auto import = ImportRows(rows, {});
  EXPECT_EQ(import->trace.jobs[1].model, "GPT-13B");
  EXPECT_THAT(import->report.case_variants, ElementsAre("GPT-13B 1, GPT-13b 2"));
}

TEST(LingjunTraceTest, MessagesNameFileLineAndColumn) {
  const auto message = [](const std::string& jobs, const std::string& workers) {
    return ImportLingjun({.jobs = Stream(jobs), .workers = Stream(workers), .topology = nullptr}).status().message();
  };
  EXPECT_THAT(message("a,b\n1,2\n", LingjunPodHeader()), StartsWith("job.csv:1: expected one column 'id'"));
  EXPECT_THAT(message(LingjunJobHeader(), "a,b\n"), StartsWith("worker.csv:1: expected one column 'job_name'"));
  EXPECT_THAT(message("", LingjunPodHeader()), HasSubstr("job.csv"));
  EXPECT_THAT(message(LingjunJobHeader(), LingjunPodHeader()), HasSubstr("no job is left"));
  EXPECT_THAT(message(LingjunJobHeader(), LingjunPodHeader() + "1,2\n"), StartsWith("worker.csv:2:"));
  EXPECT_EQ(
      ImportLingjun({.jobs = "/nonexistent/job.csv", .workers = "/nonexistent/w.csv", .topology = ""}).status().code(),
      StatusCode::kNotFound);
}

TEST(LingjunTraceTest, StopsOnRequest) {
  // The progress function is asked every 4096 rows; the size of a stream is unknown, so the files go through the disk.
  const TemporaryFolder folder;
  const std::string jobs = folder.File("job.csv"), workers = folder.File("worker.csv");
  {
    std::ofstream(jobs) << LingjunJobHeader() << RenderRow(GoodRow("1"));
    std::ofstream file(workers);
    file << LingjunPodHeader();
    for (int i = 0; i < 5000; ++i) file << RenderRow(GoodPod("1"));
  }
  double seen = -1;
  LingjunImportOptions options;
  options.progress = [&](double fraction) {
    seen = fraction;
    return false;
  };
  EXPECT_EQ(ImportLingjun({.jobs = jobs, .workers = workers, .topology = ""}, options).status().code(),
            StatusCode::kCancelled);
  EXPECT_GT(seen, 0.5);
  EXPECT_LE(seen, 1);
}

}  // namespace
}  // namespace fairlead::trace
