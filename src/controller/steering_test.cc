#include "controller/steering.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::controller {
namespace {

using model::Finding;
using model::FindingId;
using model::RecommendedAction;
using model::Syndrome;

constexpr JobId kJob(1);

SimTime At(double s) { return SimTime::FromSeconds(Seconds(s)); }

std::vector<HostId> Hosts(uint32_t from, uint32_t count) {
  std::vector<HostId> hosts;
  for (uint32_t h = 0; h < count; ++h) hosts.emplace_back(from + h);
  return hosts;
}

Finding FindingAbout(uint32_t id, const std::vector<uint32_t>& hosts, Syndrome syndrome = Syndrome::kNonCommHang) {
  Finding finding;
  finding.id = FindingId(id);
  finding.job = kJob;
  finding.syndrome = syndrome;
  finding.state = model::FindingState::kConfirmed;
  finding.confidence = 0.95;
  finding.action = RecommendedAction::kIsolateAndRestart;
  finding.summary = "host is sick";
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  for (const uint32_t host : hosts) {
    model::Culprit culprit;
    culprit.kind = model::CulpritKind::kHost;
    culprit.host = HostId(host);
    finding.culprits.push_back(culprit);
  }
  return finding;
}

// A job on hosts 0..39, spares 100.., in a cluster of 1,000 hosts: of the job 2 hosts a day (5 % of 40).
class Bench {
 public:
  explicit Bench(SteeringOptions options = Acting(), uint32_t num_spares = 4, bool can_shrink = false)
      : steering(options, 1000) {
    Send(0, JobRunning{kJob, Hosts(0, 40), can_shrink});
    for (const HostId spare : Hosts(100, num_spares)) Send(0, SpareOffered{spare});
  }

  static SteeringOptions Acting() {
    SteeringOptions options;
    options.mode = SteeringMode::kAct;
    return options;
  }

  std::vector<SteeringAction> Send(double seconds, SteeringEvent event) {
    return steering.Handle(At(seconds), std::span<const SteeringEvent>(&event, 1));
  }
  std::vector<SteeringAction> Tell(double seconds, const Finding& finding) {
    return Send(seconds, FindingReported{finding});
  }

  // Answers everything until nothing is left; returns the steps that have to be carried out, in order.
  std::vector<SteeringStep> Obey(double seconds, std::vector<SteeringAction> actions) {
    std::vector<SteeringStep> steps;
    while (!actions.empty()) {
      std::vector<SteeringAction> next;
      for (const SteeringAction& action : actions) {
        if (!IsAnswered(action.step)) continue;
        steps.push_back(action.step);
        for (SteeringAction& more : Send(seconds, StepDone{.action = action.number})) next.push_back(more);
      }
      actions = std::move(next);
    }
    return steps;
  }

  // Lets every attempt at the step fail, and obeys otherwise; `seconds` advances by the pauses between attempts.
  template <class Step>
  std::vector<SteeringAction> Fail(double seconds, std::vector<SteeringAction> actions) {
    std::vector<SteeringAction> reported;
    for (uint32_t round = 0; round < 50; ++round) {
      std::vector<SteeringAction> next;
      for (const SteeringAction& action : actions) {
        reported.push_back(action);
        if (!IsAnswered(action.step)) continue;
        const bool fails = std::holds_alternative<Step>(action.step);
        const StepDone answer{action.number, action.attempt, !fails, false, fails ? "exit code 3" : ""};
        for (SteeringAction& more : Send(seconds, answer)) next.push_back(more);
      }
      if (next.empty() && steering.NextDue() == SimTime::Never()) break;
      if (next.empty()) {
        seconds = std::max(seconds, steering.NextDue().seconds().value());
        next = steering.Handle(At(seconds), {});
      }
      actions = std::move(next);
    }
    return reported;
  }

