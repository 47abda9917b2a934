#include "controller/job_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "controller/traffic_controller_example.h"

namespace fairlead::controller {
namespace {

using model::CulpritKind;
using model::Finding;
using model::FindingId;
using model::FindingState;
using model::ProcessState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr SimDuration kSecond(1'000'000'000);

// Input of the diagnoses of a test, and the findings they shall return.
struct Script {
  int num_made = 0;
  std::map<JobId, std::vector<model::JobLayout>> layouts;
  std::map<JobId, size_t> num_rank_reports;
  std::map<JobId, std::set<model::RankId>> gone;  // in the latest report of each host
  std::map<JobId, std::vector<Finding>> next;     // returned by the next call
  std::vector<HostId> answers;
  SimTime excused_until;
  bool has_crashed = false;
};

class FakeDiagnosis final : public diagnosis::JobDiagnosis {
 public:
  explicit FakeDiagnosis(Script* script) : script_(script) { ++script_->num_made; }

  std::vector<Finding> Handle(SimTime, std::span<const model::TelemetryRecord> records) override {
    for (const model::TelemetryRecord& record : records) {
      if (const auto* layout = std::get_if<model::JobLayout>(&record)) {
        job_ = layout->job;
        script_->layouts[job_].push_back(*layout);
        script_->gone[job_].clear();
      } else if (const auto* of_host = std::get_if<model::HostReport>(&record)) {
        for (const model::RankLiveness& rank : of_host->ranks) {
          if (rank.state == ProcessState::kGone) script_->gone[job_].insert(rank.rank);
        }
      } else {
        ++script_->num_rank_reports[job_];
      }
    }
    return std::exchange(script_->next[job_], {});
  }
  void NoteAnswer(SimTime, HostId host) override { script_->answers.push_back(host); }
  void ExcuseUntil(SimTime time) override { script_->excused_until = time; }
  bool HasCrashed(SimTime) const override { return script_->has_crashed; }
  std::optional<model::FindingProof> ProofOf(FindingId id) const override {
    return model::FindingProof{.seen_at = SimTime(id.value()), .blocks = {}, .waits = {}, .delays = {}, .host_of = {}};
  }

 private:
  Script* script_;
  JobId job_;
};

Finding FindingAbout(uint32_t id, HostId host) {
  Finding finding;
  finding.id = FindingId(id);
  finding.syndrome = model::Syndrome::kNonCommHang;
  finding.state = FindingState::kConfirmed;
  finding.culprits = {
      {.kind = CulpritKind::kHost, .rank = {}, .peer = {}, .host = host, .nic = {}, .leaf = {}, .plane = {}}};
  finding.summary = "host " + std::to_string(host.value());
  finding.action = model::RecommendedAction::kIsolateAndRestart;
  finding.cleared = SimTime::Never();
  return finding;
}

// Processes of jobs on the hosts of a small fabric, and agents that look at them once a second.
class JobWatchTest : public testing::Test {
 protected:
  struct Process {
    HostId host;
    telemetry::SeenProcess seen;
  };
  using Run = std::vector<Process>;

  JobWatchTest()
      : fabric_(LiveFabric()),
        watch_(fabric_, [this](const std::string&) { return std::make_unique<FakeDiagnosis>(&script_); }, {}) {}

  // A process on each of these hosts, in rank order.
  Run Start(const std::vector<uint32_t>& hosts) {
    Run run;
    const uint64_t communicator = 1000 + static_cast<uint64_t>(next_pid_);
    for (size_t rank = 0; rank < hosts.size(); ++rank) {
      Process& process = run.emplace_back();
      process.host = HostId(hosts[rank]);
      telemetry::ProcessReport& report = process.seen.report;
      report.pid = next_pid_++;
      report.process_start = 5;
      report.global_rank = static_cast<int32_t>(rank);
      report.communicators = {{.id = communicator,
                               .name = "",
                               .num_ranks = static_cast<uint32_t>(hosts.size()),
                               .rank = static_cast<int32_t>(rank),
                               .is_finalized = false}};
    }
    return run;
  }
  static void End(Run* run, size_t rank, int32_t exit_code) {
    (*run)[rank].seen.state = ProcessState::kGone;
    (*run)[rank].seen.exit.end = exit_code == 0 ? model::ProcessEnd::kRegular : model::ProcessEnd::kBroken;
  }
  static void EndAll(Run* run, int32_t exit_code) {
    for (size_t rank = 0; rank < run->size(); ++rank) End(run, rank, exit_code);
  }

  // A second passes: each of these hosts says what it sees of the runs, which are of one job, and the watch judges.
  std::vector<SteeringEvent> Look(const std::vector<Run*>& runs, const std::set<uint32_t>& silent = {},
                                  const std::string& job = "gpt") {
    now_ = now_ + kSecond;
    ++number_;
    std::map<HostId, ProcessesSeen> looks;
    for (Run* run : runs) {
      for (Process& process : *run) {
        ++process.seen.report.number;
        ProcessesSeen& look = looks[process.host];
        look.job = job;
        look.number = number_;
        look.at = now_;
        look.processes.push_back(process.seen);
      }
    }
    for (const auto& [host, look] : looks) {
      if (!silent.contains(host.value())) watch_.Take(now_, host, look);
    }
    return watch_.Tick(now_);
  }
  std::vector<SteeringEvent> LookFor(int seconds, const std::vector<Run*>& runs,
                                     const std::set<uint32_t>& silent = {}) {
    std::vector<SteeringEvent> events;
    for (int i = 0; i < seconds; ++i) {
      for (SteeringEvent& event : Look(runs, silent)) events.push_back(std::move(event));
    }
    return events;
  }
  template <class Event>
  static std::vector<Event> Of(const std::vector<SteeringEvent>& events) {
    std::vector<Event> found;
    for (const SteeringEvent& event : events) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }
  JobId Id() const { return watch_.FindJob("gpt").value_or(JobId()); }

  const topology::Fabric fabric_;
  Script script_;
  JobWatch watch_;
  SimTime now_ = SimTime(1'700'000'000'000'000'000);
  uint64_t number_ = 0;
  int32_t next_pid_ = 100;
};

// Two processes claim to be rank 0: people have to know where the second one is.
TEST_F(JobWatchTest, NotesHaveTheNamesOfHosts) {
  Run run = Start({0, 1});
  Run other = Start({2});
  other[0].seen.report.communicators = run[0].seen.report.communicators;
  LookFor(70, {&run, &other});
  ASSERT_THAT(watch_.Jobs(), SizeIs(1));
  EXPECT_THAT(watch_.Jobs()[0].notes,
              ElementsAre(testing::StartsWith("process 102 of host h2 is left out: it claims to be "
                                              "rank 0, as process 100 of host h0 does")));
}

// An agent of host 2 claims a process of the job, which the scheduler runs on hosts 0 and 1.
TEST_F(JobWatchTest, ClaimsOfHostsThatAreNotTheJobsAreDropped) {
  JobWatchOptions options;
  options.may_run_on = [](const model::JobIdentity& job, HostId host) { return job.name != "gpt" || host.value() < 2; };
  JobWatch watch(
      fabric_, [this](const std::string&) { return std::make_unique<FakeDiagnosis>(&script_); }, options);
  Run run = Start({0, 1});
  Run claimed = Start({2});
  for (int second = 0; second < 10; ++second) {
    now_ = now_ + SimDuration(1'000'000'000);
    for (Run* one : {&claimed, &run}) {
      for (const Process& process : *one) {
        watch.Take(now_, process.host, {.job = "gpt@1001.slurm-7", .at = now_, .processes = {process.seen}});
      }
    }
    watch.Tick(now_);
  }
  ASSERT_THAT(watch.Jobs(), SizeIs(1));
  EXPECT_THAT(watch.Jobs()[0].hosts, ElementsAre(HostId(0), HostId(1)));
  EXPECT_EQ(watch.counters().foreign_looks, 10u);
}

TEST_F(JobWatchTest, AnAnswerOfAHostIsToldToTheDiagnosesOfItsJobs) {
  Run run = Start({0, 1});
  LookFor(10, {&run});
  watch_.Take(now_, WatchInput(HostsAnswered{{HostId(1), HostId(2)}}));
  watch_.Take(now_, WatchInput(HostsAnswered{{HostId(0)}}));
  EXPECT_THAT(script_.answers, ElementsAre(HostId(1), HostId(0)));
}

TEST_F(JobWatchTest, AJobRunsWhenItsRanksAreKnown) {
  Run run = Start({2, 0, 1, 1});
  // Nothing new for five seconds: the layout is made with the look of the sixth.
  EXPECT_THAT(LookFor(5, {&run}), IsEmpty());
  const auto running = Of<JobRunning>(Look({&run}));
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_THAT(running[0].hosts, ElementsAre(HostId(2), HostId(0), HostId(1)));
  EXPECT_EQ(watch_.JobName(running[0].job), "gpt");
  EXPECT_THAT(LookFor(30, {&run}), IsEmpty());
  EXPECT_EQ(script_.num_made, 1);
  ASSERT_THAT(watch_.Jobs(), SizeIs(1));
  EXPECT_EQ(watch_.Jobs()[0].num_ranks, 4u);
  EXPECT_EQ(watch_.Jobs()[0].num_processes, 4u);
}

// A layout of the same run does not mean that it was started.
TEST_F(JobWatchTest, ANewCommunicatorIsNoNewRun) {
  Run run = Start({0, 1});
  const auto first = Of<JobRunning>(LookFor(6, {&run}));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_TRUE(first[0].is_new_run);
  for (Process& process : run) {
    auto& communicators = process.seen.report.communicators;
    communicators.push_back(communicators.front());
    communicators.back().id = 4711;
  }
  const auto again = Of<JobRunning>(LookFor(6, {&run}));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_FALSE(again[0].is_new_run);
  EXPECT_EQ(again[0].hosts, first[0].hosts);
  EndAll(&run, -1);
  LookFor(2, {&run});
  Run next = Start({0, 1});
  const auto restarted = Of<JobRunning>(LookFor(15, {&run, &next}));
  ASSERT_THAT(restarted, SizeIs(1));
  EXPECT_TRUE(restarted[0].is_new_run);
}

// The example's hosts have one NIC with one port, so it is the NIC of all their ranks; its leaf is at the cable's end.
TEST_F(JobWatchTest, RanksHaveTheNicAndLeafThatTheFabricLeavesNoChoiceAbout) {
  Run run = Start({0, 1, 1, 5});
  LookFor(7, {&run});
  ASSERT_THAT(script_.layouts[Id()], SizeIs(1));
  for (const model::RankPlace& place : script_.layouts[Id()][0].ranks) {
    EXPECT_EQ(place.nic, fabric_.first_nic(place.host));
    ASSERT_THAT(place.leaves, SizeIs(1));
    const NodeId leaf = fabric_.switches(topology::NodeKind::kLeaf)[place.leaves[0].index()];
    bool is_cabled = false;
    for (const LinkId link : fabric_.links_from(fabric_.node_of(place.nic))) {
      is_cabled |= fabric_.destination(link) == leaf;
    }
    EXPECT_TRUE(is_cabled);
  }
}

TEST_F(JobWatchTest, AJobWhoseProcessesHaveEndedByThemselvesIsGone) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  End(&run, 0, 0);
  EXPECT_THAT(Look({&run}), IsEmpty());
  End(&run, 1, 0);
  const auto events = Look({&run});
  ASSERT_THAT(Of<JobGone>(events), SizeIs(1));
  EXPECT_EQ(watch_.FindJob("gpt"), std::nullopt);
  // Agents tell of them for a while: that is no job again.
  EXPECT_THAT(LookFor(20, {&run}), IsEmpty());
  EXPECT_THAT(watch_.Jobs(), IsEmpty());
  // One of the same name is another job, of which those are no part.
  Run next = Start({0, 1, 2});
  const auto running = Of<JobRunning>(LookFor(8, {&run, &next}));
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(script_.layouts[running[0].job].back().ranks.size(), 3u);
  EXPECT_THAT(script_.gone[running[0].job], IsEmpty());
}

TEST_F(JobWatchTest, ACrashedJobIsGoneUnlessItIsRestarted) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  EndAll(&run, -1);
  // 120 s from the look that showed it.
  EXPECT_THAT(LookFor(120, {&run}), IsEmpty());
  EXPECT_THAT(Of<JobGone>(Look({&run})), SizeIs(1));
}

// A controller that was stopped for a while hears of one host of a new run first: the others were not silent meanwhile.
TEST_F(JobWatchTest, NoHostIsSilentWhileNobodyListens) {
  Run run = Start({0, 1});
  LookFor(7, {&run});
  EndAll(&run, -1);
  Run next = Start({0, 1});
  LookFor(2, {&run, &next});
  now_ = now_ + SimDuration(15'000'000'000);
  const auto restarted = Of<JobRunning>(LookFor(15, {&run, &next}));
  ASSERT_THAT(restarted, SizeIs(1));
  EXPECT_THAT(restarted[0].hosts, ElementsAre(HostId(0), HostId(1)));
}

// The second host of a run is seen late, and the first one falls silent then: it is one run, by its communicator.
TEST_F(JobWatchTest, AHostThatIsSeenLateIsNoNewRun) {
  Run run = Start({0, 1});
  LookFor(5, {&run}, {1});
  const auto running = Of<JobRunning>(LookFor(14, {&run}, {0}));
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_THAT(running[0].hosts, ElementsAre(HostId(0), HostId(1)));
  EXPECT_THAT(Of<JobRunning>(LookFor(15, {&run})), IsEmpty());
  EXPECT_EQ(script_.num_made, 1);
}

TEST_F(JobWatchTest, AnExcusedJobStaysWhateverBecomesOfItsProcesses) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  watch_.Excuse(Id(), SimTime::Never());
  EXPECT_EQ(script_.excused_until, SimTime::Never());
  const JobId id = Id();
  EndAll(&run, -1);
  EXPECT_THAT(LookFor(2000, {&run}), IsEmpty());
  watch_.Excuse(id, now_);
  EXPECT_THAT(LookFor(119, {&run}), IsEmpty());
  EXPECT_THAT(Of<JobGone>(LookFor(2, {&run})), SizeIs(1));
}

// Steering's restart, on other hosts and with fewer ranks: the same job, another picture.
TEST_F(JobWatchTest, ARestartIsANewRunOfTheSameJob) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  const JobId id = Id();
  script_.next[id] = {FindingAbout(0, HostId(1))};
  EXPECT_THAT(Of<FindingReported>(Look({&run})), SizeIs(1));
  EndAll(&run, -1);
  LookFor(20, {&run});
  Run next = Start({0, 2});
  const auto first = Look({&run, &next});
  ASSERT_THAT(Of<FindingReported>(first), SizeIs(1));
  EXPECT_EQ(Of<FindingReported>(first)[0].finding.state, FindingState::kCleared);
  const auto running = Of<JobRunning>(LookFor(6, {&run, &next}));
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(running[0].job, id);
  EXPECT_THAT(running[0].hosts, ElementsAre(HostId(0), HostId(2)));
  EXPECT_EQ(script_.num_made, 2);
  EXPECT_THAT(script_.gone[id], IsEmpty());
  // Numbers of findings go on.
  script_.next[id] = {FindingAbout(0, HostId(2))};
  LookFor(1, {&next});
  ASSERT_THAT(watch_.Findings(), SizeIs(2));
  EXPECT_EQ(watch_.Findings()[0].finding.state, FindingState::kCleared);
  EXPECT_EQ(watch_.Findings()[1].finding.id, FindingId(2));
}

// Hosts look at different instants: one has seen the new process while another still has the old one.
TEST_F(JobWatchTest, ARestartAtOnceIsANewRun) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  Run next = Start({0, 1});
  End(&run, 0, -1);
  Run only_first = {next[0]};
  Look({&run, &only_first});
  End(&run, 1, -1);
  LookFor(7, {&run, &next});
  EXPECT_EQ(script_.num_made, 2);
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 2u);
  EXPECT_THAT(script_.gone[Id()], IsEmpty());
}

