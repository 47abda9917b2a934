#include "sim/random_scenario.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "sim/run_laws.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

constexpr uint64_t kNumSeeds = 100;

std::string TextOf(uint64_t seed) {
  Random random(seed);
  return RandomScenarioText([&random](uint64_t n) { return random.Below(n); });
}

RunResult RunAlone(const Scenario& scenario) {
  const std::atomic<bool> never = false;
  auto report = RunScenario(scenario, {.num_threads = 1}, never, nullptr);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report->runs.size(), 1u);
  return std::move(report->runs.front());
}

// Two ways to simulate one of these must agree: without what extrapolates (its error is not bounded) and what answers
// to measurements (which a nanosecond may turn).
RandomScenarioOptions ComparableScenarios(double max_simulated_s, std::vector<std::string> policies) {
  return {.allocation = false,
          .congestion = false,
          .profiling = false,
          .speed_reports = false,
          .extrapolation = false,
          .max_simulated_s = max_simulated_s,
          .policies = std::move(policies)};
}

TEST(RandomScenarioTest, SameSeedSameTextAndOthersDiffer) {
  EXPECT_EQ(TextOf(1), TextOf(1));
  EXPECT_NE(TextOf(1), TextOf(2));
}

TEST(RandomScenarioTest, EveryKindIsDrawn) {
  std::map<std::string, int> counts;
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const std::string text = TextOf(seed);
    for (const std::string kind :
         {"clos2",        "clos3",        "double-sided", "rail-dual-plane",    "allocation:",  "placement:",
          "link_events:", "dcqcn",        "detail: edge", "extrapolate: true",  "profile_jobs", "speed_report_s",
          "latency: ",    "kv_transfers", "checkpoint_s", "qps_per_connection", "model: ",      "sizes: ",
          "health: 0,",   "detect_us"}) {
      counts[kind] += text.find(kind) != std::string::npos ? 1 : 0;
    }
  }
  for (const auto& [kind, count] : counts) EXPECT_GE(count, 3) << kind;
}

// Links of a Clos, or of planes, blink under sprayed jobs, which notice it soon, late or never.
std::string BlinkingText(uint64_t seed) {
  Random random(seed);
  const auto ports = static_cast<int>(1 + random.Below(4));
  const bool has_planes = ports > 1;
  const auto spines = static_cast<int>(2 + random.Below(5));
  const std::string fabric =
      has_planes ? fmt::format("kind: rail-dual-plane, segments: 2, hosts_per_segment: 4, spines: {}", spines)
                 : fmt::format("kind: clos2, leaves: 4, hosts_per_leaf: 2, spines: {}", spines);
  std::string text = fmt::format(
      "title: random outages\nseeds: 1\nsimulate_s: 6\npolicies: [{}]\nplacement: random\nfabric: {{{}, "
      "oversubscription: {:.2f}, host: {{gpus: 2, nics: 1, ports_per_nic: {}, port_gbps: {}, sockets: 1, "
      "pcie_switches: "
      "1}}}}\nspray: {{preset: {}, detect_us: {:.3f}, remap_s: {:.6f}, reorder_us: {:.0f}}}\ndetail: {}\njobs:\n",
      random.Below(2) == 0 ? "spray" : "crux+spray", fabric, random.Uniform(0.5, 3), ports, 200 / ports,
      random.Below(3) == 0 ? "blind" : "uec", std::pow(10, random.Uniform(0, 6.5)),
      random.Below(2) == 0 ? 0.0 : random.Uniform(0, 4), random.Below(3) == 0 ? random.Uniform(0, 1e4) : 0.0,
      random.Below(3) == 0 ? "edge" : "coupled");
  for (int j = 0; j < 4; ++j) {
    text += fmt::format(
        "  - {{gpus: {}, gpus_per_host: 2, compute_s: {:.3f}, size_mb: {:.0f}, collective: {}, work_tflop: {}}}\n",
        2 * (1 + random.Below(3)), random.Uniform(0, 0.1), random.Uniform(100, 3000),
        random.Below(2) == 0 ? "ring-all-reduce" : "all-to-all", 1 + random.Below(9));
  }
  text += "link_events:\n";
  for (int i = 0; i < 16; ++i) {
    const uint64_t s = random.Below(static_cast<uint64_t>(spines));
    const uint64_t kind = random.Below(3);
    const std::string spine = has_planes ? fmt::format("spine{}", s * 2 + random.Below(2)) : fmt::format("spine{}", s);
    const std::string where =
        kind == 0 ? fmt::format("node: {}", spine)
                  : (kind == 1 ? fmt::format("node: h{}/nic0", random.Below(8)) : std::string("node: leaf0"));
    const double at_s = random.Uniform(0, 6);
    text += fmt::format("  - {{at_s: {:.6f}, {}, health: 0}}\n", at_s, where);
    if (random.Below(5) == 0) continue;
    text += fmt::format("  - {{at_s: {:.6f}, {}, health: {}}}\n", at_s + random.Uniform(0, 2), where,
                        random.Below(4) == 0 ? 0.5 : 1.0);
  }
  return text;
}

