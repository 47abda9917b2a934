// Operations on Slurm: what they do, what they leave alone, and what becomes of them when their process is killed at
// any moment.
#include "slurm/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "slurm/fake_slurm_example.h"
#include "slurm/intention_records.h"
#include "slurm/job_wish.h"
#include "slurm/mortal_example.h"
#include "store/memory_store.h"

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WriterOptions WithoutWaiting() {
  WriterOptions options;
  options.sleep = [](std::chrono::milliseconds) {};
  return options;
}

constexpr char kElasticMark[] = "fairlead:v1 nodes=1-6 tasks-per-node=2";

FakeJob Elastic(uint32_t owner = 1001) {
  FakeJob job;
  job.owner = owner;
  job.low = 1;
  job.high = 2;
  job.cpus = job.tasks = 4;
  job.tasks_per_node = 2;
  job.admin_comment = kElasticMark;
  return job;
}

FakeJob HeldElastic() {
  FakeJob job = Elastic();
  job.admin_comment = MarkHeld(kElasticMark);
  job.is_held = true;
  return job;
}

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    slurm_.Start(7, Elastic());
    slurm_.Start(8, Elastic(1002));
    slurm_.changes.clear();
  }

  PlaceJob Place(uint32_t num_nodes, std::vector<std::string> hosts = {}, std::vector<std::string> excluded = {}) {
    const auto job = ProgramReader(&slurm_).ReadJobLine(7);
    const auto place = MakePlaceJob(*job, num_nodes, std::move(hosts), std::move(excluded));
    EXPECT_TRUE(place.ok()) << place.status().message();
    return *place;
  }
  Outcome Carry(const Operation& operation) {
    const auto outcome = Writer(&slurm_, &store_, WithoutWaiting()).Carry(operation);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : Outcome();
  }
  size_t NumRecords() const { return store_.List("")->size(); }

  FakeSlurm slurm_;
  store::MemoryStore store_;
};

TEST_F(WriterTest, AJobGetsAnotherSize) {
  ASSERT_THAT(slurm_.jobs[7].hosts, ElementsAre("h0", "h1"));
  for (const uint32_t size : {4u, 1u, 3u}) {  // larger, smaller, larger again
    EXPECT_EQ(Carry(Place(size)).kind, Outcome::Kind::kDone);
    EXPECT_EQ(slurm_.jobs[7].hosts.size(), size);
    EXPECT_EQ(slurm_.jobs[7].tasks, 2 * size);
  }
  EXPECT_EQ(slurm_.jobs[7].starts, 4u);
  EXPECT_EQ(slurm_.jobs[8].starts, 1u) << "a stranger's";
  EXPECT_EQ(NumRecords(), 0u);
  slurm_.changes.resize(5);
  const std::string mark = std::string("scontrol update JobId=7 AdminComment=") + kElasticMark;
  EXPECT_THAT(slurm_.changes,
              ElementsAre(mark + " held", "scontrol requeuehold 7",
                          "scontrol update JobId=7 NumNodes=4-4 NumTasks=8 NumCPUs=8 ReqNodeList= ExcNodeList= "
                          "StartTime=now+2",
                          "scontrol release 7", mark))
      << "no hold is without its mark";
}

// Its user stops it and holds it, in the moment in which its size is to change: it stays so.
TEST_F(WriterTest, AHoldOfItsUserIsNotTakenForOurs) {
  const PlaceJob place = Place(4);
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  EXPECT_EQ(Carry(place).message, "somebody else holds job 7");
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, kElasticMark);
  EXPECT_EQ(NumRecords(), 0u);
}

// A mark that was left, by a death or because slurmctld has forgotten that it was taken away, would make a later hold
// by its user ours.
TEST_F(WriterTest, AJobThatRunsLosesTheMarkOfAHold) {
  slurm_.jobs[7].admin_comment = MarkHeld(kElasticMark);
  EXPECT_EQ(Carry(Place(2)).kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, kElasticMark);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
}

