// The steps of steering on a small Slurm: what they do, what they refuse, and what becomes of them when their process
// is killed at any moment.
#include "slurm/steering_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "slurm/fake_slurm_example.h"
#include "slurm/intention_records.h"
#include "slurm/mortal_example.h"
#include "store/memory_store.h"

namespace fairlead::slurm {
namespace {

using controller::IsolateHost;
using controller::RestartJob;
using controller::TestHost;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = StepProgress::Kind;

constexpr char kJob[] = "slurm-7@1001";
constexpr char kSpares[] = "fairlead_spares";

FakeJob Rigid(uint32_t owner, uint32_t num_nodes) {
  FakeJob job;
  job.owner = owner;
  job.low = job.high = num_nodes;
  job.cpus = job.tasks = 2 * num_nodes;
  job.tasks_per_node = 2;
  return job;
}

// Job 7 of user 1001 on h0 and h1, a stranger's job 8 on h2 and h3, h4 free, h5 a spare.
struct SmallCluster {
  FakeSlurm slurm;
  store::MemoryStore store;
  int test_result = 0;
  std::atomic<int> num_tests = 0;
  std::atomic<bool> may_tests_end = true;

  SmallCluster() {
    slurm.reservations[kSpares] = {"h5", "root"};
    slurm.Start(7, Rigid(1001, 2));
    slurm.Start(8, Rigid(1002, 2));
    slurm.changes.clear();
  }

  SteeringStepOptions Options() {
    SteeringStepOptions options;
    options.fabric_hosts = {"h0", "h1", "h2", "h3", "h4", "h5"};
    options.spares = kSpares;
    options.test_program = "check";
    options.writer.sleep = [](std::chrono::milliseconds) {};
    options.user_name = [](uint32_t user) { return user == 0 ? "root" : fmt::format("user{}", user); };
    options.run_test = [this](const std::string& host, const std::string& reservation, const std::atomic<bool>&) {
      EXPECT_EQ(slurm.nodes.at(host).state, "IDLE");
      EXPECT_EQ(slurm.reservations.at(reservation).nodes, host);
      ++num_tests;
      while (!may_tests_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Result<int>(test_result);
    };
    return options;
  }
};

StepOrder Isolation(std::string host, std::string job = kJob) {
  return {.action = 1,
          .attempt = 1,
          .step = IsolateHost{},
          .host = std::move(host),
          .hosts = {},
          .job = std::move(job),
          .reason = "finding 3: rank 1 is stopped"};
}
StepOrder OfJob(controller::SteeringStep step, std::vector<std::string> hosts = {}) {
  return {.action = 2,
          .attempt = 1,
          .step = std::move(step),
          .host = {},
          .hosts = std::move(hosts),
          .job = kJob,
          .reason = {}};
}
StepOrder OfHost(controller::SteeringStep step, std::string host) {
  return {.action = 3,
          .attempt = 1,
          .step = std::move(step),
          .host = std::move(host),
          .hosts = {},
          .job = kJob,
          .reason = {}};
}

const std::vector<StepOrder>& Sequence() {
  static const std::vector<StepOrder> kOrders = {
      Isolation("h1"), OfJob(controller::StopJob{}), OfHost(controller::TakeSpare{}, "h5"),
      OfJob(RestartJob{}, {"h0", "h5"}), OfHost(controller::ReturnHost{}, "h1")};
  return kOrders;
}

StepProgress GoOn(SteeringSteps* steps, const StepOrder& order) {
  for (int i = 0; i < 20; ++i) {
    const auto progress = steps->Go(order);
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    if (!progress.ok() || progress->kind != Kind::kUnderway) return progress.ok() ? *progress : StepProgress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a test has a thread of its own
  }
  ADD_FAILURE() << "no end";
  return {};
}

class SteeringStepsTest : public testing::Test {
 protected:
  StepProgress Go(const StepOrder& order) { return GoOn(&steps_, order); }
  // What is left, of which nothing is for long enough.
  std::vector<std::string> CleanUp() {
    const auto told = steps_.CleanUp(*ProgramReader(&slurm_).ReadAll(), [](const std::string&) { return false; });
    EXPECT_TRUE(told.ok()) << told.status().message();
    return told.ok() ? *told : std::vector<std::string>();
  }