// Nothing waits for the old processes: those of both runs live together for up to a quarter of a minute. There is never
// a job of some of both, and that the old ones end, one look after the other, is no fault.
TEST_F(JobWatchTest, RunsThatOverlapAreNeitherMixedNorAccused) {
  for (int num_looks = 1; num_looks <= 15; ++num_looks) {
    SCOPED_TRACE(num_looks);
    const std::string name = "job" + std::to_string(num_looks);
    const int num_made = script_.num_made;
    Run old = Start({0, 1, 2});
    for (int i = 0; i < 8; ++i) Look({&old}, {}, name);
    const JobId id = watch_.FindJob(name).value();
    Run next = Start({3, 4, 5});
    std::vector<SteeringEvent> events;
    const auto look = [&](const std::vector<Run*>& runs) {
      std::ranges::move(Look(runs, {}, name), std::back_inserter(events));
    };
    for (int i = 0; i < num_looks; ++i) look({&old, &next});
    Finding death = FindingAbout(0, HostId(0));
    death.syndrome = model::Syndrome::kDead;
    script_.next[id] = {death};
    End(&old, 0, -1);
    look({&old, &next});
    EndAll(&old, -1);
    for (int i = 0; i < 12; ++i) look({&old, &next});
    EXPECT_THAT(Of<FindingReported>(events), IsEmpty());
    // Jobs of former rounds go meanwhile: they are not reported.
    EXPECT_TRUE(std::ranges::none_of(Of<JobGone>(events), [&](const JobGone& gone) { return gone.job == id; }));
    // It may be reported already when most of the old ones have ended.
    const auto running = Of<JobRunning>(events);
    ASSERT_THAT(running, testing::Not(IsEmpty()));
    EXPECT_TRUE(running.back().is_new_run);
    for (const JobRunning& reported : running) {
      EXPECT_THAT(reported.hosts, ElementsAre(HostId(3), HostId(4), HostId(5)));
    }
    EXPECT_EQ(script_.num_made, num_made + 2);
    EXPECT_THAT(script_.gone[id], IsEmpty());
  }
}