  Steering steering;
};

template <class Step>
size_t Count(const std::vector<SteeringStep>& steps) {
  size_t count = 0;
  for (const SteeringStep& step : steps) count += std::holds_alternative<Step>(step) ? 1 : 0;
  return count;
}

bool IsAdvice(const std::vector<SteeringAction>& actions, std::string_view part) {
  return actions.size() == 1 && std::holds_alternative<Advise>(actions.front().step) &&
         actions.front().reason.find(part) != std::string::npos;
}

// Whoever can call himself by a job of somebody else must not be able to have it stopped.
TEST(SteeringTest, AJobOfAnUnverifiedOwnerIsNotTouched) {
  Bench bench;
  bench.Send(1, JobRunning{.job = kJob, .hosts = Hosts(0, 40), .is_owner_verified = false});
  const auto actions = bench.Tell(2000, FindingAbout(1, {7}));
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Advise>(actions[0].step));
  EXPECT_THAT(actions[0].reason, testing::HasSubstr("the job's owner is not verified"));
  EXPECT_TRUE(bench.steering.isolated().empty());
}

TEST(SteeringTest, OneSignMovesNothingUntilThereIsASecond) {
  Bench bench;
  Finding finding = FindingAbout(0, {7}, Syndrome::kDead);
  finding.signs = {model::Sign::kKernel};
  const std::vector<SteeringAction> actions = bench.Tell(10, finding);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Advise>(actions[0].step));
  EXPECT_NE(actions[0].reason.find("kernel alone"), std::string::npos) << actions[0].reason;
  EXPECT_TRUE(bench.Tell(11, finding).empty()) << "said once";
  finding.signs = {model::Sign::kPeers, model::Sign::kKernel};
  EXPECT_EQ(bench.Obey(12, bench.Tell(12, finding)).size(), 5u);
}

TEST(SteeringTest, IsolatesStopsReplacesAndRestartsInThisOrder) {
  Bench bench;
  const std::vector<SteeringStep> steps = bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  // Spec 7.4; the test of the host is asked for as soon as it is isolated.
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(std::get<IsolateHost>(steps[0]).host, HostId(7));
  EXPECT_EQ(Count<TestHost>({steps[1], steps[2]}), 1u);
  EXPECT_EQ(Count<StopJob>({steps[1], steps[2]}), 1u);
  EXPECT_EQ(std::get<TakeSpare>(steps[3]).replaces, HostId(7));
  std::vector<HostId> expected = Hosts(0, 40);
  expected[7] = HostId(100);
  EXPECT_EQ(std::get<RestartJob>(steps[4]).hosts, expected);
  EXPECT_FALSE(bench.steering.IsBusy(kJob));
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(7)));
  EXPECT_FALSE(bench.steering.spares().contains(HostId(100)));
}

// Without spares, as its allocator finds other hosts, or a smaller size.
TEST(SteeringTest, AnAllocatedJobIsMovedByItsAllocator) {
  Bench bench(Bench::Acting(), 0);
  const JobRunning before{.job = kJob, .hosts = Hosts(0, 40), .host_choice = HostChoice::kAllocator};
  bench.Send(1, before);
  std::vector<SteeringAction> actions = bench.Tell(10, FindingAbout(0, {7}, Syndrome::kNonCommSlow));
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<IsolateHost>(actions[0].step).host, HostId(7));
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolating);

  actions = bench.Send(20, StepDone{.action = actions[0].number});
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<TestHost>(actions[0].step).host, HostId(7));
  EXPECT_TRUE(std::get<RestartJob>(actions[1].step).hosts.empty());
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolated);

  // It runs elsewhere, and smaller: that is the answer.
  bench.Send(21, JobRunning{.job = kJob, .hosts = Hosts(50, 20), .host_choice = HostChoice::kAllocator});
  EXPECT_FALSE(bench.steering.IsBusy(kJob));
  EXPECT_EQ(bench.steering.HostsOf(kJob), Hosts(50, 20));
  EXPECT_TRUE(bench.steering.spares().empty());
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kRunning);
}

