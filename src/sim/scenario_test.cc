#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include "base/temporary_folder.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two leaves of two hosts; line 3 is the fabric, line 4 the jobs.
constexpr char kGood[] = R"(title: two jobs
seeds: 2
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, oversubscription: 2}
jobs:
  - {name: a, gpus: 16, compute_s: 0.2, size_mb: 2000, start_fraction: 0.5, collective: hierarchical-all-reduce}
  - {name: b, gpus: 16, model: bert-large, iterations: 20, arrival_s: 1}
simulate_s: 10
placement: random
)";

Result<Scenario> Parse(const std::string& text) { return ParseScenario(text, "s.yaml", {}); }

// kGood with one text replaced by another.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ScenarioTest, ReadsJobsFabricAndOptions) {
  const auto scenario = Parse(kGood);
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  EXPECT_EQ(scenario->title, "two jobs");
  EXPECT_EQ(scenario->num_seeds, 2u);
  EXPECT_EQ(scenario->fabric.num_gpus(), 32u);
  ASSERT_EQ(scenario->jobs.size(), 2u);
  EXPECT_EQ(scenario->jobs[1].job.num_iterations, 20u);
  EXPECT_EQ(scenario->jobs[1].job.arrival, SimTime::FromSeconds(Seconds(1)));
  EXPECT_EQ(scenario->simulation.end, SimTime::FromSeconds(Seconds(10)));
  EXPECT_EQ(scenario->policies, (std::vector<std::string>{"ecmp", "crux"}));
}

TEST(ScenarioTest, CountMakesCopiesWithNamesAndIds) {
  const auto scenario = Parse(With("{name: a, gpus: 16", "{name: a, count: 3, gpus: 2"));
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  ASSERT_EQ(scenario->jobs.size(), 4u);
  EXPECT_EQ(scenario->jobs[2].job.name, "a-2");
  EXPECT_EQ(scenario->jobs[2].job.id, JobId(2));
}

TEST(ScenarioTest, JobsShareTheirGpusEquallyAmongTheirHosts) {
  const auto gpus_per_host = [](const std::string& job) {
    const auto scenario = Parse(With("name: a, gpus: 16", "name: a, " + job));
    EXPECT_TRUE(scenario.ok()) << scenario.status().message();
    return scenario.ok() ? scenario->jobs[0].job.gpus_per_host : 0;
  };
  EXPECT_EQ(gpus_per_host("gpus: 16"), 8u);
  EXPECT_EQ(gpus_per_host("gpus: 2"), 2u);
  EXPECT_EQ(gpus_per_host("hosts: [h0, h2], gpus: 4"), 2u);
  EXPECT_EQ(gpus_per_host("hosts: [h0, h2, h3], gpus: 16"), 6u);
  EXPECT_EQ(gpus_per_host("hosts: [h0, h2], gpus: 4, gpus_per_host: 2"), 2u);
  // Hosts of fewer than eight GPUs.
  auto small = Parse(With("oversubscription: 2}", "oversubscription: 2, host: {gpus: 4, nics: 4}}"));
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_EQ(small->jobs[0].job.gpus_per_host, 4u);
}

TEST(ScenarioTest, JobsRunOnTheHostsThatTheyName) {
  auto scenario = Parse(With("name: a,", "name: a, hosts: [h3, h0],"));
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  EXPECT_EQ(scenario->jobs[0].job.hosts, (std::vector<HostId>{HostId(3u), HostId(0u)}));
  // Job b comes later and finds the two others.
  const std::atomic<bool> never = false;
  const auto report = RunScenario(*scenario, {.num_threads = 1}, never, nullptr);
  ASSERT_TRUE(report.ok());
  for (const RunResult& run : report->runs) {
    EXPECT_GT(run.jobs[0].iterations, 0);
    EXPECT_GT(run.jobs[1].iterations, 0);
  }
}

struct BadInput {
  const char* from;
  const char* to;
  const char* message;
};

