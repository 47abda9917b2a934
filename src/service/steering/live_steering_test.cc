#include "service/steering/live_steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "controller/sick_host_example.h"
#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using controller::FindingReported;
using controller::HostTested;
using controller::IsolateHost;
using controller::JobGone;
using controller::JobRunning;
using controller::RestartJob;
using controller::SteeringAction;
using controller::SteeringEvent;
using controller::SteeringMode;
using controller::StepDone;
using controller::StopJob;
using controller::TakeSpare;
using report::Json;
using testing::HasSubstr;

constexpr JobId kJob(4);
constexpr uint32_t kNumHosts = 12;
constexpr HostId kSick(3);
constexpr HostId kSpare(9);

std::vector<std::string> HostNames() {
  std::vector<std::string> names;
  for (uint32_t h = 0; h < kNumHosts; ++h) names.push_back("h" + std::to_string(h));
  return names;
}

LiveSteeringOptions Options(SteeringMode mode = SteeringMode::kAct) {
  LiveSteeringOptions options;
  options.steering.mode = mode;
  options.spares = {"h9"};
  options.order_patience = std::chrono::minutes(1);
  return options;
}

// The world around one controller after the other: job "gpt" on hosts 0 to 3, of which host 3 is sick. It is what
// stays when a process dies; each of its effects may be the last one of a process.
struct World {
  store::MemoryStore store;
  std::vector<HostId> job_hosts = {HostId(0), HostId(1), HostId(2), kSick};
  bool is_stopped = false;
  std::map<uint64_t, std::string> done;  // [number of action], what it was
  std::mutex mutex;                      // of the next two, which operators write too
  std::vector<Json> audit;
  std::vector<controller::Noted> notes;
  std::vector<std::pair<JobId, SimTime>> excuses;
  std::vector<HostId> checked;  // by the controller itself; all pass

  bool is_store_broken = false;
  bool is_log_broken = false;
  size_t num_effects = 0;
  size_t dies_at = 0;  // 0: never
  bool is_dead = false;

  // Whether the process still lives to see this effect.
  bool TakesEffect() {
    if (dies_at != 0 && ++num_effects >= dies_at) is_dead = true;
    return !is_dead;
  }
};

class WorldStore final : public store::Store {
 public:
  explicit WorldStore(World* world) : world_(world) {}
  Status Apply(std::span<const store::Change> changes) override {
    if (world_->is_store_broken || !world_->TakesEffect()) return Unavailable("no disk");
    return world_->store.Apply(changes);
  }
  Result<std::vector<store::Record>> List(std::string_view prefix) const override { return world_->store.List(prefix); }

 private:
  World* world_;
};

// Carries out actions, and reports with the next call; unreported outcomes die with the process.
class WorldBackend final : public controller::ActionBackend {
 public:
  explicit WorldBackend(World* world) : world_(world) {}
  std::string_view name() const override { return "world"; }
  void Begin(SimTime, const SteeringAction& action) override {
    if (!world_->TakesEffect()) return;
    const auto [done, is_new] = world_->done.emplace(action.number, controller::Describe(action.step));
    EXPECT_EQ(done->second, controller::Describe(action.step)) << "a number was used twice";
    if (is_new) CarryOut(action.step);
    outcomes_.emplace_back(StepDone{.action = action.number, .attempt = action.attempt});
    if (const auto* test = std::get_if<controller::TestHost>(&action.step)) {
      outcomes_.emplace_back(HostTested{test->host, false});
    }
  }
  std::vector<SteeringEvent> TakeOutcomes(SimTime) override { return std::exchange(outcomes_, {}); }

 private:
  void CarryOut(const controller::SteeringStep& step) {
    if (std::holds_alternative<StopJob>(step)) world_->is_stopped = true;
    if (const auto* restart = std::get_if<RestartJob>(&step)) {
      EXPECT_TRUE(world_->is_stopped);
      world_->is_stopped = false;
      world_->job_hosts = restart->hosts;
    }
  }

  World* world_;
  std::vector<SteeringEvent> outcomes_;
};

// One process after the other, each with a diagnosis that starts without knowledge.
class Process {
 public:
  explicit Process(World* world, LiveSteeringOptions options = Options())
      : world_(world), options_(std::move(options)) {
    Start();
  }

  LiveSteering& steering() { return *steering_; }
  SimTime now() const { return now_; }