  SmallCluster world_;
  FakeSlurm& slurm_ = world_.slurm;
  SteeringSteps steps_{&world_.slurm, &world_.store, world_.Options()};
};

TEST_F(SteeringStepsTest, AJobGoesOnWithoutItsSickHost) {
  slurm_.jobs[9] = Rigid(1003, 2);  // waits for two hosts, and there is one
  for (const StepOrder& order : Sequence()) EXPECT_EQ(Go(order).kind, Kind::kDone) << controller::Name(order.step);
  EXPECT_THAT(slurm_.jobs[7].hosts, ElementsAre("h0", "h5"));
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  EXPECT_EQ(slurm_.jobs[7].owner, 1001u);
  EXPECT_EQ(slurm_.jobs[8].starts, 1u);
  EXPECT_EQ(slurm_.jobs[9].starts, 0u) << "the job's hosts were kept for it";
  EXPECT_EQ(slurm_.nodes["h1"].state, "IDLE");
  EXPECT_THAT(slurm_.changes[0],
              "scontrol update NodeName=h1 State=DRAIN Reason=fairlead: finding 3: rank 1 is stopped");
  EXPECT_EQ(slurm_.reservations.size(), 1u);
  EXPECT_EQ(slurm_.reservations[kSpares].nodes, "h1") << "the one that went, and the one that came";
  std::vector<std::string> keys;
  const auto records = *world_.store.List("");
  for (const auto& record : records) keys.push_back(record.key);
  EXPECT_THAT(keys, ElementsAre(ReleasedKey(7), ReturnedKey("h1"))) << "until Slurm remembers them, too";
}

// Slurm is away in the moment in which the test of a host ends: what it found is not lost, and no host is tested twice.
TEST_F(SteeringStepsTest, ATestIsNotRepeatedBecauseSlurmWasAway) {
  ASSERT_EQ(Go(Isolation("h1")).kind, Kind::kDone);
  slurm_.jobs.erase(7);
  world_.test_result = 3;
  const StepOrder order = OfHost(TestHost{}, "h1");
  world_.may_tests_end = false;
  while (world_.num_tests == 0) ASSERT_TRUE(steps_.Go(order).ok());
  slurm_.is_away = true;
  world_.may_tests_end = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (steps_.Go(order).ok() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  slurm_.is_away = false;
  const StepProgress progress = Go(order);
  EXPECT_EQ(progress.kind, Kind::kDone);
  EXPECT_EQ(progress.is_healthy, std::optional(false));
  EXPECT_EQ(world_.num_tests, 1);
}

TEST_F(SteeringStepsTest, WhatIsDoneAlreadyIsDone) {
  for (const StepOrder& order : Sequence()) {
    EXPECT_EQ(Go(order).kind, Kind::kDone);
    const auto changes = slurm_.changes;
    EXPECT_EQ(Go(order).kind, Kind::kDone) << controller::Name(order.step);
    EXPECT_EQ(slurm_.changes, changes) << controller::Name(order.step);
  }
}

TEST_F(SteeringStepsTest, WhatIsRefusedTouchesNothing) {
  const auto why = [this](const StepOrder& order) {
    const StepProgress progress = Go(order);
    EXPECT_EQ(progress.kind, Kind::kRefused) << progress.message;
    EXPECT_THAT(slurm_.changes, IsEmpty());
    EXPECT_THAT(*world_.store.List(""), IsEmpty());
    return progress.message;
  };
  EXPECT_THAT(why(Isolation("h1", "gpt@1001")), HasSubstr("no job of Slurm"));
  EXPECT_THAT(why(Isolation("h1", "gpt@1001.unverified")), HasSubstr("not verified"));
  EXPECT_THAT(why(Isolation("h1", "")), HasSubstr("not verified"));
  EXPECT_THAT(why(Isolation("h1", "slurm-7@1002")), HasSubstr("of user 1001"));
  EXPECT_THAT(why(Isolation("h1", "slurm-77@1001")), HasSubstr("no job 77"));
  EXPECT_THAT(why(Isolation("h1", "gpt@1001.slurm-8")), HasSubstr("of user 1002"));
  EXPECT_THAT(why(Isolation("h2")), HasSubstr("does not run on h2"));
  EXPECT_THAT(why(Isolation("h9")), HasSubstr("no node h9"));
  EXPECT_THAT(why(Isolation("h[0-9]")), HasSubstr("no name of a node"));
  EXPECT_THAT(why(Isolation("ALL")), HasSubstr("no name of a node"));
  EXPECT_THAT(why(OfJob(RestartJob{}, {"h0", "h4"})), HasSubstr("not stopped by us"));
  EXPECT_THAT(why(OfHost(controller::TakeSpare{}, "h9")), HasSubstr("no node h9"));
  slurm_.nodes["h5"] = {"IDLE+DRAIN", "disk"};
  EXPECT_THAT(why(OfHost(controller::TakeSpare{}, "h5")), HasSubstr("not open to jobs"));
  EXPECT_THAT(why(OfHost(controller::ReturnHost{}, "h5")), HasSubstr("drained by somebody else"));
  slurm_.jobs[7].comment = "{\"APS\": 7}";
  EXPECT_THAT(why(Isolation("h1")), HasSubstr("expected an object as APS"));
  slurm_.jobs[7].comment = R"({"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 0}})";
  EXPECT_THAT(why(Isolation("h1")), HasSubstr("0 requeues at most"));
  EXPECT_THAT(why(OfJob(controller::StopJob{})), HasSubstr("0 requeues at most"));
  slurm_.jobs[7].comment = "";
  slurm_.jobs[7].may_requeue = false;
  EXPECT_THAT(why(Isolation("h1")), HasSubstr("may not be requeued"));
  slurm_.jobs[7].may_requeue = true;
  slurm_.jobs[7].is_array = true;
  EXPECT_THAT(why(Isolation("h1")), HasSubstr("an array"));
  slurm_.jobs[7].is_array = false;
  slurm_.jobs[7].hosts.emplace_back("other0");
  EXPECT_THAT(why(Isolation("h1")), HasSubstr("other0, which is not in the fabric"));
}

TEST_F(SteeringStepsTest, AHostThatOthersDrainedIsIsolated) {
  slurm_.nodes["h1"] = {"IDLE+DRAIN", "operator: disk"};
  EXPECT_EQ(Go(Isolation("h1")).kind, Kind::kDone);
  EXPECT_EQ(slurm_.nodes["h1"].reason, "operator: disk");
  slurm_.nodes["h1"] = {};
  EXPECT_THAT(CleanUp(), IsEmpty()) << "whoever isolated it has ended that";
}

TEST_F(SteeringStepsTest, ASlurmThatIsAwayIsAnError) {
  slurm_.is_away = true;
  for (const StepOrder& order : Sequence()) {
    EXPECT_EQ(steps_.Go(order).status().code(), StatusCode::kUnavailable) << controller::Name(order.step);
  }
  EXPECT_THAT(*world_.store.List(""), IsEmpty());
}

TEST_F(SteeringStepsTest, AHostIsTestedWhereNobodyElseCanUseIt) {
  Go(Isolation("h1"));
  slurm_.jobs.erase(7);
  for (const int result : {1, 0}) {
    world_.test_result = result;
    const StepProgress progress = Go(OfHost(TestHost{}, "h1"));
    EXPECT_EQ(progress.kind, Kind::kDone);
    EXPECT_EQ(progress.is_healthy, result == 0);
    EXPECT_EQ(slurm_.nodes["h1"].state, "IDLE+DRAIN");
    EXPECT_THAT(slurm_.nodes["h1"].reason, HasSubstr(result == 0 ? "tested: well" : "tested: not well"));
    EXPECT_EQ(slurm_.reservations.size(), 1u);
  }
  EXPECT_EQ(Go(OfHost(TestHost{}, "h2")).message, "h2 is not isolated");
  SteeringStepOptions options = world_.Options();
  options.test_program.clear();
  SteeringSteps without(&slurm_, &world_.store, options);
  EXPECT_EQ(GoOn(&without, OfHost(TestHost{}, "h1")).kind, Kind::kRefused);
}

TEST_F(SteeringStepsTest, WhatNobodyGoesOnWithIsTakenBack) {
  Go(Isolation("h1"));
  Go(OfJob(controller::StopJob{}));
  slurm_.reservations["fairlead_test_h4"] = {"h4", "root"};
  slurm_.reservations["maintenance"] = {"h4", "root"};
  const auto clean_up = [this](const std::string& kept) {
    const auto state = ProgramReader(&slurm_).ReadAll();
    const auto told = steps_.CleanUp(*state, [&kept](const std::string& subject) {
      return kept.empty() || subject.find(kept) == std::string::npos;
    });
    EXPECT_TRUE(told.ok()) << told.status().message();
    return told.ok() ? *told : std::vector<std::string>();
  };
  const std::set<std::string> before(slurm_.changes.begin(), slurm_.changes.end());
  const auto told = clean_up("job");
  EXPECT_THAT(told, ElementsAre("h4 is isolated again: its test was cut off"));
  EXPECT_TRUE(slurm_.jobs[7].is_held) << "somebody goes on with it";
  EXPECT_THAT(clean_up(""), ElementsAre("job 7 is released: nobody has placed it"));
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "");
  EXPECT_THAT(clean_up(""), IsEmpty());
  EXPECT_EQ(slurm_.reservations.size(), 2u) << "the operators', and the spares";
  EXPECT_EQ(slurm_.nodes["h4"].state, "IDLE+DRAIN");
  EXPECT_THAT(*ReadStopped(world_.store), IsEmpty());
  EXPECT_THAT(*ReadIntentions(world_.store), IsEmpty());
}