// Somebody released it while it was to be placed, so that it was not updated: it does not wait at a size of another.
TEST_F(WriterTest, AJobThatWasReleasedWithoutItsUpdateIsUpdated) {
  slurm_.jobs[7] = HeldElastic();
  const PlaceJob place = Place(3, {"h4"});
  slurm_.nodes["h4"].state = "DOWN";  // so that it waits
  slurm_.jobs[7].is_held = false;
  slurm_.jobs[7].admin_comment = kElasticMark;
  slurm_.jobs[7].low = slurm_.jobs[7].high = 7;
  Writer writer(&slurm_, &store_, {.num_looks_max = 6, .sleep = [](std::chrono::milliseconds) {}});
  EXPECT_EQ(writer.Carry(place)->kind, Outcome::Kind::kUnderway);
  EXPECT_EQ(slurm_.jobs[7].high, 3u);
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  slurm_.nodes["h4"].state = "IDLE";
  EXPECT_EQ(Carry(place).kind, Outcome::Kind::kDone);
  EXPECT_THAT(slurm_.jobs[7].hosts, testing::Contains("h4"));
}

TEST_F(WriterTest, AJobMovesAwayFromAHost) {
  EXPECT_EQ(Carry(DrainHost{"h1", "finding 7: \"nic\"\n" + std::string(300, 'x')}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.nodes["h1"].state, "IDLE+DRAIN");
  EXPECT_EQ(slurm_.nodes["h1"].reason.substr(0, 27), "fairlead: finding 7: ?nic??");
  EXPECT_LE(slurm_.nodes["h1"].reason.size(), 200u);
  const Outcome outcome = Carry(Place(2, {"h5"}, {"h1"}));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kDone);
  EXPECT_EQ(outcome.message, "job 7 runs on h5,h0");
}

