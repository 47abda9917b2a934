// fairlead lab run: the jobs of a scenario in a lab, beside the simulator.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/lab_subcommands.h"
#include "cli/output_files.h"
#include "lab/lab_comparison.h"
#include "lab/lab_folder.h"
#include "lab/lab_programs.h"
#include "lab/lab_run.h"
#include "lab/lab_run_report.h"
#include "lab/lab_services.h"
#include "lab/lab_timeline.h"
#include "lab/lab_workload.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "sim/scenario.h"

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
  bool ecmp = false;
  bool fixed_shares = false;
  bool diagnose = false;
  std::string trainer = lab::kFairleadTrainer;
  std::string trace;
  OutputOptions output;
};

std::string TimelineOf(const lab::LabState& state, const lab::LabRecording& recording) {
  lab::LabTimeline timeline = lab::RenderLabTimeline(state, recording);
  if (timeline.num_iterations_left_out > 0) {
    fmt::print(stderr, "fairlead: the timeline leaves out the first {}; run for a shorter time\n",
               report::FormatCount(timeline.num_iterations_left_out, "iteration"));
  }
  return std::move(timeline.text);
}

Status RunInLab(const LabRunCommandOptions& options) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.output, {options.trace}));
  FL_ASSIGN_OR_RETURN(const std::string trainer, lab::FindTrainer(options.trainer));
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::LoadScenario(FindInputFile(options.file), {}));
  // Looked at first, because opening makes a folder.
  FL_RETURN_IF_ERROR(lab::LabFolder::Look(options.run_folder, options.name).status());
  FL_ASSIGN_OR_RETURN(const lab::LabFolder folder, lab::LabFolder::OpenForJobs(options.run_folder, options.name));
  FL_ASSIGN_OR_RETURN(const lab::LabState state, folder.Load());
  const auto bytes = options.fixed_shares ? lab::QueuePairBytes::kFixed : lab::QueuePairBytes::kShared;
  FL_ASSIGN_OR_RETURN(const auto jobs, lab::PlanJobs(scenario, state.plan, options.iterations, bytes));
  lab::LabRunOptions run;
  run.programs = {.trainer = trainer, .steering_library = "", .profiler_plugin = "", .lab_folder = folder.path()};
  run.seconds = options.seconds;
  run.warm_up_s = options.warm_up_s;
  run.jobs_folder = folder.JobsFolder();
  const bool has_services = lab::HasServices(run.programs.lab_folder);
  const bool steers = !options.ecmp && has_services;
  if (steers) {
    FL_ASSIGN_OR_RETURN(run.programs.steering_library, lab::FindSteeringLibrary());
  }
  if (options.diagnose && !has_services) {
    return InvalidArgument(
        fmt::format("--diagnose: lab '{}' has no controller and no agents; bring it up without --bare", options.name));
  }
  if (options.diagnose) {
    FL_ASSIGN_OR_RETURN(run.programs.profiler_plugin, lab::FindProfilerPlugin());
  }
  lab::LabRecorder recorder(state, folder.path());
  if (!options.trace.empty()) {
    run.programs.records_phases = true;
    run.recorder = &recorder;
  }
  auto ran = lab::RunJobs(state, jobs, run, StopRequested());
  const auto write_timeline = [&] {
    files.Write(options.trace, "Timeline", [&] { return TimelineOf(state, recorder.recording()); });
  };
  if (!ran.ok()) {
    write_timeline();  // then it is wanted most
    return ran.status();
  }
  const lab::LabRunResult result = *std::move(ran);
  std::vector<lab::SimulatedJob> simulated;
  if (options.simulate) {
    FL_ASSIGN_OR_RETURN(lab::SimulatedRuns runs,
                        lab::SimulateUnder(scenario, steers ? "crux+c4p" : "ecmp", StopRequested()));
    simulated = std::move(runs.jobs);
  }
  files.Print(lab::RenderRun(state, result, simulated));
  files.WriteJson("JSON", [&] { return report::Dump(lab::RunJson(state, result, simulated)); });
  write_timeline();
  return files.status();
}

}  // namespace

void AddTrainerOption(CLI::App* command, std::string* trainer) {
  command
      ->add_option("--trainer", *trainer,
                   "Program of the workers: fairlead, nccl (NCCL's host code on CPUs, where it was built), or a path")
      ->type_name("fairlead|nccl|FILE")
      ->capture_default_str();
}

void AddLabRunCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabRunCommandOptions>();
  CLI::App* run =
      lab->add_subcommand("run", "Run the jobs of a scenario in a lab with real processes and connections.");
  run->add_option("SCENARIO", options->file, "Scenario with the fabric of the lab")->required();
  run->add_option("--name", options->name, "Name of the lab")->capture_default_str();
  run->add_option("--run-dir", options->run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  run->add_option("--seconds", options->seconds, "Seconds to measure")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  run->add_option("--warm-up", options->warm_up_s, "Seconds before measuring starts")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  run->add_option("--iterations", options->iterations, "Iterations after which jobs end; 0: as in the scenario");
  run->add_flag("--ecmp", options->ecmp, "Leave connections to ECMP even though there are agents");
  run->add_flag("--fixed-shares", options->fixed_shares,
                "Each queue pair of a connection carries an equal share; default: they share as their paths allow");
  run->add_flag("--diagnose", options->diagnose,
                "Let trainers drive the profiler plugin as NCCL would, so that the controller can diagnose them; with "
                "--trainer nccl it is NCCL that does");
  run->add_flag("--simulate", options->simulate, "Also simulate the scenario under ECMP or crux+c4p, and print both");
  AddTrainerOption(run, &options->trainer);
  run->add_option("--trace", options->trace,
                  "Write what jobs, links and the controller did, and what went bad, as a timeline for Perfetto "
                  "(ui.perfetto.dev) to FILE; - prints only the timeline")
      ->type_name("FILE");
  AddOutputOptions(run, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  run->footer(
      "Example: fairlead lab run scenarios/lab-eight-jobs.yaml --seconds 20 --simulate\n"
      "         fairlead lab run scenarios/lab-eight-jobs.yaml --seconds 20 --trace run.json");
  run->callback([options, invocation] {
    static_cast<void>(StopRequested());  // from here on Ctrl-C ends the trainers first
    const Status status = RunInLab(*options);
    if (!status.ok()) invocation->exit_code = ReportError(status);
  });
}

}  // namespace fairlead::cli