// A launcher starts the job again just as steering stops it, and the new run is ended with the old one. Where a host is
// not heard again, its process was seen alive, and its end is not known.
TEST_F(JobWatchTest, ARunThatNoHostStillSeesIsNoStart) {
  Run old = Start({0, 1, 2});
  LookFor(8, {&old});
  watch_.Excuse(Id(), SimTime::Never());
  EndAll(&old, -1);
  Run next = Start({2, 3, 4});
  Run first = {next[0]};
  LookFor(1, {&old, &first});
  End(&next, 1, -1);
  End(&next, 2, -1);
  const auto running = Of<JobRunning>(LookFor(8, {&old, &next}, {2}));
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_THAT(running[0].hosts, ElementsAre(HostId(2), HostId(3), HostId(4)));
  EXPECT_FALSE(running[0].is_new_run);
  EXPECT_EQ(script_.num_made, 2);
  // But if it is alive, the stop did not end it.
  const auto alive = Of<JobRunning>(LookFor(3, {&old, &next}));
  ASSERT_THAT(alive, SizeIs(1));
  EXPECT_TRUE(alive[0].is_new_run);
}

// The new processes take their time until they meet: they wait for none that has ended.
TEST_F(JobWatchTest, ProcessesOfANewRunDoNotMissTheOldOne) {
  Run old = Start({0, 1, 2});
  LookFor(8, {&old});
  const JobId id = Id();
  Run next = Start({3, 4, 5});
  const auto met = next[0].seen.report.communicators;
  for (Process& process : next) process.seen.report.communicators.clear();
  std::vector<SteeringEvent> events = LookFor(6, {&old, &next});
  Finding death = FindingAbout(0, HostId(0));
  death.syndrome = model::Syndrome::kDead;
  script_.next[id] = {death};
  EndAll(&old, -1);
  std::ranges::move(LookFor(20, {&old, &next}), std::back_inserter(events));
  EXPECT_THAT(events, IsEmpty());
  EXPECT_EQ(watch_.counters().ends, 1u);
  for (size_t rank = 0; rank < next.size(); ++rank) {
    next[rank].seen.report.communicators = met;
    next[rank].seen.report.communicators[0].rank = static_cast<int32_t>(rank);
  }
  events = LookFor(8, {&old, &next});
  // Where the last look was of a host that has only old ones, the next says that it has begun.
  const auto running = Of<JobRunning>(events);
  EXPECT_EQ(std::ranges::count_if(running, &JobRunning::is_new_run), 1);
  EXPECT_TRUE(running.back().is_new_run);
  EXPECT_THAT(Of<FindingReported>(events), IsEmpty());
}