TEST_F(WriterTest, WhatIsSoAlreadyIsNoStep) {
  EXPECT_EQ(Carry(Place(2)).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Carry(Place(2, {"h0"}, {"h4"})).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Carry(SetNice{7, 1001, 0}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Carry(ReturnHost{"h0"}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Carry(SetReservation{"fairlead_spare", {}, {}}).kind, Outcome::Kind::kDone);
  EXPECT_THAT(slurm_.changes, IsEmpty());
  Carry(DrainHost{"h4", "a"});
  Carry(DrainHost{"h4", "b"});
  EXPECT_EQ(slurm_.nodes["h4"].reason, "fairlead: a");
}

TEST_F(WriterTest, AHeldElasticJobIsStarted) {
  slurm_.jobs[7] = HeldElastic();
  EXPECT_EQ(Carry(Place(3)).kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_EQ(slurm_.jobs[7].restarts, 0u);
  EXPECT_EQ(slurm_.jobs[7].hosts.size(), 3u);
}

TEST_F(WriterTest, HostsAreReturnedByWhoDrainedThem) {
  slurm_.nodes["h3"] = {"IDLE+DRAIN", "operator: disk"};
  const Outcome outcome = Carry(ReturnHost{"h3"});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kGivenUp);
  EXPECT_EQ(outcome.message, "h3 was drained by somebody else: operator: disk");
  EXPECT_EQ(Carry(DrainHost{"h9", ""}).message, "Slurm has no node h9");
  EXPECT_THAT(slurm_.changes, IsEmpty());
  Carry(DrainHost{"h4", "finding 1"});
  EXPECT_EQ(Carry(ReturnHost{"h4"}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.nodes["h4"].state, "IDLE");
}

TEST_F(WriterTest, ReservationsAreSetAsAWhole) {
  const auto spares = [](std::vector<std::string> hosts) {
    return SetReservation{"fairlead_spare", std::move(hosts), {"root"}};
  };
  Carry(spares({"h4", "h5"}));
  EXPECT_EQ(slurm_.reservations["fairlead_spare"].nodes, "h4,h5");
  Carry(spares({"h5", "h4"}));
  EXPECT_EQ(slurm_.changes.size(), 1u) << "in another order";
  Carry(spares({"h5"}));
  EXPECT_EQ(slurm_.reservations["fairlead_spare"].nodes, "h5");
  Carry(spares({}));
  EXPECT_THAT(slurm_.reservations, IsEmpty());
  slurm_.reservations["maintenance"] = {"h0", "root"};
  EXPECT_EQ(Carry(SetReservation{"maintenance", {}, {}}).kind, Outcome::Kind::kGivenUp);
  EXPECT_EQ(slurm_.reservations.size(), 1u);
}

TEST_F(WriterTest, TheNumberIsNotEnough) {
  const PlaceJob place = Place(4);
  slurm_.jobs[7].owner = 1002;  // the number was given to another job
  EXPECT_EQ(Carry(place).message, "job 7 is of user 1002 now, not of 1001");
  EXPECT_EQ(Carry(SetNice{8, 1001, 5}).kind, Outcome::Kind::kGivenUp);
  slurm_.jobs.erase(7);
  EXPECT_EQ(Carry(place).message, "Slurm has no job 7 any more");
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_EQ(NumRecords(), 0u);
}

// What slurmctld has ended cannot be marked before it is requeued: it is afterwards.
TEST_F(WriterTest, AJobThatSlurmHasEndedIsRequeued) {
  const auto end = [this](const std::string& state) {
    slurm_.jobs[7].state = state;
    slurm_.jobs[7].hosts.clear();
    slurm_.changes.clear();
  };
  end("FAILED");
  const auto requeue = MakeRequeueJob(*ProgramReader(&slurm_).ReadJobLine(7));
  ASSERT_TRUE(requeue.ok()) << requeue.status().message();
  EXPECT_EQ(Carry(*requeue).message, "job 7 waits, held");
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_THAT(slurm_.changes, ElementsAre("scontrol requeuehold 7",
                                          std::string("scontrol update JobId=7 AdminComment=") + kElasticMark + " held",
                                          "scontrol hold 7"));
  EXPECT_FALSE(slurm_.ReleaseByUser(7));
  slurm_.changes.clear();
  EXPECT_EQ(Carry(*requeue).kind, Outcome::Kind::kDone) << "done is done";
  EXPECT_THAT(slurm_.changes, IsEmpty());

  end("FAILED");
  EXPECT_EQ(Carry(*requeue).message, "job 7 has run again, and ended");
  slurm_.jobs[7].restarts = 0;
  end("CANCELLED");
  EXPECT_EQ(Carry(*requeue).kind, Outcome::Kind::kGivenUp);
  end("FAILED");
  slurm_.jobs[7].owner = 4;
  EXPECT_EQ(Carry(*requeue).kind, Outcome::Kind::kGivenUp);
  slurm_.jobs.erase(7);
  EXPECT_EQ(Carry(*requeue).kind, Outcome::Kind::kGivenUp);
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_EQ(NumRecords(), 0u);
  EXPECT_FALSE(MakeRequeueJob(*ProgramReader(&slurm_).ReadJobLine(8)).ok()) << "it runs";
}

// Its user, or an operator, was quicker, and holds it.
TEST_F(WriterTest, AHoldOfAnothersIsNotTakenForThatOfARequeue) {
  slurm_.jobs[7].state = "FAILED";
  slurm_.jobs[7].hosts.clear();
  const auto requeue = MakeRequeueJob(*ProgramReader(&slurm_).ReadJobLine(7));
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  slurm_.jobs[7].held_reason = "JobHeldUser";
  slurm_.changes.clear();
  EXPECT_EQ(Carry(*requeue).message, "somebody else holds job 7");
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_THAT(slurm_.changes, IsEmpty());
}

TEST_F(WriterTest, AJobThatSomebodyElseRestartedIsNotStoppedAgain) {
  const PlaceJob place = Place(4);
  const auto wait_for = [this](const std::string& state) {
    while (slurm_.jobs[7].state != state) EXPECT_TRUE(ProgramReader(&slurm_).ReadNode("h0").ok());
  };
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  wait_for("PENDING");
  slurm_.Run({"scontrol", "update", "JobId=7", "NumNodes=1-1", "NumTasks=2", "NumCPUs=2", "StartTime=now+2"}).value();
  slurm_.Run({"scontrol", "release", "7"}).value();
  wait_for("RUNNING");
  slurm_.changes.clear();
  EXPECT_EQ(Carry(place).message, "job 7 was started by somebody else, on h0");
  EXPECT_THAT(slurm_.changes, IsEmpty());
}

TEST_F(WriterTest, ARefusalLeavesNoJobHeld) {
  PlaceJob place = Place(4);
  place.num_nodes = 9;  // of 6
  const Outcome outcome = Carry(place);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kGivenUp);
  EXPECT_THAT(outcome.message, HasSubstr("More processors requested than permitted"));
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_EQ(NumRecords(), 0u);
}

TEST_F(WriterTest, StepsWithoutEffectComeToAnEnd) {
  const PlaceJob place = Place(4);
  slurm_.takes_tasks = false;
  slurm_.nodes["h4"].state = slurm_.nodes["h5"].state = "DOWN";  // there is no room to start
  const Outcome outcome = Carry(place);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kGivenUp);
  EXPECT_THAT(outcome.message, HasSubstr("without effect"));
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_LT(slurm_.changes.size(), 60u) << "five commands a step at most";
}

TEST_F(WriterTest, ASlurmThatIsAwayIsWaitedFor) {
  const PlaceJob place = Place(4);
  const PlaceJob other = Place(3);
  slurm_.is_away = true;
  Writer writer(&slurm_, &store_, WithoutWaiting());
  EXPECT_EQ(writer.Carry(place).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(NumRecords(), 1u);
  EXPECT_EQ(writer.Carry(other).status().code(), StatusCode::kFailedPrecondition) << "another one";
  EXPECT_EQ(writer.Carry(place).status().code(), StatusCode::kUnavailable) << "the same one";
  EXPECT_EQ(NumRecords(), 1u);
  EXPECT_EQ(writer.Resume().status().code(), StatusCode::kUnavailable);
  slurm_.is_away = false;
  EXPECT_EQ(writer.Resume()->at(0).outcome.kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.jobs[7].hosts.size(), 4u);
  EXPECT_EQ(NumRecords(), 0u);
}

TEST_F(WriterTest, AJobThatFindsNoRoomWaitsInTheQueue) {
  slurm_.nodes["h4"].state = slurm_.nodes["h5"].state = "DOWN";
  EXPECT_EQ(Carry(Place(4)).kind, Outcome::Kind::kUnderway);  // two are the stranger's
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  slurm_.nodes["h4"].state = slurm_.nodes["h5"].state = "IDLE";
  EXPECT_EQ(Writer(&slurm_, &store_, WithoutWaiting()).Resume()->at(0).outcome.kind, Outcome::Kind::kDone);
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
}

TEST_F(WriterTest, JobsThatAreNotForUsToPlace) {
  const auto why = [this](uint32_t num_nodes = 2, std::vector<std::string> hosts = {},
                          std::vector<std::string> excluded = {}) {
    return MakePlaceJob(*ProgramReader(&slurm_).ReadJobLine(7), num_nodes, std::move(hosts), std::move(excluded))
        .status()
        .message();
  };
  EXPECT_THAT(why(0), HasSubstr("a node at least"));
  EXPECT_THAT(why(1, {"h0", "h1"}), HasSubstr("more hosts"));
  EXPECT_THAT(why(1, {"h0"}, {"h0"}), HasSubstr("named and excluded"));
  slurm_.jobs[7].may_requeue = false;
  EXPECT_THAT(why(), HasSubstr("may not be requeued"));
  slurm_.jobs[7].is_array = true;
  EXPECT_THAT(why(), HasSubstr("an array"));
  slurm_.jobs[7] = HeldElastic();
  EXPECT_EQ(why(), "");
  slurm_.jobs[7].admin_comment = kElasticMark;
  EXPECT_THAT(why(), HasSubstr("somebody else holds it"));
  slurm_.jobs[7].is_held = false;
  slurm_.jobs[7].ticks = 100;
  EXPECT_EQ(why(), "") << "it is elastic";
  slurm_.jobs[7].admin_comment = "(null)";
  EXPECT_THAT(why(), HasSubstr("waits in the queue"));
  slurm_.jobs[7].state = "CANCELLED";
  EXPECT_THAT(why(), HasSubstr("has ended"));
}

TEST_F(WriterTest, ADamagedRecordStopsAll) {
  Writer writer(&slurm_, &store_, WithoutWaiting());
  for (const char* value : {"", "{}", R"({"drain_host": {"host": "h1"}})", R"({"explode": {}})",
                            R"({"drain_host": {"host": "h1", "reason": ""}, "return_host": {"host": "h1"}})"}) {
    const store::Change change = {IntentionKey(3), value};
    ASSERT_TRUE(store_.Apply({&change, 1}).ok());
    EXPECT_EQ(writer.Resume().status().code(), StatusCode::kDataLoss) << value;
    EXPECT_EQ(writer.Carry(DrainHost{"h1", ""}).status().code(), StatusCode::kDataLoss);
  }
  EXPECT_THAT(slurm_.changes, IsEmpty());
}

TEST_F(WriterTest, RecordsAreReadAsTheyWereWritten) {
  PlaceJob place = Place(3, {"h1"}, {"h2", "h3"});
  place.was_pending = true;
  const std::vector<Operation> operations = {DrainHost{"h1", "\"x\"\n"},
                                             ReturnHost{"h1"},
                                             place,
                                             SetNice{7, 1001, -5},
                                             SetReservation{"fairlead_spare", {"h1"}, {"root", "ann"}},
                                             StopJob{7, 1001, 3, 2, 4, 8},
                                             RequeueJob{7, 1001, 3, "FAILED"},
                                             LeaveReservation{"fairlead_job_7", 7, 1001}};
  for (size_t i = 0; i < operations.size(); ++i) {
    const store::Change change = {IntentionKey(i + 8), IntentionText(operations[i])};
    ASSERT_TRUE(store_.Apply({&change, 1}).ok());
  }
  const auto read = ReadIntentions(store_);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ((*read)[i].first, i + 8);
    EXPECT_EQ(IntentionText((*read)[i].second), IntentionText(operations[i]));
  }
}

// ---- Stopped, and placed later ----

TEST_F(WriterTest, AStoppedJobGetsTheSameOnOtherHosts) {
  slurm_.jobs[7].admin_comment = "(null)";
  const StopJob stop = *MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7));
  EXPECT_EQ(Carry(SetReservation{"fairlead_job_7", {"h0", "h4"}, {"root"}}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Carry(stop).message, "job 7 is stopped");
  EXPECT_EQ(Carry(stop).kind, Outcome::Kind::kDone) << "again";
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, kStoppedMark);
  EXPECT_THAT(*ReadStopped(store_), ElementsAre(stop));
  const Job held = *ProgramReader(&slurm_).ReadJobLine(7);
  EXPECT_THAT(MakePlaceJob(stop, held, {"h0"}).status().message(), HasSubstr("it had 2 nodes, and is to get 1"));
  PlaceJob place = *MakePlaceJob(stop, held, {"h0", "h4"});
  place.reservation = "fairlead_job_7";
  EXPECT_EQ(Carry(place).message, "job 7 runs on h0,h4");
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "");
  EXPECT_EQ(slurm_.jobs[7].tasks, 4u);
  EXPECT_THAT(*ReadStopped(store_), IsEmpty());
  EXPECT_EQ(Carry(LeaveReservation{"fairlead_job_7", 7, 1001}).kind, Outcome::Kind::kDone);
  EXPECT_THAT(slurm_.reservations, IsEmpty());
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NumRecords(), 1u);
  EXPECT_EQ(ReadReleased(store_)->at(0).stop, stop) << "until Slurm remembers it, too";
}