// Failures that nobody has noticed: the laws hold, and neither aggregation nor skipped periods change anything.
TEST(RandomScenarioTest, SprayedRunsThatNoticeFailuresLateKeepTheLaws) {
  const char* const more = std::getenv("FAIRLEAD_NUM_SEEDS");
  const uint64_t num_seeds = more != nullptr ? std::strtoull(more, nullptr, 10) : 40;
  uint64_t num_unnoticed = 0, num_reordering = 0;
  for (uint64_t seed = 0; seed < num_seeds; ++seed) {
    const std::string text = BlinkingText(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario scenario = ParseScenario(text, "s.yaml", {}).value();
    const RunResult fast = RunAlone(scenario);
    EXPECT_EQ(FindBrokenLaw(scenario, fast), "") << text;
    scenario.simulation.fast_forward = false;
    const RunResult exact = RunAlone(scenario);
    EXPECT_EQ(FindDisagreement(fast, exact), "");
    scenario.simulation.aggregate_flows = false;
    const RunResult plain = RunAlone(scenario);
    for (size_t j = 0; j < plain.jobs.size(); ++j) {
      EXPECT_NEAR(exact.jobs[j].work, plain.jobs[j].work, 1e-6 * plain.jobs[j].work + 1e-6) << plain.jobs[j].name;
      for (const LossResult& loss : plain.jobs[j].lost_to) num_reordering += loss.cause == LossCause::kReordering;
    }
    traffic::spray::SprayOptions& spray = scenario.policy_options.spray;
    spray.detect = spray.remap = Seconds(0);
    num_unnoticed += RunAlone(scenario).event_hash != plain.event_hash ? 1 : 0;
  }
  EXPECT_GT(num_unnoticed, num_seeds / 2) << "detection must make a difference";
  EXPECT_GT(num_reordering, num_seeds / 10);
}

TEST(RandomScenarioTest, OptionsTurnKindsOff) {
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const Scenario scenario = RandomScenario(
        random, {.allocation = false, .link_events = false, .congestion = false, .max_jobs = 2, .policies = {"ecmp"}});
    EXPECT_TRUE(scenario.allocations.empty());
    EXPECT_TRUE(scenario.link_events.empty());
    EXPECT_FALSE(scenario.simulation.dcqcn);
    EXPECT_LE(scenario.jobs.size(), 2u);
    EXPECT_EQ(scenario.policies, std::vector<std::string>{"ecmp"});
  }
}