// Ranks are replaced one after the other, each by a process that meets those that are left: a job that continues.
TEST_F(JobWatchTest, RanksThatAreReplacedInTurnAreNoNewRun) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Run dead;
  for (size_t rank = 0; rank < run.size(); ++rank) {
    End(&run, rank, -1);
    dead.push_back(run[rank]);
    run[rank] = Start({static_cast<uint32_t>(rank) + 3})[0];
    run[rank].seen.report.global_rank = static_cast<int32_t>(rank);
    const uint64_t communicator = run[rank].seen.report.communicators[0].id;
    for (size_t member = 0; member < run.size(); ++member) {
      auto& communicators = run[member].seen.report.communicators;
      if (member == rank) communicators.clear();
      communicators.push_back({.id = communicator,
                               .name = "",
                               .num_ranks = 3,
                               .rank = static_cast<int32_t>(member),
                               .is_finalized = false});
    }
    EXPECT_THAT(Of<JobRunning>(LookFor(10, {&run, &dead})), SizeIs(1));
  }
  EXPECT_EQ(script_.num_made, 1);
}

// The agents of all hosts lied: the processes that they left out, as if they had ended, are the job's after all.
TEST_F(JobWatchTest, AProcessThatIsAliveAgainHadNotEnded) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  Run lies = Start({0, 1});
  EXPECT_TRUE(Of<JobRunning>(LookFor(20, {&lies})).at(0).is_new_run);
  LookFor(20, {&run});
  ASSERT_THAT(watch_.Jobs(), SizeIs(1));
  EXPECT_EQ(watch_.Jobs()[0].num_processes, 2u);
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 2u);
  EXPECT_THAT(script_.gone[Id()], IsEmpty());
}

// One agent lied while the other was away.
TEST_F(JobWatchTest, WhoMeetsTheRunIsOfIt) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  Run lies = Start({0});
  EXPECT_TRUE(Of<JobRunning>(LookFor(20, {&lies})).at(0).is_new_run);
  LookFor(20, {&run});
  ASSERT_THAT(watch_.Jobs(), SizeIs(1));
  EXPECT_EQ(watch_.Jobs()[0].num_processes, 2u);
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 2u);
}

TEST_F(JobWatchTest, AHostThatDiedDoesNotHoldUpTheNewRun) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  LookFor(15, {&run}, {1});
  End(&run, 0, -1);
  End(&run, 2, -1);
  LookFor(10, {&run}, {1});
  Run next = Start({0, 2, 3});
  LookFor(8, {&run, &next}, {1});
  EXPECT_EQ(script_.num_made, 2);
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 3u);
}

