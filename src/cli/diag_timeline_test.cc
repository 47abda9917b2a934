#include "cli/diag_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/trace_check.h"

namespace fairlead::cli {
namespace {

using report::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int64_t kEpochNs = 1'750'000'000'000'000'000;

SimTime At(double seconds) { return SimTime(kEpochNs) + SimDuration::FromSeconds(Seconds(seconds)); }

model::OperationRecord AllReduce(uint64_t sequence, double enqueued, std::optional<double> started,
                                 std::optional<double> finished) {
  model::OperationRecord operation;
  operation.communicator = model::CommunicatorId(0);
  operation.kind = model::OperationKind::kAllReduce;
  operation.sequence = operation.issue_index = sequence;
  operation.bytes = 1024;
  operation.enqueued = At(enqueued);
  if (started) operation.started = At(*started);
  if (finished) operation.finished = At(*finished);
  return operation;
}

// Two ranks on two hosts.
DiagReport MakeReport(double end) {
  DiagReport report;
  report.format = "dump";
  report.analysis.layout.job = JobId(7);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    model::RankPlace place;
    place.host = HostId(rank);
    report.analysis.layout.ranks.push_back(place);
  }
  report.analysis.layout.communicators = {{.name = "data 0", .ranks = {model::RankId(0), model::RankId(1)}}};
  report.analysis.begin = At(0);
  report.analysis.end = At(end);
  report.host_names = {"alpha", "beta"};
  return report;
}

model::TelemetryRecord Report(uint32_t rank, std::vector<model::OperationRecord> operations) {
  model::RankReport report;
  report.rank = model::RankId(rank);
  report.operations = std::move(operations);
  return report;
}

struct Shown {
  std::string track;  // "alpha / rank 0, data 0"
  std::string name;
  double from_s = 0;
  double to_s = 0;
  int number = 0;  // of the track in its process
};

std::vector<Shown> SlicesOf(const std::string& text) {
  const Json timeline = Json::parse(text);
  EXPECT_EQ(report::FindTraceError(timeline), "");
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<Shown> slices;
  for (const Json& event : timeline.at("traceEvents")) {
    const int process = event.at("pid");
    if (event.at("name") == "process_name") processes[process] = event.at("args").at("name");
    if (event.at("name") == "thread_name") tracks[{process, event.at("tid")}] = event.at("args").at("name");
    if (event.at("ph") != "X") continue;
    const int track = event.at("tid");
    const double from = event.at("ts").get<double>() * 1e-6;
    slices.push_back({processes.at(process) + " / " + tracks.at({process, track}), event.at("name"), from,
                      from + event.at("dur").get<double>() * 1e-6, track});
  }
  return slices;
}

std::vector<std::string> NamesOf(const std::vector<Shown>& slices) {
  std::vector<std::string> names;
  for (const Shown& slice : slices) names.push_back(slice.track + ": " + slice.name);
  return names;
}

TEST(DiagTimelineTest, AnOperationIsOneSliceHoweverOftenItIsReported) {
  OperationLog log;
  log.Add(Report(0, {AllReduce(0, 0.5, 0.6, std::nullopt)}));
  log.Add(Report(0, {AllReduce(0, 0.5, 0.6, 1.25)}));
  log.Add(Report(0, {AllReduce(0, 0.5, 0.6, 1.25)}));
  log.Add(Report(0, {AllReduce(0, 0.5, 0.6, std::nullopt)}));  // late
  const auto slices = SlicesOf(log.Render(MakeReport(3)));
  ASSERT_THAT(NamesOf(slices), ElementsAre("alpha / rank 0, data 0: all_reduce 0 on data 0"));
  EXPECT_NEAR(slices[0].from_s, 0.6, 1e-9) << "times count from the first instant, not from 1970";
  EXPECT_NEAR(slices[0].to_s, 1.25, 1e-9);
}

TEST(DiagTimelineTest, WhatNeverEndedLastsToTheEndAndSaysSo) {
  OperationLog log;
  log.Add(Report(0, {AllReduce(3, 1, 1.5, std::nullopt)}));
  log.Add(Report(1, {AllReduce(3, 2, std::nullopt, std::nullopt)}));
  const auto slices = SlicesOf(log.Render(MakeReport(30)));
  ASSERT_THAT(NamesOf(slices),
              UnorderedElementsAre("alpha / rank 0, data 0: all_reduce 3 on data 0: not over at the end",
                                   "beta / rank 1, data 0: all_reduce 3 on data 0: not begun at the end"));
  EXPECT_NEAR(slices[0].from_s, 1.5, 1e-9);
  EXPECT_NEAR(slices[1].from_s, 2, 1e-9);
  for (const Shown& slice : slices) EXPECT_NEAR(slice.to_s, 30, 1e-9);
}

TEST(DiagTimelineTest, SlicesThatOverlapHaveTracksOfTheirOwn) {
  OperationLog log;
  log.Add(Report(0, {AllReduce(0, 0, 0, 2), AllReduce(1, 0, 1, 3), AllReduce(2, 0, 2, 4), AllReduce(3, 0, 2.5, 5)}));
  std::vector<int> tracks;
  for (const Shown& slice : SlicesOf(log.Render(MakeReport(5)))) {
    EXPECT_EQ(slice.track, "alpha / rank 0, data 0");
    tracks.push_back(slice.number);
  }
  EXPECT_THAT(tracks, ElementsAre(1, 2, 1, 3));
}

TEST(DiagTimelineTest, FindingsNameTheirCulprits) {
  DiagReport report = MakeReport(30);
  model::Finding finding;
  finding.syndrome = model::Syndrome::kNonCommHang;
  model::Culprit culprit;
  culprit.rank = model::RankId(1);
  culprit.host = HostId(1);
  finding.culprits = {culprit};
  finding.summary = "rank 1 never arrived";
  finding.first_seen = At(12);
  finding.confirmed = At(22);
  finding.cleared = SimTime::Never();
  report.analysis.findings = {finding};
  const auto slices = SlicesOf(OperationLog().Render(report));
  ASSERT_THAT(NamesOf(slices), ElementsAre(HasSubstr("findings / findings: non_comm_hang: rank 1 on beta")));
  EXPECT_NEAR(slices[0].from_s, 12, 1e-9);
  EXPECT_NEAR(slices[0].to_s, 30, 1e-9);
}

TEST(DiagTimelineTest, KeepsTheLastOperations) {
  OperationLog log(3);
  for (uint64_t i = 0; i < 10; ++i) {
    const auto at = static_cast<double>(i);
    log.Add(Report(0, {AllReduce(i, at, at, at + 0.5)}));
  }
  EXPECT_EQ(log.num_dropped(), 7u);
  const std::string text = log.Render(MakeReport(10));
  EXPECT_EQ(Json::parse(text).at("otherData").at("operations_left_out"), 7);
  EXPECT_THAT(NamesOf(SlicesOf(text)),
              ElementsAre(HasSubstr("all_reduce 7"), HasSubstr("all_reduce 8"), HasSubstr("all_reduce 9")));
}

}  // namespace
}  // namespace fairlead::cli
