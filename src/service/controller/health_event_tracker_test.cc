#include "service/controller/health_event_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using controller::FindingReported;
using controller::SteeringEvent;
using wire::HealthEvent;

SimTime At(double s) { return SimTime::FromSeconds(Seconds(s)); }

controller::SteeringNames Names() {
  return {.host = [](HostId host) { return "h" + std::to_string(host.value()); }, .job = [](JobId) { return "gpt"; }};
}

model::Finding FindingAt(uint32_t id, uint32_t host, model::Syndrome syndrome = model::Syndrome::kCommHang) {
  model::Finding finding;
  finding.id = model::FindingId(id);
  finding.job = JobId(1);
  finding.syndrome = syndrome;
  finding.state = model::FindingState::kConfirmed;
  finding.action = model::RecommendedAction::kIsolateAndRestart;
  finding.summary = "it hangs;\nbadly";
  model::Culprit culprit;
  culprit.rank = model::RankId(3);
  culprit.host = HostId(host);
  finding.culprits = {culprit};
  return finding;
}

model::Finding Cleared(model::Finding finding) {
  finding.state = model::FindingState::kCleared;
  return finding;
}

class HealthEventTrackerTest : public testing::Test {
 protected:
  HealthEventTrackerTest() { Start(At(0)); }

  void Start(SimTime now, HealthEventOptions options = {}) {
    auto tracker = HealthEventTracker::Restore(now, options, Names(), &store_);
    ASSERT_TRUE(tracker.ok()) << tracker.status().message();
    tracker_.emplace(std::move(tracker).value());
  }
  std::vector<HealthEvent> Tell(double seconds, const model::Finding& finding) {
    const SteeringEvent event = FindingReported{finding};
    return tracker_->Handle(At(seconds), {&event, 1});
  }

  store::MemoryStore store_;
  std::optional<HealthEventTracker> tracker_;
};

TEST_F(HealthEventTrackerTest, AFindingIsOneEventAndItsEndAnother) {
  const auto opened = Tell(1, FindingAt(1, 5));
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].node, "h5");
  EXPECT_EQ(opened[0].check, "FairleadCommHang");
  EXPECT_EQ(opened[0].agent, "fairlead");
  EXPECT_FALSE(opened[0].is_healthy);
  EXPECT_EQ(opened[0].message, "it hangs, badly");
  EXPECT_EQ(opened[0].action, HealthEvent::Action::kRestartBareMetal);
  EXPECT_THAT(opened[0].error_codes, testing::ElementsAre("comm_hang"));
  EXPECT_THAT(opened[0].entities,
              testing::ElementsAre(wire::HealthEvent::Entity{"JOB", "gpt"}, wire::HealthEvent::Entity{"RANK", "3"}));
  EXPECT_EQ(opened[0].generated, At(1));
  // Nothing else acts on it unless that was requested.
  EXPECT_FALSE(opened[0].is_fatal);
  EXPECT_FALSE(opened[0].may_be_acted_upon);
  EXPECT_TRUE(Tell(2, FindingAt(1, 5)).empty());
  const auto closed = Tell(3, Cleared(FindingAt(1, 5)));
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_TRUE(closed[0].is_healthy);
  EXPECT_EQ(closed[0].check, opened[0].check);
  EXPECT_TRUE(Tell(4, Cleared(FindingAt(1, 5))).empty());
}

TEST_F(HealthEventTrackerTest, OnlyWhatAskedForIsolationIsFatalAndOnlyWhereAllowed) {
  Start(At(0), {.may_be_acted_upon = true});
  EXPECT_TRUE(Tell(1, FindingAt(1, 5))[0].is_fatal);
  model::Finding path = FindingAt(2, 6, model::Syndrome::kCommSlow);
  path.action = model::RecommendedAction::kRepairPath;
  const auto events = Tell(2, path);
  EXPECT_FALSE(events[0].is_fatal);
  EXPECT_FALSE(events[0].may_be_acted_upon);
  EXPECT_EQ(events[0].action, HealthEvent::Action::kContactSupport);
}

TEST_F(HealthEventTrackerTest, SuspicionsAndFindingsWithoutHostAreNoEvents) {
  model::Finding finding = FindingAt(1, 5);
  finding.state = model::FindingState::kSuspect;
  EXPECT_TRUE(Tell(1, finding).empty());
  finding.state = model::FindingState::kConfirmed;
  finding.culprits = {};
  EXPECT_TRUE(Tell(2, finding).empty());
}

// Law: however findings come and go, a node's check was last called unhealthy exactly while a finding of it holds.
TEST_F(HealthEventTrackerTest, TheLatestReportHolds) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    store_ = store::MemoryStore();
    Start(At(0), {.inherited_for = SimDuration(std::numeric_limits<int64_t>::max() / 2)});
    std::map<uint32_t, model::Finding> open;
    std::map<std::pair<std::string, std::string>, bool> unhealthy;
    for (uint32_t i = 1; i < 300; ++i) {
      model::Finding finding =
          FindingAt(i, static_cast<uint32_t>(random.Below(3)), static_cast<model::Syndrome>(random.Below(3)));
      if (!open.empty() && random.Below(2) == 0) {
        const auto victim = std::next(open.begin(), static_cast<ptrdiff_t>(random.Below(open.size())));
        finding = Cleared(victim->second);
        open.erase(victim);
      } else {
        open[i] = finding;
      }
      for (const HealthEvent& event : Tell(i, finding)) unhealthy[{event.node, event.check}] = !event.is_healthy;
      for (const auto& known : unhealthy) {
        const auto& key = known.first;
        const bool stands = std::any_of(open.begin(), open.end(), [&](const auto& entry) {
          return Names().host(entry.second.culprits[0].host) == key.first &&
                 CheckName(entry.second.syndrome) == key.second;
        });
        ASSERT_EQ(known.second, stands) << key.first << " " << key.second;
      }
    }
    EXPECT_FALSE(unhealthy.empty());
  }
}

TEST_F(HealthEventTrackerTest, EventsOfAnEarlierProcessAreWithdrawnUnlessFoundAgain) {
  Tell(1, FindingAt(1, 5));
  Tell(1, FindingAt(2, 6));
  Start(At(10));
  EXPECT_EQ(Tell(20, FindingAt(3, 5)).size(), 1u);
  EXPECT_TRUE(tracker_->Handle(At(609), {}).empty());
  const auto events = tracker_->Handle(At(610), {});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].node, "h6");
  EXPECT_TRUE(events[0].is_healthy);
  EXPECT_TRUE(tracker_->Handle(At(611), {}).empty());
  Start(At(700));
  EXPECT_EQ(tracker_->Handle(At(1300), {}).size(), 1u);  // h5
}

TEST_F(HealthEventTrackerTest, ADamagedRecordIsAnError) {
  const store::Change change = {"health_events/open", "[[1, 2]]"};
  ASSERT_TRUE(store_.Apply({&change, 1}).ok());
  EXPECT_EQ(HealthEventTracker::Restore(At(0), {}, Names(), &store_).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace fairlead::service
