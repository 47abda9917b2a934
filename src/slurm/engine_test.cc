// The engine's thread: what steering begins is carried out beside it, and what Slurm shows becomes identity and events.
#include "slurm/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "slurm/fake_slurm_example.h"
#include "slurm/intention_records.h"
#include "store/locked_store.h"
#include "store/memory_store.h"
#include "topology/clos_fabrics.h"

namespace fairlead::slurm {
namespace {

using controller::SteeringAction;
using controller::SteeringEvent;
using controller::StepDone;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// The engine's thread and the test's look at the same Slurm.
class SharedSlurm final : public Programs {
 public:
  Result<std::string> Run(const Command& command) override {
    const std::lock_guard lock(mutex_);
    return slurm_.Run(command);
  }
  template <class Look>
  auto With(const Look& look) {
    const std::lock_guard lock(mutex_);
    return look(slurm_);
  }

 private:
  std::mutex mutex_;
  FakeSlurm slurm_;
};

// Of a job of user 1001 that waits, held for us.
FakeJob WaitingElastic() {
  FakeJob job;
  job.owner = 1001;
  job.low = 1;
  job.high = 4;
  job.tasks_per_node = job.tasks = job.cpus = 2;
  job.is_held = true;
  job.admin_comment = "fairlead:v1 nodes=1-4 tasks-per-node=2 held";
  job.comment = R"({"fairlead": {"steps": 900}})";
  return job;
}

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    programs_.With([](FakeSlurm& slurm) {
      FakeJob job;
      job.owner = 1001;
      job.low = job.high = 2;
      job.cpus = job.tasks = 4;
      job.tasks_per_node = 2;
      slurm.Start(7, job);
      slurm.changes.clear();
      return 0;
    });
    options_.period = std::chrono::milliseconds(20);
    options_.turn = std::chrono::milliseconds(5);
    options_.programs = &programs_;
    options_.steps.writer.pause = std::chrono::milliseconds(1);
    options_.steps.user_name = [](uint32_t user) { return user == 0 ? "root" : fmt::format("user{}", user); };
  }

