#include "agent/process_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::agent {
namespace {

using controller::ProcessesSeen;
using model::ProcessState;
using telemetry::SeenProcess;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SeenProcess ProcessOf(const std::string& job, int32_t pid, size_t num_operations = 1) {
  SeenProcess process;
  process.report.job = job;
  process.report.pid = pid;
  process.report.process_start = 7;
  process.report.communicators = {{.id = 1, .name = "", .num_ranks = 2, .rank = 0, .is_finalized = false}};
  process.report.operations.resize(num_operations);
  for (model::OperationRecord& operation : process.report.operations) operation.communicator = model::CommunicatorId(0);
  return process;
}

SeenProcess Ended(SeenProcess process) {
  process.state = ProcessState::kGone;
  process.exit = {.code = -9, .end = model::ProcessEnd::kBroken, .at = SimTime(5), .within = SimDuration(2)};
  return process;
}

TEST(ProcessReporterTest, EachJobHasAMessageAndEachLookANumber) {
  ProcessReporter reporter;
  reporter.Report({SimTime(1), {}}, false);
  const auto messages = reporter.Report({SimTime(2), {ProcessOf("b", 1), ProcessOf("a", 2), ProcessOf("b", 3)}}, true);
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0], (ProcessesSeen{"a", 1, SimTime(2), {ProcessOf("a", 2)}}));
  EXPECT_EQ(messages[1], (ProcessesSeen{"b", 1, SimTime(2), {ProcessOf("b", 1), ProcessOf("b", 3)}}));
  EXPECT_THAT(reporter.TakeNotes(), IsEmpty());
}

TEST(ProcessReporterTest, AnEndIsReportedUntilItWasReceivedForAMinute) {
  ProcessReporter reporter;
  const SeenProcess ended = Ended(ProcessOf("gpt", 1));
  ASSERT_THAT(reporter.Report({SimTime(0), {ended}}, false), SizeIs(1));
  // Nothing is delivered for an hour.
  for (int i = 0; i < 3600; ++i) ASSERT_THAT(reporter.Report({SimTime(i), {}}, false), SizeIs(1));
  for (uint32_t i = 0; i < ProcessReporter::kTellEnded; ++i) {
    const auto messages = reporter.Report({SimTime(i), {}}, true);
    ASSERT_THAT(messages, SizeIs(1));
    ASSERT_THAT(messages[0].processes, SizeIs(1));
    EXPECT_EQ(messages[0].processes[0].state, ProcessState::kGone);
    EXPECT_EQ(messages[0].processes[0].exit, ended.exit);
    EXPECT_EQ(messages[0].processes[0].report.communicators, ended.report.communicators);
    EXPECT_THAT(messages[0].processes[0].report.operations, IsEmpty());
  }
  EXPECT_THAT(reporter.Report({SimTime(0), {}}, true), IsEmpty());
}

TEST(ProcessReporterTest, UnknownFactsAreNotedOnce) {
  ProcessReporter reporter;
  SeenProcess damaged = ProcessOf("gpt", 2);
  damaged.report.operations[0].communicator = model::CommunicatorId(1);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(reporter.Report({SimTime(i), {ProcessOf("", 1), damaged}}, true), IsEmpty());
  EXPECT_THAT(
      reporter.TakeNotes(),
      ElementsAre("process 1 is not diagnosed: FAIRLEAD_JOB: expected the name of a job, 1 to 63 of A-Z a-z 0-9 . _ -, "
                  "found nothing",
                  "process 2 is not diagnosed: operations[0].communicator: expected one of 1, found 1"));
  EXPECT_THAT(reporter.TakeNotes(), IsEmpty());
}

TEST(ProcessReporterTest, ProcessesBeyondTheBoundsAreSeenFromOutsideOrNotAtAll) {
  ProcessReporter reporter;
  // Two fill the message: 1 + 16383 records each. The third has room for its communicator no more.
  const size_t half = telemetry::kProcessRecordsMax / 2 - 1;
  auto messages =
      reporter.Report({SimTime(0), {ProcessOf("gpt", 1, half), ProcessOf("gpt", 2, half), ProcessOf("gpt", 3)}}, true);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_THAT(messages[0].processes, SizeIs(2));
  EXPECT_THAT(reporter.TakeNotes(), ElementsAre(HasSubstr("more processes on this host")));
  messages = reporter.Report(
      {SimTime(0), {ProcessOf("gpt", 1, half), ProcessOf("gpt", 2, half - 2), ProcessOf("gpt", 3, 2)}}, true);
  ASSERT_THAT(messages[0].processes, SizeIs(3));
  EXPECT_THAT(messages[0].processes[2].report.operations, IsEmpty());
  EXPECT_THAT(reporter.TakeNotes(), ElementsAre(HasSubstr("judged from outside")));
}

