// The records that remain when the process of steering is killed. That a death at any event changes nothing is a law of
// steering_laws_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "controller/sick_host_example.h"
#include "controller/steering.h"

namespace fairlead::controller {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

constexpr JobId kRecordedJob(1);
constexpr uint32_t kNumRecordedHosts = 50;

SimTime AtSecond(double s) { return SimTime::FromSeconds(Seconds(s)); }

SteeringOptions Acting() {
  SteeringOptions options;
  options.mode = SteeringMode::kAct;
  return options;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (uint32_t h = 0; h < kNumRecordedHosts; ++h) names.push_back("h" + std::to_string(h));
  return names;
}

// Hosts 0..39 run the job, 40 and 41 are spares; host 3 is found sick, and its isolation was sent.
class SteeringRecordsTest : public testing::Test {
 protected:
  SteeringRecordsTest() {
    std::vector<HostId> hosts;
    for (uint32_t h = 0; h < 40; ++h) hosts.emplace_back(h);
    Send(0, JobRunning{kRecordedJob, hosts});
    Send(0, SpareOffered{HostId(40)});
    Send(0, SpareOffered{HostId(41)});
    reported_ = Send(1, FindingReported{SickHost(1, kRecordedJob, HostId(3), AtSecond(0.5))});
  }

  std::vector<SteeringAction> Send(double seconds, SteeringEvent event) {
    return steering_->Handle(AtSecond(seconds), std::span<const SteeringEvent>(&event, 1));
  }
  // Another process continues, in which hosts have these names.
  std::vector<std::string> RestartWith(const std::vector<std::string>& names) {
    const Records records = steering_->Records(Names());
    steering_ = std::make_unique<Steering>(Acting(), kNumRecordedHosts);
    auto forgotten = steering_->Restore(records, names);
    EXPECT_TRUE(forgotten.ok()) << forgotten.status().message();
    return forgotten.ok() ? *forgotten : std::vector<std::string>();
  }

  std::unique_ptr<Steering> steering_ = std::make_unique<Steering>(Acting(), kNumRecordedHosts);
  std::vector<SteeringAction> reported_;
};

TEST_F(SteeringRecordsTest, HostsAreKeptByName) {
  // Two hosts were put before all others: what was 3 is 5 now.
  std::vector<std::string> names = Names();
  names.insert(names.begin(), {"new0", "new1"});
  EXPECT_THAT(RestartWith(names), testing::IsEmpty());
  EXPECT_EQ(steering_->isolated(), std::set<HostId>{HostId(5)});
  EXPECT_EQ(steering_->ConditionOf(HostId(5)), HostCondition::kIsolating);
  EXPECT_EQ(steering_->HostsOf(kRecordedJob).front(), HostId(2));
  const auto open = steering_->Resume(AtSecond(2));
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(std::get<IsolateHost>(open[0].step).host, HostId(5));
}

TEST_F(SteeringRecordsTest, AHostThatWasTakenOutIsForgottenWithItsJob) {
  Send(2, StepDone{.action = reported_[0].number});  // isolated; the job is about to be stopped
  std::vector<std::string> names = Names();
  names[3] = "another";
  EXPECT_THAT(RestartWith(names), testing::ElementsAre(testing::HasSubstr("host h3"), testing::HasSubstr("job 1")));
  EXPECT_TRUE(steering_->isolated().empty());
  EXPECT_EQ(steering_->ConditionOf(kRecordedJob), std::nullopt);
  // Host 40 was set aside for it, and host 41 was not.
  EXPECT_EQ(steering_->spares(), (std::set<HostId>{HostId(40), HostId(41)}));
  // The test of host 3 is of no use any more; the end of the job may still be reported.
  for (const SteeringAction& action : steering_->Resume(AtSecond(3))) {
    EXPECT_FALSE(std::holds_alternative<TestHost>(action.step));
  }
  EXPECT_EQ(steering_->NumIsolatedSince(AtSecond(0), kRecordedJob), 1u);  // limits still count it
}

TEST_F(SteeringRecordsTest, SentActionsAreSentAgainAsTheSameAttempt) {
  RestartWith(Names());
  const auto open = steering_->Resume(AtSecond(1000));  // long after its deadline
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].number, reported_[0].number);
  EXPECT_EQ(open[0].attempt, 1u);
  // It has its time from now on: nothing is due before 1000 s + 120 s.
  EXPECT_TRUE(steering_->Handle(AtSecond(1119), {}).empty());
  EXPECT_EQ(steering_->NextDue(), AtSecond(1120));
}