// All began together, though not in the same look, so the rest is not a later run.
TEST_F(JobWatchTest, ARankThatDiesAtOnceIsOfTheRun) {
  Run run = Start({0, 1, 2});
  Look({&run}, {0, 2});
  Look({&run});
  End(&run, 1, -1);
  LookFor(8, {&run});
  EXPECT_EQ(script_.num_made, 1);
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 3u);
  EXPECT_THAT(script_.gone[Id()], ElementsAre(model::RankId(1)));
}

// An elastic job replaces one process: the others go on, so does the picture.
TEST_F(JobWatchTest, AReplacedRankIsNoNewRun) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  End(&run, 1, -1);
  LookFor(30, {&run});
  EXPECT_THAT(script_.gone[Id()], ElementsAre(model::RankId(1)));
  run[1] = Start({1})[0];
  run[1].seen.report.global_rank = 1;
  run[1].seen.report.communicators = run[0].seen.report.communicators;
  run[1].seen.report.communicators[0].rank = 1;
  EXPECT_THAT(Of<JobRunning>(LookFor(8, {&run})), SizeIs(1));
  EXPECT_EQ(script_.num_made, 1);
  EXPECT_THAT(script_.gone[Id()], IsEmpty());
}

// The controller has restarted, and receives the report of a process that died before: a rank of this run that is gone.
TEST_F(JobWatchTest, ADeathBeforeTheFirstLookCounts) {
  Run run = Start({0, 1, 2});
  End(&run, 1, -1);
  LookFor(8, {&run});
  EXPECT_EQ(script_.layouts[Id()].back().ranks.size(), 3u);
  EXPECT_THAT(script_.gone[Id()], ElementsAre(model::RankId(1)));
}

TEST_F(JobWatchTest, AJobThatNoAgentReportsIsGone) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  const JobId id = Id();
  script_.next[id] = {FindingAbout(0, HostId(1))};
  LookFor(1, {&run});
  std::vector<SteeringEvent> events = LookFor(299, {&run}, {0, 1});
  EXPECT_THAT(Of<JobGone>(events), IsEmpty());
  events = LookFor(1, {&run}, {0, 1});
  // Its findings are over first.
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(std::get<FindingReported>(events[0]).finding.state, FindingState::kCleared);
  EXPECT_EQ(std::get<JobGone>(events[1]).job, id);
}

// What tests of its hosts say of a finding is said once, also when the finding is over with its run.
TEST_F(JobWatchTest, AnAnswerOfTestsIsToldOnce) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  Finding finding = FindingAbout(0, HostId());
  finding.syndrome = model::Syndrome::kCommHang;
  finding.culprits.front().kind = CulpritKind::kConnection;
  finding.culprits.front().rank = model::RankId(0);
  finding.culprits.front().peer = model::RankId(1);
  script_.next[Id()] = {finding};
  LookFor(1, {&run});
  const std::vector<SlowEndQuestion> questions = watch_.TakeQuestions();
  ASSERT_THAT(questions, SizeIs(1));
  EXPECT_EQ(questions[0].sender, HostId(0u));
  EXPECT_EQ(questions[0].receiver, HostId(1));
  watch_.Take(SlowEndAnswer{
      .finding = questions[0].finding, .end = node_check::SlowEnd::kPath, .sender_share = 1, .receiver_share = 1});
  const auto told = Of<FindingReported>(Look({&run}));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0].finding.signs, ElementsAre(model::Sign::kTest));
  const auto over = Of<FindingReported>(LookFor(300, {&run}, {0, 1}));
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].finding.state, FindingState::kCleared);
  EXPECT_EQ(over[0].finding.summary, told[0].finding.summary);
  EXPECT_EQ(over[0].finding.evidence, told[0].finding.evidence);
  EXPECT_EQ(over[0].finding.signs, told[0].finding.signs);
}

TEST_F(JobWatchTest, ADeathIsReportedWhenOtherProcessesLiveOn) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  End(&run, 1, -1);
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  script_.next[Id()] = {death};
  EXPECT_THAT(LookFor(2, {&run}), IsEmpty());
  const auto reported = Of<FindingReported>(Look({&run}));
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].finding.confirmed, now_);
  // Later messages about it are reported immediately.
  death.state = FindingState::kCleared;
  script_.next[Id()] = {death};
  EXPECT_THAT(Of<FindingReported>(Look({&run})), SizeIs(1));
}

// A host that dies does not say that its processes have ended.
TEST_F(JobWatchTest, TheDeathOfASilentHostIsReported) {
  for (const int silent_seconds : {3, 12}) {
    Run run = Start({0, 1, 2});
    LookFor(40, {&run});
    LookFor(silent_seconds, {&run}, {1});
    Finding death = FindingAbout(0, HostId(1));
    death.syndrome = model::Syndrome::kDead;
    script_.next[Id()] = {death};
    EXPECT_THAT(Of<FindingReported>(LookFor(3, {&run}, {1})), SizeIs(1)) << silent_seconds;
    EndAll(&run, 1);
    LookFor(5, {&run});
  }
}

// As when the job is stopped: one host is looked at before the others.
TEST_F(JobWatchTest, ASimultaneousEndOfAllYieldsNoFinding) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  const JobId id = Id();
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  script_.next[id] = {death};
  End(&run, 1, -1);
  Look({&run});
  EndAll(&run, -1);
  EXPECT_THAT(Of<FindingReported>(LookFor(100, {&run})), IsEmpty());
  // Nor is what the diagnosis says of it afterwards.
  death.state = FindingState::kCleared;
  script_.next[id] = {death};
  EXPECT_THAT(Of<FindingReported>(LookFor(30, {&run})), IsEmpty());
  EXPECT_THAT(watch_.Findings(), IsEmpty());
  EXPECT_THAT(watch_.TakeJudged(), IsEmpty());
  EXPECT_EQ(watch_.counters().ends, 1u);
}

