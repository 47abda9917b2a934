#include "lab/lab_timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/trace_check.h"
#include "topology/rail_fabric.h"

namespace fairlead::lab {
namespace {

using report::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kBegin = 1000;
constexpr double kUnixOffset = 1.7e9;

LabState TwoSpines() {
  topology::RailSpec spec;
  spec.spines = 2;
  spec.segments = 2;
  spec.hosts_per_segment = 2;
  LabState state;
  state.name = "test";
  state.plan = PlanLab(topology::BuildRail(spec).value(), {.scale = 1e-3}).value();
  state.health = CableHealth(state.plan.cables.size(), 1);
  return state;
}

// Iterations of 1 s from kBegin on, the last of 3 s: compute for 0.6 s, then one phase until the end.
std::string Records(int count, double last_s) {
  std::string text = "{\"connected\": 2}\n";
  for (int i = 0; i < count; ++i) {
    const double seconds = i == count - 1 ? last_s : 1;
    text += fmt::format(
        R"({{"iteration": {}, "begin_s": {:.6f}, "seconds": {:.6f}, "exposed_s": {:.6f}, "phases": [[0, 0.5, {:.6f}]], )"
        R"("stalls": [[0.6, {:.6f}]]}})"
        "\n",
        i, kBegin + i, seconds, seconds - 0.6, seconds, seconds);
  }
  return text;
}

LabRecording TwoJobs(const LabState& state, CableId cable) {
  LabRecording recording;
  recording.begin_s = kBegin;
  recording.end_s = kBegin + 10;
  recording.measured = TimeSpan{kBegin + 1, kBegin + 9};
  recording.unix_offset_s = kUnixOffset;
  recording.health = state.health;
  for (const char* name : {"user", "other"}) {
    JobRecording job{.name = name, .phases = {"dp all-reduce"}, .own_cables = {}, .used = {}, .workers = {}};
    for (int w = 0; w < 2; ++w)
      job.workers.push_back({.host = fmt::format("h{}", w), .records = Records(6, 3), .stopped = {}});
    recording.jobs.push_back(job);
  }
  recording.jobs[0].used = {{kBegin + 1, {cable}}, {kBegin + 6, {}}};
  recording.jobs[1].used = {{kBegin + 6, {cable}}};
  return recording;
}

std::vector<Json> EventsOf(const Json& timeline, std::string_view kind) {
  std::vector<Json> events;
  for (const Json& event : timeline.at("traceEvents")) {
    if (event.at("ph") == kind) events.push_back(event);
  }
  return events;
}

// "process / track" of each event's place.
std::map<std::pair<int, int>, std::string> PlacesOf(const Json& timeline) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> places;
  for (const Json& event : EventsOf(timeline, "M")) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") {
      places[{event["pid"], event["tid"]}] =
          processes.at(event["pid"]) + " / " + event["args"]["name"].get<std::string>();
    }
  }
  return places;
}

Json Rendered(const LabState& state, const LabRecording& recording) {
  const Json timeline = Json::parse(RenderLabTimeline(state, recording).text);
  EXPECT_EQ(report::FindTraceError(timeline), "");
  return timeline;
}

CableId SomeUplink(const LabState& state) {
  for (CableId cable(0u); cable.index() < state.plan.cables.size(); cable = CableId(cable.index() + 1)) {
    if (!state.plan.cables[cable].nic.valid()) return cable;
  }
  return CableId();
}

TEST(LabTimeline, DividesIterationsIntoComputeAndWaiting) {
  const LabState state = TwoSpines();
  const Json timeline = Rendered(state, TwoJobs(state, SomeUplink(state)));
  const auto places = PlacesOf(timeline);
  std::vector<std::string> first;
  for (const Json& event : EventsOf(timeline, "X")) {
    if (!places.at({event["pid"], event["tid"]}).starts_with("job user, 2 workers / worker 0 on h0")) continue;
    if (event["ts"].get<double>() < 1e6) {
      first.push_back(fmt::format("{} {:.1f}+{:.1f}", event["name"].get<std::string>(),
                                  event["ts"].get<double>() * 1e-6, event["dur"].get<double>() * 1e-6));
    }
  }
  EXPECT_THAT(first, ElementsAre("iteration 0 0.0+1.0", "compute 0.0+0.6", "waits for dp all-reduce 0.6+0.4",
                                 "dp all-reduce 0.5+0.5"));
  EXPECT_EQ(timeline["otherData"]["origin_unix_s"], kBegin + kUnixOffset);
}