TEST_F(SteeringRecordsTest, AnOpenFindingIsNotActedUponTwice) {
  RestartWith(Names());
  steering_->Resume(AtSecond(10));
  // The diagnosis numbers its findings again, and finds the same host: first it is busy, then the host is not part of
  // the job.
  for (const SteeringAction& action : Send(20, FindingReported{SickHost(0, kRecordedJob, HostId(3), AtSecond(15))})) {
    EXPECT_FALSE(IsAnswered(action.step)) << Describe(action.step);
  }
  std::vector<SteeringAction> next = Send(21, StepDone{.action = reported_[0].number});
  size_t num_isolations = 0;
  for (double now = 22; !next.empty() && now < 100; ++now) {
    std::vector<SteeringAction> after;
    for (const SteeringAction& action : next) {
      num_isolations += std::holds_alternative<IsolateHost>(action.step) ? 1 : 0;
      if (std::holds_alternative<TestHost>(action.step)) continue;
      for (SteeringAction& more : Send(now, StepDone{.action = action.number})) after.push_back(std::move(more));
    }
    next = std::move(after);
  }
  EXPECT_EQ(num_isolations, 0u);
  EXPECT_EQ(steering_->ConditionOf(kRecordedJob), JobCondition::kRunning);
  EXPECT_EQ(steering_->isolated(), std::set<HostId>{HostId(3)});
  EXPECT_EQ(steering_->NumIsolatedSince(AtSecond(0), kRecordedJob), 1u);
}

TEST_F(SteeringRecordsTest, AbandonedIsForPeople) {
  RestartWith(Names());
  const auto abandoned = steering_->Abandon(AtSecond(5), "nobody acts any more");
  ASSERT_FALSE(abandoned.empty());
  for (const SteeringAction& action : abandoned) EXPECT_FALSE(IsAnswered(action.step)) << Describe(action.step);
  EXPECT_TRUE(std::holds_alternative<AskOperator>(abandoned[0].step));
  EXPECT_THAT(abandoned[0].reason, testing::HasSubstr("nobody acts any more; isolate host 3 was under way"));
  EXPECT_EQ(steering_->ConditionOf(kRecordedJob), JobCondition::kNeedsOperator);
  EXPECT_EQ(steering_->ConditionOf(HostId(3)), HostCondition::kIsolated);
  EXPECT_EQ(steering_->spares().size(), 2u);
  EXPECT_EQ(steering_->NextDue(), SimTime::Never());
  // An operator can still take the isolation back.
  const auto back = Send(6, IsolationUndone{HostId(3)});
  ASSERT_EQ(back.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ReturnHost>(back[0].step));
}

TEST_F(SteeringRecordsTest, DamagedRecordsAreErrorsThatNameThem) {
  const Records records = steering_->Records(Names());
  for (size_t r = 0; r < records.size(); ++r) {
    for (size_t size = 0; size < records[r].second.size(); size += 7) {
      Records cut = records;
      cut[r].second.resize(size);
      const auto forgotten = Steering(Acting(), kNumRecordedHosts).Restore(cut, Names());
      ASSERT_FALSE(forgotten.ok());
      EXPECT_EQ(forgotten.status().code(), StatusCode::kDataLoss);
      EXPECT_THAT(forgotten.status().message(), testing::HasSubstr(records[r].first));
    }
  }
}

