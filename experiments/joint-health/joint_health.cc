#include "experiments/joint-health/joint_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "experiments/embedded_texts.h"
#include "experiments/trace_scenario.h"
#include "report/allocation_summary.h"
#include "report/bar_figure.h"
#include "report/run_summary.h"
#include "sim/scenario.h"

namespace fairlead::experiments::joint_health {
namespace {

using report::Spread;

constexpr std::string_view kScenario = "scenarios/joint-health.yaml";
constexpr uint32_t kNumSeeds = 20;
constexpr uint32_t kNumReducedSeeds = 1;
constexpr uint64_t kNumFaultyHosts = 24;  // the others are spares
constexpr double kSlowdown = 1.5;

// Who notices faults. Quick people need 10 min from the first failure on, not 2.1 h.
enum class Watch : uint8_t { kNoFaults, kPeople, kQuickPeople, kC4d };
constexpr std::array kWatches = {Watch::kNoFaults, Watch::kPeople, Watch::kQuickPeople, Watch::kC4d};
constexpr std::array<std::string_view, 4> kSuffixes = {", no faults", "", ", quick people", "+c4d"};
constexpr SimDuration kQuickSearch(600'000'000'000);

// Of one combination, by seed.
struct Measured {
  std::vector<double> jct_s, lost_gpu_h, away_gpu_h, failures;
  std::vector<double> found_s, isolated_s, resumed_s;  // of each fault that met a job, from then on
  double num_hits = 0;
  double num_wrong = 0;
  double num_unfinished = 0;
};
using Results = std::map<std::string, Measured>;

// One GPU hangs while most jobs come, another one becomes slow while most run.
std::vector<sim::HostFault> DrawFaults(uint64_t seed) {
  Random random(seed);
  const auto draw = [&](double from_s, double to_s, execution::FaultKind kind, double magnitude) {
    sim::HostFault fault;
    fault.begin = SimTime::FromSeconds(Seconds(random.Uniform(from_s, to_s)));
    fault.host = HostId(random.Below(kNumFaultyHosts));
    fault.gpu = static_cast<uint32_t>(random.Below(4));
    fault.kind = kind;
    fault.magnitude = magnitude;
    return fault;
  };
  std::vector<sim::HostFault> faults = {draw(600, 1500, execution::FaultKind::kGpuHang, 1)};
  do {
    faults.resize(1);
    faults.push_back(draw(1500, 2700, execution::FaultKind::kSlowGpu, kSlowdown));
  } while (faults[1].host == faults[0].host);
  return faults;
}

sim::Scenario Prepare(const sim::Scenario& base, Watch watch, uint64_t seed) {
  sim::Scenario scenario = base;
  scenario.first_seed = seed;
  scenario.num_seeds = 1;
  scenario.simulation.phase_seed = seed;
  scenario.simulation.host_faults = DrawFaults(seed);
  if (watch == Watch::kNoFaults) scenario.simulation.host_faults.clear();
  scenario.simulation.health.has_diagnosis = watch == Watch::kC4d;
  if (watch == Watch::kQuickPeople) scenario.simulation.health.search = kQuickSearch;
  return scenario;
}

void AddFault(const sim::FaultResult& fault, Measured* measured) {
  if (fault.hit_s < 0) return;
  measured->num_hits += 1;
  const auto add = [&](double time_s, std::vector<double>* times) {
    if (time_s >= 0) times->push_back(time_s - fault.hit_s);
  };
  add(fault.found_s, &measured->found_s);
  add(fault.isolated_s, &measured->isolated_s);
  add(fault.resumed_s, &measured->resumed_s);
}

void Add(const sim::RunResult& run, uint64_t num_gpus, Measured* measured) {
  const report::AllocationSummary summary = report::SummarizeAllocation(run, num_gpus);
  measured->jct_s.push_back(summary.mean_jct_s);
  measured->num_unfinished += summary.num_unfinished;
  const sim::HealthResult health = run.health.value_or(sim::HealthResult());
  measured->lost_gpu_h.push_back(
      (health.hung_gpu_s + health.repeated_gpu_s + health.restarted_gpu_s + health.slowed_gpu_s) / 3600);
  measured->away_gpu_h.push_back(health.away_gpu_s / 3600);
  measured->failures.push_back(health.num_failures);
  measured->num_wrong += health.num_wrong_isolations;
  for (const sim::FaultResult& fault : health.faults) AddFault(fault, measured);
}

std::string WithInterval(const std::vector<double>& values, int digits) {
  if (values.empty()) return "";
  const Spread spread = report::SpreadOf(values);
  if (!spread.has_interval()) return fmt::format("{:.{}f}", spread.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", spread.mean, digits, spread.margin, digits);
}

double MeanOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : report::SpreadOf(values).mean;
}

// Percent by which `after` is below `before`, paired by seed.
std::vector<double> Below(const Measured& after, const Measured& before) {
  std::vector<double> percent;
  for (size_t i = 0; i < after.jct_s.size(); ++i) percent.push_back(100 * (1 - after.jct_s[i] / before.jct_s[i]));
  return percent;
}

void SetRows(const Results& results, experiment::Outcome* outcome) {
  double num_unfinished = 0, num_wrong = 0;
  for (const auto& [name, measured] : results) {
    outcome->Set(name + ": mean JCT", MeanOf(measured.jct_s));
    num_unfinished += measured.num_unfinished;
    num_wrong += measured.num_wrong;
    if (name.ends_with("no faults")) continue;
    outcome->Set(name + ": GPU-hours lost to faults", MeanOf(measured.lost_gpu_h));
    outcome->Set(name + ": from fault to training again", MeanOf(measured.resumed_s));
  }
  const Measured& all = results.at("aiturbo+crux+c4d");
  for (const char* const alone : {"fcfs+ecmp", "aiturbo+ecmp", "fcfs+crux", "fcfs+ecmp+c4d", "aiturbo+crux"}) {
    outcome->Set(fmt::format("all three: below {}", alone), MeanOf(Below(all, results.at(alone))));
  }
  outcome->Set("all three: above the same without faults", -MeanOf(Below(all, results.at("aiturbo+crux, no faults"))));
  outcome->Set("all three: from fault to finding", MeanOf(all.found_s));
  outcome->Set("all three: from fault to isolation", MeanOf(all.isolated_s));
  outcome->Set("hosts isolated without a fault", num_wrong);
  outcome->Set("jobs that did not end", num_unfinished);
}

void AddTable(const Results& results, experiment::Outcome* outcome) {
  experiment::ResultTable table;
  table.title = "Each alone and together: means over seeds, with 95 % intervals";
  table.columns = {"combination",    "mean JCT, s",     "GPU-h lost",
                   "GPU-h isolated", "failures",        "faults met, found, isolated",
                   "to finding, s",  "to isolation, s", "to training, s"};
  for (const auto& [name, m] : results) {
    table.lines.push_back({name, WithInterval(m.jct_s, 0), WithInterval(m.lost_gpu_h, 1), WithInterval(m.away_gpu_h, 1),
                           WithInterval(m.failures, 1),
                           fmt::format("{:.0f}, {}, {}", m.num_hits, m.found_s.size(), m.isolated_s.size()),
                           WithInterval(m.found_s, 0), WithInterval(m.isolated_s, 0), WithInterval(m.resumed_s, 0)});
  }
  outcome->tables.push_back(std::move(table));
}

void AddFigure(const Results& results, experiment::Outcome* outcome) {
  report::BarFigure figure;
  figure.title = "Mean completion time while two GPUs break";
  figure.description = "One group per sizes and routes; bars: without faults, people search, C4D. Means over seeds.";
  figure.y_label = "minutes";
  figure.series = {"no faults", "people search", "C4D"};
  double most = 0;
  for (const std::string name : {"fcfs+ecmp", "fcfs+crux", "aiturbo+ecmp", "aiturbo+crux"}) {
    report::BarGroup group{name, {}, {}};
    for (const std::string_view suffix : {kSuffixes[0], kSuffixes[1], kSuffixes[3]}) {
      group.values.push_back(MeanOf(results.at(name + std::string(suffix)).jct_s) / 60);
      most = std::max(most, group.values.back());
    }
    figure.groups.push_back(std::move(group));
  }
  figure.y_domain = {0, most};
  outcome->figures.push_back({figure.title, Draw(figure), ""});
}

std::string Answer(const Results& results) {
  const Measured& all = results.at("aiturbo+crux+c4d");
  const Measured& without = results.at("aiturbo+crux");
  const auto below = [&](const char* alone) { return WithInterval(Below(all, results.at(alone)), 0); };
  return fmt::format(
      "While one GPU hangs and one is slow, sizes by AITurbo, routes by Crux and health by C4D together give a mean "
      "completion time {} % below AITurbo alone, {} % below Crux alone, {} % below C4D alone, and {} % below AITurbo "
      "and "
      "Crux without C4D: faults cost {} GPU-hours instead of {}.",
      below("aiturbo+ecmp"), below("fcfs+crux"), below("fcfs+ecmp+c4d"), below("aiturbo+crux"),
      WithInterval(all.lost_gpu_h, 1), WithInterval(without.lost_gpu_h, 1));
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  FL_ASSIGN_OR_RETURN(const sim::Scenario base,
                      sim::ParseScenario(FindEmbeddedText(kScenario), std::string(kScenario), {}));
  const uint32_t num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  Results results;
  const double step = 1.0 / (num_seeds * static_cast<double>(kWatches.size()));
  double done = 0;
  for (uint32_t s = 0; s < num_seeds; ++s) {
    for (const Watch watch : kWatches) {
      const sim::Scenario scenario = Prepare(base, watch, context.seed + s);
      FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + step));
      done += step;
      if (context.should_stop()) {
        outcome.is_partial = true;
        return outcome;
      }
      for (const sim::RunResult& run : report.runs) {
        Add(run, report.num_gpus, &results[run.policy + std::string(kSuffixes[static_cast<size_t>(watch)])]);
      }
    }
  }
  outcome.answer = Answer(results);
  SetRows(results, &outcome);
  AddTable(results, &outcome);
  AddFigure(results, &outcome);
  outcome.notes.push_back(
      fmt::format("{} {}: places and instants of the two faults, hashes and phases differ; every combination meets the "
                  "same ones.",
                  num_seeds, num_seeds == 1 ? "seed" : "seeds"));
  return outcome;
}

}  // namespace fairlead::experiments::joint_health