  void Start() {
    steering_.reset();
    world_->is_dead = false;
    world_->dies_at = 0;
    reported_hosts_.clear();
    has_reported_finding_ = false;
    steering_store_ = std::make_unique<WorldStore>(world_);
    SteeringSurroundings surroundings;
    surroundings.store = steering_store_.get();
    surroundings.job_name = [](JobId) { return "gpt"; };
    surroundings.excuse = [this](JobId job, SimTime until) { world_->excuses.emplace_back(job, until); };
    surroundings.audit = [this](const Json& line) {
      const std::lock_guard lock(world_->mutex);
      if (world_->is_log_broken || !world_->TakesEffect()) return Unavailable("the log is full");
      world_->audit.push_back(line);
      return OkStatus();
    };
    surroundings.note = [this](SimTime, const controller::Noted& note) {
      const std::lock_guard lock(world_->mutex);
      world_->notes.push_back(note);
    };
    surroundings.backend = std::make_unique<WorldBackend>(world_);
    controller::HostCheckSource& checks = surroundings.checks.emplace();
    checks.begin = [this](HostId host, SimDuration) -> Result<uint64_t> {
      world_->checked.push_back(host);
      return world_->checked.size();
    };
    checks.find = [](uint64_t, HostId host) {
      controller::CheckedHostView view;
      view.host = host;
      view.verdict = controller::CheckedHostView::Verdict::kPassed;
      return std::optional(view);
    };
    auto steering = LiveSteering::Start(now_, options_, HostNames(), std::move(surroundings));
    ASSERT_TRUE(steering.ok()) << steering.status().message();
    steering_ = std::move(steering).value();
  }

  // Output of the diagnosis in a second: the job when it runs elsewhere than before, the finding once it holds.
  std::vector<SteeringEvent> Look() {
    std::vector<SteeringEvent> events;
    if (!world_->is_stopped && reported_hosts_ != world_->job_hosts) {
      events.emplace_back(JobRunning{kJob, world_->job_hosts});
      reported_hosts_ = world_->job_hosts;
    }
    const bool is_sick = std::find(reported_hosts_.begin(), reported_hosts_.end(), kSick) != reported_hosts_.end();
    if (is_sick && !std::exchange(has_reported_finding_, true)) {
      const model::FindingId last = steering_->LastFinding();
      events.emplace_back(
          FindingReported{controller::SickHost(last.valid() ? last.value() + 1 : 1, kJob, kSick, now_)});
    }
    return events;
  }
  void Tick() { Handle(Look()); }
  void Handle(const std::vector<SteeringEvent>& events) {
    Pass(1);
    steering_->Handle(now_, events);
  }
  // No time passes.
  void HandleNothing() { steering_->Handle(now_, {}); }

  void Pass(double seconds) { now_ = now_ + SimDuration::FromSeconds(Seconds(seconds)); }

 private:
  World* world_;
  LiveSteeringOptions options_;
  std::unique_ptr<WorldStore> steering_store_;
  std::unique_ptr<LiveSteering> steering_;
  SimTime now_ = SimTime(1'700'000'000'000'000'000);
  std::vector<HostId> reported_hosts_;
  bool has_reported_finding_ = false;
};

template <class Step>
size_t CountDone(const World& world, const Step& step) {
  size_t count = 0;
  for (const auto& [number, what] : world.done) count += what == controller::Describe(step) ? 1 : 0;
  return count;
}

std::vector<std::string> Names(const Json& list) { return list.get<std::vector<std::string>>(); }

