#include "service/steering/steering_news.h"

#include <gtest/gtest.h>

namespace fairlead::service {
namespace {

using controller::AuditEntry;
using controller::Noted;

controller::SteeringAction Noteworthy(uint64_t number, controller::SteeringStep step) {
  controller::SteeringAction action;
  action.number = number;
  action.step = std::move(step);
  action.reason = "host 3 hangs";
  return action;
}

class SteeringNewsTest : public testing::Test {
 protected:
  // "! subject: text", the sign of a warning; empty: nothing is told.
  std::string Told(const AuditEntry& entry) const {
    const auto text = news_.TextOf(entry);
    if (!text.has_value()) return "";
    return (text->severity == Noted::Severity::kWarning ? "! " : "") + text->subject + ": " + text->text;
  }

  const controller::SteeringNames names_ = {.host = [](HostId host) { return "h" + std::to_string(host.value()); },
                                            .job = [](JobId) { return std::string("gpt"); }};
  SteeringNews news_{&names_};
};

TEST_F(SteeringNewsTest, AnActionAndItsOutcome) {
  controller::SteeringAction action = Noteworthy(5, controller::IsolateHost{HostId(3)});
  news_.Note(action);
  EXPECT_EQ(Told({SimTime(), action}), "! steering: isolate host h3: host 3 hangs");
  action.job = JobId(1);
  EXPECT_EQ(Told({SimTime(), action}), "! job gpt: isolate host h3: host 3 hangs");
  controller::StepDone done = {.action = 5};
  EXPECT_EQ(Told({SimTime(), done}), "steering: isolate host h3 is done");
  done.succeeded = false;
  done.message = "no answer";
  EXPECT_EQ(Told({SimTime(), done}), "! steering: isolate host h3 failed: no answer");
}

TEST_F(SteeringNewsTest, AnActionThatIsOverBeforeItIsTold) {
  EXPECT_EQ(Told({SimTime(), Noteworthy(5, controller::StopJob{JobId(1)})}), "steering: stop job gpt: host 3 hangs");
}

TEST_F(SteeringNewsTest, OnlyWhatIsUrgentIsAWarning) {
  const auto stop = Noteworthy(5, controller::StopJob{JobId(1)});
  news_.Note(stop);
  EXPECT_EQ(Told({SimTime(), stop}), "steering: stop job gpt: host 3 hangs");
}

TEST_F(SteeringNewsTest, WhatIsOverIsKnownByNumberOnly) {
  controller::ActionAttempts open{controller::AttemptOptions()};
  const auto stop = Noteworthy(5, controller::StopJob{JobId(1)});
  const auto isolate = Noteworthy(6, controller::IsolateHost{HostId(3)});
  open.Add(SimTime(0), stop);
  for (const auto& action : {stop, isolate}) news_.Note(action);
  news_.KeepOnly(open);
  EXPECT_EQ(Told({SimTime(), controller::StepDone{.action = 5}}), "steering: stop job gpt is done");
  EXPECT_EQ(Told({SimTime(), controller::StepDone{.action = 6}}), "steering: action 6 is done");
}

TEST_F(SteeringNewsTest, ResultsOfTestsAndWhatIsNoNews) {
  EXPECT_EQ(Told({SimTime(), controller::HostTested{HostId(3), true}}), "host h3: passed its tests");
  EXPECT_EQ(Told({SimTime(), controller::HostTested{HostId(3), false}}),
            "! host h3: failed its tests, and stays isolated");
  EXPECT_EQ(Told({SimTime(), controller::SpareOffered{HostId(3)}}), "");
  const auto excuse = Noteworthy(5, controller::ExcuseJob{JobId(1), SimTime::Never()});
  news_.Note(excuse);
  EXPECT_EQ(Told({SimTime(), excuse}), "") << "for the diagnosis, not for people";
}

}  // namespace
}  // namespace fairlead::service