TEST(ScenarioTest, BadInputNamesLineKeyExpectedAndFound) {
  const BadInput cases[] = {
      {"seeds: 2", "seedz: 2", "s.yaml:2: unknown key 'seedz'"},
      {"seeds: 2", "seeds: -1", "s.yaml:2: seeds: expected an integer in [1, 10000], found '-1'"},
      {"seeds: 2", "seeds: .nan", "s.yaml:2: seeds: expected an integer"},
      {"title: two jobs\n", "", "the key 'title' is missing"},
      {"simulate_s: 10", "simulate_s: .nan", "s.yaml:7: simulate_s: expected a number"},
      {"simulate_s: 10", "simulate_s: 0", "s.yaml:7: simulate_s"},
      {"placement: random", "placement: best", "expected one of locality-first, random, hived, muri, found 'best'"},
      {"simulate_s: 10", "policies: [magic]", "s.yaml:7: policies: expected one of ecmp, "},
      {"simulate_s: 10", "policies: [ecmp, curx]", "found 'curx'; did you mean 'crux'?"},
      {"simulate_s: 10", "simulate: 10", "s.yaml:7: unknown key 'simulate'; did you mean 'simulate_s'?"},
      {"simulate_s: 10", "simulate_s: 16GB",
       "s.yaml:7: simulate_s: expected a number of seconds in [0.001, 1000000000] (or with a unit, as in 250ms), "
       "found '16GB'"},
      {"leaves: 2", "leaves: -2", "s.yaml:3: fabric.leaves"},
      {"leaves: 2", "leaves: 4000000000", "s.yaml:3: fabric"},
      {"kind: clos2", "kind: torus", "s.yaml:3: fabric.kind: expected one of"},
      {"oversubscription: 2", "oversubscription: 0", "s.yaml:3: fabric"},
      {"oversubscription: 2}", "oversubscription: 2}\nfabric_file: x.yaml",
       "exactly one of the keys fabric and fabric_file"},
      {"gpus: 16, compute", "gpus: 64, compute",
       "s.yaml:5: jobs[0]: job a: expected at most the 32 GPUs of the cluster, found 64"},
      {"gpus: 16, compute", "gpus: 16, gpus_per_host: 16, compute",
       "s.yaml:5: jobs[0]: job a: needs 1 hosts with 16 GPUs each"},
      {"gpus: 16, compute", "gpus: 0, compute", "s.yaml:5: jobs[0].gpus: expected an integer"},
      {"compute_s: 0.2", "compute_s: -0.2", "s.yaml:5: jobs[0].compute_s: expected a number"},
      {"compute_s: 0.2, size_mb: 2000", "compute_s: 0, size_mb: 0", "an iteration needs time"},
      {"collective: hierarchical-all-reduce", "collective: magic",
       "s.yaml:5: jobs[0].collective: expected one of ring-all-reduce"},
      {"compute_s: 0.2", "compute_s: 0.2, model: bert-large", "exactly one of the keys model"},
      {"model: bert-large", "model: bert-huge", "s.yaml:6: jobs[1].model: "},
      {"model: bert-large", "model: bert-large, parallelism: {tensor: 3}",
       "s.yaml:6: jobs[1].parallelism: expected tensor x pipeline x data = 16"},
      {"model: bert-large", "model: bert-large, parallelism: {zero_stage: 9}",
       "s.yaml:6: jobs[1].parallelism.zero_stage"},
      // 65537 x 65536 = 2^32 + 65536, which 32 bits truncate to 65536; times 2 that would be the job's 131072 GPUs.
      {"gpus: 16, model: bert-large",
       "gpus: 131072, model: bert-large, parallelism: {tensor: 65537, pipeline: 65536, data: 2}",
       "s.yaml:6: jobs[1].parallelism: expected tensor x pipeline x data = 131072 GPUs, found 65537 x 65536 x 2"},
      // One GPU has no peer to send to.
      {"gpus: 16, compute_s: 0.2, size_mb: 2000", "gpus: 1, compute_s: 0, size_mb: 2000",
       "s.yaml:5: jobs[0]: job a: an iteration needs time"},
      {"gpus: 16, compute_s: 0.2, size_mb: 2000", "gpus: 1, compute_s: 1.0e-12, size_mb: 0",
       "s.yaml:5: jobs[0]: job a: an iteration needs time"},
      // 1e18 bytes a GPU and more over links of some 1e10 byte/s.
      {"size_mb: 2000", "size_mb: 1.0e+12", "s.yaml:5: jobs[0]: job a: expected iterations of at most 1e+09 s, found"},
      {"name: a,", "name: a, hosts: [h0, mars],",
       "s.yaml:5: jobs[0].hosts: there is no host 'mars'; hosts are named like 'h3'"},
      {"name: a,", "name: a, hosts: [h0, h0],", "s.yaml:5: jobs[0].hosts: the host 'h0' appears twice"},
      {"name: a,", "name: a, hosts: [h0],", "s.yaml:5: jobs[0].hosts: host 'h0' has 8 GPUs; expected at least 16"},
      {"name: a,", "name: a, gpus_per_host: 8, hosts: [h0],",
       "s.yaml:5: jobs[0].hosts: expected 2 (gpus 16 / gpus_per_host 8), found 1"},
      {"simulate_s: 10", "qps_per_connection: 0", "s.yaml:7: qps_per_connection: expected an integer in [1, 128]"},
      {"simulate_s: 10", "congestion: tcp", "s.yaml:7: congestion: expected one of none, dcqcn, found 'tcp'"},
      {"simulate_s: 10", "congestion: {kind: dcqcn}", "s.yaml:7: congestion: expected"},
      {"simulate_s: 10", "c4p: {max_imbalance: 0.5}", "s.yaml:7: c4p.max_imbalance: expected a number"},
      {"name: b", "name: a", "s.yaml:6: jobs[1].name: the job name 'a' appears twice"},
      {"simulate_s: 10", "link_events: [{at_s: 1, link: leaf0->moon, health: 0}]",
       "there is no link 'leaf0->moon'; links are named like"},
      {"simulate_s: 10", "link_events: [{at_s: 1, link: leaf0->spine0, health: 2}]",
       "link_events[0].health: expected a number in [0, 1]"},
      {"simulate_s: 10", "link_events: {at_s: 1}", "link_events: expected a list of maps, found a map"},
  };
  for (const BadInput& bad : cases) {
    const auto scenario = Parse(With(bad.from, bad.to));
    ASSERT_FALSE(scenario.ok()) << bad.to;
    EXPECT_THAT(scenario.status().message(), AllOf(HasSubstr("s.yaml"), HasSubstr(bad.message))) << bad.to;
  }
}

