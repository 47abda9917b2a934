// fairlead trace generate, validate, import, export.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/terminal_progress.h"
#include "cli/trace_page.h"
#include "cli/trace_report.h"
#include "report/number_format.h"
#include "trace/goodness_of_fit.h"
#include "trace/lingjun_trace.h"
#include "trace/neutral_trace.h"
#include "trace/scenario_export.h"
#include "trace/trace_generator.h"

namespace fairlead::cli {

namespace {

constexpr const char* kDefaultProfile = "lingjun-2023";

// By name, or from a file.
Result<trace::TraceProfile> FindProfile(const std::string& name) {
  if (name.ends_with(".yaml")) return trace::LoadTraceProfileFile(FindInputFile(name));
  return trace::BuiltInTraceProfile(name);
}

// ---- generate

struct GenerateOptions {
  std::string profile = kDefaultProfile;
  // What the user changes of the profile's options: applied in order.
  std::vector<std::function<void(trace::GeneratorOptions*)>> changes;
  std::string output;
  OutputOptions printed;
  PageOptions page;
};

Status Generate(const GenerateOptions& options, const std::string& command_line) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.printed, {options.output}, options.page));
  FL_ASSIGN_OR_RETURN(const trace::TraceProfile profile, FindProfile(options.profile));
  trace::GeneratorOptions generator = profile.generator;
  for (const auto& change : options.changes) change(&generator);
  FL_ASSIGN_OR_RETURN(const trace::Trace trace, trace::GenerateTrace(profile, generator));
  FL_ASSIGN_OR_RETURN(std::string csv, trace::RenderNeutralTrace(trace.jobs));
  FL_ASSIGN_OR_RETURN(const trace::GoodnessOfFit fit, trace::MeasureFit(trace, profile));
  report::Document text = RenderTraceSummary(trace);
  for (const std::string& note : trace.notes) text += fmt::format("  {}\n", note);
  files.Print(text + "\n" + RenderFit(fit) + "\n");
  files.Write(options.output, "Trace", [&] { return csv; });
  files.WriteJson("Goodness of fit", [&] { return report::Dump(FitToJson(fit)); });
  files.WritePage(options.page, [&] { return RenderTracePage(trace, profile, fit, command_line); });
  return files.status();
}

// An option of the generator: keeps what the user typed until the profile's defaults are known.
template <class T>
CLI::Option* AddGeneratorOption(CLI::App* app, GenerateOptions* options, const std::string& name,
                                T trace::GeneratorOptions::*field, const std::string& description) {
  return app->add_option_function<T>(
      name,
      [options, field](const T& value) {
        options->changes.push_back([field, value](trace::GeneratorOptions* generator) { generator->*field = value; });
      },
      description);
}

void AddGeneratorOptions(CLI::App* app, GenerateOptions* options) {
  using Options = trace::GeneratorOptions;
  AddGeneratorOption(app, options, "--seed", &Options::seed, "Seed; the same seed gives the same bytes. Default: 1");
  AddGeneratorOption(app, options, "--days", &Options::days,
                     "Length in days; beyond the profile's, weeks repeat. Default: the profile's");
  AddGeneratorOption(app, options, "--load", &Options::load, "Factor on the number of jobs");
  AddGeneratorOption(app, options, "--tail-scale", &Options::tail_scale,
                     "Factor on run times of GPU jobs beyond p95; 1 = as published for all jobs");
  AddGeneratorOption(app, options, "--rank-correlation", &Options::rank_correlation,
                     "Rank correlation of GPUs and run time, -1 to 1; higher: large jobs run longer");
  AddGeneratorOption(app, options, "--burst-fraction", &Options::burst_fraction,
                     "Share of jobs that arrive in batches");
  AddGeneratorOption(app, options, "--burst-mean", &Options::burst_mean, "Mean size of a batch");
  AddGeneratorOption(app, options, "--jobs-limit", &Options::jobs_limit, "Most GPU jobs at once; 0: no limit");
  AddGeneratorOption(app, options, "--gpus-limit", &Options::gpus_limit, "Most GPUs in use at once; 0: no limit");
  AddGeneratorOption(app, options, "--fragmentation", &Options::fragmentation, "Share of large jobs on half hosts");
  AddGeneratorOption(app, options, "--draws", &Options::draws_max,
                     "Most attempts until mean jobs and GPUs in use fit; 1: take the first");
  app->add_flag_callback(
      "--gpu-jobs-only",
      [options] { options->changes.emplace_back([](Options* generator) { generator->gpu_jobs_only = true; }); },
      "Leave out jobs without GPUs");
}