// Whatever processes do, messages are within their contract, and every end of a process is reported.
TEST(ProcessReporterTest, RandomLives) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ProcessReporter reporter;
    std::map<int32_t, SeenProcess> living;
    std::set<int32_t> ended;
    std::set<int32_t> heard;
    int32_t next_pid = 1;
    for (uint64_t look = 0; look < 100; ++look) {
      while (random.Below(3) == 0) {
        living[next_pid] = ProcessOf(random.Below(9) == 0 ? "" : "job" + std::to_string(random.Below(3)), next_pid);
        ++next_pid;
      }
      std::vector<SeenProcess> seen;
      for (auto entry = living.begin(); entry != living.end();) {
        const bool ends = random.Below(10) == 0;
        seen.push_back(ends ? Ended(entry->second) : entry->second);
        if (ends && !entry->second.report.job.empty()) ended.insert(entry->first);
        entry = ends ? living.erase(entry) : std::next(entry);
      }
      const bool is_heard = look == 99 || random.Below(2) == 0;
      std::set<std::string> jobs;
      for (const ProcessesSeen& message : reporter.Report({SimTime(0), seen}, is_heard)) {
        EXPECT_EQ(message.number, look);
        EXPECT_TRUE(jobs.insert(message.job).second);
        EXPECT_LE(message.processes.size(), controller::kProcessesMax);
        std::set<int32_t> pids;
        for (const SeenProcess& process : message.processes) {
          EXPECT_EQ(telemetry::FindFault(process.report), "");
          EXPECT_EQ(process.report.job, message.job);
          EXPECT_TRUE(pids.insert(process.report.pid).second);
          if (is_heard && process.state == ProcessState::kGone) heard.insert(process.report.pid);
        }
      }
    }
    EXPECT_EQ(heard, ended);
  }
}

TEST(ProcessReporterTest, BadJobNamesAreNotReported) {
  for (const std::string& name :
       {std::string(64, 'x'), std::string("a b;rm -rf /"), std::string("../x"), std::string("é")}) {
    ProcessReporter reporter;
    EXPECT_THAT(reporter.Report({SimTime(0), {ProcessOf(name, 1)}}, true), IsEmpty()) << name;
    EXPECT_THAT(reporter.TakeNotes(), ElementsAre(HasSubstr("FAIRLEAD_JOB: expected the name of a job")));
  }
  ProcessReporter reporter;
  EXPECT_THAT(reporter.Report({SimTime(0), {ProcessOf(std::string(63, 'x'), 1)}}, true), SizeIs(1));
}

TEST(ProcessReporterTest, SymptomsAreToldToEachJobOnceThereIsAController) {
  ProcessReporter reporter;
  const model::HostSymptomRecord lost = {.symptom = model::HostSymptom::kGpuLost, .device = 3, .text = "Xid 79"};
  const model::HostSymptomRecord down = {.symptom = model::HostSymptom::kLinkDown, .device = 0, .text = "eth2"};
  const auto look = [](std::vector<model::HostSymptomRecord> symptoms) {
    return SegmentsSeen{SimTime(0), {ProcessOf("a", 1), ProcessOf("b", 2)}, std::move(symptoms)};
  };
  reporter.Report(look({lost}), false);
  reporter.Report(look({down, lost}), false);
  for (const ProcessesSeen& message : reporter.Report(look({}), true)) {
    EXPECT_THAT(message.symptoms, ElementsAre(lost, down)) << message.job;
  }
  for (const ProcessesSeen& message : reporter.Report(look({}), true)) EXPECT_THAT(message.symptoms, IsEmpty());
  std::vector<model::HostSymptomRecord> many(100, lost);
  for (uint32_t i = 0; i < 100; ++i) many[i].text = std::string(1000, 'x') + std::to_string(many[i].device = i);
  for (const ProcessesSeen& message : reporter.Report(look(many), true)) {
    ASSERT_THAT(message.symptoms, SizeIs(controller::kSymptomsMax));
    EXPECT_THAT(message.symptoms[0].text, SizeIs(controller::kSymptomBytesMax));
  }
}

}  // namespace
}  // namespace fairlead::agent