TEST(SteeringTest, AFindingAboutAJobJustResizedIsActedUpon) {
  for (const HostChoice choice : {HostChoice::kRestart, HostChoice::kSize, HostChoice::kAllocator}) {
    Bench bench;
    bench.Send(1, JobRunning{.job = kJob, .hosts = Hosts(50, 20), .host_choice = choice});
    const std::vector<SteeringAction> actions = bench.Tell(40, FindingAbout(0, {57}));
    if (choice == HostChoice::kRestart) {
      EXPECT_TRUE(IsAdvice(actions, "restarted recently"));
      continue;
    }
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(std::get<IsolateHost>(actions[0].step).host, HostId(57));
  }
}

// The allocator resizes the job in the moment in which its host is isolated.
TEST(SteeringTest, AnAllocatedJobMayMoveWhileItsHostIsIsolated) {
  Bench bench(Bench::Acting(), 0);
  bench.Send(1, JobRunning{.job = kJob, .hosts = Hosts(0, 40), .host_choice = HostChoice::kAllocator});
  const std::vector<SteeringAction> isolate = bench.Tell(10, FindingAbout(0, {7}, Syndrome::kNonCommSlow));
  EXPECT_TRUE(
      bench.Send(11, JobRunning{.job = kJob, .hosts = Hosts(60, 10), .host_choice = HostChoice::kAllocator}).empty());
  const std::vector<SteeringStep> steps = bench.Obey(20, isolate);
  EXPECT_EQ(Count<IsolateHost>(steps), 1u);
  EXPECT_EQ(Count<StopJob>(steps), 0u);
  EXPECT_FALSE(bench.steering.IsBusy(kJob));
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(7)));
  EXPECT_EQ(bench.steering.HostsOf(kJob), Hosts(60, 10));
}

TEST(SteeringTest, ByDefaultNothingIsTouched) {
  Bench bench{SteeringOptions()};
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7})), "observing"));
  EXPECT_TRUE(bench.steering.isolated().empty());
}

TEST(SteeringTest, RecommendsWithoutActing) {
  SteeringOptions options;
  options.mode = SteeringMode::kRecommend;
  Bench bench{options};
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7})), "recommended"));
  EXPECT_TRUE(bench.steering.isolated().empty());
}

TEST(SteeringTest, MismatchIsNeverActedUpon) {
  Bench bench;
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7}, Syndrome::kMismatch)), "program"));
}

TEST(SteeringTest, OneActionOfAJobAtATime) {
  Bench bench;
  bench.Tell(10, FindingAbout(0, {7}));
  EXPECT_TRUE(bench.steering.IsBusy(kJob));
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kSteered);
  EXPECT_TRUE(IsAdvice(bench.Tell(11, FindingAbout(1, {8})), "under way"));
  // Nothing changes for that finding: it is not reported again.
  EXPECT_TRUE(bench.steering.Handle(At(12), {}).empty());
}

TEST(SteeringTest, HoldsOffAfterARestart) {
  Bench bench;
  bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  EXPECT_TRUE(IsAdvice(bench.Tell(300, FindingAbout(1, {8})), "restarted recently; wait 310 s"));
  EXPECT_TRUE(bench.steering.Handle(At(609), {}).empty());
  // Findings that still hold then are acted upon without a new report.
  EXPECT_FALSE(bench.Obey(610, bench.steering.Handle(At(610), {})).empty());
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(8)));
}

// Two jobs share host 30. It is isolated for one of them; the other one, when it has to be restarted, goes elsewhere.
TEST(SteeringTest, NoJobIsStartedOnAHostThatWasIsolatedForAnother) {
  Bench bench;
  constexpr JobId kOther(2);
  bench.Send(1, JobRunning{.job = kOther, .hosts = Hosts(30, 20)});
  Finding shared = FindingAbout(1, {30});
  shared.job = kOther;
  bench.Obey(2000, bench.Tell(2000, shared));
  Finding hang = FindingAbout(2, {});
  hang.action = RecommendedAction::kRestart;
  const std::vector<SteeringStep> steps = bench.Obey(2001, bench.Tell(2001, hang));
  ASSERT_EQ(Count<TakeSpare>(steps), 1u);
  const auto& restart = std::get<RestartJob>(steps.back());
  EXPECT_EQ(restart.hosts.size(), 40u);
  EXPECT_EQ(std::ranges::count(restart.hosts, HostId(30)), 0);
}