TEST(LiveSteeringTest, CarriesAFindingOutAndTellsPeople) {
  World world;
  Process process(&world);
  for (int i = 0; i < 10; ++i) process.Tick();
  EXPECT_EQ(world.job_hosts, (std::vector<HostId>{HostId(0), HostId(1), HostId(2), kSpare}));
  const Json view = process.steering().ToJson();
  EXPECT_EQ(view["mode"], "act");
  EXPECT_EQ(Names(view["isolated"]), std::vector<std::string>{"h3"});
  EXPECT_EQ(view["jobs"][0]["name"], "gpt");
  EXPECT_EQ(view["jobs"][0]["condition"], "running");
  EXPECT_EQ(Names(view["jobs"][0]["hosts"]), (std::vector<std::string>{"h0", "h1", "h2", "h9"}));
  EXPECT_TRUE(view["open_actions"].empty());
  EXPECT_TRUE(view["error"].is_null());
  // The log has the start, five actions and two messages to the diagnosis, five answers and the result of the test.
  EXPECT_EQ(world.audit.size(), 1u + 5 + 2 + 5 + 1);
  EXPECT_EQ(world.audit[1]["description"], "isolate host h3");
  EXPECT_EQ(world.audit[1]["job_name"], "gpt");
  EXPECT_EQ(world.audit[1]["reason"], "host 3 hangs");
  EXPECT_EQ(view["log"], Json(world.audit));
  std::vector<std::string> texts;
  for (const controller::Noted& note : world.notes) texts.push_back(note.subject + ": " + note.text);
  EXPECT_THAT(texts,
              testing::IsSupersetOf({"job gpt: isolate host h3: host 3 hangs", "steering: isolate host h3 is done",
                                     "host h3: failed its tests, and stays isolated"}));
  const SteeringNumbers numbers = process.steering().numbers();
  EXPECT_EQ(numbers.hosts, (std::map<controller::HostCondition, size_t>{{controller::HostCondition::kIsolated, 1}}));
  EXPECT_EQ(numbers.jobs, (std::map<controller::JobCondition, size_t>{{controller::JobCondition::kRunning, 1}}));
  EXPECT_EQ(numbers.begun.at("isolate_host"), 1u);
  EXPECT_EQ(numbers.begun.size(), 5u);
  EXPECT_TRUE(numbers.is_ok);
  // The diagnosis did not look while the job was stopped.
  ASSERT_EQ(world.excuses.size(), 2u);
  EXPECT_EQ(world.excuses[0].second, SimTime::Never());
  EXPECT_LE(world.excuses[1].second, process.now());
}