// Of each step all calls, dying before and after each: the next process is told the same step again.
TEST(SteeringStepsDeathTest, AtEachCallBeforeAndAfterItsEffect) {
  for (size_t call = 0;; ++call) {
    bool has_died = false;
    for (const bool is_after : {false, true}) {
      SmallCluster world;
      world.slurm.jobs[9] = Rigid(1003, 2);
      Death death{.at_call = call, .is_after = is_after};
      MortalPrograms programs(&world.slurm, &death);
      MortalStore store(&world.store, &death);
      size_t at = 0;
      try {
        SteeringSteps steps(&programs, &store, world.Options());
        for (; at < Sequence().size(); ++at) GoOn(&steps, Sequence()[at]);
      } catch (const Killed&) {
        has_died = true;
      }
      // What Slurm may forget is recorded, or is still under way.
      const bool is_under_way = !ReadIntentions(world.store)->empty();
      const bool is_isolated = at == 0 && world.slurm.nodes["h1"].state == "IDLE+DRAIN";
      EXPECT_TRUE(!is_isolated || is_under_way || !world.store.List(IsolatedKey("h1"))->empty()) << call << is_after;
      const bool is_returned = at + 1 == Sequence().size() && world.slurm.nodes["h1"].state == "IDLE";
      EXPECT_TRUE(!is_returned || is_under_way || !world.store.List(ReturnedKey("h1"))->empty()) << call << is_after;
      SteeringSteps steps(&world.slurm, &world.store, world.Options());
      for (; at < Sequence().size(); ++at) {
        const StepProgress progress = GoOn(&steps, Sequence()[at]);
        EXPECT_EQ(progress.kind, Kind::kDone) << call << is_after << ": " << progress.message;
      }
      EXPECT_THAT(world.slurm.jobs[7].hosts, ElementsAre("h0", "h5")) << call;
      EXPECT_EQ(world.slurm.jobs[7].starts, 2u) << call;
      EXPECT_EQ(world.slurm.jobs[8].starts, 1u) << call;
      EXPECT_EQ(world.slurm.nodes["h1"].state, "IDLE") << call;
      EXPECT_EQ(world.slurm.reservations.size(), 1u) << call << is_after;
      EXPECT_EQ(world.slurm.reservations[kSpares].nodes, "h1") << call;
      EXPECT_TRUE(ReadIntentions(world.store)->empty() && ReadStopped(world.store)->empty()) << call;
      ASSERT_FALSE(HasFailure());
    }
    if (!has_died) break;
    ASSERT_LT(call, 300u);
  }
}

