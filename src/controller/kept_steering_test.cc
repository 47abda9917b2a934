#include "controller/kept_steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "controller/sick_host_example.h"

namespace fairlead::controller {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr JobId kJob(4);
constexpr HostId kSick(3);
constexpr HostId kSpare(9);

SimTime At(double s) { return SimTime::FromSeconds(Seconds(s)); }

// Processes of a controller, one after the other, and what outlives them.
struct World {
  KeptSteering::Records records;
  std::vector<SteeringEvent> outcomes;
  std::vector<AuditEntry> log;
};

KeptSteeringOptions Options(SteeringMode mode = SteeringMode::kAct) {
  KeptSteeringOptions options;
  options.steering.mode = mode;
  options.spares = {kSpare};
  return options;
}

std::unique_ptr<KeptSteering> Start(World* world, double at, SteeringMode mode = SteeringMode::kAct) {
  std::vector<std::string> names;
  for (int h = 0; h < 12; ++h) names.push_back("h" + std::to_string(h));
  return std::make_unique<KeptSteering>(
      At(at), Options(mode), std::move(names),
      KeptSteering::Surroundings{.take_outcomes = [world](SimTime) { return std::exchange(world->outcomes, {}); },
                                 .entry = [world](const AuditEntry& entry) { world->log.push_back(entry); },
                                 .job_name = [](JobId) { return "gpt"; }});
}

JobRunning Running() { return {.job = kJob, .hosts = {HostId(0), HostId(1), HostId(2), kSick}}; }

// A batch that is kept.
std::vector<SteeringAction> Handle(World* world, KeptSteering* steering, double at, std::vector<SteeringEvent> events) {
  for (SteeringEvent& event : events) steering->Take(std::move(event));
  KeptSteering::Batch batch = steering->MakeBatch(At(at));
  world->records = steering->ToRecords();
  return std::move(batch.begun);
}

std::vector<std::string> Names(const std::vector<SteeringAction>& actions) {
  std::vector<std::string> names;
  for (const SteeringAction& action : actions) names.emplace_back(Name(action.step));
  return names;
}

TEST(KeptSteeringTest, AnActionUnderWayBeginsAgainAsTheSameAttempt) {
  World world;
  auto first = Start(&world, 0);
  ASSERT_TRUE(first->Restore(At(0), world.records).ok());
  Handle(&world, first.get(), 1, {Running()});
  const auto begun = Handle(&world, first.get(), 2, {FindingReported{SickHost(1, kJob, kSick, At(1))}});
  ASSERT_THAT(Names(begun), ElementsAre("isolate_host"));

  auto second = Start(&world, 10);
  const auto start = second->Restore(At(10), world.records);
  ASSERT_TRUE(start.ok()) << start.status().message();
  ASSERT_THAT(Names(start->begun), ElementsAre("isolate_host"));
  EXPECT_EQ(start->begun[0].number, begun[0].number);
  EXPECT_EQ(start->begun[0].attempt, begun[0].attempt);
  EXPECT_EQ(second->names().job(kJob), "gpt");
  EXPECT_EQ(second->last_finding(), model::FindingId(1));
  // Its diagnosis sees the job for the first time, and finds the same again: nothing is done twice.
  EXPECT_THAT(Handle(&world, second.get(), 11, {Running(), FindingReported{SickHost(1, kJob, kSick, At(9))}}),
              IsEmpty());
}

// The time of an attempt is over in the moment in which its answer comes: a second stop might hit what a restart has
// begun meanwhile.
TEST(KeptSteeringTest, AnAnswerThatComesWithTheEndOfItsTimeIsAnAnswer) {
  World world;
  auto steering = Start(&world, 0);
  Handle(&world, steering.get(), 1, {Running()});
  const auto isolate = Handle(&world, steering.get(), 2, {FindingReported{SickHost(1, kJob, kSick, At(1))}});
  ASSERT_THAT(isolate, SizeIs(1));
  const double deadline = Options().steering.attempts.deadline.seconds().value();
  world.outcomes = {StepDone{.action = isolate[0].number, .attempt = 1}};
  EXPECT_THAT(Names(Handle(&world, steering.get(), 3 + deadline, {})), ElementsAre("test_host", "stop_job"));

  // Likewise, where the attempt has failed by its time already, and is about to be made again.
  auto late = Start(&world, 1000);
  const auto start = late->Restore(At(1000), world.records);
  ASSERT_TRUE(start.ok());
  ASSERT_THAT(Names(start->begun), ElementsAre("test_host", "stop_job"));
  EXPECT_THAT(Handle(&world, late.get(), 1001 + deadline, {}), IsEmpty());
  world.outcomes = {StepDone{.action = start->begun[1].number, .attempt = 1}};
  EXPECT_THAT(Names(Handle(&world, late.get(), 1100 + deadline, {})), ElementsAre("take_spare"));
}

// The diagnosis needs seconds to learn of a run. What it says when the job has just been stopped is about the run
// before.
TEST(KeptSteeringTest, AReportOfTheRunBeforeAnswersNoRestart) {
  World world;
  auto steering = Start(&world, 0);
  Handle(&world, steering.get(), 1, {Running()});
  model::Finding hang = SickHost(1, kJob, kSick, At(1));
  hang.action = model::RecommendedAction::kRestart;
  const auto stop = Handle(&world, steering.get(), 2, {FindingReported{hang}});
  ASSERT_THAT(Names(stop), ElementsAre("stop_job"));
  world.outcomes = {StepDone{.action = stop[0].number, .attempt = 1}};
  EXPECT_THAT(Names(Handle(&world, steering.get(), 3, {Running()})), ElementsAre("restart_job"));
  JobRunning before = Running();
  before.is_new_run = false;
  Handle(&world, steering.get(), 4, {before});
  EXPECT_TRUE(steering->steering().IsBusy(kJob));
  Handle(&world, steering.get(), 5, {Running()});
  EXPECT_FALSE(steering->steering().IsBusy(kJob));
}

TEST(KeptSteeringTest, AnotherModeGivesUpWhatIsUnderWay) {
  World world;
  auto first = Start(&world, 0);
  Handle(&world, first.get(), 1, {Running()});
  Handle(&world, first.get(), 2, {FindingReported{SickHost(1, kJob, kSick, At(1))}});
  auto second = Start(&world, 10, SteeringMode::kObserve);
  const auto start = second->Restore(At(10), world.records);
  ASSERT_TRUE(start.ok());
  EXPECT_THAT(start->begun, IsEmpty());
  EXPECT_THAT(Names(start->given_up), testing::Contains("ask_operator"));
}

TEST(KeptSteeringTest, ADamagedRecordIsNamed) {
  World world;
  world.records = {{"steering/name/four", "gpt"}};
  auto steering = Start(&world, 0);
  const auto start = steering->Restore(At(0), world.records);
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(start.status().message(), testing::HasSubstr("steering/name/four"));
}

}  // namespace
}  // namespace fairlead::controller