TEST(ScenarioTest, EmptyMissingAndJoblessFilesAreErrors) {
  EXPECT_THAT(Parse("").status().message(), HasSubstr("empty"));
  EXPECT_EQ(LoadScenario("/nonexistent/x.yaml", {}).status().code(), StatusCode::kNotFound);
  std::string text = kGood;
  text.erase(text.find("jobs:"), text.find("simulate_s") - text.find("jobs:"));
  EXPECT_THAT(Parse(text).status().message(), HasSubstr("expected exactly one of the keys jobs and trace"));
}

TEST(ScenarioTest, TopologyOverridesTheFabric) {
  const TemporaryFolder folder;
  const std::string path = folder.File("topo.csv");
  {
    std::ofstream file(path);
    file << "ip,DSW,PSW,ASW\n";
    for (int i = 0; i < 8; ++i) file << "host" << i << ",G1,P" << i / 4 << ",S" << i / 2 % 2 << "\n";
  }
  const auto scenario = ParseScenario(kGood, "s.yaml", {.topology_file = path});
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  EXPECT_EQ(scenario->fabric.num_hosts(), 8u);
  EXPECT_EQ(scenario->fabric.num_pods(), 2u);
  std::remove(path.c_str());
  EXPECT_FALSE(ParseScenario(kGood, "s.yaml", {.topology_file = path}).ok());
}