TEST(JobNumberTest, OfWhatTheKernelOrTheNameSays) {
  const auto number = [](const char* key) { return JobNumberOf(*model::ParseJobKey(key)); };
  EXPECT_EQ(number("gpt@1001.slurm-9"), 9u);
  EXPECT_EQ(number("slurm-7@1001.slurm-9"), 9u);
  EXPECT_EQ(number("slurm-7@1001"), 7u);
  EXPECT_EQ(number("slurm-7"), 7u);
  for (const char* none :
       {"gpt@1001", "slurm-@1001", "slurm-7x@1001", "slurm-99999999999@1", "slurm--7@1", "slurm-7@1001.unverified"}) {
    EXPECT_EQ(number(none), 0u) << none;
  }
}

// ---- A checkpoint before a stop ----

class CheckpointBeforeStopTest : public testing::Test {
 protected:
  CheckpointBeforeStopTest() {
    cluster_.slurm.jobs[7].comment = R"({"fairlead": {"progress": "/steps", "checkpoint": "/latest"}})";
    Open();
  }
  // A process of its own.
  void Open() {
    SteeringStepOptions options = cluster_.Options();
    options.now = [this] { return SimTime::FromSeconds(Seconds(now_s_)); };
    options.file_time = [this](const std::string& path, uint32_t owner) -> std::optional<SimTime> {
      EXPECT_EQ(owner, 1001u);
      const auto found = files_.find(path);
      if (found == files_.end()) return std::nullopt;
      return SimTime::FromSeconds(Seconds(found->second));
    };
    steps_ = std::make_unique<SteeringSteps>(&cluster_.slurm, &cluster_.store, std::move(options));
  }
  Kind Stop() {
    const auto progress = steps_->Go(OfJob(controller::StopJob{}));
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    return progress.ok() ? progress->kind : Kind::kFailed;
  }
  uint32_t NumSignals() { return cluster_.slurm.jobs[7].signals; }
  bool Runs() { return cluster_.slurm.jobs[7].state == "RUNNING"; }

