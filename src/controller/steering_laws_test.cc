// Laws of steering over random lives of a cluster: findings true and false, steps that fail or are never answered,
// hosts that come back, jobs that end or are restarted by others.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/random.h"
#include "controller/steering.h"

namespace fairlead::controller {
namespace {

constexpr uint32_t kNumJobs = 3;
constexpr uint32_t kHostsOfJob = 25;
constexpr uint32_t kNumSpares = 5;
constexpr uint32_t kNumHosts = kNumJobs * kHostsOfJob + kNumSpares;
constexpr SimDuration kSecond(1'000'000'000);

SteeringOptions RandomOptions(Random& random) {
  SteeringOptions options;
  options.mode = SteeringMode::kAct;
  options.max_hosts_per_job_hour = 1 + static_cast<uint32_t>(random.Below(3));
  options.max_job_share_per_day = random.Uniform(0.02, 0.2);
  options.max_cluster_share_per_day = random.Uniform(0.01, 0.1);
  options.hold_off = kSecond * static_cast<int64_t>(random.Below(900));
  return options;
}

model::Finding RandomFinding(uint32_t number, Random& random) {
  model::Finding finding;
  finding.id = model::FindingId(number);
  finding.job = JobId(random.Below(kNumJobs));
  finding.syndrome = static_cast<model::Syndrome>(random.Below(model::kNumSyndromes));
  finding.state = random.Below(8) == 0 ? model::FindingState::kCleared : model::FindingState::kConfirmed;
  finding.summary = "something is sick";
  finding.sub_cause = static_cast<model::SubCause>(random.Below(7));
  finding.operation = static_cast<model::OperationKind>(random.Below(model::kNumOperationKinds));
  finding.first_seen = SimTime(static_cast<int64_t>(number));
  finding.cleared = SimTime::Never();
  finding.evidence = {{"seconds per GB", random.Uniform(0, 10), std::numeric_limits<double>::infinity(), "s"}};
  finding.symptoms = {model::FindingId(number + 1)};
  finding.signs = {model::Sign::kPeers, model::Sign::kOwnRanks};
  finding.confidence = random.Uniform(0.7, 1);
  finding.action =
      random.Below(4) == 0 ? model::RecommendedAction::kRestart : model::RecommendedAction::kIsolateAndRestart;
  for (uint64_t i = 0; i <= random.Below(3); ++i) {
    model::Culprit culprit;
    culprit.kind = model::CulpritKind::kHost;
    culprit.host = HostId(random.Below(kNumHosts));
    finding.culprits.push_back(culprit);
  }
  return finding;
}

enum class Manner { kPlain, kEventsTwice, kKilledAtEveryEvent };

// One life. Answers are kept for a while, so that they come late and in another order.
class Life {
 public:
  Life(uint64_t seed, Manner manner)
      : random_(seed),
        manner_(manner),
        options_(RandomOptions(random_)),
        steering_(std::make_unique<Steering>(options_, kNumHosts)) {
    for (uint32_t job = 0; job < kNumJobs; ++job) StartJob(job);
    for (uint32_t spare = 0; spare < kNumSpares; ++spare) {
      Send(SpareOffered{HostId(kNumJobs * kHostsOfJob + spare)});
    }
  }

  void Live(uint32_t num_events) {
    for (uint32_t i = 0; i < num_events && !testing::Test::HasFailure(); ++i) {
      now_ = now_ + kSecond * static_cast<int64_t>(random_.Below(240));
      Send(RandomEvent(i));
      AnswerSome(4);
      CheckLaws();
    }
  }

  // Everything that is asked for works from here on.
  void Settle() {
    for (uint32_t i = 0; i < 5000 && (!open_.empty() || steering_->NextDue() != SimTime::Never()); ++i) {
      now_ = now_ + kSecond * 60;
      Tick();
      fails_ = false;
      AnswerSome(1);
      CheckLaws();
    }
    EXPECT_TRUE(open_.empty());
    for (uint32_t job = 0; job < kNumJobs; ++job) {
      const std::optional<JobCondition> condition = steering_->ConditionOf(JobId(job));
      // Nothing is under way any more: what does not run says whom it waits for.
      EXPECT_TRUE(condition.has_value());
      EXPECT_NE(condition, JobCondition::kSteered) << job;
      EXPECT_FALSE(condition == JobCondition::kWaitsForSpare && !steering_->spares().empty());
    }
  }

  const std::vector<std::string>& history() const { return history_; }

 private:
  static std::vector<HostId> FirstHosts(uint32_t job) {
    std::vector<HostId> hosts;
    for (uint32_t h = 0; h < kHostsOfJob; ++h) hosts.emplace_back(job * kHostsOfJob + h);
    return hosts;
  }

  void StartJob(uint32_t job) { Send(JobRunning{JobId(job), FirstHosts(job), job == 0}); }

  SteeringEvent RandomEvent(uint32_t number) {
    const HostId host(random_.Below(kNumHosts));
    const JobId job(random_.Below(kNumJobs));
    switch (random_.Below(20)) {
      case 0:
        return HostTested{host, random_.Below(2) == 0};
      case 1:
        return IsolationUndone{host};
      case 2:
        if (steering_->ConditionOf(host) != HostCondition::kInDoubt) return HostTested{host, true};
        return SpareOffered{host};
      case 3:
        return PauseAnnounced{job, now_ + kSecond * 300, "maintenance"};
      case 4:
        // A person looks after what was given up.
        if (steering_->ConditionOf(job) != JobCondition::kNeedsOperator) return HostTested{host, false};
        return JobRunning{job, steering_->HostsOf(job), job == JobId(0)};
      case 5: {
        const std::vector<HostId> hosts = steering_->HostsOf(job);
        Send(JobGone{job});
        return JobRunning{job, hosts, job == JobId(0)};
      }
      default:
        return FindingReported{RandomFinding(number, random_)};
    }
  }

  void Send(const SteeringEvent& event) {
    Note(steering_->Handle(now_, std::span<const SteeringEvent>(&event, 1)));
    if (manner_ == Manner::kKilledAtEveryEvent) Restart();
    if (manner_ != Manner::kEventsTwice) return;
    EXPECT_TRUE(HasNoNews(steering_->Handle(now_, std::span<const SteeringEvent>(&event, 1))));
  }
  void Tick() {
    Note(steering_->Handle(now_, {}));
    if (manner_ == Manner::kKilledAtEveryEvent) Restart();
  }

  // The saved records are all that is left; they are read back in arbitrary order.
  void Restart() {
    auto records = steering_->Records({});
    const auto kept = records;
    std::reverse(records.begin(), records.end());
    auto restored = std::make_unique<Steering>(options_, kNumHosts);
    const auto forgotten = restored->Restore(records, {});
    ASSERT_TRUE(forgotten.ok()) << forgotten.status().message();
    EXPECT_TRUE(forgotten->empty());
    EXPECT_EQ(restored->Records({}), kept);
    steering_ = std::move(restored);
  }

  // Whether no action is sent that has to be carried out.
  static bool HasNoNews(const std::vector<SteeringAction>& actions) {
    return std::none_of(actions.begin(), actions.end(),
                        [](const SteeringAction& action) { return IsAnswered(action.step); });
  }

  void Note(const std::vector<SteeringAction>& actions) {
    for (const SteeringAction& action : actions) {
      EXPECT_FALSE(action.reason.empty());
      if (!IsAnswered(action.step)) continue;
      history_.push_back(std::to_string(now_.ns()) + " " + std::to_string(action.attempt) + " " +
                         Describe(action.step));
      open_.push_back(action);
    }
  }

  // One of `of` open actions is answered; some never are.
  void AnswerSome(uint64_t of) {
    for (size_t i = 0; i < open_.size();) {
      if (random_.Below(of) > 0) {
        ++i;
        continue;
      }
      const SteeringAction action = open_[i];
      open_.erase(open_.begin() + static_cast<ptrdiff_t>(i));
      if (fails_ && random_.Below(10) == 0) continue;
      const bool succeeded = !fails_ || random_.Below(4) > 0;
      Send(StepDone{action.number, action.attempt, succeeded, random_.Below(10) == 0, "random"});
      i = 0;
    }
  }

  void CheckLaws() {
    for (uint32_t job = 0; job < kNumJobs; ++job) {
      EXPECT_LE(steering_->NumIsolatedSince(now_ - kSecond * 3600, JobId(job)), options_.max_hosts_per_job_hour);
      EXPECT_LE(steering_->NumIsolatedSince(now_ - kSecond * 86400, JobId(job)),
                std::max(1.0, options_.max_job_share_per_day * kHostsOfJob));
      const bool is_whole = steering_->ConditionOf(JobId(job)) == JobCondition::kRunning;
      for (const HostId host : steering_->HostsOf(JobId(job))) {
        const HostCondition condition = steering_->ConditionOf(host);
        // A spare is never of a job, and no spare is set aside for a job that runs.
        EXPECT_NE(condition, HostCondition::kSpare);
        EXPECT_NE(condition, HostCondition::kUnknown);
        EXPECT_FALSE(is_whole && condition == HostCondition::kReserved);
      }
    }
    EXPECT_LE(steering_->NumIsolatedSince(now_ - kSecond * 86400, JobId()),
              std::max(1.0, options_.max_cluster_share_per_day * kNumHosts));
    for (uint32_t host = 0; host < kNumHosts; ++host) {
      const bool is_spare = steering_->spares().contains(HostId(host));
      EXPECT_FALSE(is_spare && steering_->IsIsolated(HostId(host)));
      // No job is forgotten.
      EXPECT_NE(steering_->ConditionOf(HostId(host)), HostCondition::kUnknown) << host;
    }
  }

  Random random_;
  Manner manner_;
  bool fails_ = true;
  SteeringOptions options_;
  std::unique_ptr<Steering> steering_;
  SimTime now_;
  std::vector<SteeringAction> open_;
  std::vector<std::string> history_;
};

TEST(SteeringLawsTest, LimitsHoldAndEveryJobEndsInAStatedCondition) {
  size_t num_actions = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Life life(seed, Manner::kPlain);
    life.Live(200);
    life.Settle();
    num_actions += life.history().size();
  }
  // The lives are eventful: limits alone allow a hand full of isolations a day, and each has several steps.
  EXPECT_GT(num_actions, 60u * 20);
}

TEST(SteeringLawsTest, EventsThatComeTwiceChangeNothing) {
  for (uint64_t seed = 0; seed < 25 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Life once(seed, Manner::kPlain);
    Life twice(seed, Manner::kEventsTwice);
    once.Live(200);
    twice.Live(200);
    EXPECT_EQ(once.history(), twice.history());
  }
}

// The records are the state: a process that continues from them does what the previous one would have done.
TEST(SteeringLawsTest, ADeathAtEveryEventChangesNothing) {
  for (uint64_t seed = 0; seed < 25 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Life whole(seed, Manner::kPlain);
    Life killed(seed, Manner::kKilledAtEveryEvent);
    whole.Live(200);
    killed.Live(200);
    EXPECT_EQ(whole.history(), killed.history());
    killed.Settle();
  }
}

TEST(SteeringLawsTest, SameEventsSameActions) {
  Life one(7, Manner::kPlain);
  Life other(7, Manner::kPlain);
  one.Live(300);
  other.Live(300);
  EXPECT_EQ(one.history(), other.history());
  EXPECT_FALSE(one.history().empty());
}

}  // namespace
}  // namespace fairlead::controller