TEST_F(WriterTest, WhatOthersWroteIntoAJobStays) {
  slurm_.jobs[7].admin_comment = "bill to: physics";
  Carry(*MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7)));
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "bill to: physics");
  EXPECT_TRUE(slurm_.jobs[7].is_held);
}

TEST_F(WriterTest, AJobThatItsUserStoppedIsNotOurs) {
  slurm_.jobs[7].admin_comment = "(null)";
  const StopJob stop = *MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7));
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  slurm_.changes.clear();
  EXPECT_EQ(Carry(stop).message, "somebody else holds job 7");
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_THAT(*ReadStopped(store_), IsEmpty());
}

TEST_F(WriterTest, AStoppedJobIsReleasedWhereNobodyPlacesIt) {
  slurm_.jobs[7].admin_comment = "(null)";
  const StopJob stop = *MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7));
  Carry(stop);
  Writer writer(&slurm_, &store_, WithoutWaiting());
  std::string message;
  slurm_.is_away = true;
  EXPECT_EQ(writer.ReleaseStopped(stop, &message).code(), StatusCode::kUnavailable);
  EXPECT_THAT(*ReadStopped(store_), ElementsAre(stop));
  slurm_.is_away = false;
  EXPECT_TRUE(writer.ReleaseStopped(stop, &message).ok());
  EXPECT_EQ(message, "job 7 is released");
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "");
  EXPECT_THAT(*ReadStopped(store_), IsEmpty());
  EXPECT_THAT(*ReadReleased(store_), testing::SizeIs(1));
}