// Jobs of one to five hosts come and go in four racks of four hosts under two spines, and are torn.
std::string MigrationText(uint64_t seed) {
  constexpr std::array<std::string_view, 6> kPolicies = {"ecmp", "crux", "spray", "flowlet", "mltcp", "varys"};
  Random random(seed);
  std::string text = fmt::format(
      "title: random migration\nseeds: 1\nsimulate_s: 40\npolicies: [{}]\nplacement: {}\nfabric: {{kind: clos2, "
      "leaves: 4, hosts_per_leaf: 4, spines: 2, oversubscription: 2, host: {{gpus: 2, nics: 1, sockets: 1, "
      "pcie_switches: 1}}}}\nmigration: {{max_rings: {}, restart_s: {}, cost: published-system}}\njobs:\n",
      kPolicies[random.Below(kPolicies.size())], random.Below(2) == 0 ? "random" : "locality-first",
      1 + random.Below(2), random.Below(3));
  for (int j = 0; j < 24; ++j) {
    text += fmt::format(
        "  - {{gpus: {}, gpus_per_host: 2, compute_s: {:.3f}, size_mb: {:.0f}, arrival_s: {:.3f}, "
        "iterations: {}, collective: {}}}\n",
        2 * (1 + random.Below(5)), random.Uniform(0.01, 0.3), random.Uniform(0, 2000), random.Uniform(0, 30),
        random.Below(60), random.Below(2) == 0 ? "ring-all-reduce" : "hierarchical-all-reduce");
  }
  return text;
}

TEST(RandomScenarioTest, RunsWithMigrationKeepTheLaws) {
  uint64_t num_moving = 0, num_movers = 0, num_unfinished = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = MigrationText(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario scenario = ParseScenario(text, "s.yaml", {}).value();
    const RunResult run = RunAlone(scenario);
    EXPECT_EQ(FindBrokenLaw(scenario, run), "") << text;
    EXPECT_EQ(RunAlone(scenario).event_hash, run.event_hash) << text;
    num_moving += run.migration->moved_jobs > 0 ? 1 : 0;
    for (const JobResult& job : run.jobs) {
      num_movers += job.migrations->moves.size() > 1 ? 1 : 0;
      num_unfinished += !job.migrations->moves.empty() && !job.finished ? 1 : 0;
    }
  }
  EXPECT_GE(num_moving, 10u);
  EXPECT_GE(num_movers, 5u) << "that moved more than once";
  EXPECT_GE(num_unfinished, 5u);
}

// Jobs of one to five hosts come and go in six racks of three hosts under one or two spines.
std::string PlacementChoiceText(uint64_t seed) {
  Random random(seed);
  std::string text = fmt::format(
      "title: random choices\nseeds: 1\nsimulate_s: 40\npolicies: [cassini]\nplacement: {}\nfabric: {{kind: clos2, "
      "leaves: 6, hosts_per_leaf: 3, spines: {}, oversubscription: 3, host: {{gpus: 2, nics: 1, sockets: 1, "
      "pcie_switches: 1}}}}\ncassini: {{placements: {}, contended: {}}}\n{}jobs:\n",
      random.Below(2) == 0 ? "random" : "locality-first", 1 + random.Below(2), 2 + random.Below(9),
      random.Below(2) == 0 ? "grid" : "once", random.Below(3) == 0 ? "migration: {max_rings: 1, restart_s: 1}\n" : "");
  for (int j = 0; j < 24; ++j) {
    text += fmt::format(
        "  - {{gpus: {}, gpus_per_host: 2, compute_s: {:.3f}, size_mb: {:.0f}, arrival_s: {:.3f}, "
        "iterations: {}}}\n",
        2 * (1 + random.Below(5)), random.Uniform(0.01, 0.3), random.Uniform(0, 2000), random.Uniform(0, 30),
        random.Below(60));
  }
  return text + "link_events:\n  - {at_s: 10, node: spine0, health: 0.5}\n  - {at_s: 20, node: spine0, health: 1}\n";
}

