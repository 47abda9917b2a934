// fairlead explain job J: why is this job slow, and why does it have the GPUs that it has, or none?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/explain_elastic.h"
#include "cli/run_with_progress.h"
#include "report/allocation_explanation.h"
#include "report/explain_report.h"
#include "report/job_explanation.h"
#include "sim/scenario.h"

namespace fairlead::cli {

namespace {

struct ExplainOptions {
  std::string job;
  std::string scenario;
  std::string policy;
  std::optional<uint64_t> seed;
  std::string topology;
  std::string json;
  ElasticExplainOptions elastic;
  std::string allocation;  // empty: the scenario's, or the default
  std::optional<double> at_s;
};

// By name, or by number.
Result<JobId> FindJob(const sim::Scenario& scenario, const std::string& wanted) {
  for (const sim::ScenarioJob& entry : scenario.jobs) {
    if (entry.job.name == wanted) return entry.job.id;
  }
  for (const sim::ScenarioJob& entry : scenario.jobs) {
    if (std::to_string(entry.job.id.value()) == wanted) return entry.job.id;
  }
  return NotFound(fmt::format("there is no job '{}' in the scenario; it has {} jobs, named like '{}'", wanted,
                              scenario.jobs.size(), scenario.jobs.front().job.name));
}

Result<report::AllocationExplanation> ExplainAllocationOf(const sim::Scenario& scenario, const sim::RunResult& run,
                                                          JobId job, std::optional<double> at_s) {
  FL_ASSIGN_OR_RETURN(report::AllocationExplanation explanation, report::ExplainAllocation(run.decisions, at_s));
  explanation.job = job.value();
  explanation.name = scenario.jobs[job.index()].job.name;
  explanation.policy = run.allocation;
  for (const sim::ScenarioJob& entry : scenario.jobs) explanation.job_names.push_back(entry.job.name);
  return explanation;
}

// Of each run, the network, and the allocation where a policy decides about it.
Status ExplainRuns(const sim::Scenario& scenario, const sim::SimulationReport& report, JobId job,
                   const ExplainOptions& options, report::Json* json) {
  const bool prints = !IsStdout(options.json);
  for (const sim::RunResult& run : report.runs) {
    FL_ASSIGN_OR_RETURN(const report::JobExplanation network, report::ExplainJob(run, job));
    report::Json explained = report::ToJson(network);
    if (prints) fmt::print("{}\n", report::RenderExplanation(network));
    if (!run.allocation.empty()) {
      FL_ASSIGN_OR_RETURN(const report::AllocationExplanation allocation,
                          ExplainAllocationOf(scenario, run, job, options.at_s));
      if (prints) fmt::print("{}\n", report::RenderExplanation(allocation));
      explained["allocation"] = report::ToJson(allocation);
    }
    json->push_back(std::move(explained));
  }
  return OkStatus();
}

int ExplainElastic(const ExplainOptions& options) {
  ElasticExplainOptions elastic = options.elastic;
  elastic.job = options.job;
  elastic.at_s = options.at_s;
  if (options.seed) elastic.seed = *options.seed;
  if (!options.allocation.empty()) elastic.allocation = options.allocation;
  const auto explanation = ExplainElasticJob(elastic);
  if (!explanation.ok()) return ReportError(explanation.status());
  if (!IsStdout(options.json)) fmt::print("{}", report::RenderExplanation(*explanation));
  if (options.json.empty()) return kExitOk;
  const Status written = WriteOutput(options.json, report::Dump(report::ToJson(*explanation)));
  return written.ok() ? kExitOk : ReportError(written);
}

Status CheckOptions(const ExplainOptions& options) {
  if (options.scenario.empty() == options.elastic.workload.empty()) {
    return InvalidArgument("expected exactly one of --scenario FILE and --workload FILE");
  }
  return PrepareOutputFolder(options.json);
}

int Explain(const ExplainOptions& options) {
  if (const Status status = CheckOptions(options); !status.ok()) return ReportError(status);
  if (!options.elastic.workload.empty()) return ExplainElastic(options);
  auto scenario = FindScenario(options.scenario, options.topology);
  if (!scenario.ok()) return ReportError(scenario.status());
  const auto job = FindJob(*scenario, options.job);
  if (!job.ok()) return ReportError(job.status());
  if (!options.policy.empty()) scenario->policies = {options.policy};
  scenario->num_seeds = 1;
  if (options.seed) scenario->first_seed = *options.seed;
  if (!options.allocation.empty()) {
    if (scenario->allocations.empty()) {
      return ReportError(InvalidArgument("--allocation: the scenario has jobs of fixed size, no key allocation"));
    }
    scenario->allocations = {options.allocation};
  }
  const auto report = RunWithProgress(*scenario, {.explained_job = *job});
  if (!report.ok()) return ReportError(report.status());

  report::Json json = report::Json::array();
  if (const Status status = ExplainRuns(*scenario, *report, *job, options, &json); !status.ok()) {
    return ReportError(status);
  }
  if (!options.json.empty()) {
    if (const Status status = WriteOutput(options.json, report::Dump(json)); !status.ok()) {
      return ReportError(status);
    }
  }
  return StopRequested() ? kExitInterrupted : kExitOk;
}

}  // namespace

void AddExplainCommand(CLI::App& app, Invocation* invocation) {
  CLI::App* explain = app.add_subcommand("explain", "Say why something is as it is.");
  explain->require_subcommand(1);
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* job =
      explain->add_subcommand("job", "Which link bounds a job and what that costs; why it has its GPUs, or waits.");
  job->add_option("JOB", options->job, "Name or number of the job")->required();
  job->add_option("--scenario", options->scenario, "Scenario file (YAML)");
  job->add_option("--workload", options->elastic.workload,
                  "Instead of a scenario: a workload of elastic jobs without a network, or \"generated\"");
  job->add_option("--profiles", options->elastic.profiles, "Where the speeds of the workload's applications lie");
  job->add_option("--nodes", options->elastic.num_nodes, "Of the workload's cluster")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  job->add_option("--gpus-per-node", options->elastic.gpus_per_node, "Of the workload's cluster")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  job->add_option("--allocation", options->allocation,
                  "One allocation policy; default: each of the scenario's, aiturbo for a workload");
  job->add_option("--at", options->at_s, "Explain the decision in force at this second; default: the first one");
  job->add_option("--policy", options->policy, "One policy; default: each of the scenario's");
  job->add_option("--seed", options->seed, "Hash seed; default: the scenario's first");
  job->add_option("--topology", options->topology,
                  "Fabric (YAML) or Lingjun topo.csv instead of the scenario's fabric");
  job->add_option("--json", options->json, "Write the explanation to FILE; - prints only it")->type_name("FILE");
  job->footer(
      "Example: fairlead explain job 14517 --scenario scenarios/lingjun-snapshot.yaml --policy ecmp\n"
      "         fairlead explain job bert-2 --scenario scenarios/joint.yaml --policy crux --allocation aiturbo --at "
      "900\n"
      "         fairlead explain job 7 --workload generated --allocation tiresias");
  job->callback([options, invocation] { invocation->exit_code = Explain(*options); });
}

}  // namespace fairlead::cli
