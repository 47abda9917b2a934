#include "lab/lab_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "lab/lab_workload.h"
#include "report/number_format.h"
#include "report/text_table.h"
#include "sim/scenario_runner.h"

namespace fairlead::lab {

namespace {

using report::Align;
using report::Json;

double Gbps(const LabComparison& comparison, const LabRunResult& run) {
  return ThroughputOf(run).total_bytes_per_s * 8e-9 / comparison.scale;
}

// Mean over seeds of a job's mean iteration; 0: it ended none.
double MeanIteration(const LabComparison& comparison, size_t job, LabRunResult HashedAndSteered::*run) {
  std::vector<double> means;
  for (const HashedAndSteered& seed : comparison.runs) means.push_back(MeanIterationOf((seed.*run).jobs[job]));
  return Mean(means);
}

// Bytes per second of all jobs, mean over seeds. Args: jobs: of any run in the lab, for their bytes.
double SimulatedThroughput(const SimulatedRuns& runs, const std::vector<LabJobResult>& jobs) {
  std::vector<double> of_seeds;
  for (const auto& times : runs.iteration_s) {
    double sum = 0;
    for (size_t j = 0; j < times.size(); ++j) sum += times[j] > 0 ? jobs[j].bytes_per_iteration / times[j] : 0;
    of_seeds.push_back(sum);
  }
  return Mean(of_seeds);
}

}  // namespace

Result<SimulatedRuns> SimulateUnder(sim::Scenario scenario, const std::string& policy, const std::atomic<bool>& stop) {
  scenario.policies = {policy};
  FL_ASSIGN_OR_RETURN(const auto report, sim::RunScenario(scenario, {}, stop, sim::RunProgress()));
  SimulatedRuns runs;
  runs.jobs = SummarizeSimulation(report, policy);
  for (const sim::RunResult& run : report.runs) {
    auto& times = runs.iteration_s.emplace_back();
    for (const sim::JobResult& job : run.jobs) times.push_back(job.iteration_s);
  }
  return runs;
}

Result<LabComparison> CompareInLab(const std::string& file, const sim::Scenario& scenario,
                                   const LabComparisonOptions& options, const ComparisonProgress& progress,
                                   const std::atomic<bool>& stop) {
  LabComparison comparison;
  comparison.title = scenario.title;
  comparison.scale = options.session.lab.scale;
  for (uint32_t i = 0; i < options.num_seeds; ++i) {
    LabSessionOptions session_options = options.session;
    session_options.lab.hash_seed += i;
    progress(fmt::format("lab {} of {}: bringing it up", i + 1, options.num_seeds));
    FL_ASSIGN_OR_RETURN(LabSession session, LabSession::Start(file, scenario, session_options, stop));
    // Nothing adapts under ECMP, as in the simulator.
    FL_ASSIGN_OR_RETURN(const auto fixed, PlanJobs(scenario, session.state().plan, 0, QueuePairBytes::kFixed));
    FL_ASSIGN_OR_RETURN(const auto shared, PlanJobs(scenario, session.state().plan, 0, QueuePairBytes::kShared));
    HashedAndSteered runs;
    runs.hash_seed = session_options.lab.hash_seed;
    progress(fmt::format("lab {} of {}: jobs under ECMP", i + 1, options.num_seeds));
    FL_ASSIGN_OR_RETURN(runs.hashed, session.Run(fixed, false, options.warm_up_s, options.seconds));
    progress(fmt::format("lab {} of {}: jobs under Fairlead", i + 1, options.num_seeds));
    FL_ASSIGN_OR_RETURN(runs.steered, session.Run(shared, true, options.warm_up_s, options.seconds));
    comparison.runs.push_back(std::move(runs));
  }
  progress("simulating the same jobs");
  FL_ASSIGN_OR_RETURN(comparison.simulated_hashed, SimulateUnder(scenario, "ecmp", stop));
  FL_ASSIGN_OR_RETURN(comparison.simulated_steered, SimulateUnder(scenario, options.policy, stop));
  return comparison;
}

ThroughputGain GainOf(const LabComparison& comparison) {
  ThroughputGain gain;
  std::vector<double> hashed, steered;
  for (const HashedAndSteered& seed : comparison.runs) {
    hashed.push_back(Gbps(comparison, seed.hashed));
    steered.push_back(Gbps(comparison, seed.steered));
    gain.steered_spread = std::max(gain.steered_spread, ThroughputOf(seed.steered).spread);
  }
  gain.hashed_gbps = Mean(hashed);
  gain.steered_gbps = Mean(steered);
  if (gain.hashed_gbps > 0) gain.gain = gain.steered_gbps / gain.hashed_gbps;
  const auto& jobs = comparison.runs.front().hashed.jobs;
  const double simulated = SimulatedThroughput(comparison.simulated_hashed, jobs);
  if (simulated > 0) gain.simulated_gain = SimulatedThroughput(comparison.simulated_steered, jobs) / simulated;
  return gain;
}

report::Document RenderComparison(const LabComparison& comparison) {
  report::TextTable table({{"job", Align::kLeft},
                           {"ECMP", Align::kRight, "lab, s", "seconds per iteration under ECMP hashing, measured"},
                           {"Fairlead", Align::kRight, "lab, s", "the same, steered by Fairlead"},
                           {"ECMP", Align::kRight, "simulated"},
                           {"Fairlead", Align::kRight, "simulated"}});
  const auto seconds = [](double mean) {
    return mean > 0 ? report::FormatFixed(mean, 3) : std::string(report::kUnknown);  // no iteration ended
  };
  for (size_t j = 0; j < comparison.simulated_hashed.jobs.size(); ++j) {
    table.AddRow(
        {comparison.simulated_hashed.jobs[j].name, seconds(MeanIteration(comparison, j, &HashedAndSteered::hashed)),
         seconds(MeanIteration(comparison, j, &HashedAndSteered::steered)),
         seconds(comparison.simulated_hashed.jobs[j].mean_s), seconds(comparison.simulated_steered.jobs[j].mean_s)});
  }
  const ThroughputGain gain = GainOf(comparison);
  report::Document text = comparison.title + "\n\n" + report::Document(std::move(table));
  text += fmt::format(
      "\nall jobs together: ECMP {:.0f} Gb/s, Fairlead {:.0f} Gb/s: {:.2f} times as much ({:.2f} simulated)\n",
      gain.hashed_gbps, gain.steered_gbps, gain.gain, gain.simulated_gain);
  text +=
      fmt::format("spread between jobs under Fairlead: {} of their mean\n", report::FormatPercent(gain.steered_spread));
  return text;
}

Json ComparisonJson(const LabComparison& comparison) {
  const ThroughputGain gain = GainOf(comparison);
  Json json = {
      {"scenario", comparison.title},          {"scale", comparison.scale},       {"gain", gain.gain},
      {"simulated_gain", gain.simulated_gain}, {"hashed_gbps", gain.hashed_gbps}, {"steered_gbps", gain.steered_gbps},
      {"steered_spread", gain.steered_spread}, {"jobs", Json::array()},           {"seeds", Json::array()}};
  for (size_t j = 0; j < comparison.simulated_hashed.jobs.size(); ++j) {
    json["jobs"].push_back({{"name", comparison.simulated_hashed.jobs[j].name},
                            {"hashed_s", MeanIteration(comparison, j, &HashedAndSteered::hashed)},
                            {"steered_s", MeanIteration(comparison, j, &HashedAndSteered::steered)},
                            {"simulated_hashed_s", comparison.simulated_hashed.jobs[j].mean_s},
                            {"simulated_steered_s", comparison.simulated_steered.jobs[j].mean_s}});
  }
  for (const HashedAndSteered& seed : comparison.runs) {
    json["seeds"].push_back({{"hash_seed", seed.hash_seed},
                             {"hashed_gbps", Gbps(comparison, seed.hashed)},
                             {"steered_gbps", Gbps(comparison, seed.steered)},
                             {"steered_spread", ThroughputOf(seed.steered).spread}});
  }
  return json;
}

}  // namespace fairlead::lab
