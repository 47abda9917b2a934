// fairlead lab run: the jobs of a scenario in a lab, beside the simulator.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "lab/lab_folder.h"
#include "lab/lab_run.h"
#include "lab/lab_run_report.h"
#include "lab/lab_workload.h"
#include "report/json_report.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::cli {

namespace {

struct LabRunCommandOptions {
  std::string run_folder = lab::DefaultRunFolder();
  std::string name = "lab";
  std::string file;
  double seconds = 30;
  double warm_up_s = 2;
  uint64_t iterations = 0;
  bool simulate = false;
  std::string trainer;
  std::string json;
};

// Beside this program.
Result<std::string> FindTrainer(const std::string& given) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = given.empty() ? (program.parent_path() / "fairlead-trainer").string() : given;
  if (access(path.c_str(), X_OK) == 0) return std::filesystem::absolute(path).string();
  return NotFound(
      fmt::format("{}: no such program. Build it (target fairlead-trainer), or name it with --trainer", path));
}

Result<std::vector<lab::SimulatedJob>> Simulate(sim::Scenario scenario) {
  scenario.policies = {"ecmp"};
  FL_ASSIGN_OR_RETURN(const auto report, sim::RunScenario(scenario, {}, StopRequested(), sim::RunProgress()));
  return lab::SummarizeSimulation(report, "ecmp");
}

Status RunInLab(const LabRunCommandOptions& options) {
  FL_ASSIGN_OR_RETURN(const std::string trainer, FindTrainer(options.trainer));
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::LoadScenario(FindInputFile(options.file), {}));
  // Looked at first, because opening makes a folder.
  FL_RETURN_IF_ERROR(lab::LabFolder::Look(options.run_folder, options.name).status());
  FL_ASSIGN_OR_RETURN(const lab::LabFolder folder, lab::LabFolder::OpenForJobs(options.run_folder, options.name));
  FL_ASSIGN_OR_RETURN(const lab::LabState state, folder.Load());
  FL_ASSIGN_OR_RETURN(const auto jobs, lab::PlanJobs(scenario, state.plan, options.iterations));
  const lab::LabRunOptions run{.trainer = trainer,
                               .seconds = options.seconds,
                               .warm_up_s = options.warm_up_s,
                               .jobs_folder = folder.JobsFolder()};
  FL_ASSIGN_OR_RETURN(const lab::LabRunResult result, lab::RunJobs(state, jobs, run, StopRequested()));
  std::vector<lab::SimulatedJob> simulated;
  if (options.simulate) {
    FL_ASSIGN_OR_RETURN(simulated, Simulate(scenario));
  }
  if (!IsStdout(options.json)) fmt::print("{}", lab::RenderRun(state, result, simulated));
  if (options.json.empty()) return OkStatus();
  return WriteOutput(options.json, report::Dump(lab::RunJson(state, result, simulated)));
}

}  // namespace

void AddLabRunCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabRunCommandOptions>();
  CLI::App* run =
      lab->add_subcommand("run", "Train the jobs of a scenario in a lab: real processes, real connections.");
  run->add_option("SCENARIO", options->file, "Scenario with the fabric that the lab was brought up with")->required();
  run->add_option("--name", options->name, "Name of the lab")->capture_default_str();
  run->add_option("--run-dir", options->run_folder, "Where labs are remembered")
      ->type_name("FOLDER")
      ->capture_default_str();
  run->add_option("--seconds", options->seconds, "How long is measured")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  run->add_option("--warm-up", options->warm_up_s, "Seconds before that")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  run->add_option("--iterations", options->iterations, "End jobs after so many; 0: as the scenario says");
  run->add_flag("--simulate", options->simulate, "Simulate the scenario under ECMP too and print both");
  run->add_option("--trainer", options->trainer, "The program fairlead-trainer; default: beside this one");
  run->add_option("--json", options->json, "Write the same to FILE; - prints only it")->type_name("FILE");
  run->footer("Example: fairlead lab run scenarios/lab-eight-jobs.yaml --seconds 20 --simulate");
  run->callback([options, invocation] {
    static_cast<void>(StopRequested());  // from here on Ctrl-C ends the trainers first
    const Status status = RunInLab(*options);
    if (!status.ok()) invocation->exit_code = ReportError(status);
    if (status.code() == StatusCode::kCancelled) invocation->exit_code = kExitInterrupted;
  });
}

}  // namespace fairlead::cli
