#include "report/run_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "report/json_value.h"
#include "report/report_test_data.h"
#include "report/trace_check.h"

namespace fairlead::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

// The first run of two jobs: job 0 sends from 1 to 3 s and has half of the link, which holds up job 1 from 2 to 3 s.
sim::SimulationReport MakeRecordedReport() {
  sim::SimulationReport report = MakeSmallReport();
  sim::RunResult& run = report.runs[0];
  const JobId first = run.jobs[0].id;
  const JobId second = run.jobs[1].id;
  run.jobs[0].lost_gpu_hours = 1;
  run.jobs[1].lost_gpu_hours = 2;
  run.control = {{.time_s = 0.5, .jobs_started = 1, .path_changes = 3}, {.time_s = 99, .path_changes = 1}};
  sim::RunRecording recording{.window = {.from = SimTime(), .to = At(10)}};
  recording.phase_names = {{first, {"dp all-reduce"}}, {second, {"dp \"all\xff\"-reduce"}}};
  recording.links = {{LinkId(4), {.name = "leaf0->spine1", .bytes_per_s = 25e9}}};
  using sim::Activity;
  recording.spans = {
      {.job = first, .activity = Activity::kCompute, .from = At(0), .to = At(1)},
      {.job = first, .activity = Activity::kPhase, .phase = 0, .from = At(1), .to = At(3)},
      {.job = first, .activity = Activity::kIteration, .iteration = 6, .from = At(0), .to = At(3)},
      {.job = second, .activity = Activity::kPhase, .phase = 0, .from = At(2), .to = At(3.000000001)},
  };
  recording.held_up = {{.job = second,
                        .cause = sim::LossCause::kJob,
                        .culprit = first,
                        .link = LinkId(4),
                        .missing = 0.5,
                        .from = At(2),
                        .to = At(3)},
                       {.job = second, .cause = sim::LossCause::kCapacity, .missing = 1, .from = At(4), .to = At(5)}};
  recording.loads = {{.link = LinkId(4), .at = At(1), .bytes_per_s = 12.5e9},
                     {.link = LinkId(4), .at = At(3), .bytes_per_s = 0}};
  run.recording = std::move(recording);
  return report;
}

std::vector<Json> EventsOfKind(const Json& timeline, std::string_view kind) {
  std::vector<Json> events;
  for (const Json& event : timeline.at("traceEvents")) {
    if (event.at("ph") == kind) events.push_back(event);
  }
  return events;
}

TEST(RunTimelineTest, HasATrackForEachActivityOfAJob) {
  const Json timeline = Json::parse(RenderTimeline(MakeRecordedReport()));
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  for (const Json& event : EventsOfKind(timeline, "M")) {
    const int process = event.at("pid");
    if (event.at("name") == "process_name") processes[process] = event.at("args").at("name");
    if (event.at("name") == "thread_name") tracks[{process, event.at("tid")}] = event.at("args").at("name");
  }
  std::vector<std::string> slices;
  for (const Json& event : EventsOfKind(timeline, "X")) {
    const int process = event.at("pid");
    const std::string owner = processes.at(process).substr(0, processes.at(process).find(','));
    slices.push_back(owner + " / " + tracks.at({process, event.at("tid")}) + " / " +
                     event.at("name").get<std::string>());
  }
  const sim::SimulationReport report = MakeRecordedReport();
  const std::string first = report.runs[0].policy + ": " + report.runs[0].jobs[0].name;
  const std::string second = report.runs[0].policy + ": " + report.runs[0].jobs[1].name;
  EXPECT_THAT(slices, ElementsAre(first + " / compute / compute", first + " / communication / dp all-reduce",
                                  first + " / iterations / iteration 7",
                                  second + " / communication / dp \"all\xef\xbf\xbd\"-reduce",
                                  second + " / held up / " + report.runs[0].jobs[0].name + " on leaf0->spine1",
                                  second + " / held up / failed or weakened links"));
  // Who lost most comes first, after links and cluster.
  EXPECT_THAT(processes.at(3), HasSubstr(report.runs[0].jobs[1].name));
  EXPECT_THAT(processes.at(3), HasSubstr("lost 2 GPU-hours"));
}

TEST(RunTimelineTest, IsWhatViewersTake) {
  EXPECT_EQ(FindTraceError(Json::parse(RenderTimeline(MakeRecordedReport()))), "");
}

