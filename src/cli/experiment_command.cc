// fairlead experiment list, fairlead experiment run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check_capture.h"
#include "base/nearest_word.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/terminal_progress.h"
#include "experiment/experiment.h"
#include "experiment/experiment_report.h"
#include "experiment/experiment_runner.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using experiment::Experiment;
using experiment::ExperimentResult;
using Experiments = std::span<const Experiment>;

constexpr std::string_view kAll = "all";

struct ExperimentRunOptions {
  std::string name;
  experiment::RunOptions run;
  OutputOptions output;
  PageOptions page;
};

int List(Experiments experiments, const OutputOptions& output) {
  auto files = OutputFiles::Prepare(output);
  if (!files.ok()) return ReportError(files.status());
  report::TextTable table({{"name", report::Align::kLeft}, {"what it shows", report::Align::kLeft}});
  report::Json json = report::Json::array();
  for (const Experiment& entry : experiments) {
    const auto paper = experiment::PaperTableOf(entry);
    if (!paper.ok()) return ReportError(Internal(paper.status().message()));
    table.AddRow({std::string(entry.name), paper->title});
    json.push_back({{"name", entry.name}, {"title", paper->title}});
  }
  files->Print(std::move(table));
  files->WriteJson("JSON", [&] { return report::Dump(json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

Result<std::vector<Experiment>> FindExperiments(Experiments experiments, const std::string& name) {
  std::vector<Experiment> found;
  std::vector<std::string> known;
  for (const Experiment& entry : experiments) {
    if (name == kAll || name == entry.name) found.push_back(entry);
    known.emplace_back(entry.name);
  }
  if (!found.empty()) return found;
  return NotFound(fmt::format("{}, and {} for all of them", UnknownName("experiment", name, known), kAll));
}

// `all` gives the number of draws to those that have draws.
Status CheckDraws(const std::vector<Experiment>& chosen, Experiments experiments, const ExperimentRunOptions& options) {
  if (options.run.num_draws == 0 || options.name == kAll || chosen.front().has_draws) return OkStatus();
  std::vector<std::string_view> drawing;
  for (const Experiment& entry : experiments) {
    if (entry.has_draws) drawing.push_back(entry.name);
  }
  return InvalidArgument(fmt::format("experiment {} has no number of draws to choose: leave --seeds out; it is for {}",
                                     options.name, fmt::join(drawing, ", ")));
}

// Results in the order of `chosen`, without those that failed; their errors have been printed.
struct RunOutcome {
  std::vector<ExperimentResult> results;
  int exit_code = kExitOk;  // of the first failure
};

// A failed check of ours ends this experiment only.
Result<ExperimentResult> RunOne(const Experiment& experiment, const experiment::RunOptions& options,
                                const std::function<void(double)>& progress) {
  Result<ExperimentResult> result = Internal("");
  const Status status =
      CatchFailedChecks([&] { result = experiment::RunExperiment(experiment, options, StopRequested(), progress); });
  if (status.ok()) return result;
  std::string command =
      fmt::format("fairlead experiment run {}{}", experiment.name, options.reduced ? " --reduced" : "");
  if (options.num_draws > 0) command += fmt::format(" --seeds {}", options.num_draws);
  if (options.seed) command += fmt::format(" --seed {}", *options.seed);
  return Internal(fmt::format("experiment {}: {}; reproduce: {}", experiment.name, status.message(), command));
}

RunOutcome RunEach(const std::vector<Experiment>& chosen, const ExperimentRunOptions& options, OutputFiles* files) {
  RunOutcome outcome;
  TerminalProgress bar;
  for (size_t i = 0; i < chosen.size() && !StopRequested(); ++i) {
    const auto progress = [&](double fraction) {
      bar.Update(chosen[i].name, (static_cast<double>(i) + fraction) / static_cast<double>(chosen.size()));
    };
    auto result = RunOne(chosen[i], options.run, progress);
    bar.Finish();
    if (!result.ok()) {
      const int exit_code = ReportError(result.status());
      if (outcome.exit_code == kExitOk) outcome.exit_code = exit_code;
      continue;
    }
    files->Print(experiment::RenderText(*result) + "\n");
    std::fflush(stdout);
    outcome.results.push_back(std::move(*result));
  }
  return outcome;
}

std::string RenderJson(const std::vector<ExperimentResult>& results, bool is_array) {
  report::Json json = report::Json::array();
  for (const ExperimentResult& result : results) json.push_back(experiment::ToJson(result));
  return report::Dump(is_array || json.empty() ? json : json.front());
}

int Run(Experiments experiments, const ExperimentRunOptions& options, const std::string& command_line) {
  auto files = OutputFiles::Prepare(options.output, {}, options.page);
  if (!files.ok()) return ReportError(files.status());
  const auto chosen = FindExperiments(experiments, options.name);
  if (!chosen.ok()) return ReportError(chosen.status());
  if (const Status status = CheckDraws(*chosen, experiments, options); !status.ok()) return ReportError(status);
  if (!options.run.keep_folder.empty()) {
    // As for a file in it.
    const Status status = PrepareOutputFolder(options.run.keep_folder + "/result.json");
    if (!status.ok()) return ReportError(status);
  }
  const RunOutcome outcome = RunEach(*chosen, options, &*files);
  // What was computed reaches the user even when another experiment fails.
  if (!outcome.results.empty()) {
    files->WriteJson("JSON", [&] { return RenderJson(outcome.results, options.name == kAll); });
    files->WritePage(options.page, [&] { return experiment::RenderHtml(outcome.results, command_line); });
  }
  if (!files->status().ok()) return ReportError(files->status());
  if (outcome.exit_code != kExitOk) return outcome.exit_code;
  if (!StopRequested()) return kExitOk;
  fmt::print(stderr, "fairlead: stopped before the end; {} of {} experiments begun\n", outcome.results.size(),
             chosen->size());
  return InterruptedExitCode();
}

}  // namespace

void AddExperimentCommands(CLI::App& app, Experiments experiments, Invocation* invocation) {
  CLI::App* group = app.add_subcommand("experiment", "Reproduce published results: the papers' numbers beside ours.");
  group->footer("Example: fairlead experiment run crux-examples");
  group->require_subcommand(1);
  CLI::App* list = group->add_subcommand("list", "List all experiments and what each shows.");
  auto list_output = std::make_shared<OutputOptions>();
  AddOutputOptions(list, list_output.get(), "Write the list as JSON to FILE; - prints only JSON");
  list->footer("Example: fairlead experiment list");
  list->callback([experiments, list_output, invocation] { invocation->exit_code = List(experiments, *list_output); });

  auto options = std::make_shared<ExperimentRunOptions>();
  CLI::App* run =
      group->add_subcommand("run", "Run one experiment, or all, and print the paper's numbers beside ours.");
  run->add_option("NAME", options->name, "Name of the experiment, or all")->required();
  run->add_flag("--reduced", options->run.reduced, "Fewer cases, seeds or seconds, for a quick look");
  run->add_option("--seed", options->run.seed, "Seed of everything random; default: the experiment's own");
  run->add_option("--seeds", options->run.num_draws,
                  "Draws of chance, in experiments that compare draws; default: the experiment's own")
      ->check(CLI::Range(1u, 1000u));
  run->add_option("--threads", options->run.num_threads, "Threads; default: one per processor")
      ->check(CLI::Range(1u, 1024u));
  run->add_option("--keep", options->run.keep_folder,
                  "Keep each result in FOLDER and reuse it next time, to resume after a break")
      ->type_name("FOLDER");
  AddOutputOptions(run, &options->output, "Write the numbers as JSON to FILE; - prints only JSON");
  AddPageOptions(run, &options->page);
  run->footer(
      "Example: fairlead experiment run crux-near-optimality --reduced --html near.html\nExits with 0 even if a number "
      "is outside its band.");
  run->callback([experiments, options, invocation] {
    invocation->exit_code = Run(experiments, *options, invocation->command_line);
  });
}

}  // namespace fairlead::cli