  SmallCluster cluster_;
  double now_s_ = 1000;
  std::map<std::string, double> files_ = {{"/steps", 995}, {"/latest", 900}};
  std::unique_ptr<SteeringSteps> steps_;
};

TEST_F(CheckpointBeforeStopTest, ItIsAskedOnceAndStoppedWhenItIsThere) {
  EXPECT_EQ(Stop(), Kind::kUnderway);
  EXPECT_EQ(NumSignals(), 1u);
  for (now_s_ = 1001; now_s_ < 1030; ++now_s_) EXPECT_EQ(Stop(), Kind::kUnderway) << now_s_;
  EXPECT_TRUE(Runs());
  EXPECT_TRUE(cluster_.slurm.reservations.size() == 1) << "nothing else was begun";
  files_["/latest"] = 1029;
  EXPECT_EQ(GoOn(steps_.get(), OfJob(controller::StopJob{})).kind, Kind::kDone);
  EXPECT_TRUE(cluster_.slurm.jobs[7].is_held);
  EXPECT_EQ(NumSignals(), 1u);
  EXPECT_EQ(cluster_.slurm.changes.front(), "scancel --batch --signal=USR1 7");
}

TEST_F(CheckpointBeforeStopTest, TheWaitIsBounded) {
  EXPECT_EQ(Stop(), Kind::kUnderway);
  now_s_ = 1059.9;
  EXPECT_EQ(Stop(), Kind::kUnderway);
  now_s_ = 1060;
  EXPECT_EQ(GoOn(steps_.get(), OfJob(controller::StopJob{})).kind, Kind::kDone);
  EXPECT_EQ(NumSignals(), 1u);
}

// The script of a job without the contract would end by the signal; one that hangs writes none.
TEST_F(CheckpointBeforeStopTest, NotAskedWithoutContractOrSteps) {
  const std::string contract = cluster_.slurm.jobs[7].comment;
  for (const auto& [comment, steps_s] :
       std::vector<std::pair<std::string, double>>{{"", 999},
                                                   {"fairlead", 999},
                                                   {R"({"fairlead": {"progress": "/steps"}})", 999},
                                                   {R"({"fairlead": {"checkpoint": "/latest"}})", 999},
                                                   {contract, 979},
                                                   {contract, -1}}) {
    cluster_.slurm.jobs[7].comment = comment;
    files_["/steps"] = steps_s;
    if (steps_s < 0) files_.erase("/steps");
    EXPECT_EQ(GoOn(steps_.get(), OfJob(controller::StopJob{})).kind, Kind::kDone) << comment;
    EXPECT_EQ(NumSignals(), 0u) << comment;
    ASSERT_EQ(GoOn(steps_.get(), OfJob(RestartJob{}, {"h0", "h1"})).kind, Kind::kDone);
  }
}

TEST_F(CheckpointBeforeStopTest, ANewProcessAsksAgainAndGoesOn) {
  EXPECT_EQ(Stop(), Kind::kUnderway);
  Open();
  EXPECT_EQ(Stop(), Kind::kUnderway);
  EXPECT_EQ(NumSignals(), 2u);
  files_["/latest"] = now_s_ + 1;
  EXPECT_EQ(GoOn(steps_.get(), OfJob(controller::StopJob{})).kind, Kind::kDone);
  // The next run of the job is asked anew.
  ASSERT_EQ(GoOn(steps_.get(), OfJob(RestartJob{}, {"h0", "h1"})).kind, Kind::kDone);
  EXPECT_EQ(Stop(), Kind::kUnderway);
  EXPECT_EQ(NumSignals(), 3u);
}

