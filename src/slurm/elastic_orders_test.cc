// Sizes of elastic jobs on a small Slurm: which are chosen, what is left alone, and what becomes of them when hosts go,
// others take hosts, and the controller dies at any moment.
#include "slurm/elastic_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "slurm/cluster_reader.h"
#include "slurm/elastic_records.h"
#include "slurm/fake_slurm_example.h"
#include "slurm/intention_records.h"
#include "slurm/mortal_example.h"
#include "store/memory_store.h"
#include "topology/clos_fabrics.h"

namespace fairlead::slurm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr uint32_t kHosts = 6;
constexpr uint32_t kOwner = 1001;
constexpr double kPeriodS = 10;

FakeJob Elastic(uint32_t low, uint32_t high) {
  FakeJob job;
  job.owner = kOwner;
  job.low = low;
  job.high = high;
  job.num_nodes = low;
  job.tasks_per_node = 4;
  job.tasks = job.cpus = 4 * low;
  job.is_held = true;
  job.admin_comment = fmt::format("fairlead:v1 nodes={}-{} tasks-per-node=4 held", low, high);
  return job;
}

FakeJob Rigid(uint32_t num_nodes) {
  FakeJob job;
  job.owner = 1002;
  job.low = job.high = job.num_nodes = num_nodes;
  job.tasks_per_node = 4;
  job.tasks = job.cpus = 4 * num_nodes;
  return job;
}

// Training on the fake Slurm: each period jobs go on by 10 s, at n nodes with n steps a second, from their checkpoints.
class ElasticOrdersTest : public testing::Test {
 protected:
  struct Training {
    double steps = 0;  // in all; 0: never over
    double done = 0;
    uint32_t starts = 0;
    std::optional<double> said_at{};  // when it did its last step
    bool hangs = false;
  };

  ElasticOrdersTest() : slurm_(kHosts), programs_(&slurm_, &death_), store_(&memory_, &death_) {
    topology::ClosSpec spec;
    spec.hosts_per_leaf = kHosts / 2;
    spec.host.gpus = 4;
    spec.host.nics = 4;
    fabric_ = topology::BuildClos(spec).value();
    options_.jobs.partitions = {"train"};
    options_.writer.sleep = [](std::chrono::milliseconds) {};
    options_.patience = SimDuration::FromSeconds(Seconds(60));
  }

  // Another Slurm, of which nothing is kept and nothing was said.
  void BeginAnew() {
    slurm_ = FakeSlurm(kHosts);
    memory_ = store::MemoryStore();
    trainings_.clear();
    notes_.clear();
    changes_.clear();
    stopped_.clear();
    not_launched_.clear();
  }
  // As slurmctld does that could not launch its script: it looks as if that had ended with 1.
  void FailToLaunch(uint32_t id) {
    End(id, "FAILED", "NonZeroExitCode");
    not_launched_[id] = "Job credential revoked";
  }
  void End(uint32_t id, const std::string& state, const std::string& reason) {
    slurm_.jobs[id].state = state;
    slurm_.jobs[id].end_reason = reason;
    slurm_.jobs[id].hosts.clear();
  }
  void Add(uint32_t id, FakeJob job, double steps = 0) {
    if (steps > 0) {
      job.comment = fmt::format(R"({{"fairlead": {{"steps": {:.0f}, "progress": "/steps"}}}})", steps);
      trainings_[id].steps = steps;
    } else {
      job.comment = "fairlead";
      trainings_[id] = {};
    }
    slurm_.jobs[id] = std::move(job);
  }

  void Start() {
    ElasticSources sources;
    sources.read_job = [this](uint32_t id) { return ProgramReader(&programs_).ReadJob(id); };
    sources.read_steps = [this](const Job& job, const ElasticWish& wish) {
      StepsSeen seen;
      if (wish.progress_file.empty()) return seen;
      const Training& training = trainings_[job.id];
      seen.done = training.done;
      if (training.said_at.has_value()) seen.said_ago = SimDuration::FromSeconds(Seconds(now_s_ - *training.said_at));
      return seen;
    };
    sources.read_checkpoint_time = [this](const Job& job, const ElasticWish&) { return checkpoints_[job.id]; };
    sources.read_end = [this](uint32_t id) { return ProgramReader(&programs_).ReadJobLine(id); };
    sources.why_not_launched = [this](uint32_t id) {
      const auto found = not_launched_.find(id);
      return found == not_launched_.end() ? std::nullopt : std::optional(found->second);
    };
    sources.note = [this](const std::string& subject, const Status& status) {
      if (!status.ok()) notes_.push_back(subject + ": " + status.message());
    };
    ElasticOrderListeners listeners;
    listeners.changed = [this](uint32_t job, const std::string& text) {
      changes_.push_back(fmt::format("{}: {}", job, text));
    };
    listeners.stopping = [this](uint32_t job) { stopped_.push_back(job); };
    auto orders =
        ElasticOrders::Create(fabric_, options_, &programs_, &store_, std::move(sources), std::move(listeners));
    ASSERT_TRUE(orders.ok()) << orders.status().message();
    orders_ = std::move(orders).value();
  }

