#include "experiments/crux-testbed/crux_testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "base/yaml_reader.h"
#include "experiments/crux-testbed/testbed_run.h"
#include "experiments/crux-testbed/testbed_setup.h"
#include "experiments/embedded_texts.h"
#include "report/bar_figure.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric_yaml.h"

namespace fairlead::experiments::crux_testbed {
namespace {

constexpr size_t kNumSeeds = 20;
constexpr size_t kNumReducedSeeds = 5;
constexpr std::string_view kSetupFile = "experiments/crux-testbed/setup.yaml";
constexpr std::string_view kFabricFile = "fabrics/crux-testbed.yaml";
// The case of section 2.2 runs on another fabric and is reported in other rows.
constexpr std::string_view kMotivatingGroup = "motivating pair";

// Means over seeds of one case under one policy.
struct CaseMean {
  double busy = 0;
  double ideal_busy = 0;
  std::map<std::string, double> iteration_s;       // by model: mean over its jobs
  std::map<std::string, double> solo_iteration_s;  // the same, alone
};

CaseMean MeanOf(const TestbedCase& testbed_case, const std::vector<CaseRun>& runs) {
  CaseMean mean;
  std::map<std::string, double> num_jobs;
  for (const TestbedJob& job : testbed_case.jobs) num_jobs[job.model] += 1;
  const auto weight = 1 / static_cast<double>(runs.size());
  for (const CaseRun& run : runs) {
    mean.busy += weight * run.busy;
    mean.ideal_busy += weight * run.ideal_busy;
    for (size_t j = 0; j < testbed_case.jobs.size(); ++j) {
      const std::string& model = testbed_case.jobs[j].model;
      mean.iteration_s[model] += weight * run.iteration_s[j] / num_jobs[model];
      mean.solo_iteration_s[model] += weight * run.solo_iteration_s[j] / num_jobs[model];
    }
  }
  return mean;
}

// One case on one fabric under one policy, all seeds.
struct PlannedCase {
  const Testbed* testbed = nullptr;
  TestbedCase testbed_case;
  std::string policy;
};

// Means of all planned cases; nothing when stopped before all were simulated.
std::optional<std::vector<CaseMean>> SimulateAll(const std::vector<PlannedCase>& planned,
                                                 const experiment::RunContext& context) {
  const size_t num_seeds = context.reduced ? kNumReducedSeeds : kNumSeeds;
  std::vector<std::vector<CaseRun>> runs(planned.size(), std::vector<CaseRun>(num_seeds));
  std::mutex mutex;
  size_t num_done = 0;
  const size_t num_runs = planned.size() * num_seeds;
  ParallelFor(num_runs, context.num_threads, *context.stop, [&](size_t i) {
    const PlannedCase& plan = planned[i / num_seeds];
    runs[i / num_seeds][i % num_seeds] =
        plan.testbed->Run(plan.testbed_case, plan.policy, context.seed + i % num_seeds);
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(num_runs));
  });
  if (num_done < num_runs) return std::nullopt;
  std::vector<CaseMean> means;
  for (size_t p = 0; p < planned.size(); ++p) means.push_back(MeanOf(planned[p].testbed_case, runs[p]));
  return means;
}

double PercentChange(double before, double after) { return 100 * (after / before - 1); }

void AddCaseRows(const TestbedCase& testbed_case, const CaseMean& without, const CaseMean& with,
                 experiment::Outcome* outcome) {
  outcome->Set(testbed_case.name + ": without", without.busy);
  outcome->Set(testbed_case.name + ": with", with.busy);
  outcome->Set(testbed_case.name + ": ideal", with.ideal_busy);
  outcome->Set(testbed_case.name + ": gain", 100 * (with.busy - without.busy));
  for (const auto& [model, iteration_s] : without.iteration_s) {
    outcome->Set(fmt::format("{}: JCT of {}", testbed_case.name, model),
                 PercentChange(iteration_s, with.iteration_s.at(model)));
  }
}

// Args: `means` of GPT alone, BERT alone, and both.
void AddMotivatingRows(const TestbedCase& pair, std::span<const CaseMean> means, experiment::Outcome* outcome) {
  const CaseMean& gpt_alone = means[0];
  const CaseMean& bert_alone = means[1];
  const CaseMean& together = means[2];
  const auto add = [&](const std::string& model, const CaseMean& alone) {
    const double before = alone.iteration_s.at(model);
    const double after = together.iteration_s.at(model);
    outcome->Set(fmt::format("pair: throughput of {}", model), PercentChange(1 / before, 1 / after));
  };
  outcome->Set("pair: GPT iteration alone", gpt_alone.iteration_s.at("GPT"));
  outcome->Set("pair: GPT iteration together", together.iteration_s.at("GPT"));
  outcome->Set("pair: GPT iteration change",
               PercentChange(gpt_alone.iteration_s.at("GPT"), together.iteration_s.at("GPT")));
  add("GPT", gpt_alone);
  add("BERT", bert_alone);
  // Busy GPUs alone: both jobs' shares by their GPUs.
  const double gpt_gpus = pair.jobs[0].num_gpus();
  const double bert_gpus = pair.jobs[1].num_gpus();
  const double alone = (gpt_gpus * gpt_alone.busy + bert_gpus * bert_alone.busy) / (gpt_gpus + bert_gpus);
  outcome->Set("pair: GPU utilization", PercentChange(alone, together.busy));
}

report::PageFigure DrawCases(const std::vector<TestbedCase>& cases, const std::vector<CaseMean>& means) {
  report::BarFigure figure;
  figure.title = "GPU utilization without Crux, with Crux, and when every job is alone";
  figure.description = "Three bars for each case of the testbed.";
  figure.y_label = "GPU utilization";
  figure.y_domain = {0, 1};
  figure.series = {"without", "with", "ideal"};
  for (size_t c = 0; c < cases.size(); ++c) {
    std::string label = cases[c].name;
    for (size_t at = label.find(" + "); at != std::string::npos; at = label.find(" + ", at))
      label.replace(at, 3, "\n+ ");
    figure.groups.push_back({label, {means[2 * c].busy, means[2 * c + 1].busy, means[2 * c + 1].ideal_busy}, {}});
  }
  return {figure.title, Draw(figure), "Like Figures 19 to 22 of the paper; means over hash seeds."};
}

// How many of the cases gain, and speed up their most intense job: the sign that the paper reports for all of them.
void AddSignRow(const std::vector<TestbedCase>& cases, const std::vector<CaseMean>& means,
                experiment::Outcome* outcome) {
  double num_right = 0;
  for (size_t c = 0; c < cases.size(); ++c) {
    const CaseMean& without = means[2 * c];
    const CaseMean& with = means[2 * c + 1];
    const std::string& intense = cases[c].jobs.front().model;
    const bool is_faster = with.iteration_s.at(intense) < without.iteration_s.at(intense);
    num_right += with.busy > without.busy && is_faster ? 1 : 0;
  }
  outcome->Set("cases with the right signs", num_right);
}

Result<topology::Fabric> LoadTestbedFabric() {
  FL_ASSIGN_OR_RETURN(const YamlDocument document,
                      YamlDocument::Parse(FindEmbeddedText(kFabricFile), std::string(kFabricFile)));
  YamlMap root = document.Root();
  YamlMap section = root.RequiredMap("fabric");
  return topology::LoadFabric(section);
}

// Six hosts under each of two leaves, 1:1: "eight hosts, four per ToR", and room for the other job.
Result<topology::Fabric> BuildMotivatingFabric() {
  topology::ClosSpec spec;
  spec.leaves = 2;
  spec.hosts_per_leaf = 6;
  spec.spines = 8;
  spec.leaf_uplink.parallel = 6;
  spec.leaf_uplink.speed = GigabitsPerSecond(100);
  spec.host.ports_per_nic = 2;
  spec.host.port_speed = GigabitsPerSecond(100);
  return topology::BuildClos(spec);
}

TestbedCase OnlyJob(const TestbedCase& testbed_case, size_t job) {
  return {testbed_case.name, testbed_case.group, {testbed_case.jobs[job]}};
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  FL_ASSIGN_OR_RETURN(TestbedSetup setup, ParseTestbedSetup(FindEmbeddedText(kSetupFile), std::string(kSetupFile)));
  FL_ASSIGN_OR_RETURN(const topology::Fabric fabric, LoadTestbedFabric());
  FL_ASSIGN_OR_RETURN(const topology::Fabric motivating_fabric, BuildMotivatingFabric());
  const Testbed testbed(fabric, setup);
  const Testbed motivating(motivating_fabric, setup);

  std::vector<TestbedCase> cases;
  std::vector<PlannedCase> planned;
  TestbedCase pair;
  for (const TestbedCase& testbed_case : setup.cases) {
    const bool is_pair = testbed_case.group == kMotivatingGroup;
    FL_RETURN_IF_ERROR((is_pair ? motivating : testbed).Check(testbed_case));
    if (is_pair) {
      pair = testbed_case;
      continue;
    }
    cases.push_back(testbed_case);
    for (const char* policy : {"ecmp", "crux"}) planned.push_back({&testbed, testbed_case, policy});
  }
  for (const TestbedCase& testbed_case : {OnlyJob(pair, 0), OnlyJob(pair, 1), pair}) {
    planned.push_back({&motivating, testbed_case, "ecmp"});
  }

  experiment::Outcome outcome;
  const auto means = SimulateAll(planned, context);
  outcome.is_partial = !means.has_value();
  if (!means) return outcome;
  for (size_t c = 0; c < cases.size(); ++c) AddCaseRows(cases[c], (*means)[2 * c], (*means)[2 * c + 1], &outcome);
  AddSignRow(cases, *means, &outcome);
  const size_t first = 2 * cases.size();
  AddMotivatingRows(pair, std::span(*means).subspan(first), &outcome);
  outcome.figures.push_back(DrawCases(cases, *means));
  outcome.notes.push_back(
      fmt::format("Means over {} hash seeds, {:.0f} s simulated each. Without Crux: paths of the hashes, one level. "
                  "With: crux, 8 levels. "
                  "JCT is that of endless jobs: the change of the mean iteration.",
                  context.reduced ? kNumReducedSeeds : kNumSeeds, kHorizonS));
  return outcome;
}

}  // namespace fairlead::experiments::crux_testbed