  void Start(bool acts, size_t num_hosts = 6) {
    service::SchedulerSurroundings surroundings;
    surroundings.store = &store_;
    surroundings.acts = acts;
    topology::ClosSpec spec;
    spec.leaves = 1;
    spec.hosts_per_leaf = static_cast<uint32_t>(num_hosts);
    fabric_ = topology::BuildClos(spec).value();
    surroundings.fabric = &fabric_;
    surroundings.slurm_jobs = slurm_jobs_;
    surroundings.note = [this](SimTime, const controller::Noted& note) {
      const std::lock_guard lock(mutex_);
      notes_.push_back(note.subject + ": " + note.text);
    };
    auto engine = Engine::Start(options_, std::move(surroundings));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(engine).value();
    backend_ = engine_->MakeBackend({.host = [](HostId host) { return fmt::format("h{}", host.value()); },
                                     .job = [](JobId) { return std::string("slurm-7@1001"); }});
  }
  template <class IsSo>
  void WaitUntil(const IsSo& is_so) {
    for (int i = 0; i < 10'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(is_so());
  }
  SteeringAction Action(uint64_t number, controller::SteeringStep step) {
    SteeringAction action;
    action.number = number;
    action.step = std::move(step);
    action.job = JobId(3);
    action.finding = model::FindingId(9);
    action.reason = "rank 1 is stopped";
    return action;
  }
  StepDone Do(const SteeringAction& action) {
    backend_->Begin(SimTime(), action);
    std::optional<StepDone> done;
    WaitUntil([&] {
      for (const SteeringEvent& event : backend_->TakeOutcomes(SimTime())) {
        if (const auto* step = std::get_if<StepDone>(&event)) done = *step;
      }
      return done.has_value();
    });
    return done.value_or(StepDone());
  }
  std::vector<std::string> Notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  size_t NumChanges() {
    return programs_.With([](FakeSlurm& slurm) { return slurm.changes.size(); });
  }
  uint64_t NumReadings() const { return engine_->numbers().readings; }

  const TemporaryFolder folder_;
  topology::Fabric fabric_;
  SharedSlurm programs_;
  store::LockedStore store_{std::make_unique<store::MemoryStore>()};
  EngineOptions options_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
  std::unique_ptr<service::SchedulerEngine> engine_;
  std::unique_ptr<controller::ActionBackend> backend_;
  std::function<std::map<std::string, std::set<uint32_t>>()> slurm_jobs_;
};

// Of a job that is not ours to size it is told, once, and nothing is done; with --steer observe of no job.
TEST_F(EngineTest, ARunWithoutAProcessIsTold) {
  slurm_jobs_ = [] { return std::map<std::string, std::set<uint32_t>>{{"h0", {}}, {"h1", {8}}}; };
  options_.lost_after = std::chrono::milliseconds(50);
  for (const bool acts : {false, true}) {
    notes_.clear();
    Start(acts);
    const auto has_told = [this] {
      return std::ranges::any_of(Notes(), [](const std::string& note) {
        return note.starts_with("job 7: Slurm says that it runs on h[0-1], and for ") &&
               note.ends_with(" no process of it was seen there");
      });
    };
    WaitUntil(has_told);
    const uint64_t read = NumReadings();
    WaitUntil([&] { return NumReadings() > read + 3; });
    EXPECT_EQ(std::ranges::count_if(Notes(), [](const auto& note) { return note.starts_with("job 7: Slurm"); }), 1);
    EXPECT_EQ(NumChanges(), 0u);
    engine_.reset();
  }
}

TEST_F(EngineTest, StepsAreDoneBesideTheCaller) {
  Start(true);
  EXPECT_TRUE(Do(Action(1, controller::IsolateHost{HostId(1)})).succeeded);
  EXPECT_EQ(programs_.With([](FakeSlurm& slurm) { return slurm.nodes["h1"].reason; }),
            "fairlead: finding 9: rank 1 is stopped");
  EXPECT_TRUE(Do(Action(2, controller::StopJob{JobId(3)})).succeeded);
  WaitUntil([&] { return engine_->numbers().jobs_stopped == 1; });
  EXPECT_TRUE(Do(Action(3, controller::TakeSpare{JobId(3), HostId(4), HostId(1)})).succeeded);
  EXPECT_TRUE(Do(Action(4, controller::RestartJob{JobId(3), {HostId(0), HostId(4)}})).succeeded);
  EXPECT_EQ(programs_.With([](FakeSlurm& slurm) { return slurm.jobs[7].hosts; }),
            (std::vector<std::string>{"h0", "h4"}));
  const StepDone refused = Do(Action(5, controller::StopJob{JobId(3)}));
  EXPECT_TRUE(refused.succeeded) << "it runs again, so it may be stopped again";
  EXPECT_EQ(engine_->numbers().actions["done"], 5u);
}

TEST_F(EngineTest, AnOrderThatSlurmDoesNotAnswerFailsInItsTime) {
  options_.patience = std::chrono::milliseconds(50);
  programs_.With([](FakeSlurm& slurm) { return slurm.is_away = true; });
  Start(true);
  const StepDone done = Do(Action(1, controller::IsolateHost{HostId(1)}));
  EXPECT_FALSE(done.succeeded);
  EXPECT_FALSE(done.is_final);
  EXPECT_THAT(done.message, HasSubstr("Unable to contact slurm controller"));
  const uint64_t readings = NumReadings();
  WaitUntil([&] { return NumReadings() > readings + 3; });
  EXPECT_EQ(Notes().size(), 1u) << "one event for all readings";
  EXPECT_THAT(Notes(), Contains(HasSubstr("no reading, so no job and no host is touched")));
  programs_.With([](FakeSlurm& slurm) { return slurm.is_away = false; });
  WaitUntil([&] { return Notes().size() == 2; });
  EXPECT_THAT(Notes(), Contains(HasSubstr("slurm: answers again after ")));
  EXPECT_EQ(NumChanges(), 0u);
}

// An hour without Slurm by a clock that goes on 10 s with each reading. Job 7 was stopped by steering, whose next step
// waits; job 9 is held for sizes; a job of a user ends meanwhile.
TEST_F(EngineTest, AnHourWithoutSlurm) {
  std::atomic<int64_t> virtual_s = 1'000'000;
  options_.clock = [&] { return SimTime::FromSeconds(Seconds(static_cast<double>(virtual_s.load()))); };
  options_.period = std::chrono::milliseconds(1);
  options_.left_after = std::chrono::seconds(600);
  options_.elastic.jobs.partitions = {"train"};
  options_.alive_file = folder_.File("alive");
  programs_.With([&](FakeSlurm& slurm) {
    slurm.jobs[8] = WaitingElastic();
    slurm.jobs[8].low = 5;  // no room
    slurm.jobs[8].high = 6;
    slurm.jobs[8].admin_comment = "fairlead:v1 nodes=5-6 tasks-per-node=2 held";
    return 0;
  });
  Start(true);
  EXPECT_TRUE(Do(Action(2, controller::StopJob{JobId(3)})).succeeded);
  // Seen as left, for 300 s.
  const auto pass = [&](int64_t seconds) {
    for (int64_t i = 0; i < seconds / 10; ++i) {
      virtual_s += 10;
      const uint64_t readings = NumReadings();
      WaitUntil([&] { return NumReadings() > readings + 1; });
    }
  };
  pass(300);
  const auto before = programs_.With([](FakeSlurm& slurm) { return slurm.is_away = true, slurm.changes; });
  WaitUntil([&] { return !engine_->numbers().answers; });
  std::filesystem::remove(options_.alive_file);
  const size_t num_told = Notes().size();
  const uint64_t failures = engine_->numbers().failures;
  pass(3600);
  EXPECT_GE(engine_->numbers().failures, failures + 360);
  EXPECT_EQ(Notes().size(), num_told) << "one event for the whole hour, which was there before";
  EXPECT_THAT(Notes(), Contains(HasSubstr("slurm: no reading, so no job and no host is touched until there is one")));
  EXPECT_FALSE(std::filesystem::exists(options_.alive_file));
  EXPECT_EQ(programs_.With([](FakeSlurm& slurm) { return slurm.changes; }), before);
  // The hosts of job 7 have been lost meanwhile; what was known before the hour is not acted upon.
  programs_.With([](FakeSlurm& slurm) {
    for (const char* host : {"h0", "h1", "h2"}) slurm.nodes[host].state = "DOWN";
    return slurm.is_away = false;
  });
  WaitUntil([&] { return Notes().size() > num_told; });
  EXPECT_THAT(Notes(), Contains(AllOf(HasSubstr("slurm: answers again after "), HasSubstr("nothing was touched"))));
  pass(280);
  EXPECT_TRUE(programs_.With([](FakeSlurm& slurm) { return slurm.jobs[7].is_held; }))
      << "steering could not go on with it: the hour does not count";
  EXPECT_EQ(programs_.With([](FakeSlurm& slurm) { return slurm.changes; }), before);
  pass(100);
  WaitUntil([&] { return programs_.With([](FakeSlurm& slurm) { return !slurm.jobs[7].is_held; }); });
  EXPECT_TRUE(std::filesystem::exists(options_.alive_file));
}

TEST_F(EngineTest, WhoseAJobIs) {
  Start(false);
  WaitUntil([&] { return engine_->numbers().answers; });
  const auto may = [this](const char* key) { return engine_->MayActOn(*model::ParseJobKey(key)); };
  EXPECT_TRUE(may("slurm-7@1001"));
  EXPECT_TRUE(may("gpt@1001.slurm-7"));
  EXPECT_FALSE(may("gpt@1002.slurm-7")) << "somebody else's";
  EXPECT_FALSE(may("slurm-7@1002"));
  EXPECT_FALSE(may("gpt@1001")) << "no job of Slurm";
  EXPECT_FALSE(may("slurm-7@1001.unverified"));
  EXPECT_TRUE(may("slurm-77@1001")) << "it may have begun since; looked at before it is touched";
}

// An agent that lies may claim processes of any job.
TEST_F(EngineTest, WhereAJobRuns) {
  Start(false);
  WaitUntil([&] { return engine_->numbers().answers; });
  const auto may = [this](const char* key, uint32_t host) {
    return engine_->MayRunOn(*model::ParseJobKey(key), HostId(host));
  };
  EXPECT_TRUE(may("slurm-7@1001", 0));
  EXPECT_TRUE(may("slurm-7@1001", 1));
  EXPECT_FALSE(may("slurm-7@1001", 2));
  EXPECT_FALSE(may("gpt@1001.slurm-7", 2));
  EXPECT_TRUE(may("gpt@1001", 2)) << "no job of Slurm";
  EXPECT_TRUE(may("slurm-77@1001", 2)) << "it may have begun since";
  EXPECT_TRUE(may("slurm-7@1002", 2)) << "somebody else's name for it, and never acted upon";
}

TEST_F(EngineTest, ObservingChangesNothing) {
  options_.alive_file = folder_.File("alive");
  const StopJob stop = {7, 1001, 0, 2, 2, 2};
  const store::Change change = {StoppedKey(7), IntentionText(stop)};
  ASSERT_TRUE(store_.Apply({&change, 1}).ok());
  options_.left_after = std::chrono::milliseconds(1);
  Start(false, 4);
  WaitUntil([&] { return NumReadings() > 3; });
  EXPECT_EQ(NumChanges(), 0u);
  EXPECT_FALSE(std::filesystem::exists(options_.alive_file));
  EXPECT_THAT(Notes(), Contains(HasSubstr("job 7: was stopped by an earlier controller")));
  EXPECT_THAT(Notes(), Contains(HasSubstr("host h5: is a node of Slurm and not in the fabric")));
  EXPECT_EQ(Notes().size(), 3u) << "h4 and h5, once each";
  EXPECT_EQ(engine_->numbers().hosts_not_in_fabric, 2u);
  const auto json = engine_->Routes().front().show();
  EXPECT_EQ(json["acts"], false);
  EXPECT_EQ(json["jobs"][0]["hosts"], (std::vector<std::string>{"h0", "h1"}));
}

TEST_F(EngineTest, WhatNobodyGoesOnWithIsTakenBack) {
  options_.left_after = std::chrono::milliseconds(200);
  Start(true);
  EXPECT_TRUE(Do(Action(2, controller::StopJob{JobId(3)})).succeeded);
  EXPECT_TRUE(programs_.With([](FakeSlurm& slurm) { return slurm.jobs[7].is_held; }));
  WaitUntil([&] { return programs_.With([](FakeSlurm& slurm) { return !slurm.jobs[7].is_held; }); });
  WaitUntil([&] { return engine_->numbers().jobs_stopped == 0; });
  EXPECT_THAT(Notes(), Contains("slurm: job 7 is released: nobody has placed it"));
}

TEST_F(EngineTest, SparesAreOfferedWhenTheyBecomeFree) {
  options_.spares = "fairlead_spares";
  programs_.With([](FakeSlurm& slurm) {
    slurm.reservations["fairlead_spares"] = {"h4,h5,h9", "root"};
    return slurm.nodes["h5"].state = "DOWN";
  });
  Start(false);
  std::vector<HostId> offered;
  const auto take = [&] {
    for (const SteeringEvent& event : backend_->TakeOutcomes(SimTime())) {
      offered.push_back(std::get<controller::SpareOffered>(event).host);
    }
    return offered.size();
  };
  WaitUntil([&] { return take() == 1; });
  programs_.With([](FakeSlurm& slurm) { return slurm.nodes["h5"].state = "IDLE"; });
  WaitUntil([&] { return take() == 2; });
  const uint64_t readings = NumReadings();
  WaitUntil([&] { return NumReadings() > readings + 3; });
  take();
  EXPECT_EQ(offered, (std::vector<HostId>{HostId(4), HostId(5)}));
}

TEST_F(EngineTest, HeldElasticJobsAreReleasedWhileTheAliveFileIsWritten) {
  options_.alive_file = folder_.File("alive");
  programs_.With([](FakeSlurm& slurm) {
    FakeJob job;
    job.owner = 1002;
    job.is_held = true;
    slurm.jobs[8] = job;  // its user's
    job.admin_comment = "fairlead:v1 nodes=1-3 tasks-per-node=1 held";
    slurm.jobs[9] = job;
    return 0;
  });
  Start(true);
  WaitUntil([&] { return programs_.With([](FakeSlurm& slurm) { return !slurm.jobs[9].is_held; }); });
  WaitUntil([&] { return std::filesystem::exists(options_.alive_file); });
  programs_.With([](FakeSlurm& slurm) { return slurm.is_away = true; });
  WaitUntil([&] { return !engine_->numbers().answers; });
  std::filesystem::remove(options_.alive_file);
  const uint64_t readings = NumReadings();
  WaitUntil([&] { return NumReadings() > readings + 3; });
  EXPECT_FALSE(std::filesystem::exists(options_.alive_file)) << "it can't start jobs, so it is not there for them";
  EXPECT_EQ(programs_.With([](FakeSlurm& slurm) { return slurm.jobs[9].admin_comment; }),
            "fairlead:v1 nodes=1-3 tasks-per-node=1");
  EXPECT_TRUE(programs_.With([](FakeSlurm& slurm) { return slurm.jobs[8].is_held; }));
}

// Each has a store of its own, so that it is nothing in there that keeps them apart.
TEST_F(EngineTest, TwoDoNotActOnOneSlurm) {
  options_.alive_file = folder_.File("alive");
  Start(true);
  store::MemoryStore other;
  service::SchedulerSurroundings surroundings;
  surroundings.store = &other;
  surroundings.fabric = &fabric_;
  surroundings.acts = true;
  const auto second = Engine::Start(options_, surroundings);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(), HasSubstr("another controller acts on this Slurm; end it, or"));
  surroundings.acts = false;
  EXPECT_TRUE(Engine::Start(options_, surroundings).ok()) << "it only looks";
  engine_.reset();
  surroundings.acts = true;
  EXPECT_TRUE(Engine::Start(options_, surroundings).ok());
}