void AddGenerate(CLI::App& trace_app, Invocation* invocation) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* app = trace_app.add_subcommand(
      "generate", "Generate a synthetic trace from published distributions, and check how well it fits.");
  app->add_option("--profile", options->profile, "Name of a profile, or a file (.yaml)")->capture_default_str();
  app->add_option("-o,--output", options->output, "Trace to write (CSV); - prints only it")
      ->type_name("FILE")
      ->required();
  AddGeneratorOptions(app, options.get());
  AddOutputOptions(app, &options->printed, "Write the goodness of fit as JSON to FILE; - prints only JSON");
  AddPageOptions(app, &options->page);
  app->footer(
      "Options without a default above default to the profile's.\n"
      "Example: fairlead trace generate --seed 7 --gpu-jobs-only -o trace.csv --html trace.html");
  app->callback([options, invocation] {
    const Status status = Generate(*options, invocation->command_line);
    invocation->exit_code = status.ok() ? kExitOk : ReportError(status);
  });
}

// ---- validate

struct ValidateOptions {
  std::string file;
  std::string against;
  OutputOptions output;
};

struct Finding {
  uint64_t line = 0;
  std::string message;
};

struct Validation {
  trace::Trace trace;  // the good rows
  uint64_t num_rows = 0;
  uint64_t num_findings = 0;
  std::vector<Finding> findings;  // the first ones
};

constexpr size_t kNumFindingsKept = 1000;
constexpr size_t kNumFindingsShown = 20;

Result<Validation> ReadAndCheck(const std::string& file) {
  FL_ASSIGN_OR_RETURN(trace::TraceReader reader, trace::TraceReader::Open(file));
  Validation validation;
  validation.trace.title = file;
  std::set<std::string, std::less<>> ids;
  const auto add = [&](std::string message) {
    ++validation.num_findings;
    if (validation.findings.size() < kNumFindingsKept)
      validation.findings.push_back({reader.line(), std::move(message)});
  };
  while (reader.Next()) {
    ++validation.num_rows;
    if (!reader.row_status().ok()) {
      add(reader.row_status().message());
    } else if (!ids.insert(reader.job().id).second) {
      add(fmt::format("{}: job_id: '{}' appears twice; expected one row per job", reader.Where(), reader.job().id));
    } else {
      validation.trace.jobs.push_back(reader.job());
    }
  }
  // A file that stops being CSV can't be read on: that is a finding too, the last one.
  if (!reader.status().ok()) add(reader.status().message());
  trace::SortJobs(&validation.trace.jobs);
  return validation;
}

report::Document RenderValidation(const Validation& validation, const std::optional<trace::GoodnessOfFit>& fit) {
  report::Document text;
  for (size_t i = 0; i < std::min(kNumFindingsShown, validation.findings.size()); ++i) {
    text += fmt::format("{}\n", validation.findings[i].message);
  }
  if (validation.num_findings > kNumFindingsShown) {
    text += fmt::format("… and {} more; --json lists up to {}\n", validation.num_findings - kNumFindingsShown,
                        kNumFindingsKept);
  }
  text += RenderTraceSummary(validation.trace);
  if (fit) text += "\n" + RenderFit(*fit);
  return text + fmt::format("{}: {}, {} wrong.\n", validation.trace.title,
                            report::FormatCount(validation.num_rows, "row"),
                            validation.num_findings == 0 ? "none" : report::FormatCount(validation.num_findings));
}

report::Json ToJson(const Validation& validation, const std::optional<trace::GoodnessOfFit>& fit) {
  report::Json findings = report::Json::array();
  for (const Finding& finding : validation.findings) {
    findings.push_back({{"line", finding.line}, {"message", finding.message}});
  }
  return {{"file", validation.trace.title},       {"rows", validation.num_rows},
          {"jobs", validation.trace.jobs.size()}, {"num_findings", validation.num_findings},
          {"findings", std::move(findings)},      {"fit", fit ? FitToJson(*fit) : report::Json(nullptr)}};
}

Result<int> Validate(const ValidateOptions& options) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.output));
  std::optional<trace::TraceProfile> profile;
  if (!options.against.empty()) {
    FL_ASSIGN_OR_RETURN(profile, FindProfile(options.against));
  }
  FL_ASSIGN_OR_RETURN(const Validation validation, ReadAndCheck(options.file));
  std::optional<trace::GoodnessOfFit> fit;
  if (profile && !validation.trace.jobs.empty()) {
    FL_ASSIGN_OR_RETURN(fit, trace::MeasureFit(validation.trace, *profile));
  }
  files.Print(RenderValidation(validation, fit));
  files.WriteJson("JSON", [&] { return report::Dump(ToJson(validation, fit)); });
  FL_RETURN_IF_ERROR(files.status());
  const bool is_fine = validation.num_findings == 0 && (!fit || fit->is_inside());
  return is_fine ? kExitOk : kExitNo;
}