TEST_F(WriterTest, AnOperationIsTakenBack) {
  slurm_.jobs[7].admin_comment = "(null)";
  const StopJob stop = *MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7));
  Death death{.at_call = 4};
  MortalPrograms programs(&slurm_, &death);  // dies after the job is held
  EXPECT_THROW((void)Writer(&programs, &store_, WithoutWaiting()).Carry(stop), Killed);
  while (slurm_.jobs[7].state != "PENDING") EXPECT_TRUE(ProgramReader(&slurm_).ReadNode("h0").ok());
  ASSERT_TRUE(slurm_.jobs[7].is_held);
  std::string message;
  EXPECT_TRUE(Writer(&slurm_, &store_, WithoutWaiting()).Abandon(stop, &message).ok());
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_THAT(*ReadIntentions(store_), IsEmpty());
  EXPECT_THAT(*ReadReleased(store_), testing::SizeIs(1));
}

TEST_F(WriterTest, WhatIsNoStop) {
  const auto why = [this] { return MakeStopJob(*ProgramReader(&slurm_).ReadJobLine(7)).status().message(); };
  EXPECT_EQ(why(), "");
  slurm_.jobs[7].may_requeue = false;
  EXPECT_THAT(why(), HasSubstr("may not be requeued"));
  slurm_.jobs[7].is_array = true;
  EXPECT_THAT(why(), HasSubstr("an array"));
  slurm_.jobs[7] = Elastic();
  slurm_.jobs[7].is_held = true;
  EXPECT_THAT(why(), HasSubstr("does not run"));
}