TEST(RandomScenarioTest, RunsThatChoosePlacementsKeepTheLaws) {
  traffic::PlacementCounters all;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = PlacementChoiceText(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario scenario = ParseScenario(text, "s.yaml", {}).value();
    const RunResult run = RunAlone(scenario);
    EXPECT_EQ(FindBrokenLaw(scenario, run), "") << text;
    EXPECT_EQ(RunAlone(scenario).event_hash, run.event_hash) << text;
    const traffic::PlacementCounters& choices = run.placement_choices.value();
    EXPECT_LE(choices.num_looped + choices.num_cut_off, choices.num_candidates);
    EXPECT_LE(choices.num_changed + choices.num_fallbacks, choices.num_choices);
    // Where loops leave the first out a worse one may be taken.
    if (choices.num_looped == 0) {
      EXPECT_GE(choices.score, choices.first_score - 1e-9);
    }
    all.Add(choices);
  }
  EXPECT_GT(all.num_choices, 100u);
  EXPECT_GT(all.num_changed, 20u);
  EXPECT_GT(all.num_looped, 20u);
  EXPECT_GT(all.num_fallbacks, 0u);
  EXPECT_GT(all.score, all.first_score);
}

TEST(RandomScenarioTest, RunsKeepTheLaws) {
  // FAIRLEAD_NUM_SEEDS=5000 looks further.
  const char* const more = std::getenv("FAIRLEAD_NUM_SEEDS");
  const uint64_t num_seeds = more != nullptr ? std::strtoull(more, nullptr, 10) : kNumSeeds;
  std::map<LossCause, uint64_t> num_runs_with;
  for (uint64_t seed = 0; seed < num_seeds; ++seed) {
    Random random(seed);
    const Scenario scenario = RandomScenario(random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunResult run = RunAlone(scenario);
    EXPECT_EQ(FindBrokenLaw(scenario, run), "") << TextOf(seed);
    EXPECT_EQ(RunAlone(scenario).event_hash, run.event_hash) << TextOf(seed);
    std::set<LossCause> causes;
    for (const JobResult& job : run.jobs) {
      for (const LossResult& loss : job.lost_to) causes.insert(loss.cause);
    }
    for (const LossCause cause : causes) ++num_runs_with[cause];
  }
  // Laws of what does not happen say nothing.
  for (const LossCause cause : {LossCause::kJob, LossCause::kSelf, LossCause::kLevel, LossCause::kCapacity}) {
    EXPECT_GT(num_runs_with[cause], num_seeds / 20) << LossCauseName(cause);
  }
}

TEST(RandomScenarioTest, SkippingPeriodsChangesNothingBeyondTheStatedError) {
  double skipped = 0;
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    Random random(seed);
    Scenario scenario = RandomScenario(random, ComparableScenarios(60, {"ecmp", "crux", "c4p"}));
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunResult fast = RunAlone(scenario);
    scenario.simulation.fast_forward = false;
    const RunResult exact = RunAlone(scenario);
    EXPECT_EQ(FindDisagreement(fast, exact), "");
    skipped += fast.fast_forward_fraction;
  }
  EXPECT_GT(skipped, 20) << "the scenarios must be of a kind that can be skipped";
}

TEST(RandomScenarioTest, AggregatingFlowsChangesNothing) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    Random random(CombineHash(seed, 1));
    Scenario scenario =
        RandomScenario(random, ComparableScenarios(20, {"ecmp", "crux", "c4p", "spray", "ethereal", "mltcp"}));
    scenario.simulation.fast_forward = false;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunResult aggregated = RunAlone(scenario);
    scenario.simulation.aggregate_flows = false;
    const RunResult plain = RunAlone(scenario);
    for (size_t j = 0; j < plain.jobs.size(); ++j) {
      const JobResult& job = plain.jobs[j];
      EXPECT_NEAR(aggregated.jobs[j].work, job.work, 1e-6 * job.work + 1e-6) << job.name;
      EXPECT_NEAR(aggregated.jobs[j].end_s, job.end_s, 1e-6 * job.end_s) << job.name;
      EXPECT_NEAR(aggregated.jobs[j].compute_s, job.compute_s, 1e-6 * job.end_s) << job.name;
    }
  }
}

}  // namespace
}  // namespace fairlead::sim
