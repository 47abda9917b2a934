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
  for (uint32_t h = 0; h < count; ++h) hosts.push_back(HostId(from + h));
  return hosts;
}

Finding FindingAbout(uint32_t id, std::vector<uint32_t> hosts, Syndrome syndrome = Syndrome::kNonCommHang) {
  Finding finding;
  finding.id = FindingId(id);
  finding.job = kJob;
  finding.syndrome = syndrome;
  finding.state = model::FindingState::kConfirmed;
  finding.confidence = 0.95;
  finding.action = RecommendedAction::kIsolateAndRestart;
  finding.summary = "host is sick";
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
  explicit Bench(SteeringOptions options = Acting(), uint32_t num_spares = 4) : steering(options, 1000) {
    Send(0, JobRunning{kJob, Hosts(0, 40)});
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
  std::vector<SteeringAction> Tell(double seconds, Finding finding) { return Send(seconds, FindingTold{finding}); }

  // Answers everything until nothing is left; returns the steps taken, in order.
  std::vector<SteeringStep> Obey(double seconds, std::vector<SteeringAction> actions) {
    std::vector<SteeringStep> steps;
    std::set<uint64_t> answered;
    while (!actions.empty()) {
      std::vector<SteeringAction> next;
      for (const SteeringAction& action : actions) {
        if (!answered.insert(action.number).second) continue;  // told again
        steps.push_back(action.step);
        for (SteeringAction& more : Send(seconds, StepDone{action.number, true, HostId()})) next.push_back(more);
      }
      actions = std::move(next);
    }
    return steps;
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
  const std::vector<SteeringAction> second = bench.Tell(11, FindingAbout(1, {8}));
  // The unanswered isolation of host 7 is told again, and the second finding is only told.
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(std::get<IsolateHost>(second[0].step).host, HostId(7));
  EXPECT_TRUE(IsAdvice({second[1]}, "under way"));
}

TEST(SteeringTest, HoldsOffAfterARestart) {
  Bench bench;
  bench.Obey(10, bench.Tell(10, FindingAbout(0, {7})));
  EXPECT_TRUE(IsAdvice(bench.Tell(609, FindingAbout(1, {8})), "restarted lately"));
  EXPECT_FALSE(bench.Obey(610, bench.Tell(610, FindingAbout(2, {8}))).empty());
  EXPECT_TRUE(bench.steering.IsIsolated(HostId(8)));
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
  Bench bench{Bench::Acting(), 0};
  EXPECT_TRUE(IsAdvice(bench.Tell(10, FindingAbout(0, {7})), "spares"));
  const std::vector<SteeringStep> steps = bench.Obey(20, bench.Tell(20, FindingAbout(1, {7}, Syndrome::kDead)));
  EXPECT_EQ(std::get<RestartJob>(steps.back()).hosts.size(), 39u);
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
  EXPECT_EQ(bench.Send(30, HostTested{HostId(7), true}).size(), 1u);
  EXPECT_TRUE(bench.steering.spares().contains(HostId(7)));
  EXPECT_TRUE(bench.Send(31, IsolationUndone{HostId(7)}).empty());
}

// Law: events that come twice change nothing, and the same events give the same actions.
TEST(SteeringTest, RepeatedEventsAndReplayAgree) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Bench once;
    Bench twice;
    double now = 10;
    for (uint32_t i = 0; i < 30; ++i) {
      now += random.Uniform(0, 2000);
      const Finding finding = FindingAbout(i, {static_cast<uint32_t>(random.Below(40))},
                                           random.Below(4) == 0 ? Syndrome::kDead : Syndrome::kCommHang);
      const std::vector<SteeringAction> first = once.Tell(now, finding);
      std::vector<SteeringAction> other = twice.Tell(now, finding);
      ASSERT_EQ(first.size(), other.size());
      const bool is_answered = random.Below(3) > 0;
      // A finding told again does not begin anything; what is unanswered is told again as it was.
      for (const SteeringAction& action : twice.Tell(now, finding)) {
        const bool is_known =
            std::any_of(other.begin(), other.end(), [&](const SteeringAction& a) { return a.number == action.number; });
        ASSERT_TRUE(is_known);
      }
      if (!is_answered) continue;
      ASSERT_EQ(once.Obey(now, first).size(), twice.Obey(now, other).size());
    }
    EXPECT_EQ(once.steering.isolated(), twice.steering.isolated());
    EXPECT_EQ(once.steering.spares(), twice.steering.spares());
    // 5 % of 40 hosts a day; 30 findings take at most 17 hours.
    EXPECT_LE(once.steering.isolated().size(), 2u);
  }
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
