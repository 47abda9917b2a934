#include "experiments/c4p-real-jobs/c4p_real_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/c4p-real-jobs/exposed_job.h"
#include "experiments/c4p_testbed.h"
#include "experiments/trace_scenario.h"
#include "report/bar_figure.h"

namespace fairlead::experiments::c4p_real_jobs {

namespace {

constexpr uint32_t kNumSeeds = 20;
constexpr uint32_t kNumReducedSeeds = 3;

struct TrainingJob {
  std::string_view name;
  std::string_view model;
  std::string_view parallelism;
};

constexpr TrainingJob kJobs[] = {
    {"GPT-22B", "gpt-22b", "{tensor: 8, pipeline: 1, data: 16}"},
    {"Llama-7B", "llama-7b", "{tensor: 1, pipeline: 1, data: 128, zero_stage: 3}"},
    {"GPT-175B", "gpt-175b", "{tensor: 8, pipeline: 8, data: 2, micro_batches: 16}"},
};

// One job on all 16 hosts. Neighbours on its rings are in different segments, so that every hop crosses the spines.
Result<sim::Scenario> MakeScenario(const TrainingJob& job, uint32_t num_seeds, double nvlink_gigabytes_per_s = 200) {
  std::vector<std::string> hosts;
  for (uint32_t h = 0; h < 8; ++h) {
    hosts.push_back(fmt::format("h{}", h));
    hosts.push_back(fmt::format("h{}", h + 8));
  }
  const std::string text = fmt::format(
      "title: {0}\n"
      "fabric: {{kind: rail-dual-plane, segments: 2, hosts_per_segment: 8, rails_per_leaf: 4, spines: 8, "
      "shared_planes: true, uplink_gbps: 800, host: {{nvlink_gigabytes_per_s: {7}}}}}\n"
      "goodput: {1}\nqps_per_connection: {2}\npolicies: [ecmp, c4p]\nseeds: {3}\nvary: [hash]\nsimulate_s: 120\n"
      "jobs:\n  - {{name: {0}, gpus: 128, hosts: [{4}], model: {5}, parallelism: {6}}}\n",
      job.name, kCeilingGbps / 400, C4pTestbed().queue_pairs, num_seeds, fmt::join(hosts, ", "), job.model,
      job.parallelism, nvlink_gigabytes_per_s);
  return sim::ParseScenario(text, std::string(job.name), {});
}

// Of one job under one policy: means over seeds.
struct Speed {
  double iteration_s = 0;
  double busy = 0;  // share of the iteration in which GPUs compute
};

// With and without C4P.
struct Gain {
  Speed without;
  Speed with;

  double percent() const { return 100 * (without.iteration_s / with.iteration_s - 1); }
};

Speed Measure(const sim::SimulationReport& report, std::string_view policy) {
  Speed mean;
  double num_runs = 0;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy) continue;
    mean.iteration_s += run.jobs.front().iteration_s;
    mean.busy += run.busy;
    ++num_runs;
  }
  return {mean.iteration_s / num_runs, mean.busy / num_runs};
}

// The jobs without a pipeline, with their communication hidden from as well as can be to not at all.
struct ExposedJob {
  std::string_view name;
  TrainingJob job;
  double nvlink_gigabytes_per_s;
};
constexpr ExposedJob kExposedJobs[] = {
    {"GPT-22B", kJobs[0], 200}, {"Llama-7B", kJobs[1], 200}, {"Llama-7B, fast NVLink", kJobs[1], 4000}};
constexpr double kExposedShares[] = {0, 0.1, 0.25, 0.5, 0.75, 1};
// Part of the progress that the profiles as they are take.
constexpr double kProfilesPart = 0.3;

// Adds rows and a table: what C4P gains by the share of the communication that nothing hides.
Status SweepExposedShares(const experiment::RunContext& context, uint32_t num_seeds, experiment::Outcome* outcome) {
  experiment::ResultTable table;
  table.title = "Gain by the share of the bytes between replicas that no compute hides";
  table.columns = {
      "job",    "exposed share", "iteration without, s", "iteration with, s", "waiting without, %", "waiting with, %",
      "gain, %"};
  constexpr double kPart = (1 - kProfilesPart) / (std::size(kExposedJobs) * std::size(kExposedShares));
  double done = kProfilesPart;
  for (const auto& [name, job, nvlink] : kExposedJobs) {
    for (const double exposed : kExposedShares) {
      FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeScenario(job, num_seeds, nvlink));
      scenario.first_seed = context.seed;
      FL_ASSIGN_OR_RETURN(const collective::ModelProfile* profile, scenario.profiles.Find(job.model));
      const auto& profiled = std::get<sim::ProfiledWork>(scenario.jobs.front().work);
      FL_ASSIGN_OR_RETURN(scenario.jobs.front().work,
                          ExposeCommunication(*profile, *profiled.parallelism, scenario.fabric.gpu_peak(), exposed));
      FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + kPart));
      done += kPart;
      if (context.should_stop()) {
        outcome->is_partial = true;
        return OkStatus();
      }
      const Gain gain{Measure(report, "ecmp"), Measure(report, "c4p")};
      outcome->Set(fmt::format("{}, {:.0f} % exposed: gain", name, 100 * exposed), gain.percent());
      table.lines.push_back({std::string(name), exposed, gain.without.iteration_s, gain.with.iteration_s,
                             100 * (1 - gain.without.busy), 100 * (1 - gain.with.busy), gain.percent()});
    }
  }
  outcome->tables.push_back(std::move(table));
  return OkStatus();
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  report::BarFigure figure;
  figure.title = "Throughput of three training jobs with C4P";
  figure.description = "One bar for each job; 1 is the throughput without C4P, the marks are the paper's.";
  figure.y_label = "with / without";
  figure.y_domain = {0.9, 1.3};
  figure.series = {"ours"};
  figure.mark_label = "paper";
  constexpr double kPaper[] = {1.1595, 1.141, 1};
  const uint32_t own_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  const uint32_t num_seeds = context.num_draws > 0 ? context.num_draws : own_seeds;
  double done = 0;
  for (size_t j = 0; j < std::size(kJobs); ++j) {
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, MakeScenario(kJobs[j], num_seeds));
    scenario.first_seed = context.seed;
    const double part = kProfilesPart / std::size(kJobs);
    FL_ASSIGN_OR_RETURN(const sim::SimulationReport report, SimulateScenario(scenario, context, done, done + part));
    done += part;
    if (context.should_stop()) {
      outcome.is_partial = true;
      return outcome;
    }
    const auto [without, with] = Gain{Measure(report, "ecmp"), Measure(report, "c4p")};
    const std::string row = fmt::format("{}: ", kJobs[j].name);
    outcome.Set(row + "iteration without", without.iteration_s);
    outcome.Set(row + "iteration with", with.iteration_s);
    outcome.Set(row + "waiting for the network, without", 100 * (1 - without.busy));
    outcome.Set(row + "gain", 100 * (without.iteration_s / with.iteration_s - 1));
    figure.groups.push_back({std::string(kJobs[j].name), {without.iteration_s / with.iteration_s}, {kPaper[j]}});
  }
  outcome.figures.push_back({figure.title, Draw(figure), "Means over hash seeds (Fig. 13)."});
  FL_RETURN_IF_ERROR(SweepExposedShares(context, num_seeds, &outcome));
  outcome.notes.push_back(
      fmt::format("Means over {} hash seeds; one job at a time on 16 hosts, 8 queue pairs.", num_seeds));
  return outcome;
}

}  // namespace fairlead::experiments::c4p_real_jobs
