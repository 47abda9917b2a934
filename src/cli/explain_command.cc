// fairlead explain job J: why is this job slow, and why does it have the GPUs that it has, or none?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/explain_elastic.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "cli/run_with_progress.h"
#include "report/allocation_explanation.h"
#include "report/explain_report.h"
#include "report/job_explanation.h"
#include "report/removal_effect.h"
#include "scheduling/allocation_registry.h"
#include "sim/scenario.h"
#include "traffic/policy_registry.h"

namespace fairlead::cli {

namespace {

struct ExplainOptions {
  std::string job;
  std::string scenario;
  std::string policy;
  std::optional<uint64_t> seed;
  ScenarioOptions changes;
  OutputOptions output;
  ElasticExplainOptions elastic;
  std::string allocation;  // empty: the scenario's, or the default
  std::optional<double> at_s;
  std::vector<std::string> without;
  // Of a running cluster: another program takes over before these are read (sibling_programs.h), but for mistakes.
  std::string server, token_file, tls_ca;
};

// A scenario's runs again, with something taken away.
struct Replay {
  report::Removal removal;
  sim::SimulationReport report;
  std::vector<sim::PlacementRecord> with, without;  // one per run
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

// "link:NAME" (all events of a link) or "link-event:INDEX" (one, from 0). False: `wanted` names something else.
Result<bool> FindLinkEvents(const std::string& wanted, const sim::Scenario& scenario, std::set<size_t>* found,
                            report::Removal* removal) {
  const std::string_view link_prefix = "link:";
  const std::string_view event_prefix = "link-event:";
  const auto& events = scenario.link_events;
  const bool by_index = wanted.starts_with(event_prefix);
  if (!by_index && !wanted.starts_with(link_prefix)) return false;
  const std::string name = wanted.substr(by_index ? event_prefix.size() : link_prefix.size());
  bool any = false;
  for (size_t i = 0; i < events.size(); ++i) {
    const std::string link_name = scenario.fabric.LinkName(events[i].link);
    if (by_index ? std::to_string(i) != name : link_name != name) continue;
    any = true;
    found->insert(i);
    removal->links.push_back(events[i].link);
    if (by_index) removal->descriptions.push_back(fmt::format("event {} of link {}", i, link_name));
  }
  if (!any) {
    return InvalidArgument(fmt::format(
        "--without {}: the scenario has no such link event; it has {}, numbered from 0{}", wanted, events.size(),
        events.empty() ? "" : ", as of link " + scenario.fabric.LinkName(events.front().link)));
  }
  if (!by_index) removal->descriptions.push_back(fmt::format("events of link {}", name));
  return true;
}

// Takes away what --without names: events out of the scenario, jobs into the result. Errors: kInvalidArgument: it names
// nothing, or the explained job itself.
Result<report::Removal> Remove(const std::vector<std::string>& without, JobId explained, sim::Scenario* scenario) {
  report::Removal removal;
  std::set<size_t> events;
  for (const std::string& wanted : without) {
    FL_ASSIGN_OR_RETURN(const bool is_link, FindLinkEvents(wanted, *scenario, &events, &removal));
    if (is_link) continue;
    const auto job = FindJob(*scenario, wanted);
    if (!job.ok()) return InvalidArgument("--without: " + job.status().message());
    if (*job == explained) {
      return InvalidArgument(fmt::format("--without {}: this is the job to be explained; expected another", wanted));
    }
    removal.jobs.push_back(*job);
    removal.descriptions.push_back(fmt::format("job {} \"{}\"", job->value(), scenario->jobs[job->index()].job.name));
  }
  for (auto event = events.rbegin(); event != events.rend(); ++event) {  // NOLINT(modernize-loop-convert)
    scenario->link_events.erase(scenario->link_events.begin() + static_cast<ptrdiff_t>(*event));
  }
  return removal;
}

// Other jobs that started elsewhere.
std::vector<std::string> FindMoved(const sim::Scenario& scenario, const sim::PlacementRecord& with,
                                   const sim::PlacementRecord& without) {
  std::vector<std::string> moved;
  for (const auto& [id, placement] : without) {
    const auto before = with.find(id);
    if (before != with.end() && before->second != placement) {
      moved.push_back(fmt::format("job {} \"{}\"", id.value(), scenario.jobs[id.index()].job.name));
    }
  }
  return moved;
}

// What the job of `run`, the index-th of its report, gains. Nothing: that run was not repeated (Ctrl-C), or ended
// early.
std::optional<report::RemovalEffect> CompareWithReplay(const sim::Scenario& scenario, const Replay& replay,
                                                       const sim::RunResult& run, size_t index, JobId job) {
  if (index >= replay.report.runs.size()) return std::nullopt;
  const sim::RunResult& other = replay.report.runs[index];
  if (run.partial || other.partial || other.policy != run.policy) return std::nullopt;
  const auto result_of = [job](const sim::RunResult& r) {
    return std::find_if(r.jobs.begin(), r.jobs.end(), [job](const sim::JobResult& result) { return result.id == job; });
  };
  const auto with = result_of(run);
  const auto without = result_of(other);
  if (with == run.jobs.end() || without == other.jobs.end()) return std::nullopt;
  report::RemovalEffect effect = report::CompareRemoval(*with, *without, replay.removal);
  if (index < replay.with.size() && index < replay.without.size()) {
    effect.moved = FindMoved(scenario, replay.with[index], replay.without[index]);
  }
  return effect;
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
                   std::optional<double> at_s, const Replay* replay, OutputFiles* files, report::Json* json) {
  for (size_t i = 0; i < report.runs.size(); ++i) {
    const sim::RunResult& run = report.runs[i];
    FL_ASSIGN_OR_RETURN(const report::JobExplanation network, report::ExplainJob(run, job));
    report::Json explained = report::ToJson(network);
    report::Document text = report::RenderExplanation(network);
    if (replay != nullptr) {
      if (const auto effect = CompareWithReplay(scenario, *replay, run, i, job)) {
        text += report::RenderRemoval(*effect);
        explained["without"] = report::ToJson(*effect);
      }
    }
    files->Print(text + "\n");
    if (!run.allocation.empty()) {
      FL_ASSIGN_OR_RETURN(const report::AllocationExplanation allocation,
                          ExplainAllocationOf(scenario, run, job, at_s));
      files->Print(report::RenderExplanation(allocation) + "\n");
      explained["allocation"] = report::ToJson(allocation);
    }
    json->push_back(std::move(explained));
  }
  return OkStatus();
}

int ExplainElastic(const ExplainOptions& options, OutputFiles files) {
  ElasticExplainOptions elastic = options.elastic;
  elastic.job = options.job;
  elastic.at_s = options.at_s;
  if (options.seed) elastic.seed = *options.seed;
  if (!options.allocation.empty()) elastic.allocation = options.allocation;
  const auto explanation = ExplainElasticJob(elastic);
  if (!explanation.ok()) return ReportError(explanation.status());
  files.Print(report::RenderExplanation(*explanation));
  files.WriteJson("JSON", [&] { return report::Dump(report::ToJson(*explanation)); });
  return files.status().ok() ? kExitOk : ReportError(files.status());
}

Status CheckOptions(const ExplainOptions& options) {
  if (!options.server.empty() || !options.token_file.empty() || !options.tls_ca.empty()) {
    return InvalidArgument("--server, --token-file and --tls-ca are for jobs of a running cluster, not of a file");
  }
  if (options.scenario.empty() == options.elastic.workload.empty()) {
    return InvalidArgument(
        "expected exactly one of --scenario FILE and --workload FILE; of a running cluster, jobs of Slurm are "
        "explained: slurm-NUMBER");
  }
  if (!options.without.empty() && options.scenario.empty()) {
    return InvalidArgument("--without: a workload has no network; expected it with --scenario FILE");
  }
  return OkStatus();
}

int Explain(const ExplainOptions& options) {
  if (const Status status = CheckOptions(options); !status.ok()) return ReportError(status);
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  if (!options.elastic.workload.empty()) return ExplainElastic(options, *std::move(files));
  auto scenario = FindScenario(options.scenario, options.changes);
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
  Replay replay;
  sim::Scenario rest = *scenario;
  auto removal = Remove(options.without, *job, &rest);
  if (!removal.ok()) return ReportError(removal.status());
  replay.removal = *std::move(removal);
  const auto report = RunWithProgress(*scenario, {.explained_job = *job, .placements = &replay.with});
  if (!report.ok()) return ReportError(report.status());
  if (!options.without.empty()) {
    auto again = RunWithProgress(
        rest, {.absent_jobs = replay.removal.jobs, .known_placements = &replay.with, .placements = &replay.without});
    if (!again.ok()) return ReportError(again.status());
    replay.report = *std::move(again);
  }

  report::Json json = report::Json::array();
  if (const Status status = ExplainRuns(*scenario, *report, *job, options.at_s,
                                        options.without.empty() ? nullptr : &replay, &*files, &json);
      !status.ok()) {
    return ReportError(status);
  }
  files->WriteJson("JSON", [&] { return report::Dump(json); });
  if (!files->status().ok()) return ReportError(files->status());
  if (!StopRequested()) return kExitOk;
  fmt::print(stderr, "fairlead: stopped before the end; the explanation is of what was simulated until then\n");
  return InterruptedExitCode();
}

}  // namespace

void AddExplainCommand(CLI::App& app, Invocation* invocation) {
  CLI::App* explain = app.add_subcommand("explain", "Explain why a job is slow, or why it has the GPUs it has.");
  explain->footer("Example: fairlead explain job large-model --scenario scenarios/two-jobs.yaml");
  explain->require_subcommand(1);
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* job = explain->add_subcommand("job",
                                          "Show what slows a job down, and what each link and other job costs it; "
                                          "why it was given its GPUs, or has to wait.");
  job->add_option("JOB", options->job,
                  "Name or number of the job; slurm-NUMBER: of a running cluster, as `fairlead describe job` shows it")
      ->required();
  job->add_option("--scenario", options->scenario, "Scenario file (YAML)");
  job->add_option("--workload", options->elastic.workload,
                  "Instead of a scenario: a workload of elastic jobs without a network, or \"generated\"");
  job->add_option("--profiles", options->elastic.profiles, "Folder with the speeds of the workload's applications");
  job->add_option("--nodes", options->elastic.num_nodes, "Size of the workload's cluster")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  job->add_option("--gpus-per-node", options->elastic.gpus_per_node, "Size of the workload's cluster")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  job->add_option("--allocation", options->allocation,
                  "One allocation policy; default: each of the scenario's, aiturbo for a workload")
      ->check(OneOf(scheduling::AllocationPolicyNames()));
  job->add_option("--at", options->at_s, "Explain the decision in force at this second; default: the first one");
  job->add_option("--policy", options->policy, "One traffic policy; default: each of the scenario's")
      ->check(OneOf(traffic::PolicyNames()));
  job->add_option("--without", options->without,
                  "Simulate again without this job, link:NAME or link-event:INDEX, and show what the job gains")
      ->type_name("K")
      ->allow_extra_args(false);
  job->add_option("--server", options->server,
                  "Explain a job of a running cluster; its controller's --http: HOST:PORT, http:// or https://")
      ->type_name("URL");
  job->add_option("--token-file", options->token_file, "Send that controller the token in FILE")->type_name("FILE");
  job->add_option("--tls-ca", options->tls_ca, "CA certificates for an https server")->type_name("FILE");
  job->add_option("--seed", options->seed, "Hash seed; default: the scenario's first");
  AddScenarioOptions(job, &options->changes);
  AddOutputOptions(job, &options->output, "Write the explanation as JSON to FILE; - prints only JSON");
  job->footer(
      "Example: fairlead explain job gpt-30b-14517 --scenario scenarios/lingjun-snapshot.yaml --policy ecmp\n"
      "         fairlead explain job large-model --scenario scenarios/two-jobs.yaml --without given-by-numbers\n"
      "         fairlead explain job bert-2 --scenario scenarios/joint.yaml --policy crux --allocation aiturbo --at "
      "900\n"
      "         fairlead explain job slurm-4711 --server controller:8080\n"
      "         fairlead explain job 7 --workload generated --allocation tiresias");
  job->callback([options, invocation] { invocation->exit_code = Explain(*options); });
}

}  // namespace fairlead::cli