TEST_F(CheckpointBeforeStopTest, ASlurmThatIsAwayIsAskedLater) {
  cluster_.slurm.is_away = true;
  EXPECT_EQ(steps_->Go(OfJob(controller::StopJob{})).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(NumSignals(), 0u);
  cluster_.slurm.is_away = false;
  EXPECT_EQ(Stop(), Kind::kUnderway);
  EXPECT_EQ(NumSignals(), 1u);
}

// slurmctld is killed after a job was restarted, and has forgotten that: it is held again, and nobody goes on with it.
TEST_F(SteeringStepsTest, AJobWhoseRestartSlurmForgetsIsReleased) {
  const std::vector<StepOrder> orders = Sequence();
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(Go(orders[i]).kind, Kind::kDone);
  const FakeJob held = slurm_.jobs[7];
  ASSERT_TRUE(held.is_held);
  ASSERT_EQ(Go(orders[3]).kind, Kind::kDone);
  EXPECT_THAT(CleanUp(), IsEmpty());
  EXPECT_EQ(slurm_.jobs[7].starts, 2u);
  slurm_.jobs[7] = held;
  EXPECT_THAT(CleanUp(), ElementsAre("job 7 is released: Slurm had forgotten that"));
  EXPECT_FALSE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, "");
  EXPECT_THAT(CleanUp(), IsEmpty());
  // Held by its user since, it stays so.
  slurm_.jobs[7].is_held = true;
  EXPECT_THAT(CleanUp(), IsEmpty());
  EXPECT_TRUE(slurm_.jobs[7].is_held);
}

// The same with a controller that was killed, too: the store knows, where the job can't have a mark.
TEST_F(SteeringStepsTest, ANewProcessKnowsWhatSlurmForgot) {
  for (const std::string mark : {"(null)", "bill to: physics", "fairlead:v1 nodes=1-6 tasks-per-node=2"}) {
    SCOPED_TRACE(mark);
    for (const bool is_placed : {true, false}) {
      SmallCluster world;
      world.slurm.jobs[7].admin_comment = mark;
      FakeJob held;
      {
        SteeringSteps steps(&world.slurm, &world.store, world.Options());
        for (size_t i = 0; i < 3; ++i) ASSERT_EQ(GoOn(&steps, Sequence()[i]).kind, Kind::kDone);
        held = world.slurm.jobs[7];
        ASSERT_TRUE(held.is_held);
        if (is_placed) {
          ASSERT_EQ(GoOn(&steps, Sequence()[3]).kind, Kind::kDone);
        } else {  // nobody goes on with it
          ASSERT_TRUE(steps.CleanUp(*ProgramReader(&world.slurm).ReadAll(), [](const auto&) { return true; }).ok());
        }
      }
      ASSERT_FALSE(world.slurm.jobs[7].is_held);
      held.reservation.clear();
      world.slurm.jobs[7] = held;
      SteeringSteps steps(&world.slurm, &world.store, world.Options());
      const auto told = steps.CleanUp(*ProgramReader(&world.slurm).ReadAll(), [](const auto&) { return false; });
      ASSERT_TRUE(told.ok());
      EXPECT_THAT(*told, ElementsAre("job 7 is released: Slurm had forgotten that"));
      EXPECT_FALSE(world.slurm.jobs[7].is_held);
    }
  }
}

// It has forgotten the isolation: nothing starts on the sick host for that, and its test is not refused.
TEST_F(SteeringStepsTest, AnIsolationThatSlurmForgetsIsRepeated) {
  ASSERT_EQ(Go(Isolation("h1")).kind, Kind::kDone);
  EXPECT_THAT(CleanUp(), IsEmpty());
  slurm_.jobs.erase(7);
  slurm_.nodes["h1"] = {};
  EXPECT_EQ(steps_.Go(OfHost(TestHost{}, "h1"))->kind, Kind::kUnderway);
  SteeringSteps later(&slurm_, &world_.store, world_.Options());
  const auto told = later.CleanUp(*ProgramReader(&slurm_).ReadAll(), [](const auto&) { return false; });
  EXPECT_THAT(*told, ElementsAre("h1 is isolated once more: Slurm had forgotten it"));
  EXPECT_EQ(slurm_.nodes["h1"].reason, "fairlead: finding 3: rank 1 is stopped");
  EXPECT_EQ(Go(OfHost(TestHost{}, "h1")).kind, Kind::kDone);
  ASSERT_EQ(Go(OfHost(controller::ReturnHost{}, "h1")).kind, Kind::kDone);
  EXPECT_THAT(CleanUp(), IsEmpty());
  EXPECT_EQ(slurm_.nodes["h1"].state, "IDLE");
}