TEST(ScenarioTest, ValuesOfACommandLineCountInsteadOfTheFiles) {
  const ScenarioOverrides overrides = {.topology_file = {},
                                       .values = {"fabric.oversubscription=4:1", "jobs.b.gpus=8", "crux.path_unit=job",
                                                  "policies=[crux]", "placement="}};
  const auto scenario = ParseScenario(kGood, "s.yaml", overrides);
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  EXPECT_EQ(scenario->jobs[1].job.num_gpus, 8U);
  EXPECT_EQ(scenario->policy_options.crux.paths.unit, traffic::PathUnit::kJob);
  EXPECT_EQ(scenario->policies, std::vector<std::string>{"crux"});
  const auto same = Parse(With("oversubscription: 2", "oversubscription: 4"));
  for (uint32_t l = 0; l < scenario->fabric.num_links(); ++l) {
    EXPECT_EQ(scenario->fabric.capacity(LinkId(l)).value(), same->fabric.capacity(LinkId(l)).value());
  }
  const auto fault = [](const std::string& value) {
    return ParseScenario(kGood, "s.yaml", {.topology_file = {}, .values = {value}}).status().message();
  };
  EXPECT_EQ(fault("seeds"), "--set seeds: expected KEY=VALUE, as in fabric.leaves=4");
  EXPECT_THAT(fault("fabric.leafs=4"), HasSubstr("--set fabric.leafs=4: fabric: unknown key 'leafs'; did you mean"));
  EXPECT_THAT(fault("seeds=many"), HasSubstr("--set seeds=many: seeds: expected an integer"));
  // An option of a policy that is none.
  EXPECT_THAT(fault("crux.min_score_gain=1"), HasSubstr("--set crux.min_score_gain=1: crux: unknown key"));
}

TEST(ScenarioRunnerTest, SameResultsAtAnyNumberOfThreads) {
  const auto scenario = Parse(kGood);
  ASSERT_TRUE(scenario.ok());
  const std::atomic<bool> never = false;
  double last = 0;
  const auto one = RunScenario(*scenario, {.num_threads = 1}, never, [&](double fraction) { last = fraction; });
  const auto four = RunScenario(*scenario, {.num_threads = 4}, never, nullptr);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(last, 1);
  ASSERT_EQ(one->runs.size(), 4u);  // two policies, two seeds
  for (size_t i = 0; i < one->runs.size(); ++i) {
    EXPECT_EQ(one->runs[i].event_hash, four->runs[i].event_hash);
    EXPECT_EQ(one->runs[i].policy, i < 2 ? "ecmp" : "crux");
    EXPECT_FALSE(one->runs[i].partial);
    EXPECT_GT(one->runs[i].busy, 0);
  }
}

TEST(ScenarioRunnerTest, CongestionControlIsAnOption) {
  const std::atomic<bool> never = false;
  for (const bool is_on : {false, true}) {
    const auto scenario =
        Parse(With("simulate_s: 10", is_on ? "simulate_s: 10\ncongestion: dcqcn" : "congestion: none"));
    ASSERT_TRUE(scenario.ok()) << scenario.status().message();
    EXPECT_EQ(scenario->simulation.dcqcn.has_value(), is_on);
    const auto report = RunScenario(*scenario, {.num_threads = 1}, never, nullptr);
    ASSERT_TRUE(report.ok());
    for (const RunResult& run : report->runs) {
      EXPECT_EQ(run.congestion_loss.has_value(), is_on);
      for (const JobResult& job : run.jobs) EXPECT_EQ(job.cnps.has_value(), is_on);
    }
  }
}

TEST(ScenarioRunnerTest, APolicyTwiceIsAnError) {
  auto scenario = Parse(kGood);
  scenario->policies = {"crux", "ecmp", "crux"};
  const std::atomic<bool> never = false;
  EXPECT_THAT(RunScenario(*scenario, {}, never, nullptr).status().message(), HasSubstr("crux appears twice"));
}

TEST(ScenarioTest, SendersWithRulesAreRefusedUnderCongestionControl) {
  const auto error = [](const std::string& keys) {
    return Parse(std::string(kGood) + "congestion: dcqcn\n" + keys).status().message();
  };
  EXPECT_THAT(error("policies: [ecmp, mltcp]\n"),
              HasSubstr("s.yaml:9: congestion: expected none with the policy 'mltcp'"));
  EXPECT_EQ(error("policies: [mltcp]\nmltcp: {slope: 0}\n"), "");
  EXPECT_THAT(error("policies: [varys]\n"), HasSubstr("with the policy 'varys'"));
  EXPECT_EQ(error("policies: [varys, sincronia]\nvarys: {pacing: none}\n"), "");
  EXPECT_THAT(error("policies: [sincronia]\nsincronia: {pacing: madd}\n"), HasSubstr("with the policy 'sincronia'"));
  auto scenario = Parse(std::string(kGood) + "congestion: dcqcn\n").value();
  scenario.policies = {"mltcp"};
  const std::atomic<bool> never = false;
  EXPECT_THAT(RunScenario(scenario, {}, never, nullptr).status().message(), HasSubstr("congestion: expected none"));
}

