#include "service/steering/hook_workers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;
using controller::SteeringAction;
using controller::SteeringEvent;
using controller::StepDone;

constexpr std::chrono::seconds kPatience{60};

// The input is the number of the action; the script finds its own folder in $1.
class HookWorkersTest : public testing::Test {
 protected:
  std::unique_ptr<HookWorkers> Start(const std::string& script, uint32_t num_workers) {
    HookWorkersOptions options;
    options.command = {"sh", "-c", script, "hook", folder_.path()};
    options.num_workers = num_workers;
    options.grace = kPatience;  // a program that is asked to end does so in its own time
    return std::make_unique<HookWorkers>(options, [](const SteeringAction& action) {
      return std::to_string(action.number) + " " + std::to_string(action.attempt) + "\n";
    });
  }
  static void Begin(HookWorkers* workers, uint64_t number, uint32_t attempt = 1) {
    SteeringAction action;
    action.number = number;
    action.attempt = attempt;
    action.step = controller::StopJob{JobId(1)};
    workers->Begin(SimTime(), action);
  }
  StepDone NextOutcome(HookWorkers* workers) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (outcomes_.empty() && std::chrono::steady_clock::now() < end) {
      for (const SteeringEvent& outcome : workers->TakeOutcomes(SimTime())) {
        outcomes_.push_back(std::get<StepDone>(outcome));
      }
      std::this_thread::yield();
    }
    if (outcomes_.empty()) {
      ADD_FAILURE() << "no outcome";
      return {};
    }
    StepDone next = outcomes_.front();
    outcomes_.pop_front();
    return next;
  }
  void WaitForFile(const std::string& name) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!fs::exists(folder_.File(name)) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(fs::exists(folder_.File(name))) << name;
  }

  const TemporaryFolder folder_;
  std::deque<StepDone> outcomes_;  // sent and not requested yet
};

// The program for action 1 waits for a message in a pipe, that for action 2 does not.
constexpr char kFirstWaits[] = "read n a; test $n = 1 && cat $1/pipe; echo $n $a";

TEST_F(HookWorkersTest, ASlowProgramDelaysNoOther) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  const auto workers = Start(kFirstWaits, 2);
  Begin(workers.get(), 1);
  Begin(workers.get(), 2);
  EXPECT_EQ(NextOutcome(workers.get()).action, 2u);
  std::ofstream(folder_.File("pipe")) << "go";
  const StepDone slow = NextOutcome(workers.get());
  EXPECT_EQ(slow.action, 1u);
  EXPECT_TRUE(slow.succeeded);
}

TEST_F(HookWorkersTest, OfOneActionThereIsOneProgramAndTheLatestAttemptCounts) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  const auto workers = Start("read n a; touch $1/begun$a; test $a = 1 && { cat $1/pipe; exit 1; }; echo $n $a", 3);
  Begin(workers.get(), 1, 1);
  WaitForFile("begun1");
  Begin(workers.get(), 1, 2);
  Begin(workers.get(), 1, 3);
  // Another action goes by while the second and third attempts wait for the end of the first.
  Begin(workers.get(), 2, 7);
  EXPECT_EQ(NextOutcome(workers.get()).attempt, 7u);
  EXPECT_FALSE(fs::exists(folder_.File("begun3")));
  std::ofstream(folder_.File("pipe")) << "go";
  EXPECT_EQ(NextOutcome(workers.get()).attempt, 1u);
  EXPECT_EQ(NextOutcome(workers.get()).attempt, 3u);
  EXPECT_FALSE(fs::exists(folder_.File("begun2")));
}

// What comes after a success may be spoilt by doing it again: a job that was stopped is being started.
TEST_F(HookWorkersTest, AfterASuccessNoAttemptThatWaitsIsMade) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  const auto workers = Start("read n a; touch $1/begun$n-$a; test $n = 1 && cat $1/pipe; echo $n $a", 1);
  Begin(workers.get(), 1, 1);
  WaitForFile("begun1-1");
  Begin(workers.get(), 1, 2);
  Begin(workers.get(), 2, 1);
  std::ofstream(folder_.File("pipe")) << "go";
  EXPECT_EQ(NextOutcome(workers.get()).attempt, 1u);
  EXPECT_EQ(NextOutcome(workers.get()).action, 2u);
  EXPECT_FALSE(fs::exists(folder_.File("begun1-2")));
}

TEST_F(HookWorkersTest, ItsEndEndsPrograms) {
  auto workers = Start("trap 'touch $1/ended; exit 1' TERM; touch $1/begun; while :; do sleep 0.01; done", 1);
  Begin(workers.get(), 1);
  Begin(workers.get(), 2);
  WaitForFile("begun");
  workers.reset();
  EXPECT_TRUE(fs::exists(folder_.File("ended")));
}

TEST_F(HookWorkersTest, FailuresAreReported) {
  const auto workers = Start("read n a; echo because; exit $n", 1);
  Begin(workers.get(), 1);
  const StepDone once_more = NextOutcome(workers.get());
  EXPECT_FALSE(once_more.succeeded);
  EXPECT_FALSE(once_more.is_final);
  EXPECT_EQ(once_more.message, "hook: exit code 1: because");
  Begin(workers.get(), 2);
  EXPECT_TRUE(NextOutcome(workers.get()).is_final);
}

}  // namespace
}  // namespace fairlead::service