TEST(LabTimeline, ArrowsLeadFromACutToTheFirstLateIterationOfJobsThatUsedTheCable) {
  const LabState state = TwoSpines();
  const CableId cable = SomeUplink(state);
  LabRecording recording = TwoJobs(state, cable);
  // Iteration 5, of 3 s instead of 1 s, begins at 5 s.
  recording.changes = {{.at_s = kBegin + 4.5, .cable = CableName(state.plan, cable), .end = {}, .health = 0},
                       {.at_s = kBegin + 7, .cable = CableName(state.plan, cable), .end = {}, .health = 1}};
  const Json timeline = Rendered(state, recording);
  const auto places = PlacesOf(timeline);
  const auto begins = EventsOf(timeline, "s");
  const auto ends = EventsOf(timeline, "f");
  ASSERT_EQ(begins.size(), 1u) << "the other job used the cable only later";
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_THAT(places.at({begins[0]["pid"], begins[0]["tid"]}), HasSubstr("cable " + CableName(state.plan, cable)));
  EXPECT_EQ(begins[0]["ts"], 4.5e6);
  EXPECT_THAT(places.at({ends[0]["pid"], ends[0]["tid"]}), HasSubstr("job user, 2 workers / worker 0"));
  EXPECT_EQ(ends[0]["ts"], 5e6) << "where the late iteration begins";
  for (const Json& event : EventsOf(timeline, "X")) {
    if (!event["name"].get<std::string>().ends_with(" is cut")) continue;
    EXPECT_EQ(event["dur"], 2.5e6);
    EXPECT_EQ(event["args"]["delays"].size(), 1u);
    EXPECT_EQ(event["args"]["delays"][0]["iteration"], 5);
    EXPECT_EQ(event["args"]["delays"][0]["usual_s"], 1);
  }
}

TEST(LabTimeline, HasNoArrowsWhereNothingWasLate) {
  const LabState state = TwoSpines();
  const CableId cable = SomeUplink(state);
  const std::string name = CableName(state.plan, cable);
  const auto arrows = [&](std::vector<CableChange> changes, double last_s) {
    LabRecording recording = TwoJobs(state, cable);
    for (WorkerRecording& worker : recording.jobs[0].workers) worker.records = Records(6, last_s);
    recording.changes = std::move(changes);
    return EventsOf(Rendered(state, recording), "s").size();
  };
  const CableChange cut{.at_s = kBegin + 4.5, .cable = name, .end = {}, .health = 0};
  EXPECT_EQ(arrows({cut}, 3), 1u);
  EXPECT_EQ(arrows({cut}, 1.2), 0u) << "it took less than 1.25 times as long";
  EXPECT_EQ(arrows({cut, {.at_s = kBegin + 4.7, .cable = name, .end = {}, .health = 1}}, 3), 0u)
      << "it began when the cable was whole again";
  EXPECT_EQ(arrows({{.at_s = kBegin + 2.5, .cable = name, .end = {}, .health = 0}}, 3), 0u)
      << "two iterations are too few to say what is usual";
  EXPECT_EQ(arrows({{.at_s = kBegin + 4.5, .cable = "no-such", .end = {}, .health = 0}}, 3), 0u);
}

TEST(LabTimeline, ShowsSlowEndsApartFromEachOther) {
  LabState state = TwoSpines();
  const CableId cable = SomeUplink(state);
  const std::string name = CableName(state.plan, cable);
  LabRecording recording = TwoJobs(state, cable);
  recording.health[CableId(0u)] = 0.5;
  recording.changes = {{.at_s = kBegin + 1, .cable = name, .end = 0, .health = 0.25},
                       {.at_s = kBegin + 2, .cable = name, .end = 1, .health = 0.75},
                       {.at_s = kBegin + 3, .cable = name, .end = 0, .health = 1},
                       {.at_s = kBegin + 4, .cable = name, .end = {}, .health = 1}};
  recording.jobs[0].workers[1].stopped = {{kBegin + 5.5, kBegin + 6}};
  std::vector<std::string> bad;
  for (const Json& event : EventsOf(Rendered(state, recording), "X")) {
    if (event["pid"] != 1 || event["tid"] == 1) continue;
    bad.push_back(fmt::format("{} {:.1f}+{:.1f}", event["name"].get<std::string>(), event["ts"].get<double>() * 1e-6,
                              event["dur"].get<double>() * 1e-6));
  }
  const LabCable& wire = state.plan.cables[cable];
  const std::string lower = state.plan.nodes[wire.ends[0].node].name;
  const std::string upper = state.plan.nodes[wire.ends[1].node].name;
  EXPECT_THAT(bad, ElementsAre(CableName(state.plan, CableId(0u)) + " has 0.5 of its speed 0.0+10.0",
                               lower + "->" + upper + " has 0.25 of its speed 1.0+2.0",
                               upper + "->" + lower + " has 0.75 of its speed 2.0+2.0",
                               "worker 1 of job user is stopped 5.5+0.5"));
}