TEST(ScenarioTest, EventsOfNodesAndPlanesAreThoseOfTheirCables) {
  const auto parse = [](const std::string& event) {
    return Parse(
        "title: t\nfabric: {kind: rail-dual-plane, hosts_per_segment: 2, spines: 3, host: {gpus: 2, nics: 2}}\n"
        "jobs: [{name: a, gpus: 2, compute_s: 1}]\nlink_events: [{at_s: 1, health: 0.5, " +
        event + "}]\n");
  };
  // A leaf has two hosts and three spines, a NIC two ports, a plane of two rails ten cables; two directions each.
  EXPECT_EQ(parse("node: leaf1")->link_events.size(), 10u);
  EXPECT_EQ(parse("node: h1/nic0")->link_events.size(), 4u);
  EXPECT_EQ(parse("plane: 1")->link_events.size(), 20u);
  EXPECT_EQ(parse("link: h1/nic0->leaf0")->link_events.size(), 2u);
  EXPECT_EQ(parse("link: h1/nic0->leaf0, both_directions: false")->link_events.size(), 1u);
  const auto plane = parse("plane: 1");
  for (const LinkEvent& event : plane->link_events) EXPECT_EQ(event.health, 0.5);
  EXPECT_THAT(parse("node: h1/gpu0").status().message(), HasSubstr("no switch or NIC 'h1/gpu0'"));
  EXPECT_THAT(parse("plane: 2").status().message(), HasSubstr("expected a number below 2"));
  EXPECT_THAT(parse("plane: 1, link: h1/nic0->leaf0").status().message(), HasSubstr("link"));
  EXPECT_THAT(parse("plane: 1, both_directions: false").status().message(), HasSubstr("both_directions"));
}

// All GPUs of a job wait for the slowest: 1.5 s, of which each computes 1 or 1.5.
TEST(ScenarioTest, JobsWaitForTheirSlowGpus) {
  const auto run = [](const std::string& keys) {
    const std::string text =
        "title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, host: {gpus: 4}}\npolicies: [ecmp]\n"
        "seeds: 1\nsimulate_s: 60\nrandom_phase: false\njobs:\n"
        "  - {name: a, hosts: [h0, h1], gpus: 8, gpus_per_host: 4, compute_s: 1}\n"
        "  - {name: b, hosts: [h2], gpus: 4, compute_s: 1}\n";
    const auto scenario = ParseScenario(text + keys, "s.yaml", {});
    EXPECT_TRUE(scenario.ok()) << scenario.status().message();
    const std::atomic<bool> never = false;
    return std::move(RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs[0]);
  };
  const RunResult one = run("slow_gpus: [{host: h1, gpu: 2, times: 1.5}]\n");
  EXPECT_NEAR(one.jobs[0].iteration_s, 1.5, 1e-8);
  EXPECT_NEAR(one.jobs[0].compute_s, 60 * (7 * 1 + 1.5) / 8 / 1.5, 1e-6);
  EXPECT_NEAR(one.jobs[1].iteration_s, 1, 1e-8);
  EXPECT_EQ(one.jobs[0].slowdown, 1);  // its GPUs are what it has
  const RunResult host = run("slow_gpus: [{host: h1, times: 1.5}, {host: h3, times: 4}]\n");
  EXPECT_NEAR(host.jobs[0].iteration_s, 1.5, 1e-8);
  EXPECT_NEAR(host.jobs[0].compute_s, 60 * 1.25 / 1.5, 1e-6);
  EXPECT_THAT(Parse(std::string(kGood) + "slow_gpus: [{host: h0, gpu: 8, times: 2}]\n").status().message(),
              HasSubstr("expected one of the host's 8 GPUs"));
  EXPECT_THAT(Parse(std::string(kGood) + "slow_gpus: [{host: h0, times: 0.5}]\n").status().message(),
              HasSubstr("times"));
}

