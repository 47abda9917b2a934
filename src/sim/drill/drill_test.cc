#include "sim/drill/drill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/steering_dispatcher.h"

namespace fairlead::sim {
namespace {

using execution::Fault;
using execution::FaultKind;
using model::RankId;

SimTime At(double s) { return SimTime::FromSeconds(Seconds(s)); }

// 8 hosts of 2 GPUs, an iteration takes about 0.5 s, a checkpoint every 100 of them.
DrillOptions SmallDrill(std::vector<Fault> faults, double end_s) {
  DrillOptions options;
  options.cluster.shape.data_parallel = 16;
  options.cluster.shape.gpus_per_host = 2;
  options.cluster.shape.micro_batches = 4;
  options.cluster.shape.checkpoint_every = 100;
  options.cluster.num_spares = 1;
  options.faults = std::move(faults);
  options.steering.mode = controller::SteeringMode::kAct;
  options.end = At(end_s);
  return options;
}

Fault FaultOf(FaultKind kind, uint32_t rank, double begin_s, double magnitude = 1) {
  Fault fault;
  fault.kind = kind;
  fault.rank = RankId(rank);
  fault.host = kind == FaultKind::kHostLost ? HostId(rank / 2) : HostId();
  fault.begin = At(begin_s);
  fault.magnitude = magnitude;
  return fault;
}

DrillRun Drill(const DrillOptions& options, bool with_diagnosis = true) {
  EXPECT_TRUE(options.Validate().ok()) << options.Validate().message();
  const std::atomic<bool> stop = false;
  return RunDrill(options, with_diagnosis, stop, nullptr);
}

size_t Count(const DrillRun& run, DrillEventKind kind, std::string_view part) {
  return static_cast<size_t>(std::count_if(run.events.begin(), run.events.end(), [&](const DrillEvent& event) {
    return event.kind == kind && event.text.find(part) != std::string::npos;
  }));
}

TEST(DrillTest, AHungHostIsReplacedAndTheJobGoesOn) {
  const DrillRun run = Drill(SmallDrill({FaultOf(FaultKind::kGpuHang, 5, 150)}, 700));
  const FaultStory& story = run.stories.at(0);
  EXPECT_EQ(story.host, HostId(2));
  EXPECT_TRUE(story.names_host);
  EXPECT_EQ(story.finding, "non_comm_hang");
  // In this order, none missing.
  EXPECT_LE(At(150), story.acted);
  EXPECT_LE(story.acted, story.symptom);
  EXPECT_LE(story.symptom, story.suspected);
  EXPECT_LT(story.suspected, story.confirmed);
  EXPECT_LE(story.confirmed, story.action);
  EXPECT_LT(story.action, story.restarted);
  EXPECT_LT(story.restarted, At(700));
  // 10 s of suspicion and 10 s of confirmation, one operation and the ticks beside.
  EXPECT_LE((story.confirmed - story.acted).seconds().value(), 30);
  // Isolating, stopping, taking and restarting: 10 + 30 + 20 + 195 s, and a tick for each.
  EXPECT_NEAR((story.restarted - story.action).seconds().value(), 255, 8);
  // The spare, host 8, takes the place of host 2.
  EXPECT_EQ(run.hosts, (std::vector<HostId>{HostId(0), HostId(1), HostId(8), HostId(3), HostId(4), HostId(5), HostId(6),
                                            HostId(7)}));
  EXPECT_LT(story.num_lost, 100u);  // at most what lies between two checkpoints
  EXPECT_EQ(run.num_lost, story.num_lost);
  ASSERT_FALSE(run.stretches.empty());
  EXPECT_EQ(run.stretches.front().activity, JobActivity::kTraining);
  // From the last iteration before the fault to the restart, and what was lost once more.
  const double iteration_s = (700 - run.lost_s) / static_cast<double>(run.num_iterations);
  EXPECT_NEAR(run.lost_s,
              (story.restarted - story.acted).seconds().value() + iteration_s * static_cast<double>(run.num_lost),
              5 * iteration_s + 20);
  EXPECT_EQ(run.condition, controller::JobCondition::kRunning);
  EXPECT_EQ(Count(run, DrillEventKind::kAction, "attempt"), 0u) << "initialization takes its time";
  EXPECT_EQ(Count(run, DrillEventKind::kFinding, "confirmed"), 1u) << "the restart is no fault, nor is the repetition";
  EXPECT_EQ(Count(run, DrillEventKind::kOutcome, "host 2 failed its tests"), 1u);
}

// Law: the stretches of the job fill the time without gaps or overlaps.
TEST(DrillTest, StretchesFillTheTime) {
  for (const FaultKind kind : {FaultKind::kGpuHang, FaultKind::kProcessCrash, FaultKind::kSlowGpu}) {
    for (const bool with_diagnosis : {false, true}) {
      DrillOptions options = SmallDrill({FaultOf(kind, 3, 100, kind == FaultKind::kSlowGpu ? 2 : 1)}, 600);
      options.timeout = SimDuration(60'000'000'000);
      options.search = SimDuration(60'000'000'000);
      const DrillRun run = Drill(options, with_diagnosis);
      SimTime end;
      for (const JobStretch& stretch : run.stretches) {
        EXPECT_EQ(stretch.begin, end);
        EXPECT_LT(stretch.begin, stretch.end);
        end = stretch.end;
      }
      EXPECT_EQ(end, At(600));
    }
  }
}

TEST(DrillTest, ACrashIsRestartedOnTheSameHosts) {
  const DrillRun run = Drill(SmallDrill({FaultOf(FaultKind::kProcessCrash, 5, 150)}, 600));
  EXPECT_EQ(run.stories.at(0).finding, "dead");
  EXPECT_NE(run.stories.at(0).restarted, SimTime::Never());
  EXPECT_EQ(run.hosts.at(2), HostId(2));
  EXPECT_EQ(Count(run, DrillEventKind::kAction, "isolate"), 0u);
}

TEST(DrillTest, WithoutTheDiagnosisPeopleSearch) {
  DrillOptions options = SmallDrill({FaultOf(FaultKind::kGpuHang, 5, 150)}, 1200);
  options.timeout = SimDuration(300'000'000'000);
  options.search = SimDuration(200'000'000'000);
  const DrillRun people = Drill(options, false);
  const FaultStory& story = people.stories.at(0);
  EXPECT_EQ(story.confirmed, SimTime::Never());
  // 300 s behind the last iteration, 200 s of search.
  EXPECT_NEAR((story.action - story.acted).seconds().value(), 500, 3);
  EXPECT_NEAR((story.restarted - story.action).seconds().value(), 245, 2);
  EXPECT_EQ(people.hosts.at(2), HostId(8));
  const DrillRun with_diagnosis = Drill(options);
  // What the diagnosis saves is most of time-out and search: 500 s less about 20, and what the isolation takes.
  EXPECT_NEAR(people.lost_s - with_diagnosis.lost_s, 500 - 22 - 10, 20);
  EXPECT_GT(with_diagnosis.num_iterations, people.num_iterations);
}

// No host is to blame for a path: people repair it, led by the finding, and no host is isolated. That they stop the job
// is no fault either.
TEST(DrillTest, PeopleMendAPath) {
  Fault fault = FaultOf(FaultKind::kConnectionDown, 1, 100);
  fault.peer = RankId(2);
  DrillOptions options = SmallDrill({fault}, 900);
  options.timeout = SimDuration(120'000'000'000);
  options.reaction = SimDuration(60'000'000'000);
  const DrillRun run = Drill(options);
  EXPECT_EQ(Count(run, DrillEventKind::kFinding, "confirmed"), 1u);
  EXPECT_EQ(Count(run, DrillEventKind::kAction, ""), 0u);
  EXPECT_EQ(Count(run, DrillEventKind::kRestarted, ""), 1u);
  EXPECT_NEAR((run.stories.at(0).action - run.stories.at(0).acted).seconds().value(), 180, 3);
  EXPECT_EQ(run.stretches.back().activity, JobActivity::kTraining);
}

TEST(DrillTest, WithoutSparesASlowHostStays) {
  DrillOptions options = SmallDrill({FaultOf(FaultKind::kSlowGpu, 5, 100, 2)}, 300);
  options.cluster.num_spares = 0;
  const DrillRun run = Drill(options);
  EXPECT_EQ(Count(run, DrillEventKind::kAction, ""), 0u);
  EXPECT_EQ(Count(run, DrillEventKind::kAdvice, "0 spares for 1 host:"), 1u);
  EXPECT_TRUE(run.stories.at(0).names_host);
}

TEST(DrillTest, ALostHostWithoutSparesWaits) {
  DrillOptions options = SmallDrill({FaultOf(FaultKind::kHostLost, 4, 100)}, 400);
  options.cluster.num_spares = 0;
  const DrillRun run = Drill(options);
  EXPECT_EQ(run.condition, controller::JobCondition::kWaitsForSpare);
  EXPECT_EQ(run.stories.at(0).restarted, SimTime::Never());
  EXPECT_EQ(Count(run, DrillEventKind::kAdvice, "no spare is left"), 1u);
}

TEST(DrillTest, ActionsThatFailAreTriedAgain) {
  DrillOptions options = SmallDrill({FaultOf(FaultKind::kGpuHang, 5, 150)}, 900);
  options.cluster.failing_actions = 0.5;
  options.steering.attempts.attempts = 20;
  const DrillRun run = Drill(options);
  EXPECT_GT(Count(run, DrillEventKind::kOutcome, "the drill made it fail"), 0u);
  EXPECT_GT(Count(run, DrillEventKind::kAction, "attempt 2"), 0u);
  EXPECT_NE(run.stories.at(0).restarted, SimTime::Never());
}

TEST(DrillTest, ObservingTouchesNothing) {
  DrillOptions options = SmallDrill({FaultOf(FaultKind::kGpuHang, 5, 100)}, 300);
  options.steering.mode = controller::SteeringMode::kObserve;
  const DrillRun run = Drill(options);
  EXPECT_EQ(Count(run, DrillEventKind::kAction, ""), 0u);
  EXPECT_EQ(Count(run, DrillEventKind::kAdvice, "observing only"), 1u);
}

// All processes stop for a minute, as in planned maintenance.
TEST(DrillTest, NothingIsFoundInAnAnnouncedPauseAndAgainAfterIt) {
  std::vector<Fault> frozen;
  for (uint32_t rank = 0; rank < 16; ++rank) {
    frozen.push_back(FaultOf(FaultKind::kProcessFrozen, rank, 100));
    frozen.back().end = At(160);
  }
  frozen.erase(frozen.begin());  // but one: a hang of fifteen ranks
  DrillOptions options = SmallDrill(frozen, 200);
  EXPECT_GT(Count(Drill(options), DrillEventKind::kFinding, "confirmed"), 0u) << "unannounced it is a hang";
  options.pauses = {{At(99), At(165)}};
  EXPECT_EQ(Count(Drill(options), DrillEventKind::kFinding, "confirmed"), 0u);
  options.faults.push_back(FaultOf(FaultKind::kGpuHang, 5, 180));
  options.end = At(240);
  EXPECT_EQ(Count(Drill(options), DrillEventKind::kFinding, "confirmed"), 1u);
}

TEST(DrillTest, SameOptionsSameResult) {
  const DrillOptions options = SmallDrill({FaultOf(FaultKind::kSlowNicSend, 5, 60, 4)}, 500);
  const DrillRun one = Drill(options);
  const DrillRun other = Drill(options);
  ASSERT_EQ(one.events.size(), other.events.size());
  for (size_t i = 0; i < one.events.size(); ++i) {
    EXPECT_EQ(one.events[i].at, other.events[i].at);
    EXPECT_EQ(one.events[i].text, other.events[i].text);
  }
  EXPECT_EQ(one.num_iterations, other.num_iterations);
}

// The dispatcher joins any back end; here the dry run: everything is reported, in order, immediately.
TEST(DryRunTest, ReportsWhatWouldBeDone) {
  controller::SteeringOptions options;
  options.mode = controller::SteeringMode::kAct;
  controller::Steering steering(options, 100);
  controller::DryRun backend;
  std::vector<std::string> steps;
  controller::SteeringDispatcher dispatcher(&steering, &backend, [&](const controller::AuditEntry& entry) {
    const auto* action = std::get_if<controller::SteeringAction>(&entry.what);
    if (action != nullptr && controller::IsAnswered(action->step)) steps.emplace_back(Name(action->step));
  });
  model::Finding finding;
  finding.id = model::FindingId(0);
  finding.job = JobId(1);
  finding.syndrome = model::Syndrome::kCommHang;
  finding.state = model::FindingState::kConfirmed;
  finding.confidence = 1;
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  finding.action = model::RecommendedAction::kIsolateAndRestart;
  model::Culprit culprit;
  culprit.kind = model::CulpritKind::kHost;
  culprit.host = HostId(0);
  finding.culprits = {culprit};
  const std::vector<controller::SteeringEvent> events = {controller::JobRunning{JobId(1), {HostId(0), HostId(1)}},
                                                         controller::SpareOffered{HostId(5)},
                                                         controller::FindingReported{finding}};
  dispatcher.Handle(At(1), events);
  EXPECT_THAT(steps,
              testing::UnorderedElementsAre("isolate_host", "test_host", "stop_job", "take_spare", "restart_job"));
}

}  // namespace
}  // namespace fairlead::sim