TEST_F(WriterTest, ADamagedRecordOfAStopIsNone) {
  for (const char* value : {"", "7", R"({"return_host": {"host": "h1"}})", R"({"stop_job": {"job": 8}})"}) {
    const store::Change change = {StoppedKey(7), value};
    ASSERT_TRUE(store_.Apply({&change, 1}).ok());
    EXPECT_EQ(ReadStopped(store_).status().code(), StatusCode::kDataLoss) << value;
  }
}

TEST(ProgramsTest, WhatSlurmSaysOnFailure) {
  const auto code = [](const std::string& said) { return StatusOfFailure({"scontrol", "update"}, 1, said).code(); };
  for (const char* missing : {"Invalid job id specified for job 99", "Node nope not found\n",
                              "Reservation nope not found", "slurm_update error: Invalid node name specified",
                              "delete_reservation ReservationName=nope: Requested reservation is invalid"}) {
    EXPECT_EQ(code(missing), StatusCode::kNotFound) << missing;
  }
  for (const char* away : {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "",
                           "slurm_load_jobs error: Socket timed out on send/recv operation"}) {
    EXPECT_EQ(code(away), StatusCode::kUnavailable) << away;
  }
  EXPECT_EQ(code("Access/permission denied"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(StatusOfFailure({"scontrol", "update"}, 1, "no\n\x1b[2Jway\n").message(), "scontrol update: no  [2Jway");

  RealPrograms programs({.deadline = std::chrono::milliseconds(300), .output_bytes_max = 100});
  EXPECT_EQ(*programs.Run({"sh", "-c", "echo out; echo err >&2"}), "out\n");
  EXPECT_EQ(programs.Run({"sh", "-c", "echo Node x not found; exit 1"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(programs.Run({"sleep", "5"}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(programs.Run({"head", "-c", "200", "/dev/zero"}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(programs.Run({"no-such-program"}).status().code(), StatusCode::kUnavailable);
}

// ---- Killed at every moment ----

struct World {
  FakeSlurm slurm;
  store::MemoryStore store;
  PlaceJob place;

  explicit World(bool is_held) {
    if (is_held) {
      slurm.jobs[7] = HeldElastic();
    } else {
      slurm.Start(7, Elastic());
    }
    slurm.Start(8, Elastic(1002));
    slurm.changes.clear();
    place = *MakePlaceJob(*ProgramReader(&slurm).ReadJobLine(7), 3, {"h5"}, {"h0"});
  }

  // In a process that dies as said. Returns whether it did.
  bool Live(Death death, bool is_first) {
    MortalPrograms programs(&slurm, &death);
    MortalStore mortal_store(&store, &death);
    Writer writer(&programs, &mortal_store, WithoutWaiting());
    try {
      if (is_first) {
        EXPECT_TRUE(writer.Carry(place).ok());
      } else {
        EXPECT_TRUE(writer.Resume().ok());
      }
    } catch (const Killed&) {
      return true;
    }
    return false;
  }
};

// After all deaths the job is where it should be, or the operation was never recorded and it is where it was.
void ExpectAllIsWell(World* world, const std::string& which) {
  const FakeJob& job = world->slurm.jobs[7];
  const uint32_t starts_before = world->place.was_pending ? 0 : 1;
  EXPECT_TRUE(world->store.List("")->empty()) << which;
  if (world->slurm.changes.empty()) {
    EXPECT_EQ(job.starts, starts_before) << which;
  } else {
    EXPECT_EQ(job.state, "RUNNING") << which;
    EXPECT_THAT(job.hosts, testing::UnorderedElementsAre("h5", testing::Not("h0"), testing::Not("h0"))) << which;
    EXPECT_EQ(job.starts, starts_before + 1) << which;
    EXPECT_EQ(job.restarts, starts_before) << which;
  }
  EXPECT_EQ(world->slurm.jobs[8].starts, 1u) << which;
  for (const std::string& change : world->slurm.changes) EXPECT_THAT(change, testing::Not(HasSubstr("8"))) << which;
}

TEST(WriterDeathTest, AtEachCallBeforeAndAfterItsEffect) {
  for (const bool is_held : {false, true}) {
    size_t num_deaths = 0;
    for (size_t call = 0;; ++call) {
      bool has_died = false;
      for (const bool is_after : {false, true}) {
        World world(is_held);
        has_died = world.Live({.at_call = call, .is_after = is_after}, true);
        num_deaths += has_died ? 1 : 0;
        EXPECT_FALSE(world.Live({}, false));
        ExpectAllIsWell(&world, fmt::format("call {}, after: {}, held: {}", call, is_after, is_held));
      }
      if (!has_died) break;
    }
    EXPECT_GE(num_deaths, 2u * (is_held ? 6 : 9)) << "record, looks, commands, removal";
  }
}

TEST(WriterDeathTest, AgainAndAgain) {
  EXPECT_TRUE(rc::check([] {
    World world(*rc::gen::arbitrary<bool>());
    const auto deaths = *rc::gen::container<std::vector<std::pair<uint8_t, bool>>>(
        rc::gen::pair(rc::gen::inRange<uint8_t>(0, 12), rc::gen::arbitrary<bool>()));
    bool is_first = true;
    for (const auto& [call, is_after] : deaths) {
      if (!world.Live({.at_call = call, .is_after = is_after}, is_first)) break;
      is_first = false;
    }
    RC_ASSERT(!world.Live({}, false));
    ExpectAllIsWell(&world, "");
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

// What Slurm has ended is requeued once, held and marked, whenever the process dies.
TEST(WriterDeathTest, InTheMiddleOfARequeue) {
  for (size_t call = 0;; ++call) {
    bool has_died = false;
    for (const bool is_after : {false, true}) {
      FakeSlurm slurm;
      store::MemoryStore store;
      slurm.Start(7, Elastic());
      slurm.jobs[7].state = "FAILED";
      slurm.jobs[7].hosts.clear();
      slurm.Start(8, Elastic(1002));
      slurm.changes.clear();
      const RequeueJob requeue = *MakeRequeueJob(*ProgramReader(&slurm).ReadJobLine(7));
      Death death{.at_call = call, .is_after = is_after};
      MortalPrograms programs(&slurm, &death);
      MortalStore mortal_store(&store, &death);
      try {
        EXPECT_EQ(Writer(&programs, &mortal_store, WithoutWaiting()).Carry(requeue)->kind, Outcome::Kind::kDone);
      } catch (const Killed&) {
        has_died = true;
      }
      ASSERT_TRUE(Writer(&slurm, &store, WithoutWaiting()).Resume().ok());
      if (slurm.jobs[7].state == "FAILED") {
        EXPECT_THAT(slurm.changes, IsEmpty()) << call;  // it died before there was a record
      } else {
        EXPECT_EQ(slurm.jobs[7].admin_comment, MarkHeld(kElasticMark)) << call;
        EXPECT_TRUE(slurm.jobs[7].is_held) << call;
        EXPECT_EQ(slurm.jobs[7].restarts, 1u) << call;
      }
      EXPECT_EQ(slurm.jobs[8].starts, 1u) << call;
      EXPECT_TRUE(store.List("")->empty()) << call;
    }
    if (!has_died) break;
    ASSERT_LT(call, 100u);
  }
}

// A stop and a placing, each by processes that die at one of their calls.
TEST(WriterDeathTest, BetweenStopAndPlacing) {
  for (size_t call = 0;; ++call) {
    bool has_died = false;
    for (const bool is_after : {false, true}) {
      FakeSlurm slurm;
      store::MemoryStore store;
      FakeJob job = Elastic();
      job.admin_comment = "(null)";
      slurm.Start(7, job);
      slurm.Start(8, Elastic(1002));
      slurm.changes.clear();
      Death death{.at_call = call, .is_after = is_after};
      MortalPrograms programs(&slurm, &death);
      MortalStore mortal_store(&store, &death);
      const StopJob stop = *MakeStopJob(*ProgramReader(&slurm).ReadJobLine(7));
      const auto carry = [&](Programs* by, store::Store* in) {
        EXPECT_EQ(Writer(by, in, WithoutWaiting()).Carry(stop)->kind, Outcome::Kind::kDone);
        ProgramReader reader(by);
        EXPECT_EQ(
            Writer(by, in, WithoutWaiting()).Carry(*MakePlaceJob(stop, *reader.ReadJobLine(7), {"h1", "h4"}))->kind,
            Outcome::Kind::kDone);
      };
      try {
        carry(&programs, &mortal_store);
      } catch (const Killed&) {
        has_died = true;
      }
      ASSERT_TRUE(Writer(&slurm, &store, WithoutWaiting()).Resume().ok());
      if (slurm.jobs[7].hosts != std::vector<std::string>{"h1", "h4"}) carry(&slurm, &store);
      EXPECT_THAT(slurm.jobs[7].hosts, ElementsAre("h1", "h4")) << call;
      EXPECT_EQ(slurm.jobs[7].starts, 2u) << call;
      EXPECT_EQ(slurm.jobs[7].restarts, 1u) << call;
      EXPECT_EQ(slurm.jobs[8].starts, 1u) << call;
      EXPECT_EQ(store.List("")->size(), 1u) << call << ": that it was placed";
    }
    if (!has_died) break;
    ASSERT_LT(call, 100u);
  }
}

}  // namespace
}  // namespace fairlead::slurm
