#include "sim/run_recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

double Length(SimTime from, SimTime to) { return (to - from).seconds().value(); }

// Three jobs that compute and send over one uplink of two hosts' rate; `local` stays below its leaf.
RunResult RunThreeJobs(std::optional<RecordingWindow> window) {
  const std::string text =
      "title: three jobs\nseeds: 2\nsimulate_s: 60\npolicies: [ecmp]\n"
      "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 5, spines: 1, oversubscription: 2.5, "
      "host: {gpus: 2, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}\njobs:\n"
      "  - {name: a, hosts: [h0, h5], gpus: 2, compute_s: 0.31, size_mb: 9000}\n"
      "  - {name: b, hosts: [h1, h6], gpus: 2, compute_s: 0.47, size_mb: 14000, iterations: 40}\n"
      "  - {name: c, hosts: [h2, h7], gpus: 2, compute_s: 0.23, size_mb: 20000}\n"
      "  - {name: local, hosts: [h3, h4], gpus: 2, compute_s: 0.2, size_mb: 2000}\n";
  const Scenario scenario = ParseScenario(text, "test.yaml", {}).value();
  const std::atomic<bool> never = false;
  SimulationReport report = RunScenario(scenario, {.recorded = window, .num_threads = 1}, never, nullptr).value();
  EXPECT_FALSE(report.runs[1].recording) << "only the first draw is recorded";
  return std::move(report.runs[0]);
}

TEST(RunRecordingTest, ARecordedRunAddsUpToItsResults) {
  const RunResult run = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60)});
  const RunRecording& recording = run.recording.value();
  std::map<JobId, double> computed;
  std::map<JobId, uint64_t> iterations;
  std::map<JobId, SimTime> last_end;
  for (const ActivitySpan& span : recording.spans) {
    EXPECT_LT(span.from, span.to);
    if (span.activity == Activity::kCompute) computed[span.job] += Length(span.from, span.to);
    if (span.activity != Activity::kIteration) continue;
    EXPECT_EQ(span.iteration, iterations[span.job]++);
    if (last_end.contains(span.job)) {
      EXPECT_EQ(span.from, last_end[span.job]) << "one follows the other";
    }
    last_end[span.job] = span.to;
  }
  for (const JobResult& job : run.jobs) {
    EXPECT_NEAR(computed[job.id], job.compute_s, 1e-6) << job.name;
    EXPECT_EQ(iterations[job.id], static_cast<uint64_t>(job.iterations)) << job.name;
    ASSERT_EQ(recording.phase_names.at(job.id).size(), 1u) << job.name;
  }
  EXPECT_EQ(recording.num_dropped, 0u);
}

// [link of which loads are recorded] bytes until the end of the run.
std::map<LinkId, double> CarriedByLoads(const RunResult& run) {
  std::map<LinkId, LinkLoad> now;
  std::map<LinkId, double> carried;
  for (const LinkLoad& load : run.recording->loads) {
    const LinkLoad& before = now.try_emplace(load.link, load).first->second;
    EXPECT_GE(load.at, before.at);
    carried[load.link] += before.bytes_per_s * Length(before.at, load.at);
    now[load.link] = load;
  }
  for (const auto& [link, last] : now) carried[link] += last.bytes_per_s * Length(last.at, At(run.simulated_s));
  return carried;
}

double BytesOf(const LinkResult& link, const RunResult& run) {
  return link.utilization * link.capacity_bytes_per_s * run.simulated_s;
}

TEST(RunRecordingTest, LoadsOfALinkAddUpToWhatItCarried) {
  const RunResult run = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60)});
  std::map<LinkId, double> carried = CarriedByLoads(run);
  size_t num_shared = 0;
  for (const LinkResult& link : run.links) {
    if (!carried.contains(link.id)) continue;
    ++num_shared;
    EXPECT_EQ(run.recording->links.at(link.id).bytes_per_s, link.capacity_bytes_per_s);
    EXPECT_NEAR(carried[link.id] / BytesOf(link, run), 1, 1e-6) << link.name;
  }
  EXPECT_EQ(num_shared, 4u) << "uplinks and downlinks: once b has ended, too, when the two that are left have enough";
}

// Four jobs whose flows are spread over two spines, or change between them.
RunResult RunSpread(const std::string& policy, const std::string& more) {
  const std::string text =
      "title: two spines\nseeds: 1\nsimulate_s: 12\npolicies: [" + policy + "]\n" + more +
      "\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 5, spines: 2, oversubscription: 2.5, "
      "host: {gpus: 2, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}\njobs:\n"
      "  - {name: a, hosts: [h0, h5], gpus: 2, compute_s: 0.31, size_mb: 9000}\n"
      "  - {name: b, hosts: [h1, h6], gpus: 2, compute_s: 0.47, size_mb: 14000, iterations: 10}\n"
      "  - {name: c, hosts: [h2, h7], gpus: 2, compute_s: 0.23, size_mb: 20000}\n"
      "  - {name: d, hosts: [h3, h4, h8, h9], gpus: 8, compute_s: 0.2, size_mb: 5000, collective: all-to-all}\n";
  const Scenario scenario = ParseScenario(text, "test.yaml", {}).value();
  const std::atomic<bool> never = false;
  const RecordingWindow window{.from = SimTime(), .to = At(12)};
  return std::move(RunScenario(scenario, {.recorded = window, .num_threads = 1}, never, nullptr).value().runs[0]);
}