// The form of the records, which later versions have to read. Host 0 of three is isolated and to be tested, its job is
// being stopped, and a finding about host 1 waits for that.
TEST_F(SteeringRecordsTest, TheirFormStaysAsItIs) {
  const Records stored = {
      {"action/2",
       R"({"attempt":1,"confidence":0.95,"due":1802000000000,"evidence":[],"finding":1,"is_sent":true,"number":2,)"
       R"("reason":"isolated: host 0 hangs","step":{"test_host":{"host":"h0"}}})"},
      {"action/4",
       R"({"attempt":1,"confidence":0.95,"due":122000000000,"evidence":[],"finding":1,"is_sent":true,"job":1,"number":4,)"
       R"("reason":"host 0 hangs","step":{"stop_job":{"job":1}}})"},
      {"cluster",
       R"({"history":[{"at":1000000000,"job":1}],"in_doubt":[],"isolated":["h0"],"isolating":[],"num_actions":5,)"
       R"("returning":[],"spares":["h4"],"tests":[{"action":2,"host":"h0"}]})"},
      {"job/1",
       R"({"can_shrink":false,"held_up":[{"finding":{"action":4,"cleared":0,"confidence":0.95,"confirmed":0,)"
       R"("culprits":[{"host":"h1","kind":1}],"evidence":[],"first_seen":6,"id":2,"job":1,"sequence":0,"signs":[0,1],)"
       R"("state":1,"sub_cause":0,"summary":"host 1 hangs","symptoms":[],"syndrome":1},"rule":"busy"}],)"
       R"("hold_off_until":0,"hosts":["h0","h1","h2"],"judged":[{"finding":1,"first_seen":5},)"
       R"({"finding":2,"first_seen":6}],"needs_operator":false,"pause_reason":"","paused_until":0,"sequence":)"
       R"({"current":4,"finding":{"action":4,"cleared":0,"confidence":0.95,"confirmed":0,)"
       R"("culprits":[{"host":"h0","kind":1}],"evidence":[],"first_seen":5,"id":1,"job":1,"sequence":0,"signs":[0,1],)"
       R"("state":1,"sub_cause":0,"summary":"host 0 hangs","symptoms":[],"syndrome":1},"hosts":["h0","h1","h2"],)"
       R"("is_stopped":false,"reserved":["h3"],"taken":[],"to_isolate":[],"to_replace":["h0"],)"
       R"("waits_for_spare":false}})"}};
  steering_ = std::make_unique<Steering>(Acting(), kNumRecordedHosts);
  const auto forgotten = steering_->Restore(stored, Names());
  ASSERT_TRUE(forgotten.ok()) << forgotten.status().message();
  EXPECT_TRUE(forgotten->empty());
  EXPECT_EQ(steering_->ConditionOf(HostId(0)), HostCondition::kIsolated);
  EXPECT_EQ(steering_->ConditionOf(HostId(3)), HostCondition::kReserved);
  EXPECT_EQ(steering_->ConditionOf(HostId(4)), HostCondition::kSpare);
  EXPECT_TRUE(steering_->IsStopped(kRecordedJob));
  EXPECT_EQ(steering_->NumIsolatedSince(SimTime(), kRecordedJob), 1u);
  EXPECT_EQ(steering_->Records(Names()), stored);
}

// Any bytes are read or refused, and whatever was read can be gone on from.
TEST_F(SteeringRecordsTest, AnyRecordsAreReadOrRefused) {
  Send(2, FindingReported{SickHost(2, kRecordedJob, HostId(4), AtSecond(1))});  // held up
  const Records records = steering_->Records(Names());
  Random random(1);
  size_t num_read = 0;
  for (int i = 0; i < 3000; ++i) {
    Records changed = records;
    std::string& value = changed[random.Below(changed.size())].second;
    for (uint64_t c = 0; c <= random.Below(3); ++c) {
      value[random.Below(value.size())] = static_cast<char>(' ' + random.Below(95));
    }
    Steering restored(Acting(), kNumRecordedHosts);
    if (!restored.Restore(changed, Names()).ok()) continue;
    ++num_read;
    restored.Resume(AtSecond(3));
    restored.Handle(AtSecond(3), {});
  }
  EXPECT_GT(num_read, 100u);
}

}  // namespace
}  // namespace fairlead::controller