// And where there is no spare for it, the job is not stopped to wait for one.
TEST(SteeringTest, AJobThatCouldNotBeStartedAgainIsNotStopped) {
  Bench bench(Bench::Acting(), 1);
  constexpr JobId kOther(2);
  bench.Send(1, JobRunning{.job = kOther, .hosts = Hosts(30, 20)});
  Finding shared = FindingAbout(1, {30});
  shared.job = kOther;
  bench.Obey(2000, bench.Tell(2000, shared));
  Finding hang = FindingAbout(2, {});
  hang.action = RecommendedAction::kRestart;
  EXPECT_TRUE(IsAdvice(bench.Tell(2001, hang), "0 spares for 1 host"));
}

// An action that restarts a job has its hosts in hand: what is found about one of them for another job waits.
TEST(SteeringTest, AHostOfAJobThatIsBeingRestartedIsNotIsolatedForAnother) {
  Bench bench;
  constexpr JobId kOther(2);
  bench.Send(1, JobRunning{.job = kOther, .hosts = Hosts(30, 20)});
  Finding hang = FindingAbout(1, {});
  hang.action = RecommendedAction::kRestart;
  const std::vector<SteeringAction> begun = bench.Tell(2000, hang);
  Finding shared = FindingAbout(2, {30});
  shared.job = kOther;
  EXPECT_TRUE(IsAdvice(bench.Tell(2001, shared), "an action on another job"));
  bench.Obey(2002, begun);
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(30)));
}

// Two programs at once, one that isolates the host and one that returns it: who is last wins.
TEST(SteeringTest, AHostIsNotIsolatedWhileItIsBeingReturned) {
  Bench bench;
  constexpr JobId kOther(2);
  bench.Send(1, JobRunning{.job = kOther, .hosts = Hosts(30, 20)});
  Finding shared = FindingAbout(1, {30});
  shared.job = kOther;
  bench.Obey(2000, bench.Tell(2000, shared));
  const std::vector<SteeringAction> back = bench.Send(2001, HostTested{HostId(30), true});
  ASSERT_EQ(back.size(), 1u);
  EXPECT_TRUE(IsAdvice(bench.Tell(2002, FindingAbout(2, {30})), "its return is under way"));
  const std::vector<SteeringStep> steps = bench.Obey(2003, back);
  ASSERT_GE(steps.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ReturnHost>(steps[0]));
  EXPECT_TRUE(std::holds_alternative<IsolateHost>(steps[1]));
}

TEST(SteeringTest, WhatIsClearedMeanwhileIsNotActedUpon) {
  Bench bench;
  bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  Finding finding = FindingAbout(1, {8});
  bench.Tell(300, finding);
  finding.state = model::FindingState::kCleared;
  bench.Tell(400, finding);
  EXPECT_TRUE(bench.steering.Handle(At(700), {}).empty());
  EXPECT_FALSE(bench.steering.IsIsolated(HostId(8)));
}

TEST(SteeringTest, LimitsHostsOfAJobByHourAndDay) {
  SteeringOptions options = Bench::Acting();
  options.hold_off = SimDuration(0);
  options.max_job_share_per_day = 0.1;  // 4 of 40
  Bench bench{options, 10};
  for (uint32_t i = 0; i < 2; ++i) bench.Obey(10, bench.Tell(10, FindingAbout(i, {i})));
  EXPECT_TRUE(IsAdvice(bench.Tell(3000, FindingAbout(2, {2})), "per hour"));
  for (uint32_t i = 3; i < 5; ++i) bench.Obey(4000, bench.Tell(4000, FindingAbout(i, {i})));
  EXPECT_TRUE(IsAdvice(bench.Tell(9000, FindingAbout(5, {5})), "of this job per day"));
  EXPECT_EQ(bench.steering.isolated().size(), 4u);
  bench.Obey(90000, bench.Tell(90000, FindingAbout(6, {6})));
  EXPECT_EQ(bench.steering.isolated().size(), 5u);
}

