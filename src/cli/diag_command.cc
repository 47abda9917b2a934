// fairlead diag analyze: what is broken, from recorded telemetry.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/diag_report.h"
#include "cli/diag_steering.h"
#include "cli/diag_timeline.h"
#include "cli/output_files.h"
#include "cli/pause_option.h"
#include "cli/recording_analysis.h"
#include "telemetry/detect_format.h"
#include "telemetry/input_text.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::cli {

namespace {

using telemetry::RecordingFormat;

struct DiagOptions {
  std::vector<std::string> files;
  std::string format = "auto";
  double tick_s = 1;
  double suspect_after_s = 10;
  double confirm_for_s = 8;
  bool at_end = false;
  bool accept_cut_off = false;
  std::vector<std::string> pauses;
  std::string act;  // "", "log", "hook"
  std::string hook;
  uint32_t spares = 1;
  std::string audit;
  OutputOptions output;
  PageOptions page;
  std::string trace;
};

Result<std::unique_ptr<std::istream>> Open(const std::string& file) { return telemetry::OpenInput(file); }

Result<RecordingFormat> FormatOf(const std::string& file) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<std::istream> stream, Open(file));
  std::string head(telemetry::kDetectionBytes, '\0');
  stream->read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream->gcount()));
  return telemetry::DetectFormat(head, file);
}

// The one format of all files.
Result<RecordingFormat> FindFormat(const DiagOptions& options) {
  if (options.format != "auto") return telemetry::ParseFormat(options.format);
  FL_ASSIGN_OR_RETURN(const RecordingFormat format, FormatOf(options.files.front()));
  for (const std::string& file : options.files) {
    FL_ASSIGN_OR_RETURN(const RecordingFormat other, FormatOf(file));
    if (other == format) continue;
    return InvalidArgument(fmt::format("{}: is of format {}, {} of format {}; give files of one job in one format",
                                       file, telemetry::Name(other), options.files.front(), telemetry::Name(format)));
  }
  return format;
}

Result<SimDuration> ParseSeconds(const char* option, double seconds, double low) {
  constexpr double kHigh = 1e6;
  if (seconds >= low && seconds <= kHigh) return SimDuration::FromSeconds(Seconds(seconds));
  return InvalidArgument(fmt::format("--{}: expected {} to {} seconds, found {}", option, low, kHigh, seconds));
}

Result<AnalysisOptions> MakeAnalysisOptions(const DiagOptions& options) {
  AnalysisOptions analysis;
  FL_ASSIGN_OR_RETURN(analysis.tick, ParseSeconds("tick", options.tick_s, 0.001));
  FL_ASSIGN_OR_RETURN(analysis.master.hang.suspect_after,
                      ParseSeconds("suspect-after", options.suspect_after_s, 0.001));
  FL_ASSIGN_OR_RETURN(analysis.master.hang.confirm_for, ParseSeconds("confirm-for", options.confirm_for_s, 0));
  analysis.is_snapshot = options.at_end;
  for (const std::string& text : options.pauses) {
    FL_ASSIGN_OR_RETURN(const PauseSeconds pause, ParsePauseSeconds(text));
    analysis.pauses.push_back({SimDuration::FromSeconds(pause.from), SimDuration::FromSeconds(pause.until)});
  }
  FL_RETURN_IF_ERROR(analysis.master.Validate());
  return analysis;
}

