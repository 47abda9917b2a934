// fairlead lab slurm: the same jobs on a real Slurm, by itself and with Fairlead, in a temporary lab.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/lab_subcommands.h"
#include "cli/output_files.h"
#include "cli/terminal_progress.h"
#include "lab/lab_slurm.h"
#include "lab/slurm_tour.h"
#include "report/json_value.h"
#include "sim/scenario.h"

namespace fairlead::cli {

namespace {

struct LabSlurmOptions {
  std::string file = "scenarios/lab-slurm.yaml";
  lab::SlurmTourOptions tour;
  OutputOptions output;
  PageOptions page;
};

// Returns whether all of it was right.
Result<bool> TourSlurm(LabSlurmOptions options) {
  FL_RETURN_IF_ERROR(lab::CheckSlurm());
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.output, {}, options.page));
  const std::string file = FindInputFile(options.file);
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::LoadScenario(file, {}));
  const std::string rules = FindInputFile("integrations/slurm/fairlead_jobs.lua");
  FL_ASSIGN_OR_RETURN(options.tour.pieces, lab::FindSlurmPieces(std::filesystem::path(rules).parent_path().string()));
  if (options.tour.session.name.empty()) options.tour.session.name = fmt::format("slurm-{}", getpid());
  TerminalProgress bar;
  const auto progress = [&](const std::string& what, double fraction) { bar.Update(what, fraction); };
  auto tour = lab::RunSlurmTour(file, scenario, options.tour, progress, StopRequested());
  bar.Finish();
  if (!tour.ok()) return tour.status();
  files.Print(lab::RenderSlurmTour(*tour));
  files.WriteJson("JSON", [&] { return report::Dump(lab::SlurmTourJson(*tour)); });
  files.WritePage(options.page, [&] { return lab::SlurmTourPage(*tour); });
  FL_RETURN_IF_ERROR(files.status());
  return tour->IsAllRight();
}

}  // namespace

void AddLabSlurmCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabSlurmOptions>();
  lab::LabSessionOptions& session = options->tour.session;
  session.lab.scale = 1e-4;
  CLI::App* slurm = lab->add_subcommand(
      "slurm", "Run jobs on a real Slurm in a temporary lab, by itself and with Fairlead, while a host hangs.");
  slurm->add_option("SCENARIO", options->file, "Jobs with a range of sizes, and their fabric, in YAML")
      ->capture_default_str();
  slurm->add_option("--scale", session.lab.scale, "Factor on all speeds")->capture_default_str();
  slurm->add_option("--freeze", options->tour.frozen_job, "Job of which a process hangs; default: the first one");
  slurm->add_option("--freeze-at", options->tour.freeze_at_s, "Seconds after which it hangs, if it has settled by then")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  slurm
      ->add_option("--hang-wait", options->tour.hang_wait_s,
                   "Plain Slurm: seconds to wait for the job that hangs when all others have ended")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  slurm->add_option("--patience", options->tour.patience_s, "Seconds after which a run ends whatever has not")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  slurm->add_option("--name", session.name, "Name of the lab; default: a unique one");
  slurm->add_option("--run-dir", session.run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  AddOutputOptions(slurm, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  AddPageOptions(slurm, &options->page);
  slurm->footer(
      "Example: fairlead lab slurm --html slurm.html\n"
      "Needs root and the packages of Slurm (docs/operate/slurm.md). Exits with 1 if the host that hangs was not\n"
      "replaced, or something healthy was blamed. The lab is removed.");
  slurm->callback([options, invocation] {
    static_cast<void>(StopRequested());  // from here on Ctrl-C takes the lab down first
    const auto is_right = TourSlurm(*options);
    if (!is_right.ok()) {
      invocation->exit_code = ReportError(is_right.status());
    } else {
      invocation->exit_code = *is_right ? kExitOk : kExitNo;
    }
  });
}

}  // namespace fairlead::cli