TEST(SteeringTest, ManyGuiltyHostsAreTheFabric) {
  Bench bench;
  // More than 20 % of 40 is 9.
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {0, 1, 2, 3, 4, 5, 6, 7, 8})), "fabric"));
}

TEST(SteeringTest, WithoutSparesOnlyDeadHostsAreIsolated) {
  Bench bench{Bench::Acting(), 0, true};
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7})), "spares"));
  const std::vector<SteeringStep> steps = bench.Obey(20, bench.Tell(20, FindingAbout(1, {7}, Syndrome::kDead)));
  // The job can shrink: 39 of 40 go on.
  EXPECT_EQ(std::get<RestartJob>(steps.back()).hosts.size(), 39u);
}

TEST(SteeringTest, AJobThatCannotShrinkWaitsForASpare) {
  Bench bench{Bench::Acting(), 0};
  const std::vector<SteeringStep> steps = bench.Obey(20, bench.Tell(20, FindingAbout(1, {7}, Syndrome::kDead)));
  EXPECT_EQ(Count<RestartJob>(steps), 0u);
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kWaitsForSpare);
  const std::vector<SteeringStep> later = bench.Obey(90, bench.Send(90, SpareOffered{HostId(200)}));
  EXPECT_EQ(std::get<RestartJob>(later.back()).hosts[7], HostId(200));
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kRunning);
  EXPECT_EQ(bench.steering.ConditionOf(HostId(200)), HostCondition::kInJob);
}

TEST(SteeringTest, AHostThatPassedItsTestsEndsTheWait) {
  Bench bench{Bench::Acting(), 0};
  bench.Obey(20, bench.Tell(20, FindingAbout(1, {7}, Syndrome::kDead)));
  const std::vector<SteeringStep> later = bench.Obey(90, bench.Send(90, HostTested{HostId(7), true}));
  EXPECT_EQ(std::get<RestartJob>(later.back()).hosts, Hosts(0, 40));
}

// Two hosts are to be replaced, and there is one spare. The second one comes back while the first is being replaced.
TEST(SteeringTest, AHostThatComesBackWhileAnotherIsReplacedKeepsItsPlace) {
  Bench bench(Bench::Acting(), 1);
  std::vector<SteeringAction> actions = bench.Tell(2000, FindingAbout(1, {7, 8}, Syndrome::kDead));
  const SteeringAction* take = nullptr;
  for (int round = 0; round < 10 && take == nullptr; ++round) {
    std::vector<SteeringAction> next;
    for (const SteeringAction& action : actions) {
      if (!IsAnswered(action.step) || std::holds_alternative<TestHost>(action.step)) continue;
      for (SteeringAction& more : bench.Send(2000, StepDone{.action = action.number})) next.push_back(more);
    }
    actions = std::move(next);
    const auto found = std::ranges::find_if(
        actions, [](const SteeringAction& action) { return std::holds_alternative<TakeSpare>(action.step); });
    if (found != actions.end()) take = &*found;
  }
  ASSERT_NE(take, nullptr);
  ASSERT_EQ(std::get<TakeSpare>(take->step).replaces, HostId(7));
  const SteeringAction taken = *take;
  bench.Obey(2001, bench.Send(2001, HostTested{HostId(8), true}));
  const std::vector<SteeringAction> after = bench.Send(2002, StepDone{.action = taken.number});
  ASSERT_FALSE(after.empty());
  const auto* restart = std::get_if<RestartJob>(&after.back().step);
  ASSERT_NE(restart, nullptr);
  EXPECT_EQ(std::ranges::count(restart->hosts, HostId(8)), 1);
  EXPECT_EQ(std::ranges::count(restart->hosts, HostId(7)), 0);
}