TEST(LabTimeline, CountersAreAtTheSpeedOfTheFabric) {
  const LabState state = TwoSpines();
  const CableId cable = SomeUplink(state);
  LabRecording recording = TwoJobs(state, cable);
  for (int i = 0; i < 3; ++i) {
    LinkSample sample{.at_s = kBegin + 2 * i, .sent_bytes = {}};
    sample.sent_bytes.resize(state.plan.cables.size());
    sample.sent_bytes[cable][1] = i == 0 ? 0 : 1'000'000;
    recording.samples.push_back(sample);
  }
  const auto counters = EventsOf(Rendered(state, recording), "C");
  // A megabyte in 2 s, a thousand times as fast: 4 Gb/s. Then nothing. No other direction carried anything.
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_DOUBLE_EQ(counters[0]["args"]["Gb/s"], 4);
  EXPECT_EQ(counters[0]["ts"], 0);
  EXPECT_EQ(counters[1]["args"]["Gb/s"], 0);
  EXPECT_EQ(counters[1]["ts"], 2e6);
}

TEST(LabTimeline, ShowsHowAJobEnded) {
  const LabState state = TwoSpines();
  LabRecording recording = TwoJobs(state, SomeUplink(state));
  recording.measured.reset();
  WorkerRecording& dead = recording.jobs[1].workers[0];
  dead.records = Records(2, 1) +
                 R"({"unfinished": 2, "begin_s": 1002.0, "seconds": 4.0, "exposed_s": 3.0, "phases": [[0, 0.5, 4.0]],)"
                 R"( "stalls": [[1.0, 4.0000009]]})"
                 "\n{\"iteration\": 3, \"beg";
  dead.failed_at_s = kBegin + 6.1;
  dead.failure = "signal 9";
  const Json timeline = Rendered(state, recording);
  const auto instants = EventsOf(timeline, "i");
  ASSERT_EQ(instants.size(), 1u);
  EXPECT_EQ(instants[0]["name"], "its process ended: signal 9");
  EXPECT_THAT(timeline.dump(), HasSubstr("iteration 2: not over at the end"));
}

TEST(LabTimeline, OfNothingIsEmptyButValid) {
  const LabState state = TwoSpines();
  const Json timeline = Rendered(state, LabRecording{});
  EXPECT_EQ(EventsOf(timeline, "X").size(), 1u) << "the run itself";
  LabRecording no_records = TwoJobs(state, SomeUplink(state));
  for (JobRecording& job : no_records.jobs) {
    for (WorkerRecording& worker : job.workers) worker.records = "[1]\n{\"iteration\": \"x\"}\nnull\n\xff\n";
  }
  EXPECT_EQ(EventsOf(Rendered(state, no_records), "X").size(), 2u);
}

TEST(LabTimeline, KeepsTheLastIterationsOfEachWorker) {
  const LabState state = TwoSpines();
  const LabRecording recording = TwoJobs(state, SomeUplink(state));
  // Of 5 events each, for 4 workers: two iterations of each.
  const LabTimeline timeline = RenderLabTimeline(state, recording, 4 * 12);
  EXPECT_EQ(timeline.num_iterations_left_out, 4u * 4u);
  EXPECT_THAT(timeline.text, HasSubstr("\"iteration 5\""));
  EXPECT_THAT(timeline.text, Not(HasSubstr("\"iteration 3\"")));
}

TEST(LabTimeline, ShowsWhatTheControllerNotedAndFound) {
  const LabState state = TwoSpines();
  LabRecording recording = TwoJobs(state, SomeUplink(state));
  recording.events = {{.number = 1,
                       .time_s = kBegin + kUnixOffset + 2,
                       .severity = "info",
                       .subject = "job user",
                       .text = "moved \"it\""}};
  wire::LiveFinding finding;
  finding.job = "user";
  finding.id = 7;
  finding.confirmed_at_s = kBegin + kUnixOffset + 3;
  finding.text = "rank 1 is slow";
  recording.findings = {finding};
  const Json timeline = Rendered(state, recording);
  const auto instants = EventsOf(timeline, "i");
  ASSERT_EQ(instants.size(), 1u);
  EXPECT_EQ(instants[0]["name"], "job user: moved \"it\"");
  EXPECT_NEAR(instants[0]["ts"].get<double>(), 2e6, 1);
  const auto slices = EventsOf(timeline, "X");
  const auto found = std::ranges::find_if(slices, [](const Json& slice) { return slice["name"] == "rank 1 is slow"; });
  ASSERT_NE(found, slices.end());
  EXPECT_NEAR((*found)["dur"].get<double>(), 7e6, 1) << "it holds until the end";
}

TEST(LabRecorder, KnowsTheCablesOfItsHosts) {
  const LabState state = TwoSpines();
  const LabNic& first = state.plan.nics[NicId(0u)];
  LabJob job;
  job.workers.resize(1);
  job.workers[0].plan.connections = {
      {.is_outgoing = true, .from = FormatAddress(first.address), .to = "10.99.99.99", .port = 1}};
  const auto cables = OwnCablesOf(state.plan, job);
  EXPECT_EQ(cables.size(), first.cables.size() == 1 ? 1u : 0u);
}

}  // namespace
}  // namespace fairlead::lab