// Against the account of bytes, which knows nothing of the recorder.
TEST(RunRecordingTest, LoadsFollowFlowsThatAreSpreadOrChangeTheirPaths) {
  for (const auto& [policy, more] : std::multimap<std::string, std::string>{
           {"spray", ""},
           {"spray", "detail: edge"},
           {"spray", "spray: {detect_us: 2e6}\nlink_events: [{at_s: 4, link: leaf0->spine1, health: 0}]"},
           {"c4p", "detail: edge"},
           {"ethereal", ""},
           {"flowlet", "flowlet: {rule: conga, gap_us: 0, remap_us: 100000}"},
           {"crux+flowlet", "flowlet: {rule: letflow, gap_us: 0, remap_us: 70000}"}}) {
    const RunResult run = RunSpread(policy, more);
    std::map<LinkId, double> carried = CarriedByLoads(run);
    size_t num_links = 0;
    for (const LinkResult& link : run.links) {
      if (link.name.find("spine") == std::string::npos) continue;  // of others single jobs have enough
      ++num_links;
      EXPECT_NEAR(carried[link.id] / BytesOf(link, run), 1, 1e-6) << policy << " " << link.name;
    }
    EXPECT_EQ(num_links, 8u) << policy;
  }
}

TEST(RunRecordingTest, WhatHoldsAJobUpNamesTheLinkAndAJobOnIt) {
  const RunResult run = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60)});
  const auto id_of = [&](const std::string& name) { return std::ranges::find(run.jobs, name, &JobResult::name)->id; };
  std::map<JobId, double> lost;
  for (const HeldUpSpan& span : run.recording->held_up) {
    EXPECT_EQ(span.cause, LossCause::kJob);
    EXPECT_NE(span.culprit, span.job);
    EXPECT_NE(span.culprit, id_of("local"));
    const auto link = std::ranges::find(run.links, span.link, &LinkResult::id);
    ASSERT_NE(link, run.links.end());
    EXPECT_TRUE(link->name.starts_with("leaf0->") || link->name.starts_with("spine0->")) << link->name;
    EXPECT_GT(span.missing, 0);
    EXPECT_LE(span.missing, 1);
    lost[span.job] += span.missing * Length(span.from, span.to);
  }
  EXPECT_FALSE(lost.contains(id_of("local")));
  // Of several culprits the greatest is named, so a part of what was lost at least; two jobs beside each job here.
  for (const JobResult& job : run.jobs) {
    if (job.name == "local") continue;
    EXPECT_GT(lost[job.id], 0.4 * job.lost_s) << job.name;
    EXPECT_LT(lost[job.id], 1.05 * job.lost_s + 0.05) << job.name;
  }
}

TEST(RunRecordingTest, AWindowInTheMiddleHasWhatTheWholeRunHasThere) {
  const RunResult whole = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60)});
  const RunResult part = RunThreeJobs(RecordingWindow{.from = At(20), .to = At(25)});
  const RunResult plain = RunThreeJobs(std::nullopt);
  for (size_t j = 0; j < plain.jobs.size(); ++j) {
    EXPECT_NEAR(part.jobs[j].iterations, plain.jobs[j].iterations, 1e-6);
    EXPECT_NEAR(whole.jobs[j].iterations, plain.jobs[j].iterations, 1e-6);
  }
  EXPECT_GT(part.fast_forward_fraction, 0) << "only the window is simulated event by event";
  const auto starts = [](const RunRecording& recording, Activity activity) {
    std::vector<SimTime> times;
    for (const ActivitySpan& span : recording.spans) {
      if (span.activity == activity && span.from > At(20) && span.to < At(25)) times.push_back(span.from);
    }
    std::ranges::sort(times);
    return times;
  };
  for (const Activity activity : {Activity::kIteration, Activity::kPhase, Activity::kCompute}) {
    const auto expected = starts(*whole.recording, activity);
    EXPECT_GT(expected.size(), 10u);
    EXPECT_EQ(starts(*part.recording, activity), expected);
  }
  for (const ActivitySpan& span : part.recording->spans) {
    EXPECT_GE(span.from, At(20));
    EXPECT_LE(span.to, At(25));
  }
}

TEST(RunRecordingTest, WhatIsTooMuchIsCounted) {
  const RunResult whole = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60)});
  const RunResult cut = RunThreeJobs(RecordingWindow{.from = SimTime(), .to = At(60), .max_events = 100});
  EXPECT_LE(cut.recording->spans.size() + cut.recording->held_up.size(), 100u);
  EXPECT_GT(cut.recording->num_dropped, whole.recording->spans.size() + whole.recording->held_up.size() - 100);
  EXPECT_EQ(cut.event_hash, whole.event_hash);
}

}  // namespace
}  // namespace fairlead::sim