void AddValidate(CLI::App& trace_app, Invocation* invocation) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* app =
      trace_app.add_subcommand("validate", "Check every row of a trace, and compare it with published distributions.");
  app->add_option("FILE", options->file, "Trace (CSV: job_id,submit_s,duration_s,gpus,gpus_per_host,model)")
      ->required();
  app->add_option("--against", options->against, "Profile to compare with: a name or a file (.yaml)");
  AddOutputOptions(app, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  app->footer(
      "Exit codes: 0 all rows are good and all compared numbers inside their bands, 1 some are not, 2 no trace.\n"
      "Example: fairlead trace validate trace.csv --against lingjun-2023");
  app->callback([options, invocation] {
    const Result<int> code = Validate(*options);
    invocation->exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

// ---- import

struct ImportOptions {
  trace::LingjunFiles files;
  trace::LingjunImportOptions lingjun;
  std::string output;
  OutputOptions printed;
};

Status Import(const ImportOptions& options) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.printed, {options.output}));
  StopRequested();
  TerminalProgress progress;
  trace::LingjunImportOptions lingjun = options.lingjun;
  lingjun.progress = [&](double fraction) {
    progress.Update("reading the data set", fraction);
    return !StopRequested();
  };
  FL_ASSIGN_OR_RETURN(const trace::LingjunImport import, trace::ImportLingjun(options.files, lingjun));
  progress.Finish();
  FL_ASSIGN_OR_RETURN(std::string csv, trace::RenderNeutralTrace(import.trace.jobs));
  report::Document text = RenderCleaning(import.report) + RenderTraceSummary(import.trace);
  for (const std::string& note : import.trace.notes) text += fmt::format("  {}\n", note);
  files.Print(text);
  files.Write(options.output, "Trace", [&] { return csv; });
  files.WriteJson("Cleaning report", [&] { return report::Dump(CleaningToJson(import.report)); });
  return files.status();
}

void AddImport(CLI::App& trace_app, Invocation* invocation) {
  CLI::App* group = trace_app.add_subcommand("import", "Turn a data set into a trace.");
  group->footer("Example: fairlead trace import lingjun --jobs job.csv --workers worker.csv -o trace.csv");
  group->require_subcommand(1);
  auto options = std::make_shared<ImportOptions>();
  CLI::App* app =
      group->add_subcommand("lingjun", "Import the Lingjun 2023 data set, and report what had to be cleaned.");
  app->add_option("--jobs", options->files.jobs, "job.csv")->type_name("FILE")->required();
  app->add_option("--workers", options->files.workers, "worker.csv")->type_name("FILE")->required();
  app->add_option("--topology", options->files.topology, "topo.csv, to count pods on hosts that it does not list")
      ->type_name("FILE");
  app->add_option("-o,--output", options->output, "Trace to write (CSV); - prints only it")
      ->type_name("FILE")
      ->required();
  app->add_option("--min-duration-s", options->lingjun.min_duration_s,
                  "Shortest run time; the files round to minutes, many of them to 0")
      ->capture_default_str();
  app->add_flag("--keep-running", options->lingjun.keep_still_running,
                "Let jobs without an end time run to the end of the data");
  app->add_flag("--drop-pods-without-duration", options->lingjun.drop_pods_without_duration,
                "Drop pods that end when they start, with their GPUs");
  AddOutputOptions(app, &options->printed, "Write the cleaning report as JSON to FILE; - prints only JSON");
  app->footer("Example: fairlead trace import lingjun --jobs job.csv --workers worker.csv -o trace.csv");
  app->callback([options, invocation] {
    const Status status = Import(*options);
    invocation->exit_code = status.ok() ? kExitOk : ReportError(status);
  });
}

// ---- export

struct ExportOptions {
  std::string file;
  std::string scenario;
  std::string profile = kDefaultProfile;
  trace::ScenarioExportOptions scenario_options;
};

// The trace file of a scenario: beside it, with its name.
std::string TraceFileOf(const std::string& scenario) {
  return std::filesystem::path(scenario).replace_extension(".csv").string();
}