TEST_F(EngineTest, WhatOthersChangeWhileAJobRunsIsTold) {
  Start(false);
  WaitUntil([&] { return NumReadings() > 0; });
  programs_.With([](FakeSlurm& slurm) { return slurm.jobs[7].hosts = {"h1"}, 0; });
  const std::string text = "was changed while it ran, by somebody else: from 2 nodes, h[0-1], to 1, h1";
  WaitUntil([&] { return std::ranges::count(Notes(), "job 7: " + text) == 1; });
  const auto account = engine_->Routes().back().ask({{"job", "7"}});
  ASSERT_TRUE(account.ok()) << account.status().message();
  EXPECT_THAT(account->dump(), HasSubstr(text));
}

TEST_F(EngineTest, OptionsThatMakeNoSense) {
  EngineOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.spares = "spares";
  EXPECT_THAT(options.Validate().message(), HasSubstr("--slurm-spares"));
  options.spares = "fairlead_job_7";
  EXPECT_THAT(options.Validate().message(), HasSubstr("--slurm-spares"));
  options = {};
  options.period = std::chrono::milliseconds(0);
  EXPECT_THAT(options.Validate().message(), HasSubstr("--slurm-period"));
}

// Job 7 has two of six hosts; the elastic one gets the other four, and is shown with why.
TEST_F(EngineTest, ElasticJobsGetTheirSize) {
  programs_.With([](FakeSlurm& slurm) { return slurm.jobs[8] = WaitingElastic(), 0; });
  options_.elastic.jobs.partitions = {"train"};
  Start(true);
  WaitUntil([this] { return programs_.With([](FakeSlurm& slurm) { return slurm.jobs[8].hosts.size() == 4; }); });
  WaitUntil([this] { return engine_->numbers().jobs_sized == 1 && engine_->numbers().jobs_sized_waiting == 0; });
  EXPECT_EQ(engine_->numbers().size_changes, 1u);
  EXPECT_TRUE(engine_->ChoosesSizeOf(*model::ParseJobKey("slurm-8@1001")));
  EXPECT_FALSE(engine_->ChoosesSizeOf(*model::ParseJobKey("slurm-8@1002"))) << "somebody else's";
  EXPECT_FALSE(engine_->ChoosesSizeOf(*model::ParseJobKey("slurm-7@1001"))) << "not elastic";
  const auto json = engine_->Routes()[0].show();
  EXPECT_EQ(json["sizes"][0]["job"], 8);
  EXPECT_EQ(json["sizes"][0]["nodes"], 4);
  EXPECT_EQ(json["sizes"][0]["steps"], 900);
  EXPECT_THAT(json["sizes"][0]["reason"].get<std::string>(), HasSubstr("started"));
  EXPECT_THAT(Notes(), Contains(AllOf(HasSubstr("job 8"), HasSubstr("place job 8 on 4 nodes"))));
}