// All are gone within a second of the first, as when the others abort: nothing is left to act upon, but to know.
TEST_F(JobWatchTest, ACrashOfAllIsReportedAndLeftAlone) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  death.action = model::RecommendedAction::kRestart;
  script_.next[Id()] = {death};
  script_.has_crashed = true;
  EndAll(&run, -1);
  const auto reported = Of<FindingReported>(LookFor(5, {&run}));
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].finding.state, FindingState::kConfirmed);
  EXPECT_EQ(reported[0].finding.action, model::RecommendedAction::kWatch);
  EXPECT_EQ(watch_.counters().ends, 0u);
  LookFor(200, {&run});
  ASSERT_THAT(watch_.Findings(), SizeIs(1)) << "of a job that is gone";
  EXPECT_EQ(watch_.Findings()[0].finding.state, FindingState::kCleared);
}

TEST_F(JobWatchTest, AJobThatSteeringStopsHasNotCrashed) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  watch_.Excuse(Id(), SimTime::Never());
  Look({&run});
  watch_.Excuse(Id(), now_);
  script_.next[Id()] = {death};
  script_.has_crashed = true;
  EndAll(&run, -1);
  EXPECT_THAT(Of<FindingReported>(LookFor(100, {&run})), IsEmpty());
}

// A program that stops jobs may say that it has as soon as it has asked for it; processes take their time, one of them
// longer than the others.
TEST_F(JobWatchTest, ProcessesEndedByAStopHaveNotDied) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  watch_.Excuse(Id(), SimTime::Never());
  Look({&run});
  watch_.Excuse(Id(), now_);
  script_.next[Id()] = {death};
  End(&run, 0, -1);
  End(&run, 1, -1);
  EXPECT_THAT(LookFor(20, {&run}), IsEmpty());
  EndAll(&run, -1);
  Run next = Start({0, 1, 3});
  const auto events = LookFor(100, {&run, &next});
  EXPECT_THAT(Of<FindingReported>(events), IsEmpty());
  EXPECT_THAT(Of<JobRunning>(events), SizeIs(1));
  // What happens to the new run is another matter.
  script_.next[Id()] = {death};
  End(&next, 1, -1);
  EXPECT_THAT(Of<FindingReported>(LookFor(4, {&next})), SizeIs(1));
}

// It was given up, say. The job may take a minute to end; a process gone by then, while others continue, is missed by
// them.
TEST_F(JobWatchTest, ADeathAfterAFailedStopIsReported) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  watch_.Excuse(Id(), SimTime::Never());
  Look({&run});
  watch_.Excuse(Id(), now_);
  script_.next[Id()] = {death};
  End(&run, 1, -1);
  EXPECT_THAT(LookFor(59, {&run}), IsEmpty());
  EXPECT_THAT(Of<FindingReported>(Look({&run})), SizeIs(1));
  // An hour later that stop is forgotten.
  death = FindingAbout(1, HostId(2));
  death.syndrome = model::Syndrome::kDead;
  script_.next[Id()] = {death};
  End(&run, 2, -1);
  EXPECT_THAT(Of<FindingReported>(LookFor(3, {&run})), SizeIs(1));
}

// A death that was noticed just before maintenance was announced.
TEST_F(JobWatchTest, AnAnnouncedPauseReportsNoDeath) {
  Run run = Start({0, 1, 2});
  LookFor(8, {&run});
  Finding death = FindingAbout(0, HostId(1));
  death.syndrome = model::Syndrome::kDead;
  script_.next[Id()] = {death};
  End(&run, 1, -1);
  Look({&run});
  watch_.Excuse(Id(), now_ + SimDuration(30 * kSecond.ns()));
  EXPECT_THAT(LookFor(29, {&run}), IsEmpty());
  EXPECT_THAT(Of<FindingReported>(Look({&run})), SizeIs(1));
}

TEST_F(JobWatchTest, HostsReceiveTheirOpenFindings) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  EXPECT_THAT(watch_.TakeJudged(), IsEmpty());
  script_.next[Id()] = {FindingAbout(0, HostId(1)), FindingAbout(1, HostId(0))};
  LookFor(1, {&run});
  const HostJudged about_0{
      {{"gpt", model::Syndrome::kNonCommHang, "host 0", model::RecommendedAction::kIsolateAndRestart}}};
  const HostJudged about_1{
      {{"gpt", model::Syndrome::kNonCommHang, "host 1", model::RecommendedAction::kIsolateAndRestart}}};
  EXPECT_THAT(watch_.TakeJudged(), ElementsAre(std::pair(HostId(0), about_0), std::pair(HostId(1), about_1)));
  EXPECT_THAT(watch_.TakeJudged(), IsEmpty());
  Finding over = FindingAbout(0, HostId(1));
  over.state = FindingState::kCleared;
  over.cleared = now_;
  script_.next[Id()] = {over};
  LookFor(1, {&run});
  EXPECT_THAT(watch_.TakeJudged(), ElementsAre(std::pair(HostId(1), HostJudged())));
}

TEST_F(JobWatchTest, NumbersOfAnEarlierControllerGoOn) {
  watch_.Restore("gpt", JobId(7));
  watch_.Restore(FindingId(40));
  Run other = Start({3});
  Look({&other}, {}, "other");
  Run run = Start({0, 1});
  LookFor(8, {&run});
  EXPECT_EQ(Id(), JobId(7));
  EXPECT_EQ(watch_.FindJob("other"), JobId(8));
  script_.next[Id()] = {FindingAbout(0, HostId(1))};
  LookFor(1, {&run});
  EXPECT_EQ(watch_.Findings().at(0).finding.id, FindingId(41));
}

