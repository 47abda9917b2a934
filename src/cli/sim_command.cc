// fairlead sim run, fairlead sim fwl.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process_usage.h"
#include "cli/command.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "cli/run_with_progress.h"
#include "report/html_report.h"
#include "report/json_report.h"
#include "report/number_format.h"
#include "report/run_timeline.h"
#include "report/text_report.h"
#include "scheduling/allocation_registry.h"
#include "sim/fwl_report.h"
#include "sim/fwl_runner.h"
#include "sim/fwl_workload.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"
#include "traffic/policy_registry.h"

namespace fairlead::cli {

namespace {

struct SimRunOptions {
  std::string scenario;
  std::vector<std::string> policies;
  std::vector<std::string> allocations;
  std::optional<uint32_t> num_seeds;
  std::optional<uint64_t> seed;
  std::optional<uint32_t> draw;
  std::vector<std::string> varied;
  std::optional<double> simulate_s;
  ScenarioOptions changes;
  std::string detail;
  bool exact = false;
  uint32_t num_threads = 0;
  OutputOptions output;
  PageOptions page;
  std::string trace;
  std::vector<double> trace_s = {0, 60};
};

Status ApplyOptions(const SimRunOptions& options, sim::Scenario* scenario) {
  if (!options.policies.empty()) scenario->policies = options.policies;
  if (!options.allocations.empty()) {
    if (scenario->allocations.empty()) {
      return InvalidArgument("--allocation: the scenario has jobs of fixed size, no key allocation");
    }
    scenario->allocations = options.allocations;
  }
  if (options.num_seeds) scenario->num_seeds = *options.num_seeds;
  if (options.seed) scenario->first_seed = *options.seed;
  if (options.draw) {
    scenario->first_draw = *options.draw;
    scenario->num_seeds = 1;
  }
  if (!options.varied.empty()) {
    const auto varied = sim::ParseVariedSeeds(options.varied);
    if (!varied.ok()) return InvalidArgument("--vary: " + varied.status().message());
    scenario->varied = *varied;
  }
  if (options.simulate_s) scenario->simulation.end = SimTime::FromSeconds(Seconds(*options.simulate_s));
  if (!options.detail.empty()) {
    scenario->simulates_agents = options.detail == "agents";
    scenario->simulation.detail = options.detail == "edge" ? sim::Detail::kEdge : sim::Detail::kCoupled;
  }
  if (options.exact) scenario->simulation.fast_forward = false;
  return OkStatus();
}

// What is recorded for --trace; nothing without it.
Result<std::optional<sim::RecordingWindow>> FindRecordingWindow(const SimRunOptions& options) {
  if (options.trace.empty()) return std::optional<sim::RecordingWindow>();
  const double from = options.trace_s.front();
  const double to = options.trace_s.back();
  if (from < 0 || from >= to) {
    return InvalidArgument(fmt::format("--trace-s: expected FROM,TO with 0 <= FROM < TO, found {},{}", from, to));
  }
  return std::optional(
      sim::RecordingWindow{.from = SimTime::FromSeconds(Seconds(from)), .to = SimTime::FromSeconds(Seconds(to))});
}

int Deliver(const sim::SimulationReport& report, const sim::Scenario& scenario, const SimRunOptions& options,
            const std::string& command_line, OutputFiles files) {
  files.Print(report::RenderText(report));
  files.WriteJson("JSON", [&] { return report::RenderJson(report); });
  const auto page = [&] {
    return report::RenderHtml(
        report, {.command = command_line, .fabric = &scenario.fabric, .link_events = scenario.link_events});
  };
  files.WritePage(options.page, page);
  files.Write(options.trace, "Timeline", [&] { return report::RenderTimeline(report); });
  for (const std::string& sentence : report::DescribeLeftOut(report)) fmt::print(stderr, "fairlead: {}\n", sentence);
  if (!files.status().ok()) return ReportError(files.status());
  if (!report.failed_runs.empty()) {
    return ReportError(Internal(fmt::format(
        "{} of {} failed, because of a bug in Fairlead; the results are those of the others", report.failed_runs.size(),
        report::FormatCount(report.failed_runs.size() + report.runs.size(), "run"))));
  }
  if (!StopRequested()) return kExitOk;
  fmt::print(stderr, "fairlead: stopped before the end; the numbers are partial\n");
  return InterruptedExitCode();
}

// One run of the scenario alone, with the options that change it as given.
std::string CommandOfRun(const SimRunOptions& options, const std::string& policy, const std::string& allocation,
                         uint32_t draw) {
  std::vector<std::string> args = {"fairlead", "sim", "run", options.scenario, "--policy", policy};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) args.insert(args.end(), {option, value});
  };
  add("--allocation", allocation);
  add("--draw", std::to_string(draw));
  if (options.seed) add("--seed", std::to_string(*options.seed));
  add("--vary", fmt::format("{}", fmt::join(options.varied, ",")));
  add("--topology", options.changes.topology);
  for (const std::string& value : options.changes.values) add("--set", value);
  if (options.simulate_s) add("--simulate-s", fmt::format("{}", *options.simulate_s));
  add("--detail", options.detail);
  if (options.exact) args.emplace_back("--exact");
  return JoinArguments(args);
}