// The account of a job, as `fairlead explain job slurm-8` asks for it.
TEST_F(EngineTest, WhatWasDoneToAJobIsInItsCommentAndItsAccount) {
  programs_.With([](FakeSlurm& slurm) { return slurm.jobs[8] = WaitingElastic(), 0; });
  options_.elastic.jobs.partitions = {"train"};
  Start(true);
  const auto comment = [this](uint32_t job) {
    return programs_.With([job](FakeSlurm& slurm) { return slurm.jobs[job].comment; });
  };
  const auto account = [this](const std::string& job) {
    const auto json = engine_->Routes()[1].ask({{"job", job}});
    return json.ok() ? json->at("entries").dump() : json.status().message();
  };
  WaitUntil([&] { return comment(8).find("fairlead_account") != std::string::npos; });
  // h0 and h1 are those of job 7; all six hosts are at one leaf.
  EXPECT_THAT(comment(8), AllOf(testing::StartsWith(R"({"fairlead": {"steps": 900}, "fairlead_account": "20)"),
                                HasSubstr("Z 4 nodes, h(2-5), which meet at the same leaves: started"),
                                testing::EndsWith(R"("})")));
  EXPECT_THAT(account("8"),
              HasSubstr(R"("kind":"size","text":"4 nodes, h[2-5], which meet at the same leaves: started)"));
  EXPECT_EQ(account("7"), "[]") << "nothing was done to it";
  EXPECT_EQ(comment(7), "");
  EXPECT_TRUE(Do(Action(1, controller::IsolateHost{HostId(1)})).succeeded);
  EXPECT_TRUE(Do(Action(2, controller::StopJob{JobId(3)})).succeeded);
  WaitUntil([&] { return comment(7).find("stopped") != std::string::npos; });
  EXPECT_THAT(comment(7), AllOf(testing::StartsWith("[fairlead: 20"), HasSubstr("finding 9: rank 1 is stopped"),
                                HasSubstr("h1 is isolated")));
  EXPECT_THAT(account("7"), HasSubstr("stopped, to be restarted on other hosts: finding 9: rank 1 is stopped"));
  EXPECT_EQ(engine_->Routes()[1].path, "/v1/slurm/account");
  EXPECT_EQ(engine_->Routes()[1].ask({{"job", "99"}}).status().code(), StatusCode::kNotFound);
  for (const char* job : {"", "x", "-1", "99999999999", "8 "}) {
    EXPECT_EQ(engine_->Routes()[1].ask({{"job", job}}).status().code(), StatusCode::kInvalidArgument) << job;
  }
  EXPECT_EQ(engine_->Routes()[1].ask({}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(EngineTest, LookingOnlyNoSizeIsChosen) {
  programs_.With([](FakeSlurm& slurm) { return slurm.jobs[8] = WaitingElastic(), 0; });
  options_.elastic.jobs.partitions = {"train"};
  Start(false);
  WaitUntil([this] { return NumReadings() > 3; });
  EXPECT_EQ(NumChanges(), 0u);
  EXPECT_THAT(Notes(), Contains(HasSubstr("with --steer act only")));
}

TEST_F(EngineTest, AnUnknownAllocationIsRefused) {
  options_.elastic.jobs.policy = "aitrubo";
  EXPECT_THAT(options_.Validate().message(), HasSubstr("aiturbo"));
}

}  // namespace
}  // namespace fairlead::slurm