// A ring over two leaves: compute, bytes, and two messages over three switches each.
TEST(ScenarioTest, LatencyIsOffOrThatOfTheKeys) {
  const auto iteration_s = [](const std::string& keys) {
    const std::string text =
        "title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1, host: {gpus: 1, nics: 1, port_gbps: "
        "8}}\ngoodput: 1\npolicies: [ecmp]\nseeds: 1\nsimulate_s: 50\n"
        "jobs: [{name: a, gpus: 2, compute_s: 1, size_mb: 1000}]\n";
    const Scenario scenario = ParseScenario(text + keys, "s.yaml", {}).value();
    const std::atomic<bool> never = false;
    return RunScenario(scenario, {.num_threads = 1}, never, nullptr)->runs[0].jobs[0].iteration_s;
  };
  EXPECT_NEAR(iteration_s(""), 2, 1e-8);
  EXPECT_NEAR(iteration_s("latency: {}\n"), 2 + 2 * 6.54e-6, 1e-8);
  EXPECT_NEAR(iteration_s("latency: {ends_us: 1e5, hop_us: 1e4}\n"), 2.26, 1e-8);
  EXPECT_THAT(Parse(std::string(kGood) + "latency: {hop_us: -1}\n").status().message(), HasSubstr("s.yaml:9: latency"));
  EXPECT_THAT(Parse(std::string(kGood) + "latency: {hops: 1}\n").status().message(), HasSubstr("hop_us"));
}

TEST(ScenarioTest, BucketsOfGradientsBeginWhenTheyAreReady) {
  const auto error = [](const std::string& keys) {
    return Parse(
               "title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1}\n"
               "jobs: [{name: a, gpus: 16, model: gpt-1.3b, " +
               keys + "}]\n")
        .status()
        .message();
  };
  EXPECT_EQ(error("gradient_bucket_mb: 25MB"), "");
  EXPECT_THAT(error("gradient_bucket_mb: 25MB, overlap_start: 0.5"), HasSubstr("not beside overlap_start"));
  EXPECT_THAT(error("gradient_bucket_mb: 0"), HasSubstr("gradient_bucket_mb"));
}

TEST(ScenarioTest, RivalsOptionsAreRead) {
  const auto scenario = Parse(std::string(kGood) +
                              "mltcp: {slope: 2, intercept: 0.5, progress: job}\nsincronia: {pacing: madd}\n"
                              "varys: {pacing: none}\n");
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const traffic::PolicyOptions& options = scenario->policy_options;
  EXPECT_EQ(options.mltcp.slope, 2);
  EXPECT_EQ(options.mltcp.intercept, 0.5);
  EXPECT_EQ(options.mltcp.progress, traffic::mltcp::Progress::kJob);
  EXPECT_EQ(options.sincronia.pacing, traffic::Pacing::kMadd);
  EXPECT_EQ(options.varys.pacing, traffic::Pacing::kNone);
  EXPECT_EQ(Parse(kGood)->policy_options.varys.pacing, traffic::Pacing::kMaddAndBackfill);
  EXPECT_THAT(Parse(std::string(kGood) + "mltcp: {slop: 2}\n").status().message(),
              AllOf(HasSubstr("s.yaml:9: mltcp"), HasSubstr("slop")));
  EXPECT_THAT(Parse(std::string(kGood) + "varys: {pacing: fast}\n").status().message(), HasSubstr("madd+backfill"));
}

