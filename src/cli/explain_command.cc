// fairlead explain job J: why is this job slow?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/run_with_progress.h"
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

int Explain(const ExplainOptions& options) {
  if (const Status status = PrepareOutputFolder(options.json); !status.ok()) return ReportError(status);
  auto scenario = FindScenario(options.scenario, options.topology);
  if (!scenario.ok()) return ReportError(scenario.status());
  const auto job = FindJob(*scenario, options.job);
  if (!job.ok()) return ReportError(job.status());
  if (!options.policy.empty()) scenario->policies = {options.policy};
  scenario->num_seeds = 1;
  if (options.seed) scenario->first_seed = *options.seed;
  const auto report = RunWithProgress(*scenario, {});
  if (!report.ok()) return ReportError(report.status());

  report::Json json = report::Json::array();
  for (const sim::RunResult& run : report->runs) {
    const auto explanation = report::ExplainJob(run, *job);
    if (!explanation.ok()) return ReportError(explanation.status());
    if (!IsStdout(options.json)) fmt::print("{}\n", report::RenderExplanation(*explanation));
    json.push_back(report::ToJson(*explanation));
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
      explain->add_subcommand("job", "Which link bounds a job, who shares it, and what that costs in GPU-hours.");
  job->add_option("JOB", options->job, "Name or number of the job")->required();
  job->add_option("--scenario", options->scenario, "Scenario file (YAML)")->required();
  job->add_option("--policy", options->policy, "One policy; default: each of the scenario's");
  job->add_option("--seed", options->seed, "Hash seed; default: the scenario's first");
  job->add_option("--topology", options->topology,
                  "Fabric (YAML) or Lingjun topo.csv instead of the scenario's fabric");
  job->add_option("--json", options->json, "Write the explanation to FILE; - prints only it")->type_name("FILE");
  job->footer("Example: fairlead explain job 14517 --scenario scenarios/lingjun-snapshot.yaml --policy ecmp");
  job->callback([options, invocation] { invocation->exit_code = Explain(*options); });
}

}  // namespace fairlead::cli
