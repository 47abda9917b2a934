#include "experiments/aiturbo-stress/aiturbo_stress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "experiments/public_data.h"
#include "report/bar_figure.h"
#include "report/run_summary.h"
#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elastic_summary.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/node_failures.h"
#include "sim/elastic/pollux_profile.h"

namespace fairlead::experiments::aiturbo_stress {
namespace {

constexpr uint32_t kNumJobs = 2000;
constexpr uint32_t kNumReducedJobs = 200;
constexpr double kGapS = 180;  // between two arrivals: as many in 8 h as a workload of the benchmark has
constexpr uint32_t kNumSeeds = 2;
constexpr int kNumPublished = 4;

// Those that are best somewhere, and Tiresias, which AITurbo falls back to.
constexpr std::array<std::string_view, 7> kPolicies = {"aiturbo", "srtf",   "srsf", "tiresias",
                                                       "optimus", "pollux", "drf"};
constexpr std::string_view kOurs = kPolicies[0];

struct Hardship {
  std::string_view name;
  double declared_error = 1;
  double declared_share = 1;
  double mtbf_h = 0;  // of a node; 0: none fails
  double restart_s = 30;
};
constexpr std::array<Hardship, 6> kHardships = {
    Hardship{.name = "too many jobs"},
    Hardship{.name = "lengths wrong by up to 10 times", .declared_error = 10},
    Hardship{.name = "half declare nothing", .declared_share = 0.5},
    Hardship{.name = "nodes fail every 12 h", .mtbf_h = 12},
    Hardship{.name = "restarts of 300 s", .restart_s = 300},
    Hardship{.name = "all at once", .declared_error = 10, .declared_share = 0.5, .mtbf_h = 12, .restart_s = 300},
};

// Of one policy under one hardship, by seed.
struct Measured {
  std::vector<double> jct_s;
  double p95_s = 0;          // mean over seeds, of these
  double first_wait_s = 0;   // longest of any seed
  double most_restarts = 0;  // likewise
  double restarts = 0;       // a job
};
using Results = std::map<std::string_view, std::map<std::string_view, Measured>>;  // [hardship][policy]

using Jobs = std::vector<sim::ElasticJobSpec>;

// Jobs of the benchmark in any order, drawn with repetition.
Jobs DrawJobs(const Jobs& from, uint32_t num_jobs, uint64_t seed) {
  Random random(seed);
  Jobs jobs;
  double now_s = 0;
  for (uint32_t j = 0; j < num_jobs; ++j) {
    now_s -= kGapS * std::log1p(-random.Uniform());
    jobs.push_back(from[random.Below(from.size())]);
    jobs.back().name = fmt::format("{}-{}", jobs.back().name, j);
    jobs.back().submission_s = now_s;
  }
  return jobs;
}

Result<sim::ElasticSummary> Simulate(Jobs jobs, const Hardship& hardship, std::string_view policy, uint64_t seed,
                                     const experiment::RunContext& context) {
  if (hardship.declared_share < 1) sim::DrawUnpredictable(hardship.declared_share, seed, &jobs);
  if (hardship.declared_error > 1) sim::DrawDeclaredErrors(hardship.declared_error, seed, &jobs);
  sim::ElasticOptions options;
  options.restart_s = hardship.restart_s;
  options.learned = sim::LearnedOptions{.lengths = sim::LengthSource::kDeclared, .seed = seed};
  if (hardship.mtbf_h > 0) {
    options.node_events = sim::DrawNodeFailures(
        options.cluster.num_nodes(),
        {.mean_between_s = hardship.mtbf_h * 3600, .repair_s = 3600, .end_s = options.give_up_s, .seed = seed});
  }
  FL_ASSIGN_OR_RETURN(const auto created, scheduling::CreateAllocationPolicy(policy, seed));
  std::vector<sim::ElasticResult> results(1);
  FL_ASSIGN_OR_RETURN(results[0], sim::RunElasticSimulation(jobs, *created, options, context.stop));
  return sim::SummarizeRuns(results, options.cluster);
}

double MeanOf(const std::vector<double>& values) { return report::SpreadOf(values).mean; }

// One simulation, and where its result belongs.
struct Case {
  std::string_view label;
  const Jobs* jobs = nullptr;
  const Hardship* hardship = nullptr;
  std::string_view policy;
  uint64_t seed = 0;
};

// Results do not depend on the number of threads.
Result<std::map<std::string_view, Results>> SimulateAll(const std::vector<Case>& cases, uint32_t num_seeds,
                                                        const experiment::RunContext& context) {
  std::vector<std::optional<Result<sim::ElasticSummary>>> found(cases.size());
  std::mutex mutex;
  size_t num_done = 0;
  ParallelFor(cases.size(), context.num_threads, *context.stop, [&](size_t i) {
    found[i] = Simulate(*cases[i].jobs, *cases[i].hardship, cases[i].policy, cases[i].seed, context);
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(cases.size()));
  });
  std::map<std::string_view, Results> by_label;
  if (context.should_stop()) return by_label;
  for (size_t i = 0; i < cases.size(); ++i) {
    FL_ASSIGN_OR_RETURN(const sim::ElasticSummary summary, std::move(*found[i]));
    Measured& measured = by_label[cases[i].label][cases[i].hardship->name][cases[i].policy];
    measured.jct_s.push_back(summary.jct_s.mean);
    measured.p95_s += summary.jct_s.p95 / num_seeds;
    measured.first_wait_s = std::max(measured.first_wait_s, summary.first_wait_s.max);
    measured.most_restarts = std::max(measured.most_restarts, summary.restarts.max);
    measured.restarts += summary.restarts.mean / num_seeds;
  }
  return by_label;
}

// The baseline with the least mean over all seeds.
std::string_view BestBaseline(const std::map<std::string_view, Measured>& by_policy) {
  std::string_view best;
  for (const auto& [policy, measured] : by_policy) {
    if (policy == kOurs) continue;
    if (best.empty() || MeanOf(measured.jct_s) < MeanOf(by_policy.at(best).jct_s)) best = policy;
  }
  return best;
}

double PercentAbove(const std::map<std::string_view, Measured>& by_policy) {
  return 100 * (MeanOf(by_policy.at(kOurs).jct_s) / MeanOf(by_policy.at(BestBaseline(by_policy)).jct_s) - 1);
}

void SetRows(std::string_view label, const Results& results, experiment::Outcome* outcome) {
  for (const Hardship& hardship : kHardships) {
    const auto name = [&](std::string_view what) { return fmt::format("{}, {}: {}", label, hardship.name, what); };
    const auto found = results.find(hardship.name);
    const bool is_known = found != results.end();
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    outcome->Set(name("aiturbo, mean JCT"), is_known ? MeanOf(found->second.at(kOurs).jct_s) : unknown);
    outcome->Set(name("best baseline, mean JCT"),
                 is_known ? MeanOf(found->second.at(BestBaseline(found->second)).jct_s) : unknown);
    outcome->Set(name("aiturbo above the best baseline"), is_known ? PercentAbove(found->second) : unknown);
  }
}

void AddTables(std::string_view label, const Results& results, experiment::Outcome* outcome) {
  experiment::ResultTable means{fmt::format("Mean JCT, s, {} jobs: means over seeds", label), {"hardship"}, {}};
  for (const std::string_view policy : kPolicies) means.columns.emplace_back(policy);
  experiment::ResultTable ours{
      fmt::format("aiturbo, {} jobs", label),
      {"hardship", "p95 of JCT, s", "longest first wait, s", "restarts a job", "most restarts"},
      {}};
  for (const Hardship& hardship : kHardships) {
    const auto& by_policy = results.at(hardship.name);
    std::vector<experiment::ResultTable::Cell> line = {std::string(hardship.name)};
    for (const std::string_view policy : kPolicies) line.emplace_back(MeanOf(by_policy.at(policy).jct_s));
    means.lines.push_back(std::move(line));
    const Measured& own = by_policy.at(kOurs);
    ours.lines.push_back({std::string(hardship.name), own.p95_s, own.first_wait_s, fmt::format("{:.2f}", own.restarts),
                          own.most_restarts});
  }
  outcome->tables.push_back(std::move(means));
  outcome->tables.push_back(std::move(ours));
}

void AddFigure(std::string_view label, const Results& results, experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = fmt::format("Mean completion time under hardship: {}", label);
  figure.description = "One group a hardship, one bar a policy. Means over seeds.";
  figure.y_label = "hours";
  for (const std::string_view policy : kPolicies) figure.series.emplace_back(policy);
  double most = 0;
  for (const Hardship& hardship : kHardships) {
    report::BarGroup group{std::string(hardship.name), {}, {}};
    for (const std::string_view policy : kPolicies) {
      group.values.push_back(MeanOf(results.at(hardship.name).at(policy).jct_s) / 3600);
      most = std::max(most, group.values.back());
    }
    figure.groups.push_back(std::move(group));
  }
  figure.y_domain = {0, most};
  outcome->figures.push_back({figure.title, Draw(figure), ""});
}

std::string Answer(const std::map<std::string_view, Results>& by_label) {
  double worst = -std::numeric_limits<double>::infinity();
  std::string where;
  for (const auto& [label, results] : by_label) {
    for (const auto& [hardship, by_policy] : results) {
      const double above = PercentAbove(by_policy);
      if (above <= worst) continue;
      worst = above;
      where = fmt::format("{} jobs, {}: {}", label, hardship, BestBaseline(by_policy));
    }
  }
  return fmt::format(
      "With more jobs than the cluster can do, aiturbo's mean completion time is at worst {:+.1f} % "
      "against the baseline that is best there ({}).",
      worst, where);
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  const uint32_t num_jobs = context.reduced ? kNumReducedJobs : kNumJobs;
  const uint32_t own_seeds = context.reduced ? 1 : kNumSeeds;
  const uint32_t num_seeds = context.num_draws > 0 ? context.num_draws : own_seeds;
  FL_ASSIGN_OR_RETURN(const sim::ProfileSet generated, sim::GenerateProfiles(context.seed));
  const std::string folder = PublicDataPath("pollux-osdi21");
  const bool has_benchmark = std::filesystem::exists(folder + "/traces");
  sim::ProfileSet published;
  Jobs benchmark;
  if (has_benchmark) {
    FL_ASSIGN_OR_RETURN(published, sim::LoadPolluxProfiles(folder + "/traces"));
    for (int w = 1; w <= kNumPublished; ++w) {
      FL_ASSIGN_OR_RETURN(const Jobs jobs,
                          sim::LoadPolluxWorkload(fmt::format("{}/workloads/workload-{}.csv", folder, w), published));
      benchmark.insert(benchmark.end(), jobs.begin(), jobs.end());
    }
  }
  std::deque<Jobs> workloads;  // keeps addresses
  std::vector<Case> cases;
  const auto add = [&](std::string_view label, const Jobs& kinds, uint64_t seed) {
    workloads.push_back(DrawJobs(kinds, num_jobs, seed));
    for (const Hardship& hardship : kHardships) {
      for (const std::string_view policy : kPolicies) {
        cases.push_back({label, &workloads.back(), &hardship, policy, seed});
      }
    }
  };
  for (uint32_t s = 0; s < num_seeds; ++s) {
    const uint64_t seed = context.seed + s;
    FL_ASSIGN_OR_RETURN(const Jobs kinds, sim::GenerateWorkload(generated, {.num_jobs = num_jobs, .seed = seed}));
    add("generated", kinds, seed);
    if (has_benchmark) add("benchmark", benchmark, seed);
  }
  FL_ASSIGN_OR_RETURN(auto by_label, SimulateAll(cases, num_seeds, context));
  if (context.should_stop()) {
    outcome.is_partial = true;
    return outcome;
  }
  outcome.answer = Answer(by_label);
  for (const std::string_view label : {"generated", "benchmark"}) {
    SetRows(label, by_label[label], &outcome);
    if (by_label[label].empty()) continue;
    AddTables(label, by_label[label], &outcome);
    AddFigure(label, by_label[label], &outcome);
  }
  outcome.notes.push_back(has_benchmark ? "Jobs of the Pollux benchmark were drawn from " + folder + "."
                                        : "No data of the Pollux benchmark in " + folder + ": its rows are empty.");
  outcome.notes.push_back(fmt::format(
      "{} jobs, one each {:.0f} s on the average, {} {}; policies know what users declare, jobs that ended, and "
      "measured speeds.",
      num_jobs, kGapS, num_seeds, num_seeds == 1 ? "seed" : "seeds"));
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_stress