TEST(ScenarioTest, PoliciesThatNeedSpeedsAreRefusedWithoutReports) {
  const std::string text = std::string(kGood) + "\nspeed_report_s: 0\n";
  const auto refused = [&](const std::string& policy) {
    return ParseScenario("policies: [" + policy + "]\n" + text, "s.yaml", {}).status().message();
  };
  for (const char* policy : {"crux-guard", "crux-fair"}) {
    EXPECT_THAT(refused(policy), HasSubstr("speed_report_s: expected a time above 0, found 0 with the policy '" +
                                           std::string(policy) + "'"));
    EXPECT_THAT(refused(policy), HasSubstr("leave the key out for reports every 10 s"));
  }
  // The same where the policy is named on the command line, or is made one by its options.
  auto scenario = Parse(text);
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  scenario->policies = {"crux", "crux-guard"};
  EXPECT_EQ(RunScenario(*scenario, {}, never, nullptr).status().code(), StatusCode::kInvalidArgument);
  scenario->policies = {"crux"};
  scenario->policy_options.crux.fairness = 0.5;
  EXPECT_THAT(RunScenario(*scenario, {}, never, nullptr).status().message(),
              HasSubstr("speed_report_s: expected a time above 0, found 0 with the policy 'crux'"));
}

TEST(ScenarioRunnerTest, AFailedRunIsListedBesideTheOthersOrAnError) {
  auto scenario = Parse(kGood);
  scenario->policies = {"crux", "ecmp", "crux-fair"};
  scenario->policy_options.crux.fairness = -1;  // what reads a file would refuse; crux-fair has its own
  const std::atomic<bool> never = false;
  const auto reproduce = [](const std::string& policy, const std::string& allocation, uint32_t draw) {
    return policy + "/" + allocation + "/" + std::to_string(draw);
  };
  for (const uint32_t num_threads : {1u, 3u}) {
    const auto report = RunScenario(
        *scenario, {.num_threads = num_threads, .keeps_others = true, .reproduce = reproduce}, never, nullptr);
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->runs.size(), 4u);
    EXPECT_EQ(report->runs[0].policy, "ecmp");
    EXPECT_GT(report->runs[0].busy, 0);
    ASSERT_EQ(report->failed_runs.size(), 2u);
    EXPECT_EQ(report->failed_runs[1].policy, "crux");
    EXPECT_EQ(report->failed_runs[1].seed, report->failed_runs[0].seed + 1);
    EXPECT_THAT(report->failed_runs[0].message, HasSubstr("check failed"));
    EXPECT_THAT(report->failed_runs[0].message, HasSubstr("fairness"));
    EXPECT_EQ(report->failed_runs[0].reproduce, "crux//0");
    const auto strict = RunScenario(*scenario, {.num_threads = num_threads}, never, nullptr);
    EXPECT_EQ(strict.status().code(), StatusCode::kInternal);
    EXPECT_THAT(strict.status().message(), HasSubstr("crux, seed "));
  }
}

TEST(ScenarioRunnerTest, StoppedBeforeItBeganGivesNoRuns) {
  const auto scenario = Parse(kGood);
  const std::atomic<bool> stopped = true;
  const auto report = RunScenario(*scenario, {}, stopped, nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->runs.empty());
}

TEST(SnapshotTest, CruxIsAheadOfEcmpWithFewerCollisions) {
  auto scenario = LoadScenario(std::string(FAIRLEAD_SOURCE_DIR) + "/scenarios/lingjun-snapshot.yaml", {});
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  // Facts of the data set: 39 jobs, 1,208 GPUs.
  uint32_t gpus = 0;
  for (const ScenarioJob& entry : scenario->jobs) gpus += entry.job.num_gpus;
  EXPECT_EQ(scenario->jobs.size(), 39u);
  EXPECT_EQ(gpus, 1208u);
  scenario->num_seeds = 1;
  scenario->simulation.end = SimTime::FromSeconds(Seconds(30));
  const std::atomic<bool> never = false;
  const auto report = RunScenario(*scenario, {}, never, nullptr);
  ASSERT_TRUE(report.ok());
  const RunResult& ecmp = report->runs[0];
  const RunResult& crux = report->runs[1];
  EXPECT_GT(crux.busy, ecmp.busy);
  EXPECT_LT(crux.mean_slowdown, ecmp.mean_slowdown);
  EXPECT_LT(crux.colliding_links, ecmp.colliding_links);
  for (const LinkResult& link : crux.links) EXPECT_LE(link.utilization, 1);
}

}  // namespace
}  // namespace fairlead::sim
