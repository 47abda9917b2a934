#include "service/controller/incident_reporter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fairlead::service {
namespace {

using report::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

controller::WatchedFinding FindingAt(uint32_t id, double confirmed_s, double cleared_s = -1) {
  controller::WatchedFinding watched;
  watched.job = "gpt";
  watched.finding.id = model::FindingId(id);
  watched.finding.confirmed = confirmed_s < 0 ? SimTime::Never() : SimTime::FromSeconds(Seconds(confirmed_s));
  watched.finding.cleared = cleared_s < 0 ? SimTime::Never() : SimTime::FromSeconds(Seconds(cleared_s));
  return watched;
}

// "7 goes on", "7 is over"
std::vector<std::string> Look(IncidentReporter* reporter, double now_s,
                              const std::vector<controller::WatchedFinding>& findings, const Json& steering = {}) {
  std::vector<std::string> news;
  for (const IncidentReporter::Incident& one : reporter->Look(now_s, findings, steering)) {
    news.push_back(fmt::format("{} {}", one.finding.value(), one.is_over ? "is over" : "goes on"));
  }
  return news;
}

Json Restarting(bool is_open, bool has_restarted, bool runs) {
  Json log = Json::array(
      {{{"kind", "action"}, {"action", 4}, {"finding", 7}, {"job", 3}, {"step", "isolate_host"}, {"at_s", 101}},
       {{"kind", "action"}, {"action", 5}, {"finding", 7}, {"job", 3}, {"step", "restart_job"}, {"at_s", 102}}});
  Json open = Json::array();
  if (is_open) open.push_back({{"action", 5}, {"description", "restart job gpt"}});
  // An earlier run of it, and another job's.
  log.push_back({{"kind", "outcome"}, {"outcome", "job_running"}, {"job", 3}, {"at_s", 50}});
  log.push_back({{"kind", "outcome"}, {"outcome", "job_running"}, {"job", 4}, {"at_s", 200}});
  if (has_restarted) {
    log.push_back({{"kind", "outcome"}, {"outcome", "attempt"}, {"action", 5}, {"succeeded", true}, {"at_s", 110}});
  }
  if (runs) log.push_back({{"kind", "outcome"}, {"outcome", "job_running"}, {"job", 3}, {"at_s", 120}});
  return {{"log", log}, {"open_actions", open}};
}

TEST(IncidentReporter, AFindingWithoutActionIsOverWhenItIsCleared) {
  IncidentReporter reporter;
  EXPECT_THAT(Look(&reporter, 100, {FindingAt(7, -1)}), IsEmpty()) << "only suspected";
  EXPECT_THAT(Look(&reporter, 101, {FindingAt(7, 101)}), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 102, {FindingAt(7, 101)}), IsEmpty());
  EXPECT_THAT(Look(&reporter, 103, {FindingAt(7, 101, 103)}), IsEmpty()) << "what steering does follows";
  EXPECT_THAT(Look(&reporter, 105, {FindingAt(7, 101, 103)}), ElementsAre("7 is over"));
  EXPECT_THAT(Look(&reporter, 106, {FindingAt(7, 101, 103)}), IsEmpty());
  EXPECT_THAT(Look(&reporter, 107, {}), IsEmpty());
}

TEST(IncidentReporter, AnIncidentIsOverWhenTheJobRunsAgain) {
  IncidentReporter reporter;
  const std::vector<controller::WatchedFinding> cleared = {FindingAt(7, 101, 105)};
  EXPECT_THAT(Look(&reporter, 104, {FindingAt(7, 101)}), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 106, cleared, Restarting(true, false, false)), ElementsAre("7 goes on")) << "new actions";
  EXPECT_THAT(Look(&reporter, 109, cleared, Restarting(true, false, false)), IsEmpty());
  EXPECT_THAT(Look(&reporter, 110, cleared, Restarting(false, true, false)), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 115, cleared, Restarting(false, true, false)), IsEmpty()) << "it does not run yet";
  EXPECT_THAT(Look(&reporter, 120, cleared, Restarting(false, true, true)), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 122, cleared, Restarting(false, true, true)), ElementsAre("7 is over"));
  EXPECT_THAT(Look(&reporter, 200, cleared, Restarting(false, true, true)), IsEmpty());
}

TEST(IncidentReporter, WhatNeverComesIsNotWaitedForForever) {
  IncidentReporter reporter({.patience_s = 60, .settle_s = 0});
  const std::vector<controller::WatchedFinding> cleared = {FindingAt(7, 101, 105)};
  EXPECT_THAT(Look(&reporter, 160, cleared, Restarting(true, false, false)), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 165, cleared, Restarting(true, false, false)), ElementsAre("7 is over"));
}

TEST(IncidentReporter, LaterTestsOfTheHostAreNoPartOfIt) {
  IncidentReporter reporter({.settle_s = 0});
  Json steering = Restarting(false, true, true);
  steering["log"].push_back({{"kind", "action"}, {"action", 9}, {"finding", 7}, {"step", "test_host"}, {"at_s", 130}});
  steering["open_actions"].push_back({{"action", 9}});
  EXPECT_THAT(Look(&reporter, 131, {FindingAt(7, 101, 105)}, steering), ElementsAre("7 is over"));
}

TEST(IncidentReporter, SeveralIncidentsAreKeptApart) {
  IncidentReporter reporter({.settle_s = 0});
  EXPECT_THAT(Look(&reporter, 104, {FindingAt(7, 101), FindingAt(8, 102)}), ElementsAre("7 goes on", "8 goes on"));
  EXPECT_THAT(Look(&reporter, 111, {FindingAt(7, 101, 110), FindingAt(8, 102, 109)}, Restarting(true, false, false)),
              ElementsAre("7 goes on", "8 is over"));
}

TEST(IncidentReporter, LinesThatAreNoneChangeNothing) {
  IncidentReporter reporter({.settle_s = 0});
  const Json nonsense = {{"log", Json::array({7, "x", {{"kind", 3}}, {{"kind", "action"}}, nullptr})},
                         {"open_actions", Json::array({nullptr, 3, {{"action", "x"}}})}};
  EXPECT_THAT(Look(&reporter, 104, {FindingAt(7, 101)}, nonsense), ElementsAre("7 goes on"));
  EXPECT_THAT(Look(&reporter, 105, {FindingAt(7, 101)}, Json("no object")), IsEmpty());
  EXPECT_THAT(Look(&reporter, 106, {FindingAt(7, 101, 105)}, Json()), ElementsAre("7 is over"));
}

}  // namespace
}  // namespace fairlead::service