// By our numbers, of the run that it is about, and when that is over.
TEST_F(JobWatchTest, ProofsAreKeptWhenTheirRunIsOver) {
  Run run = Start({0, 1});
  LookFor(8, {&run});
  script_.next[Id()] = {FindingAbout(0, HostId(0)), FindingAbout(1, HostId(1))};
  Look({&run});
  const FindingId second = watch_.Findings().at(1).finding.id;
  ASSERT_TRUE(watch_.ProofOf(second).has_value());
  EXPECT_EQ(watch_.ProofOf(second)->seen_at, SimTime(1));
  EndAll(&run, 0);
  LookFor(3, {&run});
  ASSERT_THAT(watch_.Jobs(), IsEmpty());
  ASSERT_TRUE(watch_.ProofOf(second).has_value());
  EXPECT_EQ(watch_.ProofOf(second)->seen_at, SimTime(1));
  EXPECT_EQ(watch_.ProofOf(FindingId(99)), std::nullopt);
}

TEST_F(JobWatchTest, OldFindingsThatAreOverAreForgottenFirst) {
  JobWatchOptions options;
  options.num_over_max = 3;
  JobWatch watch(
      fabric_, [this](const std::string&) { return std::make_unique<FakeDiagnosis>(&script_); }, options);
  Run run = Start({0});
  const auto look = [&] {
    now_ = now_ + kSecond;
    watch.Take(now_, HostId(0), {.job = "gpt", .number = number_++, .at = now_, .processes = {run[0].seen}});
    watch.Tick(now_);
  };
  for (int i = 0; i < 8; ++i) look();
  const JobId id = watch.FindJob("gpt").value();
  for (uint32_t n = 0; n < 10; ++n) {
    script_.next[id] = {FindingAbout(n, HostId(0))};
    look();
    if (n == 0) continue;  // holds all the time
    script_.next[id] = {FindingAbout(n, HostId(0))};
    script_.next[id][0].state = FindingState::kCleared;
    look();
  }
  std::vector<uint32_t> numbers;
  for (const WatchedFinding& watched : watch.Findings()) numbers.push_back(watched.finding.id.value());
  EXPECT_THAT(numbers, ElementsAre(1, 8, 9, 10));
}

// Whatever the map does not let be acted upon is watched, and its owner counts as nobody.
TEST(JobWatchOwnersTest, TheOperatorsMapDecidesWhoseJobsAreActedUpon) {
  const topology::Fabric fabric = LiveFabric();
  Script script;
  JobWatchOptions options;
  options.may_act_on = [](const model::JobIdentity& job) { return job.owner == 1001 && job.name == "gpt"; };
  options.host_choice = [](const model::JobIdentity& job) {
    return job.name == "llama" ? HostChoice::kSize : HostChoice::kRestart;
  };
  JobWatch watch(
      fabric, [&](const std::string&) { return std::make_unique<FakeDiagnosis>(&script); }, options);
  std::map<std::string, bool> verified;
  std::map<std::string, bool> is_sized;
  for (int64_t second = 1; second < 30; ++second) {
    const SimTime now(second * 1'000'000'000);
    for (const std::string job : {"gpt@1001", "gpt@1002", "llama@1001"}) {
      ProcessesSeen look{.job = job, .number = static_cast<uint64_t>(second), .at = now, .processes = {}};
      telemetry::SeenProcess& process = look.processes.emplace_back();
      process.report.pid = 7;
      process.report.global_rank = 0;
      process.report.communicators = {{.id = 1, .name = "", .num_ranks = 1, .rank = 0, .is_finalized = false}};
      watch.Take(now, HostId(0), look);
    }
    for (const SteeringEvent& event : watch.Tick(now)) {
      if (const auto* running = std::get_if<JobRunning>(&event)) {
        verified[watch.JobName(running->job)] = running->is_owner_verified;
        is_sized[watch.JobName(running->job)] = running->host_choice == HostChoice::kSize;
      }
    }
  }
  const std::map<std::string, bool> expected = {{"gpt@1001", true}, {"gpt@1002", false}, {"llama@1001", false}};
  EXPECT_EQ(verified, expected);
  EXPECT_THAT(is_sized, ElementsAre(Pair("gpt@1001", false), Pair("gpt@1002", false), Pair("llama@1001", true)));
}

// ---- Laws, over random lives of two jobs ----

// A job that starts, loses processes and hosts, ends and starts again, as chance has it.
class RandomLife {
 public:
  RandomLife(std::string job, uint64_t seed) : job_(std::move(job)), random_(seed) {}

  // The looks of this second.
  std::vector<std::pair<HostId, ProcessesSeen>> Step(SimTime now) {
    if (processes_.empty() || random_.Below(40) == 0) Restart();
    if (random_.Below(15) == 0) {
      telemetry::SeenProcess& ends = processes_[random_.Below(processes_.size())].second;
      ends.state = ProcessState::kGone;
      ends.exit.end = static_cast<model::ProcessEnd>(random_.Below(3));
    }
    const HostId silent(random_.Below(8));
    std::map<HostId, ProcessesSeen> looks;
    for (auto& [host, seen] : processes_) {
      ++seen.report.number;
      ProcessesSeen& look = looks[host];
      look = {.job = job_, .number = number_, .at = now, .processes = std::move(look.processes)};
      look.processes.push_back(seen);
    }
    ++number_;
    looks.erase(silent);
    return {looks.begin(), looks.end()};
  }

 private:
  void Restart() {
    std::erase_if(processes_, [&](const auto&) { return random_.Below(2) == 0; });
    for (auto& [host, seen] : processes_) seen.state = ProcessState::kGone;
    const auto num = static_cast<uint32_t>(1 + random_.Below(4));
    for (uint32_t rank = 0; rank < num; ++rank) {
      telemetry::SeenProcess seen;
      seen.report.pid = next_pid_++;
      seen.report.global_rank = random_.Below(4) == 0 ? -1 : static_cast<int32_t>(rank);
      seen.report.communicators = {{.id = static_cast<uint64_t>(next_pid_) / 8,
                                    .name = "",
                                    .num_ranks = num,
                                    .rank = static_cast<int32_t>(rank),
                                    .is_finalized = false}};
      processes_.emplace_back(HostId(random_.Below(6)), seen);
    }
  }

  std::string job_;
  Random random_;
  std::vector<std::pair<HostId, telemetry::SeenProcess>> processes_;
  uint64_t number_ = 0;
  int32_t next_pid_ = 1;
};

// Opens and clears findings about hosts of its layout, as chance has it.
class RandomDiagnosis final : public diagnosis::JobDiagnosis {
 public:
  explicit RandomDiagnosis(uint64_t seed) : random_(seed) {}

  std::vector<Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) override {
    std::vector<Finding> findings;
    for (const model::TelemetryRecord& record : records) {
      if (const auto* layout = std::get_if<model::JobLayout>(&record)) layout_ = *layout;
    }
    if (layout_.ranks.empty()) return findings;
    if (random_.Below(5) == 0) {
      findings_.push_back(FindingAbout(static_cast<uint32_t>(findings_.size()),
                                       layout_.ranks[random_.Below(layout_.ranks.size())].host));
      if (random_.Below(2) == 0) findings_.back().syndrome = model::Syndrome::kDead;
      findings.push_back(findings_.back());
    }
    for (Finding& finding : findings_) {
      if (finding.state == FindingState::kCleared || random_.Below(10) != 0) continue;
      finding.state = FindingState::kCleared;
      finding.cleared = now;
      findings.push_back(finding);
    }
    return findings;
  }
  void NoteAnswer(SimTime, HostId) override {}
  void ExcuseUntil(SimTime) override {}
  std::optional<model::FindingProof> ProofOf(FindingId) const override { return std::nullopt; }
  bool HasCrashed(SimTime) const override { return false; }

 private:
  Random random_;
  model::JobLayout layout_;
  std::vector<Finding> findings_;
};