  // Job 7 is to have 4 hosts, which it may wait for as long as it likes, and nothing is done about it yet.
  void DecideAboutAJobOfFourHosts() {
    options_.patience = SimDuration::FromSeconds(Seconds(10'000));
    Add(7, Elastic(2, 4), 100'000);
    Start();
    Train();
    Look();
    ASSERT_FALSE(orders_->is_idle());
  }

  void AskAJobOfFiveHostsForItsCheckpoint();

  void Train() {
    now_s_ += kPeriodS;
    for (auto& [id, job] : slurm_.jobs) job.run_s += job.state == "RUNNING" ? static_cast<int64_t>(kPeriodS) : 0;
    for (auto& [id, training] : trainings_) {
      FakeJob& job = slurm_.jobs[id];
      if (job.state != "RUNNING" || training.hangs) continue;
      training.said_at = now_s_;
      training.done += kPeriodS * static_cast<double>(job.hosts.size());
      if (training.steps == 0 || training.done < training.steps) continue;
      job.state = "COMPLETED";
      job.hosts.clear();
    }
  }
  SimTime Now() const { return SimTime::FromSeconds(Seconds(1.7e9 + now_s_)); }

  void Look() {
    const auto state = ProgramReader(&programs_).ReadAll();
    ASSERT_TRUE(state.ok()) << state.status().message();
    orders_->Look(*state, steered_, Now());
  }
  void TakeTurns() {
    for (int turn = 0; turn < 20 && !orders_->is_idle(); ++turn) orders_->TakeTurns(steered_, Now());
  }
  void Period() {
    Train();
    Look();
    TakeTurns();
  }
  void Periods(int number) {
    for (int i = 0; i < number; ++i) Period();
  }

  size_t NodesOf(uint32_t id) const { return slurm_.jobs.at(id).hosts.size(); }
  std::vector<std::string> CommandsAbout(uint32_t id) const {
    std::vector<std::string> about;
    for (const std::string& change : slurm_.changes) {
      if ((change + " ").find(fmt::format(" {} ", id)) != std::string::npos ||
          change.find(fmt::format("JobId={} ", id)) != std::string::npos) {
        about.push_back(change);
      }
    }
    return about;
  }
  // No host has two jobs, and nobody's job runs on a host that is drained since before it started.
  void CheckHosts() const {
    std::map<std::string, uint32_t> of;
    for (const auto& [id, job] : slurm_.jobs) {
      if (job.state != "RUNNING") continue;
      for (const std::string& host : job.hosts) EXPECT_TRUE(of.emplace(host, id).second) << host;
    }
  }

  FakeSlurm slurm_;
  Death death_;
  MortalPrograms programs_;
  store::MemoryStore memory_;
  MortalStore store_;
  topology::Fabric fabric_;
  ElasticOrderOptions options_;
  std::unique_ptr<ElasticOrders> orders_;
  std::set<uint32_t> steered_;
  std::map<uint32_t, Training> trainings_;
  std::map<uint32_t, std::optional<SimTime>> checkpoints_;
  std::vector<std::string> notes_, changes_;
  std::vector<uint32_t> stopped_;
  std::map<uint32_t, std::string> not_launched_;  // as slurmctld's log has it
  double now_s_ = 0;
};

TEST_F(ElasticOrdersTest, AloneAJobGetsWhatHelpsIt) {
  Add(7, Elastic(2, 6), 50'000);
  Start();
  Period();
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 6u);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "fairlead:v1 nodes=2-6 tasks-per-node=4");
  EXPECT_EQ(slurm_.jobs[7].tasks, 24u);
  Periods(5);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(changes_, SizeIs(1));
  ASSERT_THAT(orders_->Views(), SizeIs(1));
  const ElasticView view = orders_->Views()[0];
  EXPECT_EQ(view.num_nodes, 6u);
  EXPECT_EQ(view.steps, 50'000u);
  EXPECT_EQ(view.steps_done, trainings_[7].done);
}

// A shorter one comes: the first gives way, stopped once, and goes on from where it was.
TEST_F(ElasticOrdersTest, ASecondJobMakesTheFirstGiveWay) {
  Add(7, Elastic(1, 6), 1'000'000);
  Start();
  Periods(40);
  ASSERT_EQ(NodesOf(7), 6u);
  const double before = trainings_[7].done;
  Add(8, Elastic(1, 6), 20'000);
  Periods(40);
  EXPECT_EQ(slurm_.jobs[8].starts, 1u);
  EXPECT_GE(NodesOf(8), 1u);
  EXPECT_EQ(NodesOf(7) + NodesOf(8), kHosts);
  EXPECT_THAT(stopped_, testing::ElementsAre(7u));
  for (int i = 0; i < 500 && slurm_.jobs[8].state != "COMPLETED"; ++i) Period();
  Periods(10);
  EXPECT_EQ(slurm_.jobs[8].state, "COMPLETED");
  EXPECT_EQ(NodesOf(7), kHosts);
  EXPECT_GT(trainings_[7].done, before);
  CheckHosts();
}

// A job that has named the file of its checkpoints is asked for one first, and stopped once it is there.
TEST_F(ElasticOrdersTest, AJobMayWriteItsCheckpointBeforeItStops) {
  Add(7, Elastic(1, 6));
  slurm_.jobs[7].comment = R"({"fairlead": {"checkpoint": "/latest"}})";
  checkpoints_[7] = SimTime(1);
  Start();
  Periods(60);
  Add(8, Elastic(6, 7), 2000);
  for (int i = 0; i < 200 && slurm_.jobs[7].signals == 0; ++i) Period();
  ASSERT_EQ(slurm_.jobs[7].signals, 1u);
  Periods(20);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING") << "it has 600 s to write it";
  EXPECT_EQ(slurm_.jobs[7].signals, 1u);
  EXPECT_THAT(stopped_, IsEmpty());
  checkpoints_[7] = SimTime(2);
  Periods(3);
  EXPECT_THAT(stopped_, testing::ElementsAre(7u));
  EXPECT_EQ(slurm_.jobs[7].state, "PENDING");
  EXPECT_FALSE(slurm_.ReleaseByUser(7)) << "it was stopped to wait";
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
  EXPECT_THAT(changes_, Not(Contains(HasSubstr("no checkpoint"))));
}

TEST_F(ElasticOrdersTest, AJobThatWritesNoCheckpointIsStoppedAllTheSame) {
  Add(7, Elastic(1, 6));
  slurm_.jobs[7].comment = R"({"fairlead": {"checkpoint": "/latest"}})";
  Start();
  Periods(60);
  Add(8, Elastic(6, 7), 2000);
  for (int i = 0; i < 200 && slurm_.jobs[7].signals == 0; ++i) Period();
  Periods(65);
  EXPECT_THAT(stopped_, Contains(7u));
  EXPECT_THAT(changes_, Contains(HasSubstr("no checkpoint within 600 s")));
}

// Of five open hosts job 7 has all, and job 8 needs them all, until h5 is opened, too.
void ElasticOrdersTest::AskAJobOfFiveHostsForItsCheckpoint() {
  options_.jobs.settings = {{"hold_s", 0}, {"min_run_s", 0}};
  slurm_.reservations["maintenance"] = {"h5", "root", "MAINT"};
  Add(7, Elastic(1, 5));
  slurm_.jobs[7].comment = R"({"fairlead": {"progress": "/steps", "checkpoint": "/latest"}})";
  checkpoints_[7] = SimTime(1);
  Start();
  Periods(10);
  ASSERT_EQ(NodesOf(7), 5u);
  Add(8, Elastic(5, 6), 2000);
  for (int i = 0; i < 200 && slurm_.jobs[7].signals == 0; ++i) Period();
  ASSERT_EQ(slurm_.jobs[7].signals, 1u);
  ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
}

// While it writes its checkpoint the others go on: a host is opened, and a third job gets it.
TEST_F(ElasticOrdersTest, AnOrderThatWaitsForACheckpointHoldsUpNobodyElse) {
  AskAJobOfFiveHostsForItsCheckpoint();
  slurm_.reservations.clear();
  Add(9, Elastic(1, 2), 1'000'000);
  Periods(2);
  EXPECT_EQ(slurm_.jobs[9].state, "RUNNING");
  EXPECT_THAT(slurm_.jobs[9].hosts, testing::ElementsAre("h5"));
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_THAT(stopped_, IsEmpty());
  EXPECT_THAT(CommandsAbout(7), Not(Contains(HasSubstr("requeuehold"))));
  EXPECT_EQ(slurm_.jobs[9].starts, 1u);
  checkpoints_[7] = SimTime(2);
  Periods(2);
  ASSERT_FALSE(stopped_.empty());
  EXPECT_EQ(stopped_[0], 7u);
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
  CheckHosts();
}

// Who is to get its hosts waits for that long, too, beyond its own patience of 60 s, and is not touched.
TEST_F(ElasticOrdersTest, WhoGetsTheHostsOfAJobWaitsForItsCheckpoint) {
  AskAJobOfFiveHostsForItsCheckpoint();
  Periods(40);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_TRUE(slurm_.jobs[8].is_held);
  EXPECT_THAT(CommandsAbout(8), testing::ElementsAre("scontrol hold 8"));
  checkpoints_[7] = SimTime(2);
  Periods(2);
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
  EXPECT_EQ(slurm_.jobs[8].starts, 1u);
  EXPECT_THAT(changes_, Not(Contains(HasSubstr("was not changed"))));
}

// One of its hosts is drained meanwhile: who was to get it is decided anew, and the one that has it is not stopped for
// nothing.
TEST_F(ElasticOrdersTest, AnOrderThatHasNotBegunIsTakenBackWhereItsHostIsLost) {
  AskAJobOfFiveHostsForItsCheckpoint();
  slurm_.nodes["h0"].state = "IDLE+DRAIN";
  Periods(2);
  EXPECT_THAT(changes_, Contains(HasSubstr("h0 is not open: its nodes are decided anew")));
  EXPECT_TRUE(slurm_.jobs[8].is_held);
  EXPECT_THAT(CommandsAbout(8), testing::ElementsAre("scontrol hold 8"));
}

// Slurm starts it again meanwhile, as after the failure of a host: its processes that were asked are gone.
TEST_F(ElasticOrdersTest, AJobThatIsStartedAgainMeanwhileIsNotWaitedFor) {
  AskAJobOfFiveHostsForItsCheckpoint();
  ++slurm_.jobs[7].restarts;
  slurm_.jobs[7].run_s = 0;
  trainings_[7].hangs = true;  // it begins
  *trainings_[7].said_at -= 5;
  Periods(2);
  EXPECT_FALSE(orders_->IsUnderway(7));
  EXPECT_THAT(changes_, Contains(HasSubstr("would write no checkpoint any more")));
}

// It has done nothing since Slurm started it: there is nothing to keep, and a run without a process is not waited for.
TEST_F(ElasticOrdersTest, ARunWithoutAStepIsNotAskedForACheckpoint) {
  for (const bool knows_run : {true, false}) {
    SCOPED_TRACE(knows_run);
    BeginAnew();
    options_.jobs.settings = {{"hold_s", 0}, {"min_run_s", 0}};
    Add(7, Elastic(1, 6));
    slurm_.jobs[7].comment = R"({"fairlead": {"progress": "/steps", "checkpoint": "/latest"}})";
    checkpoints_[7] = SimTime(1);
    Start();
    Periods(20);
    ASSERT_EQ(NodesOf(7), kHosts);
    // A new run.
    ++slurm_.jobs[7].restarts;
    slurm_.jobs[7].run_s = 0;
    trainings_[7].hangs = true;
    *trainings_[7].said_at -= 5;
    Period();
    if (!knows_run) {
      orders_.reset();
      Start();
    }
    Add(8, Elastic(6, 7), 2000);
    for (int i = 0; i < 300 && stopped_.empty(); ++i) Period();
    EXPECT_THAT(stopped_, Contains(7u));
    EXPECT_EQ(slurm_.jobs[7].signals, 0u);
  }
}

// Another controller has not seen the run begin: its steps count all the same, as Slurm tells since when it goes on.
TEST_F(ElasticOrdersTest, AnotherControllerAsksForACheckpointToo) {
  options_.jobs.settings = {{"hold_s", 0}, {"min_run_s", 0}, {"round_s", 5}};
  options_.jobs.restart_cost_s = 1;
  Add(7, Elastic(1, 6));
  slurm_.jobs[7].comment = R"({"fairlead": {"progress": "/steps", "checkpoint": "/latest"}})";
  checkpoints_[7] = SimTime(1);
  Start();
  Periods(60);
  orders_.reset();
  trainings_[7].hangs = true;  // a step takes longer than the next look
  Start();
  Add(8, Elastic(6, 7), 2000);
  for (int i = 0; i < 45 && slurm_.jobs[7].signals == 0; ++i) {
    Look();
    orders_->TakeTurns(steered_, Now());
    now_s_ += 1;
  }
  EXPECT_EQ(slurm_.jobs[7].signals, 1u);
  EXPECT_THAT(stopped_, IsEmpty());
}

// Slurm believes in a run of which no process is left: the job is stopped once, and placed anew; one whose steps go on
// is not, nor one of others.
TEST_F(ElasticOrdersTest, AJobWhoseRunIsLostIsPlacedAnew) {
  Add(7, Elastic(1, 3), 1'000'000);
  Add(8, Elastic(1, 2), 1'000'000);
  Start();
  Periods(5);
  slurm_.Start(3, Rigid(1));
  ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
  ASSERT_EQ(slurm_.jobs[8].state, "RUNNING");
  trainings_[7].hangs = true;
  const SimTime since = Now() + SimDuration(1);
  Periods(2);
  const auto lost = [&] { return std::vector<LostRun>{{3, since, false}, {7, since, false}, {8, since, false}}; };
  const auto state = ProgramReader(&programs_).ReadAll();
  orders_->Look(*state, steered_, Now(), lost());
  ASSERT_TRUE(orders_->IsUnderway(7));
  EXPECT_THAT(changes_, Contains(HasSubstr("no process of it was seen there: it is stopped and placed anew")));
  // The next look comes before it is stopped.
  orders_->Look(*state, steered_, Now(), lost());
  trainings_[7].hangs = false;
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  EXPECT_EQ(slurm_.jobs[8].starts, 1u);
  EXPECT_THAT(CommandsAbout(3), IsEmpty());
  EXPECT_THAT(stopped_, IsEmpty()) << "it has no processes that could end";
  EXPECT_EQ(slurm_.jobs[7].signals, 0u);
}

TEST_F(ElasticOrdersTest, AShortJobGoesFirstIfItsLengthIsKnown) {
  options_.jobs.settings = {{"hold_s", 0}};
  Add(7, Elastic(5, 6), 1'000'000);
  Start();
  Periods(3);
  ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
  Add(8, Elastic(4, 6), 500);
  Periods(3);
  // Nobody knows yet how fast it is.
  Periods(200);
  EXPECT_EQ(slurm_.jobs[8].state, "COMPLETED");
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
}

TEST_F(ElasticOrdersTest, OthersAreLeftAlone) {
  slurm_.Start(3, Rigid(2));
  FakeJob held = Elastic(1, 4);
  held.admin_comment = "fairlead:v1 nodes=1-4 tasks-per-node=4";  // by its user
  Add(4, held);
  FakeJob array = Elastic(1, 4);
  array.is_array = true;
  Add(5, array);
  FakeJob plain = Rigid(6);
  plain.is_held = true;
  Add(6, plain);
  Add(7, Elastic(1, 6), 10'000);
  Start();
  Periods(10);
  EXPECT_EQ(NodesOf(7), 4u);
  for (const uint32_t other : {3, 4, 5, 6}) EXPECT_THAT(CommandsAbout(other), IsEmpty());
  CheckHosts();
}

// What operators, or other programs, have written there is theirs: it is told, and the job is left alone.
TEST_F(ElasticOrdersTest, MarksThatAreNotUnderstoodAreToldAndTheJobsLeftAlone) {
  const std::vector<std::string> garbage = {"fairlead:",
                                            "fairlead:v1",
                                            "fairlead:v1 nodes=0-0 tasks-per-node=4 held",
                                            "fairlead:v1 nodes=5-2 tasks-per-node=4 held",
                                            "fairlead:v1 nodes=1-99999999999 tasks-per-node=4",
                                            "fairlead:v2 nodes=1-3 tasks-per-node=4 held",
                                            "fairlead:v1 nodes=1-3 tasks-per-node=4 held held",
                                            "fairlead:v1 nodes=1-3 tasks-per-node=4|7|x \"';$(reboot)",
                                            "fairlead:v1 stopped, I think"};
  uint32_t id = 20;
  for (const std::string& mark : garbage) {
    FakeJob job = Elastic(1, 3);
    job.admin_comment = mark;
    Add(id++, job);
  }
  FakeJob het = Elastic(1, 3);
  het.is_het = true;
  Add(6, het);
  Add(7, Elastic(1, 6), 10'000);
  Start();
  Periods(5);
  EXPECT_EQ(NodesOf(7), kHosts);
  EXPECT_THAT(CommandsAbout(6), IsEmpty());
  EXPECT_THAT(notes_, Contains(HasSubstr("job 6 mark: is an array, or heterogeneous")));
  for (uint32_t other = 20; other < id; ++other) {
    EXPECT_THAT(CommandsAbout(other), IsEmpty()) << other;
    EXPECT_THAT(notes_, Contains(HasSubstr(fmt::format("job {} mark: its AdminComment begins", other))));
  }
}

// Each new job costs a program of Slurm: many come a few at a time.
TEST_F(ElasticOrdersTest, ManyNewJobsAreTakenAFewAtATime) {
  for (uint32_t id = 10; id < 60; ++id) Add(id, Elastic(1, 2));
  Start();
  Period();
  EXPECT_THAT(orders_->Views(), SizeIs(20));
  Periods(5);
  EXPECT_THAT(orders_->Views(), SizeIs(50));
  for (uint32_t id = 10; id < 60; ++id) EXPECT_TRUE(slurm_.jobs[id].is_held || NodesOf(id) > 0) << id;
}

TEST_F(ElasticOrdersTest, JobsOfOtherPartitionsAreSlurms) {
  options_.jobs.partitions = {"elastic"};
  Add(7, Elastic(1, 6), 10'000);
  Start();
  Periods(5);
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_THAT(notes_, Contains(HasSubstr("no host of elastic is in the fabric")));
}

TEST_F(ElasticOrdersTest, AJobThatCannotFitIsNotHeld) {
  FakeJob large = Elastic(7, 9);
  large.is_held = false;
  large.admin_comment = "fairlead:v1 nodes=7-9 tasks-per-node=4";
  Add(7, large);
  Start();
  Periods(3);
  EXPECT_THAT(orders_->Views(), IsEmpty());
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_THAT(notes_, Contains(AllOf(HasSubstr("job 7"), HasSubstr("asks for 7 nodes"), HasSubstr("has 6"))));
}

// What waits is held, so that Slurm starts nothing at a size of its own; then it is placed.
TEST_F(ElasticOrdersTest, AJobInSlurmsQueueIsTakenOver) {
  slurm_.Start(3, Rigid(6));
  FakeJob queued = Elastic(2, 6);
  queued.is_held = false;
  queued.admin_comment = MarkReleased(queued.admin_comment);
  Add(7, queued, 5000);
  Start();
  Periods(2);
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_THAT(slurm_.jobs[7].admin_comment, testing::EndsWith(" held"));
  slurm_.jobs[3].state = "COMPLETED";
  slurm_.jobs[3].hosts.clear();
  Periods(2);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 6u);
  EXPECT_THAT(slurm_.jobs[7].admin_comment, Not(testing::EndsWith(" held")));
}

TEST_F(ElasticOrdersTest, AHostThatGoesIsNotGivenAgain) {
  Add(7, Elastic(1, 6), 100'000);
  Start();
  Periods(3);
  ASSERT_EQ(NodesOf(7), 6u);
  // Slurm requeues the job of a node that fails.
  FakeJob& job = slurm_.jobs[7];
  slurm_.nodes["h2"].state = "DOWN";
  job.state = "PENDING";
  job.hosts.clear();
  ++job.restarts;
  Periods(4);
  EXPECT_EQ(job.state, "RUNNING") << "its wish for the node that is gone is taken back";
  EXPECT_EQ(NodesOf(7), 5u);
  EXPECT_THAT(job.hosts, Not(Contains("h2")));
}

TEST_F(ElasticOrdersTest, ADrainedHostKeepsItsJobAndGetsNoOther) {
  Add(7, Elastic(1, 3), 5000);
  Start();
  Periods(3);
  ASSERT_EQ(NodesOf(7), 3u);
  const std::string drained = slurm_.jobs[7].hosts[0];
  slurm_.nodes[drained].state = "IDLE+DRAIN";
  Add(8, Elastic(1, 6));
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_THAT(slurm_.jobs[7].hosts, Contains(drained));
  EXPECT_THAT(slurm_.jobs[8].hosts, Not(Contains(drained)));
  Periods(200);
  EXPECT_EQ(slurm_.jobs[7].state, "COMPLETED");
  EXPECT_THAT(slurm_.jobs[8].hosts, Not(Contains(drained)));
}

// h0 to h2 are under one leaf, h3 to h5 under the other; of the first one h0 is left. A job of two gets one leaf's.
TEST_F(ElasticOrdersTest, HostsOfAJobAreNearEachOther) {
  slurm_.reservations["fairlead_spares"] = {"h1,h2", "root", "IGNORE_JOBS,OVERLAP"};
  Add(7, Elastic(1, 2), 1000);
  Start();
  Periods(5);
  ASSERT_EQ(NodesOf(7), 2u);
  EXPECT_THAT(slurm_.jobs[7].hosts, Not(Contains("h0")));
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_THAT(changes_, SizeIs(1));
}

TEST_F(ElasticOrdersTest, ReservedHostsAreNotTaken) {
  slurm_.reservations["fairlead_spares"] = {"h4,h5", "root", "IGNORE_JOBS,OVERLAP"};
  // Of all hosts, next week.
  slurm_.reservations["maintenance"] = {"h0,h1,h2,h3,h4,h5", "root", "MAINT", false};
  Add(7, Elastic(1, 6));
  Start();
  Periods(3);
  EXPECT_EQ(NodesOf(7), 4u);
  EXPECT_THAT(slurm_.jobs[7].hosts, Not(Contains("h4")));
}

// Somebody else's job is faster: the elastic one gets other hosts with the next look, and others do not wait for it.
TEST_F(ElasticOrdersTest, HostsThatAreTakenMeanwhileAreGivenUp) {
  DecideAboutAJobOfFourHosts();
  slurm_.Start(3, Rigid(3));
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_THAT(changes_, Contains(HasSubstr("job 3 has h")));
  EXPECT_EQ(NodesOf(7), 3u);
  EXPECT_THAT(CommandsAbout(3), IsEmpty());
  CheckHosts();
}

// A host is drained after it was chosen: the job does not wait for it, and nobody waits for the job.
TEST_F(ElasticOrdersTest, AHostThatGoesAfterItWasChosenIsNotWaitedFor) {
  options_.patience = SimDuration::FromSeconds(Seconds(180));
  Add(7, Elastic(2, 4), 100'000);
  Start();
  Train();
  Look();
  ASSERT_FALSE(orders_->is_idle());
  for (const std::string host : {"h0", "h3"}) slurm_.nodes[host].state = "IDLE+DRAIN";
  TakeTurns();
  ASSERT_EQ(slurm_.jobs[7].state, "PENDING");
  // One look takes the choice back, the next one makes another.
  Periods(2);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 4u);
  EXPECT_THAT(changes_, Contains(HasSubstr("is not open: its nodes are decided anew")));
  Periods(30);
  EXPECT_THAT(orders_->Views(), SizeIs(1)) << "that is no failure of the job";
  CheckHosts();
}

// A slurmctld that has just begun knows nothing of its nodes: no job loses its own for that, and none gets new ones.
TEST_F(ElasticOrdersTest, NodesThatSlurmHasNotHeardOfAreNotDown) {
  Add(7, Elastic(1, 6), 1'000'000);
  Start();
  Periods(40);
  for (auto& [name, node] : slurm_.nodes) node.state = "UNKNOWN";
  Add(8, Elastic(1, 6), 20'000);
  Periods(5);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_EQ(NodesOf(7), kHosts);
  EXPECT_TRUE(slurm_.jobs[8].is_held);
  EXPECT_THAT(notes_,
              Contains(HasSubstr("elastic jobs' hosts: slurmctld has begun and not heard of h[0-5]: no size is")));
  for (auto& [name, node] : slurm_.nodes) node.state = "IDLE";
  notes_.clear();
  Periods(10);
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
  EXPECT_THAT(notes_, IsEmpty());
}

// A job that has ended runs on in a slurmctld that was killed and has forgotten that: nobody waits for its checkpoint.
TEST_F(ElasticOrdersTest, AJobThatStandsStillIsNotAskedForACheckpoint) {
  for (const bool is_done : {true, false}) {
    SCOPED_TRACE(is_done);
    BeginAnew();
    Add(7, Elastic(1, 6), 1'000'000);
    slurm_.jobs[7].comment = R"({"fairlead": {"steps": 1000000, "progress": "/steps", "checkpoint": "/latest"}})";
    checkpoints_[7] = SimTime(1);
    Start();
    Periods(30);
    trainings_.erase(7);  // it does nothing any more
    trainings_[7].done = is_done ? 1'000'000 : 500;
    trainings_[7].starts = 1;
    const double done = trainings_[7].done;
    Add(8, Elastic(1, 6), 20'000);
    for (int i = 0; i < (is_done ? 1 : 8); ++i) {  // 80 s
      now_s_ += kPeriodS;
      const auto state = ProgramReader(&programs_).ReadAll();
      steered_ = {7, 8};
      orders_->Look(*state, steered_, Now());
    }
    steered_.clear();
    for (int i = 0; i < 30 && stopped_.empty(); ++i) {
      now_s_ += kPeriodS;
      trainings_[7].done = done;
      Look();
      TakeTurns();
    }
    EXPECT_THAT(stopped_, Contains(7u));
    EXPECT_EQ(slurm_.jobs[7].signals, 0u);
  }
}

// Likewise where an administrator has taken a chosen host out of slurm.conf.
TEST_F(ElasticOrdersTest, AHostThatSlurmHasNoMoreIsNotWaitedFor) {
  DecideAboutAJobOfFourHosts();
  slurm_.nodes.erase("h0");
  slurm_.nodes.erase("h3");
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 4u);
  EXPECT_THAT(changes_, Contains(HasSubstr("Slurm has no node h")));
}

// Nothing starts in a partition that is down: what runs there runs on, and what waits is not tried in vain.
TEST_F(ElasticOrdersTest, APartitionThatIsDownStartsNothingAndStopsNothing) {
  Add(7, Elastic(1, 3), 1'000'000);
  Start();
  Periods(5);
  ASSERT_EQ(NodesOf(7), 3u);
  slurm_.is_partition_up = false;
  Add(8, Elastic(1, 3), 20'000);
  Periods(30);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_EQ(NodesOf(7), 3u);
  EXPECT_TRUE(slurm_.jobs[8].is_held);
  EXPECT_THAT(changes_, Not(Contains(HasSubstr("was not changed"))));
  slurm_.is_partition_up = true;
  Periods(5);
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
}

// Likewise where a chosen host is reserved since, for a test of it, or by an administrator.
TEST_F(ElasticOrdersTest, AHostThatIsReservedAfterItWasChosenIsNotWaitedFor) {
  DecideAboutAJobOfFourHosts();
  slurm_.reservations["fairlead_test_h0"] = {"h0", "root", "IGNORE_JOBS,OVERLAP"};
  slurm_.reservations["fairlead_test_h3"] = {"h3", "root", "IGNORE_JOBS,OVERLAP"};
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 4u);
  EXPECT_THAT(changes_, Contains(HasSubstr("in fairlead_test_h")));
}

// slurmctld was killed after an order had come to its end, and has forgotten that: the job is held again, and that hold
// is ours.
TEST_F(ElasticOrdersTest, AJobThatSlurmHoldsAgainIsNotTakenForItsUsers) {
  Add(7, Elastic(1, 6), 1'000'000);
  Start();
  Periods(40);
  Add(8, Elastic(1, 6), 20'000);
  std::map<size_t, FakeJob> held;  // [commands about it] as it was after them, while it was stopped to shrink
  for (int i = 0; i < 400 && (NodesOf(7) == kHosts || slurm_.jobs[7].state != "RUNNING"); ++i) {
    if (orders_->is_idle()) Train();
    if (orders_->is_idle()) Look();
    orders_->TakeTurns(steered_, Now());
    if (slurm_.jobs[7].is_held) held[CommandsAbout(7).size()] = slurm_.jobs[7];
  }
  ASSERT_EQ(slurm_.jobs[7].starts, 2u);
  Periods(5);
  ASSERT_THAT(*ReadIntentions(memory_), IsEmpty());
  for (const bool is_new : {false, true}) {
    for (const auto& [number, before] : held) {
      SCOPED_TRACE(number);
      slurm_.jobs[7] = before;
      if (is_new) {
        orders_.reset();
        Start();
      }
      Periods(10);
      EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
      EXPECT_FALSE(slurm_.jobs[7].is_held);
      EXPECT_THAT(slurm_.jobs[7].admin_comment, Not(HasSubstr("held")));
    }
  }
}

// Slurm does not answer for an hour while a job is being resized: nothing is touched, and the time is nobody's fault.
TEST_F(ElasticOrdersTest, AnHourWithoutSlurmFailsNoOrder) {
  options_.writer.num_looks_max = 1;  // a turn is over long before the job has ended
  for (int turns_before = 0; turns_before < 8; ++turns_before) {
    SCOPED_TRACE(turns_before);
    BeginAnew();
    Add(7, Elastic(1, 6), 1'000'000);
    Start();
    Periods(40);
    ASSERT_EQ(NodesOf(7), kHosts);
    Add(8, Elastic(2, 3), 20'000);
    for (int i = 0; i < 40 && orders_->is_idle(); ++i) {
      Train();
      Look();
    }
    ASSERT_FALSE(orders_->is_idle());
    for (int turn = 0; turn < turns_before; ++turn) orders_->TakeTurns(steered_, Now());
    const size_t num_decided = changes_.size();
    slurm_.is_away = true;
    const auto before = slurm_.changes;
    for (int i = 0; i < 360; ++i) {
      now_s_ += kPeriodS;
      orders_->TakeTurns(steered_, Now());
    }
    EXPECT_EQ(slurm_.changes, before);
    EXPECT_EQ(changes_.size(), num_decided) << changes_.back();
    slurm_.is_away = false;
    Periods(10);
    EXPECT_THAT(changes_, Not(Contains(HasSubstr("was not changed"))));
    EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
    EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
    EXPECT_EQ(slurm_.jobs[7].starts, 2u);
    EXPECT_EQ(slurm_.jobs[8].starts, 1u);
    CheckHosts();
  }
}

// A job that Slurm does not start where it is put: it is Slurm's again, with the range that it came with.
TEST_F(ElasticOrdersTest, AJobThatCannotBePlacedIsGivenBack) {
  FakeJob odd = Elastic(2, 4);
  slurm_.takes_tasks = false;
  Add(7, odd, 100'000);
  Start();
  slurm_.Start(3, Rigid(6));
  slurm_.jobs[3].hosts = {};  // squeue does not show them: Fairlead thinks that they are free
  slurm_.jobs[3].required = {};
  for (auto& [name, node] : slurm_.nodes) node.state = "IDLE";
  // Nothing can start: processors of the job do not suffice.
  slurm_.jobs[7].tasks = 1000;
  Periods(40);
  EXPECT_THAT(orders_->Views(), IsEmpty());
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].low, 2u);
  EXPECT_EQ(slurm_.jobs[7].high, 4u);
  EXPECT_THAT(slurm_.jobs[7].required, IsEmpty());
  EXPECT_THAT(notes_, Contains(HasSubstr("it is Slurm's now")));
  const size_t num_changes = slurm_.changes.size();
  Periods(10);
  EXPECT_EQ(slurm_.changes.size(), num_changes) << "and left alone";
}

// Its user holds it while its size is changed: it stays held, and the others go on.
TEST_F(ElasticOrdersTest, AHoldOfItsUserInTheMiddleOfAChangeStays) {
  Add(7, Elastic(2, 4), 100'000);
  Start();
  Periods(3);
  ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  Add(8, Elastic(2, 4), 100'000);
  Periods(10);
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
  slurm_.Run({"scontrol", "release", "7"}).value();
  Periods(10);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
}

// Slurm lets what was requeued wait for two minutes, and the job may be where it was.
TEST_F(ElasticOrdersTest, AJobThatItsUserRequeuesAndReleasesIsPlacedAtOnce) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  ASSERT_EQ(NodesOf(7), 4u);
  slurm_.Run({"scontrol", "requeuehold", "7"}).value();
  slurm_.changes.clear();
  Periods(3);
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_THAT(slurm_.changes, IsEmpty()) << "his hold is his";
  ASSERT_TRUE(slurm_.ReleaseByUser(7));
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 4u);
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "fairlead:v1 nodes=2-4 tasks-per-node=4");
  EXPECT_THAT(notes_, IsEmpty());
}

// One that was submitted held its user could release, and Slurm would start it.
TEST_F(ElasticOrdersTest, AWaitingJobIsNotItsUsersToRelease) {
  slurm_.Start(3, Rigid(6));
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  EXPECT_FALSE(slurm_.ReleaseByUser(7));
  EXPECT_THAT(CommandsAbout(7), testing::ElementsAre("scontrol hold 7"));
  EXPECT_THAT(changes_, IsEmpty()) << "nothing has changed for the job";
  slurm_.jobs.erase(3);
  Periods(2);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(NodesOf(7), 4u);
}

TEST_F(ElasticOrdersTest, WhatAnOperatorReleasesIsTold) {
  slurm_.Start(3, Rigid(6));
  Add(7, Elastic(2, 3), 1'000'000);
  Start();
  Periods(2);
  slurm_.jobs.erase(3);
  slurm_.Run({"scontrol", "release", "7"}).value();
  for (int i = 0; i < 10 && slurm_.jobs[7].state != "RUNNING"; ++i) slurm_.Run({"squeue", "-h"}).value();
  ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
  Periods(3);
  EXPECT_THAT(changes_, Contains("7: was started by somebody else, on 3 nodes of Slurm's choice"));
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
}

// Its user has made it smaller before it was seen to run.
TEST_F(ElasticOrdersTest, WhatSomebodyTakesFromAJobThatWasJustStartedIsTold) {
  DecideAboutAJobOfFourHosts();
  TakeTurns();
  ASSERT_EQ(NodesOf(7), 4u);
  slurm_.jobs[7].hosts.resize(1);
  slurm_.jobs[7].num_nodes = 1;
  Look();
  EXPECT_THAT(changes_,
              Contains("7: has 1 node of the 4 that it was given: somebody else has taken the others from it"));
}

// Its user lets it wait for another job: it gets no size before that has ended, whatever was decided about it.
TEST_F(ElasticOrdersTest, ADependencyIsHeeded) {
  const auto clear = [this] {
    slurm_.jobs[7].dependency = "(null)";
    Periods(3);
    EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
    EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  };
  const auto depend = [this] {
    slurm_.jobs[7].dependency = "afterok:3(unfulfilled)";
    Periods(5);
    EXPECT_EQ(slurm_.jobs[7].state, "PENDING");
    EXPECT_TRUE(slurm_.jobs[7].is_held);
    EXPECT_EQ(slurm_.jobs[7].admin_comment, "fairlead:v1 nodes=2-4 tasks-per-node=4 held");
    EXPECT_THAT(orders_->Views(), IsEmpty());
    EXPECT_TRUE(orders_->is_idle());
    EXPECT_THAT(notes_, testing::Contains(HasSubstr("job 7 begin: waits for other jobs")));
  };
  {
    SCOPED_TRACE("one that is held");
    slurm_.Start(3, Rigid(6));
    Add(7, Elastic(2, 4), 100'000);
    Start();
    Periods(2);
    slurm_.jobs.erase(3);
    depend();
    clear();
  }
  {
    SCOPED_TRACE("one that is to be placed");
    BeginAnew();
    DecideAboutAJobOfFourHosts();
    depend();
    clear();
  }
  {
    SCOPED_TRACE("one that is released");
    BeginAnew();
    DecideAboutAJobOfFourHosts();
    slurm_.is_partition_up = false;
    TakeTurns();
    ASSERT_FALSE(slurm_.jobs[7].is_held);
    slurm_.jobs[7].dependency = "afterok:3(unfulfilled)";
    slurm_.is_partition_up = true;
    depend();
    clear();
  }
  {
    SCOPED_TRACE("one that nobody holds");
    BeginAnew();
    FakeJob job = Elastic(2, 4);
    job.is_held = false;
    job.admin_comment = MarkReleased(job.admin_comment);
    job.dependency = "afterok:3(unfulfilled)";
    Add(7, job, 100'000);
    Start();
    depend();
    clear();
  }
}

// Its user has put it off: it is Slurm's until then.
TEST_F(ElasticOrdersTest, AJobThatIsToBeginLaterIsLeftAlone) {
  FakeJob job = Elastic(2, 4);
  job.is_held = false;
  job.admin_comment = MarkReleased(job.admin_comment);
  job.waits_for_credential = true;
  Add(7, job, 100'000);
  Start();
  Periods(5);
  EXPECT_THAT(slurm_.changes, IsEmpty());
  EXPECT_THAT(notes_, Contains(HasSubstr("job 7 begin: is to begin later")));
  slurm_.jobs[7].waits_for_credential = false;
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_THAT(orders_->Views(), SizeIs(1));
}

// Slurm holds a job itself whose start has failed on a host, as after a slurmctld was killed: nobody else would release
// it. One that can't be launched again and again stays held.
TEST_F(ElasticOrdersTest, AJobWhoseLaunchFailedIsPlacedAgain) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  FakeJob& job = slurm_.jobs[7];
  for (uint32_t failed = 1; failed <= 3; ++failed) {
    SCOPED_TRACE(failed);
    ASSERT_EQ(job.state, "RUNNING");
    job.state = "PENDING";
    job.hosts.clear();
    job.is_held = true;
    job.held_reason = "launch failed requeued held";
    ++job.restarts;
    trainings_[7].done = 0;
    Look();
    TakeTurns();
    Look();
    TakeTurns();
    EXPECT_EQ(job.is_held, failed == 3);
  }
  EXPECT_THAT(notes_, Contains(HasSubstr("could not be launched 3 times")));
}

// slurmctld starts a job within the second in which it has ended a run that it had forgotten, and fails it.
TEST_F(ElasticOrdersTest, AJobThatSlurmCouldNotLaunchIsRequeued) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(8);
  const double before = trainings_[7].done;
  changes_.clear();
  FailToLaunch(7);
  Look();
  EXPECT_THAT(changes_, testing::ElementsAre("7: could not be launched by Slurm (Job credential revoked): it is "
                                             "requeued, 1 of 3"));
  ASSERT_EQ(ReadIntentions(memory_)->size(), 1u) << "counted and intended in one write";
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  EXPECT_EQ(slurm_.jobs[7].restarts, 1u);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "fairlead:v1 nodes=2-4 tasks-per-node=4");
  EXPECT_GT(trainings_[7].done, before);
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_GT(orders_->Views()[0].node_seconds, 300) << "it keeps what it has had";
}

TEST_F(ElasticOrdersTest, AJobWhoseNodeWentIsRequeued) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  End(7, "NODE_FAIL", "NodeDown");
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  EXPECT_THAT(changes_, Contains(HasSubstr("was ended by Slurm (NODE_FAIL, NodeDown): it is requeued, 1 of 3")));
}

// Whatever it was that ended its script, or whoever ended the job: nobody but Slurm.
TEST_F(ElasticOrdersTest, AJobThatHasEndedByItselfIsNotStartedAgain) {
  const std::vector<std::pair<std::string, std::string>> ends = {{"FAILED", "NonZeroExitCode"},
                                                                 {"COMPLETED", "None"},
                                                                 {"CANCELLED", "None"},
                                                                 {"TIMEOUT", "TimeLimit"},
                                                                 {"OUT_OF_MEMORY", "OutOfMemory"},
                                                                 {"DEADLINE", "DeadLine"},
                                                                 {"FAILED", "BadConstraints"},
                                                                 {"PREEMPTED", "None"}};
  for (const auto& [state, reason] : ends) {
    SCOPED_TRACE(state + " " + reason);
    BeginAnew();
    Add(7, Elastic(2, 4), 1'000'000);
    Start();
    Periods(3);
    End(7, state, reason);
    slurm_.changes.clear();
    Periods(3);
    EXPECT_THAT(slurm_.changes, IsEmpty());
    EXPECT_EQ(slurm_.jobs[7].state, state);
    EXPECT_THAT(*ReadElasticRecords(memory_), IsEmpty()) << "nothing is kept of it";
  }
}

// Nor one that is not ours: its user holds it, or does not want it requeued.
TEST_F(ElasticOrdersTest, AJobThatIsNotOursIsNotRequeued) {
  Add(7, Elastic(2, 4), 1'000'000);
  slurm_.jobs[8] = Rigid(2);
  Start();
  Periods(3);
  slurm_.jobs[7].may_requeue = false;
  FailToLaunch(7);
  FailToLaunch(8);
  slurm_.changes.clear();
  Periods(3);
  EXPECT_THAT(slurm_.changes, IsEmpty());
}

// Counted over the lives of controllers, whatever the job has done in between.
TEST_F(ElasticOrdersTest, AJobIsRequeuedThreeTimes) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  for (uint32_t failed = 1; failed <= 4; ++failed) {
    SCOPED_TRACE(failed);
    ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
    FailToLaunch(7);
    Look();
    if (failed % 2 == 0) {
      orders_.reset();
      Start();
    }
    Periods(4);
    if (slurm_.jobs[7].state == "FAILED") break;
  }
  EXPECT_EQ(slurm_.jobs[7].state, "FAILED");
  EXPECT_EQ(slurm_.jobs[7].starts, 4u);
  EXPECT_THAT(notes_, Contains(HasSubstr("requeued 3 times: it is not started again")));
  EXPECT_THAT(*ReadElasticRecords(memory_), IsEmpty());
}

// Killed at any call between the end of a run and the next one: nothing is counted that is not done, and nothing done
// that is not counted.
TEST_F(ElasticOrdersTest, KilledAtAnyMomentEachRequeueIsCountedOnce) {
  constexpr size_t kNumCallsMax = 60;
  size_t num_kills = 0;
  for (size_t kill = 0; kill < 2 * kNumCallsMax; ++kill) {
    SCOPED_TRACE(fmt::format("call {}, {}", kill / 2, kill % 2 == 1 ? "after it" : "before it"));
    BeginAnew();
    Add(7, Elastic(2, 4), 1'000'000);
    Start();
    Periods(3);
    FailToLaunch(7);
    death_ = {.at_call = kill / 2, .is_after = kill % 2 == 1};
    try {
      Periods(4);
    } catch (const Killed&) {
      ++num_kills;
      death_ = {};
      orders_.reset();
      Start();
      Periods(4);
    }
    death_ = {};
    ASSERT_EQ(slurm_.jobs[7].state, "RUNNING");
    EXPECT_EQ(slurm_.jobs[7].starts, 2u);
    Look();
    orders_.reset();
    const auto records = ReadElasticRecords(memory_);
    ASSERT_TRUE(records.ok() && records->size() == 1u);
    EXPECT_EQ(records->front().second.num_requeues, 1u);
    Start();
    for (int failed = 2; failed <= 4; ++failed) {
      ASSERT_EQ(slurm_.jobs[7].state, "RUNNING") << failed;
      FailToLaunch(7);
      Periods(4);
    }
    EXPECT_EQ(slurm_.jobs[7].state, "FAILED");
    EXPECT_EQ(slurm_.jobs[7].starts, 4u);
  }
  EXPECT_GT(num_kills, 20u);
}

// What is recorded about the job already comes first: nothing is counted before.
TEST_F(ElasticOrdersTest, ARequeueWaitsForWhatIsRecordedAboutTheJob) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  const store::Change other = {IntentionKey(1), IntentionText(SetNice{7, kOwner, 5})};
  ASSERT_TRUE(memory_.Apply({&other, 1}).ok());
  FailToLaunch(7);
  Periods(2);
  EXPECT_EQ(slurm_.jobs[7].state, "FAILED");
  const store::Change gone = {IntentionKey(1), std::nullopt};
  ASSERT_TRUE(memory_.Apply({&gone, 1}).ok());
  changes_.clear();
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_THAT(changes_, Contains(HasSubstr("requeued, 1 of 3")));
}

// Slurm does not answer when it is asked how the job has ended: that is asked again.
TEST_F(ElasticOrdersTest, AnEndThatSlurmDoesNotTellIsAskedForAgain) {
  Add(7, Elastic(2, 4), 1'000'000);
  Start();
  Periods(3);
  FailToLaunch(7);
  const auto state = ProgramReader(&programs_).ReadAll();
  ASSERT_TRUE(state.ok());
  slurm_.is_away = true;
  orders_->Look(*state, steered_, Now());
  EXPECT_TRUE(orders_->is_idle());
  slurm_.is_away = false;
  Periods(3);
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
}

TEST_F(ElasticOrdersTest, SteeringComesFirst) {
  Add(7, Elastic(1, 6), 1'000'000);
  Start();
  Periods(40);
  steered_ = {7};
  Add(8, Elastic(1, 6), 20'000);
  Periods(10);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  EXPECT_EQ(slurm_.jobs[8].state, "PENDING") << "nothing is decided meanwhile";
  steered_.clear();
  Periods(10);
  EXPECT_THAT(stopped_, Contains(7u));
  EXPECT_EQ(slurm_.jobs[8].state, "RUNNING");
}

// Steering is at a job while its partition has no hosts: it is known, and has no size.
TEST_F(ElasticOrdersTest, APartitionWithoutHostsShowsNoSizes) {
  Add(7, Elastic(1, 6));
  Start();
  Periods(2);
  steered_ = {7};
  slurm_.nodes.clear();
  Look();
  EXPECT_THAT(orders_->Views(), IsEmpty());
  EXPECT_THAT(CommandsAbout(7), SizeIs(3)) << "those of its start";
}

TEST_F(ElasticOrdersTest, StrangeCommentsAreToldAndTheJobIsSizedAllTheSame) {
  FakeJob job = Elastic(1, 6);
  Add(7, job);
  slurm_.jobs[7].comment = R"({"fairlead": {"steps": -3}})";
  Start();
  Periods(2);
  EXPECT_EQ(NodesOf(7), 6u);
  EXPECT_THAT(notes_, Contains(HasSubstr("expected a number above 0 as steps")));
}

TEST_F(ElasticOrdersTest, AnotherControllerKnowsWhatJobsHaveHad) {
  Add(7, Elastic(1, 6), 1'000'000);
  Start();
  Periods(30);
  const ElasticView before = orders_->Views()[0];
  EXPECT_GT(before.node_seconds, 1000);
  orders_.reset();
  Start();
  Period();
  const ElasticView after = orders_->Views()[0];
  EXPECT_GE(after.node_seconds, before.node_seconds - 6 * 60) << "but for what was not saved yet";
  EXPECT_LE(after.node_seconds, before.node_seconds + 6 * kPeriodS + 1);
  EXPECT_EQ(after.restart_cost, before.restart_cost);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);
  Periods(5);
  EXPECT_EQ(slurm_.jobs[7].starts, 1u);

  slurm_.jobs.erase(7);
  trainings_.clear();
  Period();
  EXPECT_THAT(*ReadElasticRecords(memory_), IsEmpty()) << "a job that is gone leaves nothing";
}

TEST_F(ElasticOrdersTest, ADamagedRecordIsNotReadAsAnother) {
  const store::Change change = {ElasticKey(7), "{\"steps_done\": \"many\"}"};
  ASSERT_TRUE(memory_.Apply({&change, 1}).ok());
  auto orders = ElasticOrders::Create(fabric_, options_, &programs_, &store_, {}, {});
  EXPECT_EQ(orders.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(orders.status().message(), HasSubstr("slurm/elastic/7"));
}

// Jobs come, end and are held by their users, hosts go and come back, others' jobs take hosts, and the controller is
// killed at any of its calls. Nothing is lost, nothing of others touched, and at the end everything has run.
TEST_F(ElasticOrdersTest, KilledAtAnyMomentNothingIsLost) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BeginAnew();
    uint32_t next = 1;
    std::set<uint32_t> strangers;
    std::map<uint32_t, uint32_t> num_failed;  // [job] launches
    Start();
    const auto is_over = [&] {
      return std::ranges::all_of(trainings_,
                                 [&](const auto& one) { return slurm_.jobs[one.first].state == "COMPLETED"; });
    };
    for (int period = 0; period < 80 || (period < 2000 && !is_over()); ++period) {
      const bool is_busy = period < 80;
      if (is_busy && random.Uniform() < 0.15) {
        const auto low = static_cast<uint32_t>(1 + random.Below(3));
        FakeJob job = Elastic(low, low + 1 + static_cast<uint32_t>(random.Below(6)));
        if (random.Uniform() < 0.3) {
          job.is_held = false;
          job.admin_comment = MarkReleased(job.admin_comment);
        }
        Add(next++, job, 100 + static_cast<double>(random.Below(3000)));
      }
      if (is_busy && random.Uniform() < 0.06) {
        const uint32_t id = next++;
        strangers.insert(id);
        trainings_[id].steps = 200 + static_cast<double>(random.Below(500));
        slurm_.jobs[id] = Rigid(static_cast<uint32_t>(1 + random.Below(3)));
      }
      if (random.Uniform() < 0.1) {
        FakeNode& node = slurm_.nodes[fmt::format("h{}", random.Below(kHosts))];
        node.state = is_busy && node.state == "IDLE" ? "IDLE+DRAIN" : "IDLE";
      }
      if (!is_busy) {
        for (auto& [name, node] : slurm_.nodes) node.state = "IDLE";
      }
      if (is_busy && random.Uniform() < 0.1) {
        const auto id = static_cast<uint32_t>(1 + random.Below(next));
        const bool is_one = trainings_.contains(id) && slurm_.jobs[id].state == "RUNNING" && !strangers.contains(id);
        if (is_one && num_failed[id]++ < ElasticJobs::kNumRequeuesMax) FailToLaunch(id);
      }
      death_ = {};
      if (random.Uniform() < (is_busy ? 0.3 : 0.02))
        death_ = {.at_call = random.Below(40), .is_after = random.Uniform() < 0.5};
      try {
        Period();
      } catch (const Killed&) {
        death_ = {};
        orders_.reset();
        Start();
      }
      CheckHosts();
    }
    for (const auto& [id, training] : trainings_) {
      EXPECT_EQ(slurm_.jobs[id].state, "COMPLETED") << "job " << id << " " << slurm_.jobs[id].admin_comment;
      if (!strangers.contains(id)) continue;
      EXPECT_THAT(CommandsAbout(id), IsEmpty()) << id;
    }
    Periods(2);
    EXPECT_THAT(*ReadIntentions(memory_), IsEmpty());
    EXPECT_THAT(*ReadElasticRecords(memory_), IsEmpty());
  }
}

}  // namespace
}  // namespace fairlead::slurm