TEST(LiveSteeringTest, AHostReturnsOnceTheControllersOwnChecksHavePassed) {
  World world;
  LiveSteeringOptions options = Options();
  options.checked_return.emplace().pause = SimDuration(20'000'000'000);
  options.steering.attempts.test_deadline = options.checked_return->LongestTest() + SimDuration(1'000'000'000);
  Process process(&world, options);
  for (int i = 0; i < 15; ++i) process.Tick();
  EXPECT_EQ(world.job_hosts, (std::vector<HostId>{HostId(0), HostId(1), HostId(2), kSpare}));
  EXPECT_EQ(Names(process.steering().ToJson()["isolated"]), std::vector<std::string>{"h3"});
  EXPECT_EQ(world.checked, std::vector<HostId>{kSick});
  for (int i = 0; i < 20; ++i) process.Tick();
  EXPECT_EQ(world.checked, (std::vector<HostId>{kSick, kSick}));
  EXPECT_TRUE(Names(process.steering().ToJson()["isolated"]).empty());
  EXPECT_EQ(CountDone(world, controller::TestHost{kSick}), 0U) << "the back end tested it";
  EXPECT_EQ(CountDone(world, controller::ReturnHost{kSick}), 1U);
}

// Whatever is the last effect of a process, the next one brings things to the same end, and nothing is done twice.
TEST(LiveSteeringTest, ADeathAtEveryEffectChangesNothing) {
  size_t num_effects = 0;
  for (size_t dies_at = 1; dies_at < 200 && !testing::Test::HasFailure(); ++dies_at) {
    SCOPED_TRACE(dies_at);
    World world;
    Process process(&world);
    world.dies_at = dies_at;
    int num_ticks = 0;
    for (; num_ticks < 30 && !world.is_dead; ++num_ticks) process.Tick();
    if (!world.is_dead) {
      num_effects = dies_at - 1;
      break;
    }
    process.Start();
    for (int i = 0; i < 30; ++i) process.Tick();
    EXPECT_EQ(world.job_hosts, (std::vector<HostId>{HostId(0), HostId(1), HostId(2), kSpare}));
    EXPECT_FALSE(world.is_stopped);
    EXPECT_EQ(CountDone(world, IsolateHost{kSick}), 1u);
    EXPECT_EQ(CountDone(world, StopJob{kJob}), 1u);
    EXPECT_EQ(CountDone(world, TakeSpare{kJob, kSpare, kSick}), 1u);
    EXPECT_EQ(CountDone(world, RestartJob{kJob, world.job_hosts}), 1u);
    EXPECT_EQ(CountDone(world, controller::TestHost{kSick}), 1u);
    EXPECT_EQ(world.done.size(), 5u);
    const Json view = process.steering().ToJson();
    EXPECT_EQ(Names(view["isolated"]), std::vector<std::string>{"h3"});
    EXPECT_EQ(view["jobs"][0]["condition"], "running");
    EXPECT_TRUE(view["open_actions"].empty());
    // Every action that was started is in the log.
    for (const auto& [number, what] : world.done) {
      const uint64_t wanted = number;
      EXPECT_TRUE(std::any_of(world.audit.begin(), world.audit.end(), [&](const Json& line) {
        return line["kind"] == "action" && line["action"] == wanted;
      })) << what;
    }
  }
  // Each of five actions is kept, logged, begun, its line forgotten, and its answer kept and logged.
  EXPECT_GE(num_effects, 5u * 5);
}

TEST(LiveSteeringTest, ByDefaultNothingIsDone) {
  EXPECT_EQ(LiveSteeringOptions().steering.mode, SteeringMode::kObserve);
  World world;
  Process process(&world, Options(SteeringMode::kObserve));
  for (int i = 0; i < 5; ++i) process.Tick();
  EXPECT_TRUE(world.done.empty());
  ASSERT_EQ(world.notes.size(), 1u);
  EXPECT_THAT(world.notes[0].text, HasSubstr("observing only: host 3 hangs"));
}

TEST(LiveSteeringTest, WhileTheStoreTakesNothingNothingIsDone) {
  World world;
  Process process(&world);
  process.Handle({});
  world.is_store_broken = true;
  for (int i = 0; i < 5; ++i) process.Tick();
  EXPECT_TRUE(world.done.empty());
  EXPECT_EQ(world.audit.size(), 1u);  // the start
  EXPECT_EQ(process.steering().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(process.steering().ToJson()["error"], "no disk");
  EXPECT_FALSE(process.steering().numbers().is_ok);
  world.is_store_broken = false;
  for (int i = 0; i < 10; ++i) process.Tick();
  EXPECT_TRUE(process.steering().status().ok());
  EXPECT_EQ(world.done.size(), 5u);
}

TEST(LiveSteeringTest, WhatCannotBeLoggedIsNotDone) {
  World world;
  Process process(&world);
  process.Handle({});
  world.is_log_broken = true;
  for (int i = 0; i < 5; ++i) process.Tick();
  EXPECT_TRUE(world.done.empty());
  EXPECT_EQ(process.steering().ToJson()["error"], "the log is full");
  // Killed now, and the log has room again: what was not written is.
  world.is_log_broken = false;
  process.Start();
  for (int i = 0; i < 10; ++i) process.Tick();
  EXPECT_EQ(world.done.size(), 5u);
  EXPECT_EQ(std::count_if(world.audit.begin(), world.audit.end(),
                          [](const Json& line) { return line.contains("step") && line["step"] == "isolate_host"; }),
            1);
}

TEST(LiveSteeringTest, AnotherModeGivesUpWhatIsUnderWay) {
  World world;
  Process acting(&world);
  acting.Tick();
  EXPECT_EQ(world.done.size(), 1u);  // isolated; not reported yet
  Process observing(&world, Options(SteeringMode::kObserve));
  for (int i = 0; i < 5; ++i) observing.Tick();
  EXPECT_EQ(world.done.size(), 1u);
  const Json view = observing.steering().ToJson();
  EXPECT_EQ(Names(view["isolated"]), std::vector<std::string>{"h3"});
  EXPECT_EQ(view["jobs"][0]["condition"], "needs_operator");
  EXPECT_TRUE(view["open_actions"].empty());
}

// Another thread than the caller handles, as in the daemon; the diagnosis has nothing to report meanwhile, and time is
// stopped, however long that takes.
class Handling {
 public:
  explicit Handling(Process* process)
      : thread_([this, process] {
          while (!is_over_) process->HandleNothing();
        }) {}
  ~Handling() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST(LiveSteeringTest, AnOperatorTakesAnIsolationBack) {
  World world;
  Process process(&world);
  for (int i = 0; i < 10; ++i) process.Tick();
  {
    const Handling handling(&process);
    EXPECT_EQ(process.steering().UndoIsolation("h77", "1.2.3.4").status().code(), StatusCode::kNotFound);
    EXPECT_EQ(process.steering().UndoIsolation("h1", "1.2.3.4").status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(process.steering().OfferSpare("h3", "1.2.3.4").status().code(), StatusCode::kInvalidArgument);
    const auto answer = process.steering().UndoIsolation("h3", "1.2.3.4");
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ((*answer)["host"], "h3");
  }
  for (int i = 0; i < 5; ++i) process.Tick();
  EXPECT_EQ(CountDone(world, controller::ReturnHost{kSick}), 1u);
  EXPECT_TRUE(process.steering().ToJson()["isolated"].empty());
  const auto order =
      std::find_if(world.audit.begin(), world.audit.end(), [](const Json& line) { return line["kind"] == "operator"; });
  ASSERT_NE(order, world.audit.end());
  EXPECT_EQ((*order)["who"], "1.2.3.4");
  EXPECT_EQ((*order)["action"], "undo isolation");
}

TEST(LiveSteeringTest, AnAnnouncedPauseHoldsOverARestart) {
  World world;
  Process process(&world, Options(SteeringMode::kAct));
  process.Handle({JobRunning{kJob, world.job_hosts}});
  SimTime until;
  {
    const Handling handling(&process);
    EXPECT_EQ(process.steering().AnnouncePause("bert", 60, "", "x").status().code(), StatusCode::kNotFound);
    EXPECT_EQ(process.steering().AnnouncePause("gpt", -1, "", "x").status().code(), StatusCode::kInvalidArgument);
    const auto answer = process.steering().AnnouncePause("gpt", 1e6, "new switches", "1.2.3.4");
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    until = SimTime::FromSeconds(Seconds((*answer)["until_s"].get<double>()));
  }
  ASSERT_FALSE(world.excuses.empty());
  EXPECT_NEAR((world.excuses.back().second - until).seconds().value(), 0, 1e-3);
  world.excuses.clear();
  process.Start();
  process.Tick();
  ASSERT_FALSE(world.excuses.empty());
  EXPECT_EQ(world.excuses.back().first, kJob);
  EXPECT_NEAR((world.excuses.back().second - until).seconds().value(), 0, 1e-3);
  for (int i = 0; i < 5; ++i) process.Tick();
  EXPECT_TRUE(world.done.empty());
}

TEST(LiveSteeringTest, AnOrderThatIsNotKeptIsAnError) {
  World world;
  LiveSteeringOptions options = Options();
  options.order_patience = std::chrono::milliseconds(1);
  Process process(&world, options);
  process.Tick();
  const auto answer = process.steering().AnnouncePause("gpt", 60, "", "x");  // no thread handles
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  world.is_log_broken = true;
  EXPECT_EQ(process.steering().AnnouncePause("gpt", 60, "", "x").status().message(), "the log is full");
}

TEST(LiveSteeringTest, JobsAreKnownOverARestartUntilTheyAreGone) {
  World world;
  Process process(&world, Options(SteeringMode::kObserve));
  process.Tick();
  process.Start();
  EXPECT_EQ(process.steering().KnownJobs(), (std::map<JobId, std::string>{{kJob, "gpt"}}));
  EXPECT_EQ(process.steering().LastFinding(), model::FindingId(1));
  // It is not seen any more; it ended while no controller was there.
  process.Handle({});
  EXPECT_EQ(process.steering().ToJson()["jobs"].size(), 1u);
  process.Pass(601);
  process.Handle({});
  EXPECT_TRUE(process.steering().ToJson()["jobs"].empty());
  EXPECT_TRUE(process.steering().KnownJobs().empty());
  process.Start();
  EXPECT_TRUE(process.steering().KnownJobs().empty());
  EXPECT_EQ(process.steering().LastFinding(), model::FindingId(1));
}

TEST(LiveSteeringTest, ASpareIsFreeAgainWhenItsJobEnds) {
  World world;
  Process process(&world);
  for (int i = 0; i < 10; ++i) process.Tick();
  EXPECT_TRUE(process.steering().ToJson()["hosts"].size() == 1u);  // the isolated one
  process.Handle({JobGone{kJob}});
  process.Handle({});
  std::vector<std::string> spares;
  const Json view = process.steering().ToJson();
  for (const Json& host : view["hosts"]) {
    if (host["condition"] == "spare") spares.push_back(host["name"]);
  }
  EXPECT_EQ(spares, std::vector<std::string>{"h9"});
}

TEST(LiveSteeringTest, StartErrorsSayWhatIsWrong) {
  store::MemoryStore store;
  const auto start = [&](const LiveSteeringOptions& options) {
    SteeringSurroundings surroundings;
    surroundings.store = &store;
    const auto steering = LiveSteering::Start(SimTime(1), options, HostNames(), std::move(surroundings));
    return steering.status();
  };
  EXPECT_THAT(start(Options(SteeringMode::kAct)).message(), HasSubstr("--hook"));
  LiveSteeringOptions options = Options(SteeringMode::kObserve);
  options.spares = {"h99"};
  EXPECT_THAT(start(options).message(), HasSubstr("'h99'"));
  options = Options(SteeringMode::kObserve);
  options.hook.deadline = std::chrono::hours(1);
  EXPECT_EQ(start(options).code(), StatusCode::kInvalidArgument);
  const store::Change change = {"steering/state/cluster", "{"};
  ASSERT_TRUE(store.Apply({&change, 1}).ok());
  EXPECT_EQ(start(Options(SteeringMode::kObserve)).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace fairlead::service