std::string Describe(const SteeringEvent& event, const JobWatch& watch) {
  if (const auto* running = std::get_if<JobRunning>(&event)) {
    std::string text = "run";
    for (const HostId host : running->hosts) text += " " + std::to_string(host.value());
    return text;
  }
  if (std::holds_alternative<JobGone>(event)) return "gone";
  const Finding& finding = std::get<FindingReported>(event).finding;
  return watch.JobName(finding.job) + " " + finding.summary + (finding.state == FindingState::kCleared ? " over" : "");
}

struct WatchedLife {
  std::map<std::string, std::vector<std::string>> events;  // by job
  bool had_run = false;
};

// Two lives, the second of which may be left out; checks the watch's promises on the way.
WatchedLife Live(const topology::Fabric& fabric, uint64_t seed, bool has_both) {
  WatchedLife life;
  // Diagnoses of each job are made in their own order.
  int num_made = 0;
  uint64_t of_job = 0;
  std::map<uint64_t, int> made_of;
  JobWatch watch(
      fabric,
      [&](const std::string&) {
        ++num_made;
        return std::make_unique<RandomDiagnosis>(seed * 1000 + of_job * 100 + static_cast<uint64_t>(++made_of[of_job]));
      },
      {});
  RandomLife lives[] = {RandomLife("a", seed), RandomLife("b", seed + 1'000'000)};
  SimTime now(1'700'000'000'000'000'000);
  std::map<JobId, std::string> names;
  std::map<JobId, std::set<FindingId>> open;
  std::set<FindingId> ever;
  std::map<HostId, HostJudged> reported;
  for (int second = 0; second < 400; ++second) {
    now = now + kSecond;
    for (of_job = 0; of_job < (has_both ? 2u : 1u); ++of_job) {
      for (const auto& [host, look] : lives[of_job].Step(now)) watch.Take(now, host, look);
      for (const WatchedJob& job : watch.Jobs()) names[job.id] = job.name;
    }
    for (const SteeringEvent& event : watch.Tick(now)) {
      JobId id;
      if (const auto* running = std::get_if<JobRunning>(&event)) {
        id = running->job;
        life.had_run = true;
        EXPECT_FALSE(running->hosts.empty());
      } else if (const auto* gone = std::get_if<JobGone>(&event)) {
        id = gone->job;
        EXPECT_THAT(open[id], IsEmpty()) << "findings are over before the job is gone";
      } else {
        const Finding& finding = std::get<FindingReported>(event).finding;
        id = finding.job;
        if (finding.state == FindingState::kCleared) {
          EXPECT_EQ(open[id].erase(finding.id), 1u) << "over once, and after it was told";
        } else {
          EXPECT_TRUE(ever.insert(finding.id).second) << "a number is used once";
          open[id].insert(finding.id);
        }
      }
      life.events[names[id]].push_back(std::to_string(second) + " " + Describe(event, watch));
    }
    // The messages to hosts, put together, give the findings that hold.
    for (const auto& [host, judged] : watch.TakeJudged()) reported[host] = judged;
    size_t num_reported = 0;
    for (const auto& [host, judged] : reported) num_reported += judged.findings.size();
    size_t num_open = 0;
    for (const auto& [job, ids] : open) num_open += ids.size();
    EXPECT_EQ(num_reported, num_open);
    const auto findings = watch.Findings();
    EXPECT_EQ(num_open, static_cast<size_t>(std::ranges::count_if(findings, [](const WatchedFinding& watched) {
                return watched.finding.state == FindingState::kConfirmed;
              })));
  }
  return life;
}

TEST(JobWatchLawsTest, JobsKeepTheirPromisesAndDoNotTouchEachOther) {
  const topology::Fabric fabric = LiveFabric();
  int num_runs = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const WatchedLife both = Live(fabric, seed, true);
    const WatchedLife again = Live(fabric, seed, true);
    const WatchedLife alone = Live(fabric, seed, false);
    EXPECT_EQ(both.events, again.events);
    const auto a = both.events.find("a");
    const auto a_alone = alone.events.find("a");
    ASSERT_EQ(a == both.events.end(), a_alone == alone.events.end());
    if (a != both.events.end()) {
      EXPECT_EQ(a->second, a_alone->second);
    }
    num_runs += both.had_run ? 1 : 0;
  }
  EXPECT_GT(num_runs, 50);
}

}  // namespace
}  // namespace fairlead::controller