// It has forgotten that a spare was taken: the job would wait for it for ever, as that is not reserved for the job.
TEST_F(SteeringStepsTest, ASpareWhoseTakingSlurmForgetsIsTakenAgain) {
  for (const bool is_placed : {false, true}) {
    SCOPED_TRACE(is_placed);
    SmallCluster world;
    SteeringStepOptions options = world.Options();
    options.writer.num_looks_max = 1;
    SteeringSteps steps(&world.slurm, &world.store, options);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(GoOn(&steps, Sequence()[i]).kind, Kind::kDone);
    if (is_placed) {
      EXPECT_EQ(steps.Go(Sequence()[3])->kind, Kind::kUnderway);
    }
    world.slurm.jobs[7].ticks = 20;
    world.slurm.reservations[kSpares] = {"h5", "root"};
    world.slurm.reservations["fairlead_job_7"].nodes = "h0";
    EXPECT_EQ(GoOn(&steps, Sequence()[3]).kind, Kind::kDone);
    EXPECT_THAT(world.slurm.jobs[7].hosts, ElementsAre("h0", "h5"));
    EXPECT_EQ(world.slurm.jobs[7].starts, 2u);
    EXPECT_EQ(world.slurm.reservations.size(), 0u) << "no spare is left, and the job has its hosts";
  }
}

// All of the job's reservation is forgotten.
TEST_F(SteeringStepsTest, AReservationOfAJobThatSlurmForgetsIsMadeAgain) {
  SteeringStepOptions options = world_.Options();
  options.writer.num_looks_max = 1;
  SteeringSteps steps(&slurm_, &world_.store, options);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(GoOn(&steps, Sequence()[i]).kind, Kind::kDone);
  EXPECT_EQ(steps.Go(Sequence()[3])->kind, Kind::kUnderway);
  slurm_.jobs[7].ticks = 20;
  slurm_.reservations.clear();
  EXPECT_EQ(GoOn(&steps, Sequence()[3]).kind, Kind::kDone);
  EXPECT_THAT(slurm_.jobs[7].hosts, ElementsAre("h0", "h5"));
  EXPECT_THAT(slurm_.changes,
              testing::Contains(testing::HasSubstr("create reservation ReservationName=fairlead_job_7")).Times(2));
}

// It has forgotten that the reservation of a job was deleted: nobody else would do that for ten minutes.
TEST_F(SteeringStepsTest, AReservationThatComesBackIsDeleted) {
  for (size_t i = 0; i < 4; ++i) ASSERT_EQ(Go(Sequence()[i]).kind, Kind::kDone);
  ASSERT_FALSE(slurm_.reservations.contains("fairlead_job_7"));
  slurm_.reservations["fairlead_job_7"] = {"h0,h5", "user1001"};
  slurm_.jobs[7].reservation = "fairlead_job_7";
  EXPECT_THAT(CleanUp(), ElementsAre("reservation fairlead_job_7 is deleted"));
  EXPECT_FALSE(slurm_.reservations.contains("fairlead_job_7"));
  EXPECT_EQ(slurm_.jobs[7].state, "RUNNING");
  EXPECT_THAT(CleanUp(), IsEmpty());
}

// A job that is stopped stays so while somebody is to go on with it, also after the death of who stopped it.
TEST_F(SteeringStepsTest, AJobThatIsStoppedIsNotForgotten) {
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(Go(Sequence()[i]).kind, Kind::kDone);
  SteeringSteps later(&slurm_, &world_.store, world_.Options());
  const auto told = later.CleanUp(*ProgramReader(&slurm_).ReadAll(), [](const auto&) { return false; });
  EXPECT_THAT(*told, IsEmpty());
  EXPECT_TRUE(slurm_.jobs[7].is_held);
  EXPECT_EQ(slurm_.jobs[7].admin_comment, kStoppedMark);
}