int SimRun(const SimRunOptions& options, const std::string& command_line) {
  StopRequested();
  auto files = OutputFiles::Prepare(options.output, {options.trace}, options.page);
  if (!files.ok()) return ReportError(files.status());
  const auto recorded = FindRecordingWindow(options);
  if (!recorded.ok()) return ReportError(recorded.status());
  auto scenario = FindScenario(options.scenario, options.changes);
  if (!scenario.ok()) return ReportError(scenario.status());
  if (const Status status = ApplyOptions(options, &*scenario); !status.ok()) return ReportError(status);
  const auto reproduce = [&](const std::string& policy, const std::string& allocation, uint32_t draw) {
    return CommandOfRun(options, policy, allocation, draw);
  };
  auto report = RunWithProgress(
      *scenario,
      {.recorded = *recorded, .num_threads = options.num_threads, .keeps_others = true, .reproduce = reproduce});
  if (!report.ok()) return ReportError(report.status());
  return Deliver(*report, *scenario, options, command_line, *std::move(files));
}

struct SimFwlOptions {
  std::string file;
  std::string detail = "coupled";
  bool strict_priority = false;
  std::string json;
};

int SimFwl(const SimFwlOptions& options) {
  if (const Status status = PrepareOutputFolder(options.json); !status.ok()) return ReportError(status);
  const auto begin = std::chrono::steady_clock::now();
  const auto detail = sim::ParseFwlDetail(options.detail);
  if (!detail.ok()) return ReportError(detail.status());
  const auto workload = sim::LoadFwlWorkload(options.file);
  if (!workload.ok()) return ReportError(workload.status());
  const double parse_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto result = sim::RunFwl(*workload, {.detail = *detail, .strict_priority = options.strict_priority});
  if (!result.ok()) return ReportError(result.status());
  if (!IsStdout(options.json)) fmt::print("{}", sim::RenderFwlText(*result, parse_s, PeakRssMb()));
  if (options.json.empty()) return kExitOk;
  const Status written = WriteOutput(options.json, sim::RenderFwlJson(*result, PeakRssMb()));
  return written.ok() ? kExitOk : ReportError(written);
}

