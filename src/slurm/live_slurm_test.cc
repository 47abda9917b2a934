// Against a real Slurm: the one of SLURM_CONF, which tests/e2e/slurm_engine_test.py starts for it. Skipped without
// FAIRLEAD_LIVE_SLURM (the socket of slurmrestd).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file_reader.h"
#include "base/temporary_folder.h"
#include "slurm/cluster_reader.h"
#include "slurm/job_comment.h"
#include "slurm/steering_steps.h"
#include "slurm/writer.h"
#include "store/memory_store.h"

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Killed {};

// Dies at one of its changes to Slurm: before it, or after it.
class MortalPrograms final : public Programs {
 public:
  MortalPrograms(Programs* programs, size_t at_change, bool is_after)
      : programs_(*programs), at_change_(at_change), is_after_(is_after) {}
  Result<std::string> Run(const Command& command) override {
    const bool is_change = command[0] == "scontrol" && command[1] != "show";
    const bool is_now = is_change && num_changes_++ == at_change_;
    if (is_now && !is_after_) throw Killed();
    auto answer = programs_.Run(command);
    if (is_now) throw Killed();
    return answer;
  }

 private:
  Programs& programs_;
  size_t at_change_;
  bool is_after_;
  size_t num_changes_ = 0;
};

class LiveSlurmTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* socket = std::getenv("FAIRLEAD_LIVE_SLURM");
    if (socket == nullptr) GTEST_SKIP() << "no Slurm was started for it";
    socket_ = socket;
  }

  uint32_t Submit(const std::vector<std::string>& options, const std::string& script = "exec sleep 1000") {
    Command command = {"sbatch", "--parsable", "-o", "/dev/null", "--requeue", "--uid=nobody", "--chdir=/"};
    command.insert(command.end(), options.begin(), options.end());
    command.emplace_back("--wrap=" + script);
    const auto answer = programs_.Run(command);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? static_cast<uint32_t>(std::stoul(*answer)) : 0;
  }
  Job WaitUntilRunning(uint32_t id) {
    for (int i = 0; i < 200; ++i) {
      const auto job = reader_.ReadJobLine(id);
      if (job.ok() && job->state == JobState::kRunning) return *job;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "job " << id << " does not run";
    return {};
  }
  // What comes next finds hosts that do not change.
  void WaitUntilIdle() {
    for (int i = 0; i < 200; ++i) {
      const auto state = reader_.ReadAll();
      if (state.ok() && std::ranges::none_of(state->nodes, &Node::is_busy)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "hosts are busy still";
  }
  Outcome Carry(const Operation& operation) {
    const auto outcome = Writer(&programs_, &store_).Carry(operation);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : Outcome();
  }
  void Cancel(uint32_t id) { EXPECT_TRUE(programs_.Run({"scancel", std::to_string(id)}).ok()); }

  std::string socket_;
  RealPrograms programs_;
  ProgramReader reader_{&programs_};
  store::MemoryStore store_;
};

TEST_F(LiveSlurmTest, BothReadersSayTheSame) {
  const uint32_t id = Submit({"-N2", "--ntasks-per-node=2", "--gres=gpu:2", "-J", "evil | RUNNING\n9|0"});
  WaitUntilRunning(id);
  RestReader rest({.socket = socket_});
  const auto lines = reader_.ReadAll();
  const auto json = rest.ReadAll();
  ASSERT_TRUE(lines.ok()) << lines.status().message();
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(lines->nodes, json->nodes);
  EXPECT_EQ(lines->partitions, json->partitions);
  EXPECT_EQ(lines->reservations, json->reservations);
  EXPECT_EQ(lines->jobs.size(), 1u);
  const auto job = rest.ReadJob(id);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(*job, *reader_.ReadJob(id));
  EXPECT_THAT(job->gpus, ElementsAre(HostGpus{job->hosts[0], {0, 1}}, HostGpus{job->hosts[1], {0, 1}}));
  EXPECT_EQ(model::JobKey(IdentityOf(*job)), fmt::format("slurm-{0}@65534.slurm-{0}", id));
  for (ClusterReader* reader : {static_cast<ClusterReader*>(&rest), static_cast<ClusterReader*>(&reader_)}) {
    EXPECT_EQ(reader->ReadJob(4'000'000).status().code(), StatusCode::kNotFound);
  }
  EXPECT_EQ(reader_.ReadNode("nope").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(RestReader({.socket = socket_ + "x"}).ReadAll().status().code(), StatusCode::kUnavailable);
  Cancel(id);
}

TEST_F(LiveSlurmTest, AJobMovesAwayFromADrainedHost) {
  const uint32_t id = Submit({"-N2", "--ntasks-per-node=1"});
  const Job before = WaitUntilRunning(id);
  const std::string sick = before.hosts[1];
  EXPECT_EQ(Carry(DrainHost{sick, "finding 7: NIC nic0"}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(reader_.ReadNode(sick)->reason, "fairlead: finding 7: NIC nic0");
  EXPECT_EQ(Carry(*MakePlaceJob(before, 2, {}, {sick})).kind, Outcome::Kind::kDone);
  const Job after = WaitUntilRunning(id);
  EXPECT_THAT(after.hosts, testing::Not(testing::Contains(sick)));
  EXPECT_EQ(after.owner, before.owner);
  EXPECT_EQ(after.num_restarts, before.num_restarts + 1);
  EXPECT_EQ(Carry(SetNice{id, before.owner, 77}).kind, Outcome::Kind::kDone);
  EXPECT_EQ(reader_.ReadJobLine(id)->nice, 77);
  for (const auto& hosts : std::vector<std::vector<std::string>>{{sick}, {sick, "h0"}, {"h0"}, {}}) {
    EXPECT_EQ(Carry(SetReservation{"fairlead_spare", hosts, {"root"}}).kind, Outcome::Kind::kDone);
  }
  EXPECT_EQ(Carry(ReturnHost{sick}).kind, Outcome::Kind::kDone);
  EXPECT_FALSE(reader_.ReadNode(sick)->is_drained);
  Cancel(id);
}

// The steps are the mark, requeuehold, update, release, and the mark's end: a process is killed before and after each.
TEST_F(LiveSlurmTest, AResizeGoesOnAfterAKillAtEachStep) {
  const uint32_t id = Submit({"-N1-4", "--ntasks-per-node=1"});
  const uint32_t strangers = Submit({"-N1", "--ntasks-per-node=1", "--oversubscribe"});
  uint32_t restarts = WaitUntilRunning(id).num_restarts;
  for (size_t i = 0; i < 10; ++i) {
    const Job before = *reader_.ReadJobLine(id);
    const uint32_t size = before.num_nodes % 4 + 1;  // up, and from 4 down to 1
    const PlaceJob place = *MakePlaceJob(before, size, {}, {});
    MortalPrograms mortal(&programs_, i / 2, i % 2 == 1);
    bool has_died = false;
    try {
      (void)Writer(&mortal, &store_).Carry(place);
    } catch (const Killed&) {
      has_died = true;
    }
    EXPECT_TRUE(has_died) << i;
    const auto resumed = Writer(&programs_, &store_).Resume();
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_EQ(resumed->at(0).outcome.kind, Outcome::Kind::kDone) << i << ": " << resumed->at(0).outcome.message;
    const Job job = *reader_.ReadJobLine(id);
    EXPECT_EQ(job.state, JobState::kRunning) << i;
    EXPECT_EQ(job.hosts.size(), size) << i;
    EXPECT_EQ(job.num_restarts, ++restarts) << i;
    EXPECT_EQ(job.num_tasks, size) << i;
  }
  EXPECT_EQ(WaitUntilRunning(strangers).num_restarts, 0u);
  EXPECT_TRUE(store_.List("")->empty());
  Cancel(id);
  Cancel(strangers);
}

TEST_F(LiveSlurmTest, ARefusalLeavesNoJobHeld) {
  const uint32_t id = Submit({"-N1", "--ntasks-per-node=1"});
  PlaceJob place = *MakePlaceJob(WaitUntilRunning(id), 1, {}, {});
  place.hosts = {"nope"};
  const Outcome outcome = Carry(place);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kGivenUp);
  EXPECT_THAT(outcome.message, HasSubstr("nvalid"));
  EXPECT_FALSE(reader_.ReadJobLine(id)->is_held);
  Cancel(id);
}

// Comments of users are handed on byte by byte, and ours is beside them once, also after a kill before and after the
// command. The longest one is what Slurm takes.
TEST_F(LiveSlurmTest, AnyCommentKeepsWhatItsUserWrote) {
  const uint32_t id = Submit({"-N1", "--ntasks-per-node=1"});
  const uint32_t strangers = Submit({"-N1", "--ntasks-per-node=1", "--oversubscribe", "--comment=a stranger's"});
  const uint32_t owner = WaitUntilRunning(id).owner;
  const std::string job = fmt::format("JobId={}", id);
  for (const std::string& users : std::vector<std::string>{
           "my best run", "a \"quoted\" one", "semi; $(reboot) `reboot` | 'x' \\n", "two\nlines\tJobId=1 Comment=evil",
           "{\"APS\": {\"max_requeue_times\": 3}}", "\xc3\xa4 \xe2\x82\xac", "a=b=c", "  blanks  ", "--help",
           fmt::format("{}|x", id), std::string(900, 'u')}) {
    ASSERT_TRUE(programs_.Run({"scontrol", "update", job, "Comment=" + users}).ok()) << users;
    EXPECT_EQ(reader_.ReadComment(id).value(), users);
    for (const bool is_after : {false, true}) {
      const SetComment order = {id, owner, fmt::format("2 nodes; \"{}\"", is_after)};
      MortalPrograms mortal(&programs_, 0, is_after);
      EXPECT_THROW((void)Writer(&mortal, &store_).Carry(order), Killed);
      ASSERT_EQ(Writer(&programs_, &store_).Resume().value().at(0).outcome.kind, Outcome::Kind::kDone);
      EXPECT_EQ(reader_.ReadComment(id).value(), *CommentWithAccount(users, order.text)) << users;
    }
    EXPECT_EQ(Carry(SetComment{id, owner, std::string(2000, 'x')}).kind, Outcome::Kind::kDone);
    EXPECT_LE(reader_.ReadComment(id)->size(), kJobCommentBytesMax);
  }
  EXPECT_EQ(reader_.ReadComment(id)->size(), kJobCommentBytesMax) << "Slurm took the longest";
  ASSERT_TRUE(programs_.Run({"scontrol", "update", job, "Comment=" + std::string(kJobCommentBytesMax, 'u')}).ok());
  EXPECT_EQ(Carry(SetComment{id, owner, "2 nodes"}).kind, Outcome::Kind::kGivenUp);
  EXPECT_FALSE(programs_.Run({"scontrol", "update", job, "Comment=" + std::string(kJobCommentBytesMax + 1, 'u')}).ok());
  EXPECT_EQ(Carry(SetComment{strangers, owner + 1, "2 nodes"}).kind, Outcome::Kind::kGivenUp);
  EXPECT_EQ(reader_.ReadComment(strangers).value(), "a stranger's");
  EXPECT_EQ(reader_.ReadComment(4'000'000).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(store_.List("")->empty());
  Cancel(id);
  Cancel(strangers);
  WaitUntilIdle();
}

// A job whose steps go on writes its checkpoint before steering stops it: its batch script gets SIGUSR1.
TEST_F(LiveSlurmTest, AJobWritesItsCheckpointBeforeItIsStopped) {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const std::string steps_file = folder.path() / "steps";
  const std::string checkpoint = folder.path() / "latest";
  const uint32_t id = Submit(
      {"-N1", "--ntasks-per-node=1",
       fmt::format(R"(--comment={{"fairlead": {{"progress": "{}", "checkpoint": "{}"}}}})", steps_file, checkpoint)},
      fmt::format("trap 'echo saved > {}' USR1; while true; do echo 1 > {}; sleep 0.2; done", checkpoint, steps_file));
  const Job job = WaitUntilRunning(id);
  while (!std::filesystem::exists(steps_file)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  SteeringStepOptions options;
  options.fabric_hosts = {"h0", "h1", "h2", "h3", "h4"};
  SteeringSteps steps(&programs_, &store_, options);
  StepOrder order;
  order.step = controller::StopJob{};
  order.job = model::JobKey(IdentityOf(job));
  std::vector<std::string> said;
  for (int i = 0; i < 200; ++i) {
    const auto progress = steps.Go(order);
    ASSERT_TRUE(progress.ok()) << progress.status().message();
    said.push_back(progress->message);
    if (progress->kind != StepProgress::Kind::kUnderway) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(said.front(), fmt::format("job {} is asked for a checkpoint", id));
  EXPECT_EQ(said.back(), fmt::format("job {} is stopped", id));
  EXPECT_EQ(ReadWholeFile(checkpoint).value(), "saved\n");
  EXPECT_TRUE(reader_.ReadJobLine(id)->is_held);
  Cancel(id);
  EXPECT_EQ(Carry(LeaveReservation{fmt::format("fairlead_job_{}", id), id, job.owner}).kind, Outcome::Kind::kDone);
  WaitUntilIdle();
}

// Not a test of correctness: prints what a reading costs, its programs included.
TEST_F(LiveSlurmTest, CostOfAReading) {
  const auto cpu_s = [](int who) {
    rusage usage{};
    getrusage(who, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double own = cpu_s(RUSAGE_SELF);
  const double programs = cpu_s(RUSAGE_CHILDREN);
  const auto state = reader_.ReadAll();
  ASSERT_TRUE(state.ok()) << state.status().message();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} jobs, {} nodes: {:.3f} s of CPU here, {:.3f} s in Slurm's programs; {} MB\n", state->jobs.size(),
             state->nodes.size(), cpu_s(RUSAGE_SELF) - own, cpu_s(RUSAGE_CHILDREN) - programs, usage.ru_maxrss / 1024);
  RestReader rest({.socket = socket_});
  ASSERT_TRUE(rest.ReadJob(4'000'000).status().code() ==
              StatusCode::kNotFound);  // finds the version, which is not counted
  const double before = cpu_s(RUSAGE_SELF);
  const auto json = rest.ReadAll();
  ASSERT_TRUE(json.ok()) << json.status().message();
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("over REST: {:.3f} s of CPU here; {} MB\n", cpu_s(RUSAGE_SELF) - before, usage.ru_maxrss / 1024);
  EXPECT_EQ(json->nodes, state->nodes);
}

}  // namespace
}  // namespace fairlead::slurm