TEST(SteeringTest, AnIsolationThatFailsLeavesTheJobAlone) {
  Bench bench;
  const std::vector<SteeringAction> reported = bench.Fail<IsolateHost>(10, bench.Tell(10, FindingAbout(0, {7})));
  // Four attempts, then a person is asked, and the diagnosis continues.
  ASSERT_EQ(reported.size(), 6u);
  EXPECT_EQ(reported[3].attempt, 4u);
  EXPECT_TRUE(std::holds_alternative<AskOperator>(reported[4].step));
  EXPECT_EQ(reported[4].reason,
            "isolate host 7: given up after 4 attempts: exit code 3; restart the job by hand, or end it");
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kNeedsOperator);
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kInDoubt);
  EXPECT_EQ(bench.steering.spares().size(), 4u);
  EXPECT_TRUE(IsAdvice(bench.Tell(5000, FindingAbout(1, {8})), "an operator has to look first"));
  bench.Send(6000, JobRunning{kJob, Hosts(0, 40)});
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kSteered);  // what was held up begins
}

TEST(SteeringTest, ASpareThatCannotBeTakenIsPassedOver) {
  Bench bench{Bench::Acting(), 1};
  bench.Fail<TakeSpare>(10, bench.Tell(10, FindingAbout(0, {7})));
  EXPECT_EQ(bench.steering.ConditionOf(HostId(100)), HostCondition::kInDoubt);
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kWaitsForSpare);
  bench.Obey(2000, bench.Send(2000, SpareOffered{HostId(101)}));
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kRunning);
}

TEST(SteeringTest, ARestartThatFailsIsForAPerson) {
  Bench bench;
  const std::vector<SteeringAction> reported = bench.Fail<RestartJob>(10, bench.Tell(10, FindingAbout(0, {7})));
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kNeedsOperator);
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolated);
  EXPECT_EQ(bench.steering.ConditionOf(HostId(100)), HostCondition::kInDoubt);
  // The diagnosis was paused while the job is stopped, and may look again.
  EXPECT_EQ(std::get<ExcuseJob>(reported.back().step).until, At(10 + 5 + 10 + 20));
}

TEST(SteeringTest, NoAnswerIsAFailureAndALateOneIsBelieved) {
  Bench bench;
  const uint64_t isolate = bench.Tell(10, FindingAbout(0, {7})).front().number;
  EXPECT_EQ(bench.steering.NextDue(), At(130));
  EXPECT_TRUE(bench.steering.Handle(At(130), {}).empty());
  const std::vector<SteeringAction> again = bench.steering.Handle(At(135), {});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().number, isolate);
  EXPECT_EQ(again.front().attempt, 2u);
  // That the first attempt failed says nothing about the second; that it worked does.
  EXPECT_TRUE(bench.Send(136, StepDone{isolate, 1, false, true, "late"}).empty());
  EXPECT_FALSE(bench.Send(137, StepDone{isolate, 1, true, false, ""}).empty());
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolated);
}

TEST(SteeringTest, AnnouncedPausesHoldActionsUp) {
  Bench bench;
  const std::vector<SteeringAction> excused = bench.Send(5, PauseAnnounced{kJob, At(100), "switch upgrade"});
  ASSERT_EQ(excused.size(), 1u);
  EXPECT_EQ(std::get<ExcuseJob>(excused.front().step).until, At(100));
  EXPECT_TRUE(bench.Send(6, PauseAnnounced{kJob, At(100), "switch upgrade"}).empty());
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7})), "a pause of the job was announced (switch upgrade)"));
  EXPECT_TRUE(bench.steering.Handle(At(99), {}).empty());
  EXPECT_FALSE(bench.Obey(100, bench.steering.Handle(At(100), {})).empty());
}