void AddSimRun(CLI::App& sim, Invocation* invocation) {
  auto options = std::make_shared<SimRunOptions>();
  CLI::App* run = sim.add_subcommand("run", "Simulate a scenario under one or more traffic policies and compare them.");
  run->add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required();
  run->add_option("--policy", options->policies, "Traffic policies to compare, instead of the scenario's")
      ->delimiter(',')
      ->check(OneOf(traffic::PolicyNames()));
  run->add_option("--allocation", options->allocations,
                  "Allocation policies to compare, instead of the scenario's (which must have the key allocation)")
      ->delimiter(',')
      ->check(OneOf(scheduling::AllocationPolicyNames()));
  run->add_option("--seeds", options->num_seeds, "Random draws for each policy; all policies get the same ones")
      ->check(CLI::Range(1, 10000));
  run->add_option("--seed", options->seed, "Hash seed of the first draw");
  run->add_option("--draw", options->draw, "Simulate only this draw of a longer comparison; 0 is the first")
      ->check(CLI::Range(0, 10'000'000))
      ->excludes("--seeds");
  run->add_option("--vary", options->varied, "What differs between draws; default: the scenario's, or all three")
      ->delimiter(',')
      ->check(OneOf({"hash", "phase", "placement"}));
  run->add_option("--simulate-s", options->simulate_s, "Seconds to simulate")->check(CLI::Range(1e-3, 1e9));
  AddScenarioOptions(run, &options->changes);
  run->add_option("--detail", options->detail,
                  "coupled: flows of a ring move together; edge: each flow on its own; agents: the live controller and "
                  "its agents decide, message by message")
      ->check(OneOf({"coupled", "edge", "agents"}));
  run->add_flag("--exact", options->exact, "Simulate every iteration instead of skipping repeating ones");
  run->add_option("--threads", options->num_threads, "Threads; 0: one per processor")->check(CLI::Range(0, 1024));
  AddOutputOptions(run, &options->output, "Write all results as JSON to FILE; - prints only JSON");
  AddPageOptions(run, &options->page);
  auto* trace =
      run->add_option("--trace", options->trace,
                      "Write what jobs and links do in the first draw of each policy as a timeline for Perfetto "
                      "(ui.perfetto.dev) to FILE; - prints only the timeline")
          ->type_name("FILE");
  run->add_option("--trace-s", options->trace_s, "Simulated seconds that --trace shows")
      ->type_name("FROM,TO")
      ->delimiter(',')
      ->expected(2)
      ->default_str("0,60")
      ->needs(trace);
  run->footer(
      "Example: fairlead sim run scenarios/lingjun-snapshot.yaml --policy ecmp,crux --seeds 5 --html out.html\n"
      "         fairlead sim run scenarios/two-jobs.yaml --set fabric.oversubscription=4:1 --set crux.path_unit=job");
  run->callback([options, invocation] { invocation->exit_code = SimRun(*options, invocation->command_line); });
}

void AddSimFwl(CLI::App& sim, Invocation* invocation) {
  auto options = std::make_shared<SimFwlOptions>();
  CLI::App* fwl = sim.add_subcommand("fwl", "Run a workload in fwl format on the fluid network engine alone.");
  fwl->add_option("FILE", options->file, "Workload (fwl 1)")->required();
  fwl->add_option(
         "--detail", options->detail,
         "coupled: flows of a ring move together; edge: each flow on its own; stepwise: each message on its own")
      ->capture_default_str()
      ->check(OneOf({"coupled", "edge", "stepwise"}));
  fwl->add_flag("--strict-priority", options->strict_priority,
                "Serve higher priorities strictly first; default: all share fairly");
  fwl->add_option("--json", options->json, "Write the result as JSON to FILE; - prints only JSON")->type_name("FILE");
  fwl->footer(
      "Example: python3 bench/fwl/generate.py excl --pods 4 --iters 20 --seed 6 > excl512.fwl\n"
      "         fairlead sim fwl excl512.fwl --detail edge");
  fwl->callback([options, invocation] { invocation->exit_code = SimFwl(*options); });
}

}  // namespace

void AddSimCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* sim = app.add_subcommand("sim", "Simulate shared training clusters.");
  sim->footer("Example: fairlead sim run scenarios/two-jobs.yaml");
  sim->require_subcommand(1);
  AddSimRun(*sim, invocation);
  AddSimFwl(*sim, invocation);
}

}  // namespace fairlead::cli
