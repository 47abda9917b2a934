#include "telemetry/job_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "telemetry/record_check.h"

namespace fairlead::telemetry {
namespace {

using model::CommunicatorId;
using model::HostReport;
using model::JobLayout;
using model::ProcessState;
using model::RankId;
using model::RankReport;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kWorld = 50;

// A job on hosts of two processes each; process p is on host p / 2, and is rank p of the communicator kWorld.
class AssembledJob {
 public:
  explicit AssembledJob(uint32_t num_processes, bool tells_ranks = true) : processes(num_processes) {
    for (uint32_t p = 0; p < num_processes; ++p) {
      ProcessReport& report = processes[p].report;
      report.pid = static_cast<int32_t>(100 + p);
      report.process_start = 1;
      report.global_rank = tells_ranks ? static_cast<int32_t>(p) : -1;
      Join(p, kWorld, num_processes, p);
    }
  }

  void Join(uint32_t p, uint64_t id, uint32_t num_ranks, uint32_t rank) {
    processes[p].report.communicators.push_back(
        {.id = id, .name = "", .num_ranks = num_ranks, .rank = static_cast<int32_t>(rank), .is_finalized = false});
  }

  // One look of each host that is there; checks all records against the layout of their time.
  void Look(SimDuration after = SimDuration(1'000'000'000)) {
    now = now + after;
    for (uint32_t h = 0; size_t{h} * 2 < processes.size(); ++h) {
      if (h >= num_hosts) continue;
      HostLook look{.host = HostId(h), .number = number, .at = now, .processes = {}};
      for (size_t p = size_t{h} * 2; p < std::min(size_t{h} * 2 + 2, processes.size()); ++p) {
        if (!is_absent[p]) look.processes.push_back(processes[p]);
      }
      for (const model::TelemetryRecord& record : assembler.Add(now, look)) Take(record);
    }
    for (HostLook::Process& process : processes) ++process.report.number;
    ++number;
  }
  void LookFor(int seconds) {
    for (int i = 0; i < seconds; ++i) Look();
  }

  const JobLayout& layout() const { return layouts.back(); }
  std::vector<uint32_t> RanksOf(size_t communicator) const {
    std::vector<uint32_t> ranks;
    for (const RankId rank : layout().communicators.at(communicator).ranks) ranks.push_back(rank.value());
    return ranks;
  }

  std::vector<HostLook::Process> processes;
  std::map<size_t, bool> is_absent;
  uint32_t num_hosts = 1000;  // that have an agent
  uint64_t number = 0;
  SimTime now = SimTime(1);
  JobAssembler assembler{JobId(3), {}};
  std::vector<JobLayout> layouts;
  std::map<uint32_t, RankReport> latest;  // by rank, of the latest layout
  std::map<uint32_t, HostReport> latest_of_host;

 private:
  void Take(const model::TelemetryRecord& record) {
    if (const auto* layout = std::get_if<JobLayout>(&record)) {
      EXPECT_EQ(RecordChecker::Check(*layout), "");
      layouts.push_back(*layout);
      latest.clear();
      latest_of_host.clear();
      return;
    }
    ASSERT_THAT(layouts, testing::Not(IsEmpty())) << "reports before any layout";
    const RecordChecker checker(layouts.back());
    if (const auto* report = std::get_if<RankReport>(&record)) {
      EXPECT_EQ(checker.Check(*report), "");
      latest[report->rank.value()] = *report;
    } else {
      EXPECT_EQ(checker.Check(std::get<HostReport>(record)), "");
      latest_of_host[std::get<HostReport>(record).host.value()] = std::get<HostReport>(record);
    }
  }
};

TEST(JobAssemblerTest, ALayoutWhenNothingNewHasComeForAWhile) {
  AssembledJob job(4);
  job.LookFor(5);
  EXPECT_THAT(job.layouts, IsEmpty());
  job.LookFor(60);
  ASSERT_THAT(job.layouts, SizeIs(1));
  EXPECT_EQ(job.layout().job, JobId(3));
  ASSERT_THAT(job.layout().ranks, SizeIs(4));
  EXPECT_EQ(job.layout().ranks[3].host, HostId(1));
  EXPECT_EQ(job.layout().ranks[3].gpu, 1u);
  EXPECT_THAT(job.RanksOf(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(job.latest, SizeIs(4));
  EXPECT_THAT(job.assembler.notes(), IsEmpty());
}

// The environment says nothing, and the ranks of the largest communicator run against the processes.
TEST(JobAssemblerTest, RanksOfTheLargestCommunicator) {
  AssembledJob job(4, /*tells_ranks=*/false);
  for (uint32_t p = 0; p < 4; ++p) job.processes[p].report.communicators[0].rank = static_cast<int32_t>(3 - p);
  job.Join(0, 7, 2, 0);
  job.Join(3, 7, 2, 1);
  job.LookFor(7);
  ASSERT_THAT(job.layouts, SizeIs(1));
  EXPECT_EQ(job.layout().ranks[3].host, HostId(0)) << "process 0 is rank 3";
  ASSERT_THAT(job.layout().communicators, SizeIs(2));
  EXPECT_THAT(job.RanksOf(0), ElementsAre(3, 0)) << "id 7 comes before kWorld";
  EXPECT_THAT(job.RanksOf(1), ElementsAre(0, 1, 2, 3));
}

TEST(JobAssemblerTest, RecordsAreTranslated) {
  AssembledJob job(4);
  job.Join(2, 7, 2, 0);
  job.Join(1, 7, 2, 1);
  job.LookFor(6);
  // Process 2 knows kWorld as its communicator 0 and the other one as 1, of which process 1 is rank 1.
  ProcessReport& report = job.processes[2].report;
  model::OperationRecord operation;
  operation.communicator = CommunicatorId(1);
  operation.kind = model::OperationKind::kSend;
  operation.peer = RankId(1);
  report.operations = {operation};
  model::ProgressRecord progress;
  progress.communicator = CommunicatorId(1);
  progress.kind = model::OperationKind::kSend;
  progress.peer = RankId(1);
  report.progress = {progress};
  model::ConnectionRecord connection;
  connection.key.communicator = CommunicatorId(0);
  connection.key.peer = RankId(3);
  connection.phase = model::TransferPhase::kSendOnWire;
  report.connections = {connection};
  // Not in range: from an agent that is not ours.
  connection.key.peer = RankId(4);
  report.connections.push_back(connection);
  connection.key.communicator = CommunicatorId(9);
  report.connections.push_back(connection);
  job.Look();
  const RankReport& reported = job.latest.at(2);
  ASSERT_THAT(reported.operations, SizeIs(1));
  EXPECT_EQ(reported.operations[0].communicator, CommunicatorId(0)) << "id 7 comes first";
  EXPECT_EQ(reported.operations[0].peer, RankId(1));
  EXPECT_EQ(reported.progress.at(0).peer, RankId(1));
  ASSERT_THAT(reported.connections, SizeIs(1));
  EXPECT_EQ(reported.connections[0].key.communicator, CommunicatorId(1));
  EXPECT_EQ(reported.connections[0].key.peer, RankId(3));
  EXPECT_EQ(reported.busy_connections, 1u);
}

TEST(JobAssemblerTest, ALateHostIsWaitedForAndThenDoneWithout) {
  AssembledJob job(6);
  job.num_hosts = 2;
  job.LookFor(59);
  EXPECT_THAT(job.layouts, IsEmpty());
  job.LookFor(3);
  ASSERT_THAT(job.layouts, SizeIs(1));
  EXPECT_THAT(job.layout().ranks, SizeIs(4));
  EXPECT_THAT(job.layout().communicators, IsEmpty()) << "nobody knows all its ranks";
  EXPECT_THAT(job.assembler.notes(), testing::Contains(HasSubstr("4 of 6 ranks are known")));
  job.num_hosts = 3;
  job.LookFor(7);
  ASSERT_THAT(job.layouts, SizeIs(2));
  EXPECT_THAT(job.RanksOf(0), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(JobAssemblerTest, ACommunicatorThatIsMadeLater) {
  AssembledJob job(4);
  job.LookFor(20);
  job.Join(0, 99, 2, 0);
  job.LookFor(3);
  job.Join(2, 99, 2, 1);
  EXPECT_THAT(job.layouts, SizeIs(1));
  job.LookFor(20);
  ASSERT_THAT(job.layouts, SizeIs(2));
  EXPECT_THAT(job.RanksOf(1), ElementsAre(0, 2));
}

TEST(JobAssemblerTest, ContradictingProcessesAreLeftOutWithANote) {
  const auto note_after = [](auto change) {
    AssembledJob job(4);
    change(job);
    job.LookFor(70);
    EXPECT_THAT(job.layouts, SizeIs(1));
    EXPECT_THAT(job.layout().ranks, SizeIs(3));
    return job.assembler.notes().empty() ? "" : job.assembler.notes()[0];
  };
  EXPECT_THAT(note_after([](AssembledJob& job) { job.processes[3].report.global_rank = 1; }),
              HasSubstr("process 103 of host 1 is left out: it claims to be rank 1, as process 101 of host 0 does"));
  EXPECT_THAT(note_after([](AssembledJob& job) { job.processes[3].report.communicators[0].rank = 0; }),
              HasSubstr("rank 0 of communicator 0000000000000032, as process 100"));
  EXPECT_THAT(note_after([](AssembledJob& job) { job.processes[2].report.communicators[0].num_ranks = 5; }),
              HasSubstr("process 102 of host 1 is left out: it reports 5 ranks in communicator "
                        "0000000000000032, others 4"));
}

TEST(JobAssemblerTest, AVanishedProcessIsReportedAndReplaced) {
  AssembledJob job(4);
  job.LookFor(10);
  job.processes[1].state = ProcessState::kGone;
  job.Look();
  ASSERT_THAT(job.latest_of_host.at(0).ranks, SizeIs(2));
  EXPECT_EQ(job.latest_of_host.at(0).ranks[1].state, ProcessState::kGone);
  job.is_absent[1] = true;
  job.LookFor(3);
  EXPECT_EQ(job.latest_of_host.at(0).ranks.at(1).state, ProcessState::kGone) << "it stays gone";
  EXPECT_THAT(job.layouts, SizeIs(1));
  // The job restarts: new processes of the same ranks, a new communicator.
  job.is_absent.clear();
  for (uint32_t p = 0; p < 4; ++p) {
    job.processes[p].state = ProcessState::kRunning;
    job.processes[p].report.process_start = 2;
    job.processes[p].report.communicators[0].id = kWorld + 1;
  }
  job.LookFor(70);
  ASSERT_THAT(job.layouts, SizeIs(2));
  EXPECT_THAT(job.RanksOf(0), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(job.latest_of_host.at(0).ranks[1].state, ProcessState::kRunning);
}

// A controller that has just started hears of processes that ended before it came. Where the job was larger then, no
// living process denies their ranks.
TEST(JobAssemblerTest, EndedProcessesOfALargerRunBeforeAreLeftOut) {
  AssembledJob job(5);
  for (uint32_t p = 0; p < 3; ++p) job.processes[p].report.communicators[0].num_ranks = 3;
  for (uint32_t p = 3; p < 5; ++p) {
    job.processes[p].state = ProcessState::kGone;
    job.processes[p].exit.end = model::ProcessEnd::kBroken;
    job.processes[p].report.communicators[0].id = kWorld + 1;
  }
  job.LookFor(70);
  ASSERT_THAT(job.layouts, SizeIs(1));
  EXPECT_THAT(job.layout().ranks, SizeIs(3));
}

// Whoever has one host can claim many ranks of somebody else's job there, but knows none of its communicators.
TEST(JobAssemblerTest, OneHostCannotTakeAJobOver) {
  AssembledJob job(4);
  job.LookFor(10);
  HostLook lies{.host = HostId(7), .number = 0, .at = job.now, .processes = {}};
  for (int32_t rank = 0; rank < 20; ++rank) {
    HostLook::Process& process = lies.processes.emplace_back();
    process.report.pid = 1 + rank;
    process.report.global_rank = rank;
    process.report.communicators = {{.id = 666, .name = "", .num_ranks = 20, .rank = rank, .is_finalized = false}};
  }
  for (int i = 0; i < 70; ++i) {
    ++lies.number;
    job.assembler.Add(job.now, lies);
    job.Look();
  }
  EXPECT_THAT(job.layout().ranks, SizeIs(4));
  EXPECT_THAT(job.assembler.notes(), testing::Contains(HasSubstr("is of another start of the job")));
}

// Its claims came first, and count for as long as that host tells of them.
TEST(JobAssemblerTest, ClaimsOfAHostThatNoLongerSpeaksOfTheJobGiveWay) {
  AssembledJob job(4);
  HostLook lies{.host = HostId(7), .number = 0, .at = job.now, .processes = {job.processes[0]}};
  for (int i = 0; i < 20; ++i) {
    ++lies.number;
    job.assembler.Add(job.now, lies);
    job.Look();
  }
  EXPECT_THAT(job.assembler.notes(), testing::Contains(HasSubstr("process 100 of host 0 is left out")));
  job.LookFor(20);
  ASSERT_THAT(job.layouts, SizeIs(2));
  EXPECT_EQ(job.layout().ranks[0].host, HostId(0));
  EXPECT_THAT(job.latest, SizeIs(4));
}

// A host of which the agent is away says nothing about its processes: the job is diagnosed as before.
TEST(JobAssemblerTest, ASilentHostKeepsItsRanks) {
  AssembledJob job(6);
  job.Join(4, 99, 2, 0);
  job.Join(5, 99, 2, 1);
  job.LookFor(10);
  job.num_hosts = 2;
  job.LookFor(60);
  job.num_hosts = 3;
  job.LookFor(20);
  job.Look(SimDuration(100'000'000'000));  // nobody listened
  job.LookFor(20);
  EXPECT_THAT(job.layouts, SizeIs(1));
  EXPECT_THAT(job.layout().communicators, SizeIs(2));
}

// However the processes come, communicators and ranks are the same.
TEST(JobAssemblerLawsTest, TheOrderOfArrivalChangesNothing) {
  std::optional<JobLayout> expected;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    AssembledJob job(16);
    for (uint32_t p = 0; p < 16; ++p) job.Join(p, p % 2 == 0 ? 3 : 1000, 8, p / 2);
    for (uint32_t p = 0; p < 16; ++p) job.is_absent[p] = true;
    for (int i = 0; i < 40; ++i) {
      job.is_absent[random.Below(16)] = false;
      job.Look(SimDuration(static_cast<int64_t>(random.Below(2'000'000'000))));
    }
    job.is_absent.clear();
    job.LookFor(70);
    if (!expected.has_value()) expected = job.layout();
    EXPECT_EQ(job.layout(), *expected) << "seed " << seed;
    EXPECT_THAT(job.latest, SizeIs(16));
  }
}

}  // namespace
}  // namespace fairlead::telemetry
