// fairlead lab diagnose: faults planted in a job of real processes, and what the diagnosis and steering make of them.
// fairlead lab hook: what the controller of such a lab runs to have an action done.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/nearest_word.h"
#include "cli/command.h"
#include "cli/lab_subcommands.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "cli/terminal_progress.h"
#include "lab/fault_tour.h"
#include "lab/free_page.h"
#include "lab/jobs_server.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "sim/scenario.h"

namespace fairlead::cli {

namespace {

struct LabDiagnoseOptions {
  std::string file = "scenarios/lab-diagnosis.yaml";
  lab::FaultTourOptions tour;
  std::vector<std::string> faults;
  double iteration_s = 0.5;
  OutputOptions output;
  PageOptions page;
};

std::vector<std::string_view> LabFaultNames() {
  std::vector<std::string_view> names;
  for (size_t k = 0; k < lab::kNumLabFaultKinds; ++k) names.push_back(lab::Name(static_cast<lab::LabFaultKind>(k)));
  return names;
}

Result<std::vector<lab::LabFaultKind>> ParseKinds(const std::vector<std::string>& names) {
  std::vector<lab::LabFaultKind> kinds;
  for (const std::string& name : names) {
    const auto kind = lab::FindLabFaultKind(name);
    if (!kind) return InvalidArgument(UnknownName("fault", name, LabFaultNames()));
    kinds.push_back(*kind);
  }
  return kinds;
}

// Returns whether all of it was right.
Result<bool> Diagnose(LabDiagnoseOptions options) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.output, {}, options.page));
  FL_ASSIGN_OR_RETURN(const auto kinds, ParseKinds(options.faults));
  const std::string file = FindInputFile(options.file);
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::LoadScenario(file, {}));
  const size_t num_workers = scenario.jobs.empty() ? 0 : scenario.jobs.front().job.hosts.size();
  if (num_workers < 2) {
    return InvalidArgument(fmt::format("{}: expected a first job with hosts: [h0, h1, ..], found {}", file,
                                       scenario.jobs.empty() ? "no job" : report::FormatCount(num_workers, "host")));
  }
  options.tour.faults = lab::PlanTour(kinds, static_cast<uint32_t>(num_workers), options.iteration_s);
  if (options.tour.lab.session.name.empty()) options.tour.lab.session.name = fmt::format("diagnose-{}", getpid());
  FL_ASSIGN_OR_RETURN(options.tour.lab.session.page, lab::FindFreePage());
  TerminalProgress bar;
  const auto progress = [&](const std::string& what, double fraction) { bar.Update(what, fraction); };
  auto tour = lab::RunFaultTour(file, scenario, options.tour, progress, StopRequested());
  bar.Finish();
  if (!tour.ok()) return tour.status();
  files.Print(lab::RenderTour(*tour));
  files.WriteJson("JSON", [&] { return report::Dump(lab::TourJson(*tour)); });
  files.WritePage(options.page, [&] { return lab::TourPage(*tour); });
  FL_RETURN_IF_ERROR(files.status());
  return tour->IsAllRight();
}

struct LabHookOptions {
  std::string run_folder = lab::DefaultRunFolder();
  std::string name = "lab";
  double patience_s = 50;
};

int RunHook(const LabHookOptions& options) {
  const std::string action{std::istreambuf_iterator<char>(std::cin), {}};
  const std::string socket = lab::JobsSocket(options.run_folder + "/" + options.name);
  const auto answer = lab::AskJobs(socket, action, options.patience_s);
  if (!answer.ok()) return ReportError(answer.status());
  nlohmann::json json = {{"message", answer->message}};
  if (answer->is_healthy) json["healthy"] = *answer->is_healthy;
  fmt::print("{}\n", json.dump());
  return answer->exit_code;
}

}  // namespace

void AddLabDiagnoseCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabDiagnoseOptions>();
  lab::LabSessionOptions& session = options->tour.lab.session;
  session.lab.scale = 1e-4;
  CLI::App* diagnose = lab->add_subcommand(
      "diagnose",
      "Inject faults into a job of real processes, one after the other, and check that each is found and repaired.");
  diagnose->add_option("SCENARIO", options->file, "Scenario with a job that names its hosts; other hosts are spares")
      ->capture_default_str();
  diagnose->add_option("--faults", options->faults, "Only these")->delimiter(',')->check(OneOf(LabFaultNames()));
  diagnose->add_option("--scale", session.lab.scale, "Factor on all speeds")->capture_default_str();
  diagnose->add_option("--healthy", options->tour.healthy_s, "Seconds to watch a healthy job")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  diagnose->add_option("--iteration", options->iteration_s, "Approximate seconds of an iteration of the job")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  AddTrainerOption(diagnose, &options->tour.lab.trainer);
  diagnose->add_option("--name", session.name, "Name of the lab; default: a unique one");
  diagnose->add_option("--run-dir", session.run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  AddOutputOptions(diagnose, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  AddPageOptions(diagnose, &options->page);
  diagnose->footer(
      "Example: fairlead lab diagnose --faults frozen_rank,slow_send\nExits with 1 if a fault was missed or something "
      "healthy was blamed. The lab is removed.");
  diagnose->callback([options, invocation] {
    static_cast<void>(StopRequested());  // from here on Ctrl-C takes the lab down first
    const auto is_right = Diagnose(*options);
    if (!is_right.ok()) {
      invocation->exit_code = ReportError(is_right.status());
    } else {
      invocation->exit_code = *is_right ? kExitOk : kExitNo;
    }
  });
}

void AddLabHookCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabHookOptions>();
  CLI::App* hook = lab->add_subcommand(
      "hook", "Hook for `fairlead controller --hook` that passes an action on to the `lab run` of a lab.");
  hook->add_option("--name", options->name, "Name of the lab")->capture_default_str();
  hook->add_option("--run-dir", options->run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  hook->add_option("--patience", options->patience_s, "Seconds to wait for the answer")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  hook->footer(
      "Example: fairlead controller .. --hook \"fairlead lab hook --name lab\"\n"
      "Reads the action's JSON from standard input. Exit code 0: done; 1: not now; 2: never; 3: no `lab run` is "
      "running "
      "there.");
  hook->callback([options, invocation] { invocation->exit_code = RunHook(*options); });
}

}  // namespace fairlead::cli