// A slurmctld that was killed believes that a test goes on which has ended: it is ended, and its host returned all the
// same. Others' jobs of that name are left alone.
TEST_F(SteeringStepsTest, ATestThatNobodyWaitsForIsEnded) {
  FakeJob test = Rigid(geteuid(), 1);
  test.name = "fairlead-test";
  test.required = {"h1"};
  test.reservation = "fairlead_test_h1";
  FakeJob other = Rigid(1003, 1);
  other.name = test.name;
  slurm_.jobs.erase(7);
  slurm_.Start(9, other);
  slurm_.nodes["h1"] = {"IDLE+DRAIN", "fairlead: tested: well"};
  ASSERT_EQ(Go(OfHost(controller::ReturnHost{}, "h1")).kind, Kind::kDone);
  slurm_.reservations[kSpares] = {"h5", "root"};
  slurm_.reservations["fairlead_test_h1"] = {"h1", "root"};
  slurm_.Start(10, test);
  ASSERT_EQ(slurm_.jobs[10].state, "RUNNING");
  slurm_.nodes["h1"] = {"ALLOCATED", ""};
  EXPECT_THAT(CleanUp(), ElementsAre("job 10, a test of h1 that nobody waits for, is ended"));
  EXPECT_EQ(slurm_.jobs[10].state, "CANCELLED");
  EXPECT_EQ(slurm_.jobs[9].state, "RUNNING");
  slurm_.nodes["h1"] = {};
  EXPECT_THAT(CleanUp(), ElementsAre("h1 is returned once more: Slurm had forgotten it"));
  EXPECT_EQ(slurm_.reservations[kSpares].nodes, "h5,h1");
}

TEST_F(SteeringStepsTest, ATestThatGoesOnIsNotEnded) {
  ASSERT_EQ(Go(Isolation("h1")).kind, Kind::kDone);
  slurm_.jobs.erase(7);
  world_.may_tests_end = false;
  while (world_.num_tests == 0) ASSERT_TRUE(steps_.Go(OfHost(TestHost{}, "h1")).ok());
  FakeJob test = Rigid(geteuid(), 1);
  test.name = "fairlead-test";
  test.required = {"h1"};
  test.reservation = "fairlead_test_h1";
  slurm_.Start(10, test);
  EXPECT_THAT(CleanUp(), IsEmpty());
  EXPECT_EQ(slurm_.jobs[10].state, "RUNNING");
  world_.may_tests_end = true;
}

// slurmctld is killed after a host was returned, and has forgotten its last seconds: the host is a spare all the same.
TEST_F(SteeringStepsTest, WhatSlurmForgetsOfAReturnIsRepeated) {
  for (const int forgets : {0, 1, 2}) {
    SCOPED_TRACE(forgets);
    slurm_.jobs.erase(7);
    slurm_.nodes["h1"] = {"IDLE+DRAIN", "fairlead: finding 3: rank 1 is stopped"};
    slurm_.reservations[kSpares] = {"h5", "root"};
    FakeSlurm before = slurm_;
    if (forgets == 2) {  // in the middle of the test
      before.nodes["h1"] = {};
      before.reservations["fairlead_test_h1"] = {"h1", "root"};
    }
    ASSERT_EQ(Go(OfHost(controller::ReturnHost{}, "h1")).kind, Kind::kDone);
    EXPECT_EQ(slurm_.reservations[kSpares].nodes, "h5,h1");
    if (forgets > 0) slurm_ = before;
    const auto told = CleanUp();
    EXPECT_EQ(told.size(), forgets > 0 ? 1u : 0u);
    EXPECT_EQ(slurm_.reservations[kSpares].nodes, "h5,h1");
    EXPECT_EQ(slurm_.nodes["h1"].state, "IDLE");
    EXPECT_EQ(slurm_.reservations.size(), 1u);
    EXPECT_THAT(CleanUp(), IsEmpty());
    // What somebody else does to the host is no forgetting.
    slurm_.nodes["h1"] = {"IDLE+DRAIN", "repair"};
    EXPECT_THAT(CleanUp(), IsEmpty());
    EXPECT_EQ(slurm_.nodes["h1"].reason, "repair");
    EXPECT_THAT(*world_.store.List(ReturnedKey("")), IsEmpty());
  }
}

}  // namespace
}  // namespace fairlead::slurm