TEST(TraceCheckTest, FindsWhatIsWrong) {
  const Json good = Json::parse(RenderTimeline(MakeRecordedReport()));
  const auto broken = [&](std::string_view kind, const std::function<void(Json&)>& damage) {
    Json bad = good;
    for (Json& event : bad["traceEvents"]) {
      if (event["ph"] != kind) continue;
      damage(event);
      break;
    }
    return FindTraceError(bad);
  };
  EXPECT_THAT(broken("X", [](Json& event) { event["dur"] = -1; }), HasSubstr("expected dur"));
  EXPECT_THAT(broken("X", [](Json& event) { event["tid"] = 99; }), HasSubstr("a track without a name"));
  EXPECT_THAT(broken("X", [](Json& event) { event["pid"] = 99; }), HasSubstr("without a name"));
  EXPECT_THAT(broken("s", [](Json& event) { event["id"] = "other"; }), HasSubstr("has no end"));
  EXPECT_THAT(broken("f", [](Json& event) { event["ts"] = 0; }), HasSubstr("in no slice"));
  EXPECT_THAT(broken("C", [](Json& event) { event["ts"] = 9e9; }), HasSubstr("back in time"));
  EXPECT_THAT(broken("i", [](Json& event) { event.erase("s"); }), HasSubstr("expected s"));
  EXPECT_THAT(broken("M", [](Json& event) { event["name"] = "x"; }), HasSubstr("unknown kind of name"));
  Json overlapping = good;
  Json slice = EventsOfKind(good, "X")[0];
  slice["ts"] = slice["ts"].get<double>() + slice["dur"].get<double>() / 2;
  overlapping["traceEvents"].push_back(slice);
  EXPECT_THAT(FindTraceError(overlapping), HasSubstr("overlap"));
}

TEST(RunTimelineTest, TimesAreMicrosecondsToTheNanosecond) {
  const Json timeline = Json::parse(RenderTimeline(MakeRecordedReport()));
  const Json slice = EventsOfKind(timeline, "X")[3];
  EXPECT_EQ(slice.at("ts"), 2e6);
  EXPECT_EQ(slice.at("dur"), 1e6 + 1e-3);
}

TEST(RunTimelineTest, ArrowsLeadFromTheCulpritsSliceToTheVictims) {
  const Json timeline = Json::parse(RenderTimeline(MakeRecordedReport()));
  const std::vector<Json> begins = EventsOfKind(timeline, "s");
  const std::vector<Json> ends = EventsOfKind(timeline, "f");
  ASSERT_EQ(begins.size(), 1u) << "no arrow where no job is the cause";
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(begins[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(begins[0].at("cat"), ends[0].at("cat"));
  const auto slice_at = [&](const Json& event) {
    for (const Json& slice : EventsOfKind(timeline, "X")) {
      if (slice.at("pid") != event.at("pid") || slice.at("tid") != event.at("tid")) continue;
      const double from = slice.at("ts");
      if (from <= event.at("ts") && event.at("ts") <= from + slice.at("dur").get<double>()) {
        return slice.at("name").get<std::string>();
      }
    }
    return std::string();
  };
  EXPECT_EQ(slice_at(begins[0]), "dp all-reduce");
  EXPECT_THAT(slice_at(ends[0]), HasSubstr(" on leaf0->spine1"));
}

TEST(RunTimelineTest, HasLoadsAndReplansOfTheWindow) {
  const Json timeline = Json::parse(RenderTimeline(MakeRecordedReport()));
  const std::vector<Json> loads = EventsOfKind(timeline, "C");
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0].at("name"), "leaf0->spine1");
  EXPECT_EQ(loads[0].at("args").at("Gb/s"), 100);
  EXPECT_EQ(loads[1].at("args").at("Gb/s"), 0);
  const std::vector<Json> replans = EventsOfKind(timeline, "i");
  ASSERT_EQ(replans.size(), 1u);
  EXPECT_EQ(replans[0].at("args").at("path_changes"), 3);
}

TEST(RunTimelineTest, RunsHaveProcessesOfTheirOwn) {
  sim::SimulationReport report = MakeRecordedReport();
  report.runs[1].recording = report.runs[0].recording;
  std::set<int> processes;
  for (const Json& event : EventsOfKind(Json::parse(RenderTimeline(report)), "M")) {
    if (event.at("name") == "process_name") {
      EXPECT_TRUE(processes.insert(event.at("pid").get<int>()).second);
    }
  }
  EXPECT_EQ(processes.size(), 8u);
}

TEST(RunTimelineTest, WithoutRecordingItIsEmptyButValid) {
  EXPECT_TRUE(Json::parse(RenderTimeline(MakeSmallReport())).at("traceEvents").empty());
}

TEST(RunTimelineTest, SaysWhatIsLeftOut) {
  sim::SimulationReport report = MakeRecordedReport();
  EXPECT_TRUE(DescribeLeftOut(report).empty());
  report.runs[0].recording->num_dropped = 12'000;
  EXPECT_THAT(DescribeLeftOut(report), ElementsAre(HasSubstr("leaves out 12,000 events beyond 1,000,000")));
}

}  // namespace
}  // namespace fairlead::report