// How the scenario names the fabric: by the way from its own folder. Args: file: in this folder, in the scenario's, or
// one that came with Fairlead.
Result<std::string> FabricFromScenario(const std::string& file, const std::string& scenario) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(scenario, error).parent_path();
  const std::filesystem::path found = std::filesystem::absolute(FindInputFile(file), error);
  if (std::filesystem::exists(found, error)) return std::filesystem::proximate(found, folder, error).string();
  if (std::filesystem::exists(folder / file, error)) return file;
  return NotFound(fmt::format("--fabric-file: there is no {}; expected a fabric (YAML)", file));
}

Status Export(const ExportOptions& options) {
  const std::string trace_file = TraceFileOf(options.scenario);
  if (IsStdout(options.scenario) || trace_file == options.scenario) {
    return InvalidArgument("--scenario: expected the name of a .yaml file; the jobs go to a .csv file beside it");
  }
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare({}, {options.scenario, trace_file}));
  std::error_code error;
  if (std::filesystem::equivalent(trace_file, options.file, error)) {
    return InvalidArgument(
        fmt::format("{}: would be overwritten by the jobs of the scenario; choose another name for "
                    "the scenario",
                    options.file));
  }
  FL_ASSIGN_OR_RETURN(const trace::TraceProfile profile, FindProfile(options.profile));
  FL_ASSIGN_OR_RETURN(const trace::Trace trace, trace::LoadNeutralTrace(options.file));
  trace::ScenarioExportOptions scenario_options = options.scenario_options;
  FL_ASSIGN_OR_RETURN(scenario_options.fabric_file, FabricFromScenario(scenario_options.fabric_file, options.scenario));
  scenario_options.trace_file = std::filesystem::path(trace_file).filename().string();
  FL_ASSIGN_OR_RETURN(const trace::ScenarioExport result, trace::ExportScenario(trace, profile, scenario_options));
  FL_ASSIGN_OR_RETURN(std::string csv, trace::RenderNeutralTrace(result.jobs));
  fmt::print("{} with GPUs between {} and {} s; {} without GPUs left out.\n",
             report::FormatCount(result.jobs.size(), "job"), scenario_options.from_s, scenario_options.to_s,
             report::FormatCount(result.num_jobs_without_gpus, "job"));
  files.Write(trace_file, "Jobs", [&] { return csv; });
  FL_RETURN_IF_ERROR(files.status());  // no scenario without its jobs
  files.Write(options.scenario, "Scenario", [&] { return result.yaml; });
  return files.status();
}

void AddExport(CLI::App& trace_app, Invocation* invocation) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* app = trace_app.add_subcommand("export", "Turn part of a trace into a scenario for the simulator.");
  trace::ScenarioExportOptions& scenario = options->scenario_options;
  app->add_option("FILE", options->file, "Trace (CSV)")->required();
  app->add_option("--scenario", options->scenario, "Scenario to write (.yaml); its jobs go to a .csv of the same name")
      ->type_name("FILE")
      ->required();
  app->add_option("--from-s", scenario.from_s, "Start of the part, in seconds")->capture_default_str();
  app->add_option("--to-s", scenario.to_s, "End of the part, in seconds")->capture_default_str();
  scenario.fabric_file = "fabrics/lingjun-clos.yaml";
  app->add_option("--fabric-file", scenario.fabric_file, "Fabric of the scenario")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_option("--policy", scenario.policies, "Traffic policies")->delimiter(',')->capture_default_str();
  app->add_option("--placement", scenario.placement, "Placement policy")->capture_default_str();
  app->add_option("--seeds", scenario.num_seeds, "Number of hash seeds")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app->add_option("--profile", options->profile, "Trace profile that maps labels to models")->capture_default_str();
  app->footer(
      "Example: fairlead trace export trace.csv --from-s 1120000 --to-s 1123600 --scenario scenarios/busy-hour.yaml\n"
      "         fairlead sim run scenarios/busy-hour.yaml");
  app->callback([options, invocation] {
    const Status status = Export(*options);
    invocation->exit_code = status.ok() ? kExitOk : ReportError(status);
  });
}

}  // namespace

void AddTraceCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* trace = app.add_subcommand("trace", "Cluster traces: generate, check, import and replay them.");
  trace->footer("Example: fairlead trace generate -o trace.csv && fairlead trace validate trace.csv");
  trace->require_subcommand(1);
  AddGenerate(*trace, invocation);
  AddValidate(*trace, invocation);
  AddImport(*trace, invocation);
  AddExport(*trace, invocation);
}

}  // namespace fairlead::cli