TEST(SteeringTest, AJobRestartedByOthersEndsOurAction) {
  Bench bench;
  bench.Tell(10, FindingAbout(0, {7}));
  std::vector<HostId> hosts = Hosts(0, 40);
  hosts[7] = HostId(300);
  bench.Send(11, JobRunning{kJob, hosts});
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kRunning);
  EXPECT_EQ(bench.steering.spares().size(), 4u);
  // The host is being isolated already: that continues.
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolating);
}

// Somebody restarts the job in the moment in which it is stopped: who stops it starts it again, where it is by now.
TEST(SteeringTest, AJobThatIsRestartedWhileItIsStoppedIsNotForgotten) {
  Bench bench;
  Finding hang = FindingAbout(1, {});
  hang.action = RecommendedAction::kRestart;
  const std::vector<SteeringAction> stop = bench.Tell(2000, hang);
  bench.Send(2001, JobRunning{.job = kJob, .hosts = Hosts(50, 40)});
  EXPECT_TRUE(bench.steering.IsBusy(kJob));
  const std::vector<SteeringStep> steps = bench.Obey(2002, stop);
  ASSERT_EQ(Count<RestartJob>(steps), 1u);
  EXPECT_EQ(std::get<RestartJob>(steps.back()).hosts, Hosts(50, 40));
}

TEST(SteeringTest, AReportThatTheJobRunsAnswersItsRestart) {
  Bench bench;
  std::vector<SteeringAction> actions = bench.Tell(10, FindingAbout(0, {7}));
  while (!std::holds_alternative<RestartJob>(actions.back().step)) {
    actions = bench.Send(10, StepDone{.action = actions.back().number});
  }
  bench.Send(200, JobRunning{kJob, std::get<RestartJob>(actions.back().step).hosts});
  EXPECT_EQ(bench.steering.ConditionOf(kJob), JobCondition::kRunning);
}

TEST(SteeringTest, AProcessThatDiedIsRestartedOnItsHosts) {
  Bench bench;
  Finding finding = FindingAbout(0, {7}, Syndrome::kDead);
  finding.action = RecommendedAction::kRestart;
  const std::vector<SteeringStep> steps = bench.Obey(10, bench.Tell(10, finding));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(Count<StopJob>(steps), 1u);
  EXPECT_EQ(std::get<RestartJob>(steps[1]).hosts, Hosts(0, 40));
  EXPECT_TRUE(bench.steering.isolated().empty());
}

TEST(SteeringTest, IsolatedHostsComeBackWhenHealthyOrByAnOperator) {
  Bench bench;
  bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  EXPECT_TRUE(bench.Send(20, HostTested{HostId(7), false}).empty());
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(7)));
  EXPECT_EQ(bench.Obey(30, bench.Send(30, HostTested{HostId(7), true})).size(), 1u);
  EXPECT_TRUE(bench.steering.spares().contains(HostId(7)));
  EXPECT_TRUE(bench.Send(31, IsolationUndone{HostId(7)}).empty());
  bench.Obey(700, bench.Tell(700, FindingAbout(1, {8})));
  EXPECT_EQ(bench.Obey(710, bench.Send(710, IsolationUndone{HostId(8)})).size(), 1u);
  EXPECT_TRUE(bench.steering.spares().contains(HostId(8)));
}

TEST(SteeringTest, AHostIsNotBackBeforeItsReturnIsDone) {
  Bench bench;
  bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  bench.Fail<ReturnHost>(20, bench.Send(20, HostTested{HostId(7), true}));
  EXPECT_EQ(bench.steering.ConditionOf(HostId(7)), HostCondition::kIsolated);
}

TEST(SteeringTest, Options) {
  EXPECT_TRUE(SteeringOptions().Validate().ok());
  SteeringOptions options;
  options.max_cluster_share_per_day = 1.5;
  EXPECT_FALSE(options.Validate().ok());
  // 64 GPUs per 1,024 are 8 hosts per 128.
  EXPECT_EQ(RecommendedSpares(128), 8u);
  EXPECT_EQ(RecommendedSpares(3), 1u);
}

}  // namespace
}  // namespace fairlead::controller