// Args: log: null where no timeline is asked for.
Status AnalyzeDump(const DiagOptions& options, const AnalysisOptions& analysis, OperationLog* log, DiagReport* report) {
  if (options.files.size() > 1) {
    return InvalidArgument(
        fmt::format("{}: a recording of fairlead is one file with all of a job; analyze it alone", options.files[1]));
  }
  FL_ASSIGN_OR_RETURN(
      auto reader, telemetry::TelemetryReader::Open(options.files.front(), {.accept_cut_off = options.accept_cut_off}));
  RecordingReplay replay(reader.layout(), analysis);
  while (reader.Next()) {
    if (log != nullptr) log->Add(reader.record());
    replay.Add(reader.record());
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (reader.is_cut_off()) report->notes.emplace_back("The recording is cut off; everything before that is used.");
  report->analysis = replay.Finish();
  return OkStatus();
}

// Seconds from the last thing in the files of a flight recorder to when the last of them was written; infinite where
// that can't be told. A copy is younger than its file, so it may be less.
double SecondsUntilWritten(const std::vector<std::string>& files, int64_t latest_unix_ns) {
  double written_s = 0;
  for (const std::string& file : files) {
    struct stat status = {};
    if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::numeric_limits<double>::infinity();
    const double here_s =
        static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
    written_s = std::max(written_s, here_s);
  }
  const double seconds = written_s - 1e-9 * static_cast<double>(latest_unix_ns);
  return latest_unix_ns > 0 && seconds >= 0 ? seconds : std::numeric_limits<double>::infinity();
}

// What a flight recorder tells of a job that runs looks like a hang to who sees only one instant of it.
void DoubtEarlyDump(const DiagOptions& options, const AnalysisOptions& analysis, const telemetry::Recording& recording,
                    DiagReport* report) {
  const double seconds = SecondsUntilWritten(options.files, recording.latest_unix_ns);
  if (report->analysis.findings.empty() || seconds >= analysis.master.hang.suspect_after.seconds().value()) return;
  DoubtHangs(&report->analysis);
  report->notes.push_back(
      fmt::format("The files were written {:.1f} s after the last thing in them had happened: the job may have been "
                  "running. If it does not go on, have them written again a minute later.",
                  seconds));
}

Status AnalyzeForeign(const DiagOptions& options, RecordingFormat format, AnalysisOptions analysis, OperationLog* log,
                      DiagReport* report) {
  const std::unique_ptr<telemetry::Importer> importer = telemetry::CreateImporter(format);
  for (const std::string& file : options.files) {
    FL_ASSIGN_OR_RETURN(const std::unique_ptr<std::istream> stream, Open(file));
    FL_RETURN_IF_ERROR(importer->Add(*stream, file));
  }
  FL_ASSIGN_OR_RETURN(telemetry::Recording recording, importer->Finish());
  // Nothing in these files was written once a second, so silence says nothing.
  analysis.master.silence.report_period = LongestPause(recording.reports);
  analysis.is_snapshot = analysis.is_snapshot || format != RecordingFormat::kInspector;
  RecordingReplay replay(recording.layout, analysis);
  for (model::TelemetryRecord& record : recording.reports) {
    if (log != nullptr) log->Add(record);
    replay.Add(std::move(record));
  }
  report->analysis = replay.Finish();
  if (format == RecordingFormat::kRas && !recording.is_stalled) DoubtHangs(&report->analysis);
  if (!recording.unanswered.empty()) ExplainLag(recording.unanswered, &report->analysis, &recording.notes);
  AddUnanswered(recording.unanswered, recording.is_stalled, &report->analysis);
  report->host_names = std::move(recording.host_names);
  report->notes = std::move(recording.notes);
  if (format == RecordingFormat::kFlightRecorder) DoubtEarlyDump(options, analysis, recording, report);
  return OkStatus();
}

Status CheckSteering(const DiagOptions& options) {
  constexpr uint32_t kNumSparesMax = 10000;
  if (!options.act.empty() && options.act != "log" && options.act != "hook") {
    return InvalidArgument(fmt::format("--act: expected log or hook, found '{}'", options.act));
  }
  if (options.act == "hook" && options.hook.empty()) {
    return InvalidArgument("--act hook: which program? Give it with --hook, such as --hook ./drain-host");
  }
  if (!options.audit.empty() && options.act.empty()) {
    return InvalidArgument("--audit: there is nothing to log without --act log or --act hook");
  }
  if (!options.hook.empty() && options.act != "hook") {
    return InvalidArgument("--hook: actions on a recording need --act hook");
  }
  if (options.spares <= kNumSparesMax) return OkStatus();
  return InvalidArgument(fmt::format("--spares: expected at most {}, found {}", kNumSparesMax, options.spares));
}

Status Steer(const DiagOptions& options, DiagReport* report) {
  if (options.act.empty()) return OkStatus();
  report->is_dry_run = options.act == "log";
  FL_ASSIGN_OR_RETURN(report->steering, SteerRecording(report->analysis, {.is_dry_run = report->is_dry_run,
                                                                          .hook = options.hook,
                                                                          .num_spares = options.spares,
                                                                          .host_names = report->host_names,
                                                                          .audit = options.audit}));
  return OkStatus();
}

Result<DiagReport> MakeReport(const DiagOptions& options, OperationLog* log) {
  FL_RETURN_IF_ERROR(PrepareOutputFolder(options.audit));
  FL_RETURN_IF_ERROR(CheckSteering(options));
  FL_ASSIGN_OR_RETURN(const AnalysisOptions analysis, MakeAnalysisOptions(options));
  FL_ASSIGN_OR_RETURN(const RecordingFormat format, FindFormat(options));
  DiagReport report;
  report.files = options.files;
  report.format = telemetry::Name(format);
  if (format == RecordingFormat::kDump) {
    FL_RETURN_IF_ERROR(AnalyzeDump(options, analysis, log, &report));
  } else {
    FL_RETURN_IF_ERROR(AnalyzeForeign(options, format, analysis, log, &report));
  }
  FL_RETURN_IF_ERROR(Steer(options, &report));
  return report;
}

int Analyze(const DiagOptions& options, const std::string& command_line) {
  auto files = OutputFiles::Prepare(options.output, {options.trace}, options.page);
  if (!files.ok()) return ReportError(files.status());
  OperationLog log;
  const Result<DiagReport> report = MakeReport(options, options.trace.empty() ? nullptr : &log);
  if (!report.ok()) return ReportError(report.status());
  files->Print(RenderText(*report));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(*report)); });
  files->WritePage(options.page, [&] { return RenderPage(*report, command_line); });
  files->Write(options.trace, "Timeline", [&] { return log.Render(*report); });
  if (!files->status().ok()) return ReportError(files->status());
  return report->analysis.findings.empty() ? kExitOk : kExitNo;
}

}  // namespace

void AddDiagCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* diag = app.add_subcommand("diag", "Find what is broken in a training job.");
  diag->footer("Example: fairlead diag simulate --fault slow_gpu -o job.jsonl && fairlead diag analyze job.jsonl");
  diag->require_subcommand(1);
  auto options = std::make_shared<DiagOptions>();
  CLI::App* analyze = diag->add_subcommand("analyze", "Find the rank, host or link at fault in a recording of a job.");
  analyze->add_option("FILE", options->files, "Files of one job: one recording, or one file for each rank")->required();
  analyze
      ->add_option("--input-format", options->format,
                   "Format of the files: auto, dump, flight-recorder, inspector or ras")
      ->capture_default_str();
  analyze->add_option("--tick", options->tick_s, "Seconds of recorded time between analyses")->capture_default_str();
  analyze
      ->add_option("--suspect-after", options->suspect_after_s,
                   "Seconds without progress after which an operation is suspect")
      ->capture_default_str();
  analyze->add_option("--confirm-for", options->confirm_for_s, "Further seconds without progress until it is reported")
      ->capture_default_str();
  analyze->add_flag(
      "--at-end", options->at_end,
      "Ignore times and analyze the state at the end of the recording; always so for flight-recorder and ras");
  analyze->add_flag("--accept-cut-off", options->accept_cut_off, "Accept a recording whose last record is incomplete");
  analyze->add_option("--pause", options->pauses, "Planned maintenance, in seconds since the first report")
      ->type_name("FROM-UNTIL");
  analyze
      ->add_option("--act", options->act,
                   "log: print the actions that the findings call for; hook: run them with the program of --hook")
      ->type_name("log|hook");
  analyze
      ->add_option("--hook", options->hook,
                   "Shell command that carries out an action: JSON on its standard input; exit code 0 done, 2 never "
                   "try again, others try again")
      ->type_name("CMD");
  analyze->add_option("--spares", options->spares, "Spare hosts available to steering")->capture_default_str();
  analyze
      ->add_option("--audit", options->audit, "Append what steering did, or would do, to FILE, one line of JSON each")
      ->type_name("FILE");
  AddOutputOptions(analyze, &options->output, "Write the findings as JSON to FILE; - prints only JSON");
  AddPageOptions(analyze, &options->page);
  analyze
      ->add_option(
          "--trace", options->trace,
          "Write operations of all ranks and the findings as a timeline for Perfetto (ui.perfetto.dev) to FILE; "
          "- prints only the timeline")
      ->type_name("FILE");
  analyze->footer(
      "Exit codes: 0 nothing was found, 1 there are findings, 2 usage or bad input.\n"
      "Example: fairlead diag analyze nccl_trace_rank_*.json --html findings.html");
  analyze->callback([options, invocation] { invocation->exit_code = Analyze(*options, invocation->command_line); });
  AddDiagSimulateCommand(diag, invocation);
  AddDiagDrillCommand(diag, invocation);
}

}  // namespace fairlead::cli
