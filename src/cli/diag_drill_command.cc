// fairlead diag drill: what the diagnosis and steering do about planted faults, compared with people who search by
// hand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cli/command.h"
#include "cli/drill_report.h"
#include "cli/output_files.h"
#include "cli/pause_option.h"
#include "cli/terminal_progress.h"
#include "execution/draw_fault.h"
#include "service/steering/audit_log.h"
#include "sim/drill/drill.h"

namespace fairlead::cli {

namespace {

using execution::Fault;
using execution::FaultKind;

constexpr uint64_t kMaxRanks = 4096;
// Spec section 8, December: faults in 30 days on 2,400 GPUs, and those of GPUs among them; the mix inside of both is
// not published: equal shares.
constexpr double kFaultsPerGpuSecond = 19.9 / (30 * 86400.0 * 2400);
constexpr double kGpuShare = 8.34 / 19.9;
constexpr FaultKind kGpuFaults[] = {FaultKind::kGpuMemoryError, FaultKind::kNvlinkError, FaultKind::kCudaError,
                                    FaultKind::kGpuHang};
constexpr FaultKind kOtherFaults[] = {FaultKind::kProcessCrash, FaultKind::kProcessFrozen, FaultKind::kHostLost,
                                      FaultKind::kConnectionDown, FaultKind::kNicDown};

struct DrillCommandOptions {
  sim::DrillOptions drill;
  std::vector<std::string> faults;
  double draw = 0;
  std::vector<std::string> pauses;
  double minutes = 240;
  int64_t spares = -1;
  std::string mode = "act";
  double hold_off_min = 10;
  uint64_t seed = 1;
  bool only_c4d = false;
  std::string audit;
  OutputOptions output;
  PageOptions page;
};

std::optional<FaultKind> FindKind(std::string_view name) {
  for (size_t k = 0; k < execution::kNumFaultKinds; ++k) {
    if (Name(static_cast<FaultKind>(k)) == name) return static_cast<FaultKind>(k);
  }
  return std::nullopt;
}

std::string KindNames() {
  std::string names;
  for (size_t k = 0; k < execution::kNumFaultKinds; ++k) {
    names += fmt::format("{}{}", k == 0 ? "" : ", ", Name(static_cast<FaultKind>(k)));
  }
  return names;
}

Status WrongFault(const std::string& text, std::string_view expected) {
  return InvalidArgument(fmt::format("--fault {}: {}", text, expected));
}

// "gpu_hang@600", "gpu_hang@600:5", "slow_gpu@600:5x2": kind, second, rank, magnitude.
Result<Fault> ParseFault(const std::string& text, const execution::JobShape& shape, Random& random) {
  std::string_view rest = text;
  const size_t at = rest.find('@');
  const std::optional<FaultKind> kind = FindKind(rest.substr(0, at));
  if (!kind) return WrongFault(text, "expected KIND@SECOND[:RANK[xMAGNITUDE]], with a kind of: " + KindNames());
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  const size_t colon = rest.find(':');
  const std::optional<double> second = ParseNumber(rest.substr(0, colon));
  if (!second || !(*second >= 0 && *second <= 1e7)) {
    return WrongFault(text, "expected a second from 0 to 1e7 behind '@', such as gpu_hang@600");
  }
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  const auto begin = SimTime::FromSeconds(Seconds(*second));
  const std::optional<Fault> drawn = DrawFault(*kind, shape, layout, begin, random);
  if (!drawn) {
    return WrongFault(text,
                      "this job has no place for it, such as a connection between hosts or a checkpoint; give it more "
                      "ranks, fewer GPUs a host (--gpus-per-host) or checkpoints (--checkpoint-every)");
  }
  Fault fault = *drawn;
  if (colon == std::string_view::npos) return fault;
  rest = rest.substr(colon + 1);
  const size_t times = rest.find('x');
  const std::optional<double> rank = ParseNumber(rest.substr(0, times));
  if (!rank || !(*rank >= 0 && *rank < shape.NumRanks() && *rank == static_cast<uint32_t>(*rank))) {
    return WrongFault(text, fmt::format("expected a rank below {} behind ':'", shape.NumRanks()));
  }
  fault.rank = model::RankId(static_cast<uint32_t>(*rank));
  if (fault.host.valid()) fault.host = shape.HostOf(fault.rank);
  if (times != std::string_view::npos) {
    const std::optional<double> magnitude = ParseNumber(rest.substr(times + 1));
    if (!magnitude) return WrongFault(text, "expected a number behind 'x', such as slow_gpu@600:5x2");
    fault.magnitude = *magnitude;
  }
  const Status status = Validate(fault, shape);
  if (!status.ok()) return WrongFault(text, status.message());
  return fault;
}

// A Poisson process over the time of the drill.
std::vector<Fault> DrawFaults(const DrillCommandOptions& options, const execution::JobShape& shape, Random& random) {
  std::vector<Fault> faults;
  const model::JobLayout layout = MakeLayout(shape, JobId(0));
  const double mean_gap = 1 / (kFaultsPerGpuSecond * shape.NumRanks() * options.draw);
  for (double at = random.Exponential(mean_gap); at < options.minutes * 60; at += random.Exponential(mean_gap)) {
    const FaultKind kind = random.Uniform() < kGpuShare ? kGpuFaults[random.Below(std::size(kGpuFaults))]
                                                        : kOtherFaults[random.Below(std::size(kOtherFaults))];
    const auto fault = DrawFault(kind, shape, layout, SimTime::FromSeconds(Seconds(at)), random);
    if (fault) faults.push_back(*fault);
  }
  return faults;
}

Status SetMode(const std::string& name, controller::SteeringOptions* steering) {
  static constexpr std::array<std::string_view, 3> kModes = {"observe", "recommend", "act"};
  const auto found = std::find(kModes.begin(), kModes.end(), name);
  if (found == kModes.end()) {
    return InvalidArgument(fmt::format("--mode: expected observe, recommend or act, found '{}'", name));
  }
  steering->mode = static_cast<controller::SteeringMode>(found - kModes.begin());
  return OkStatus();
}

Status CheckRanges(const DrillCommandOptions& options) {
  const execution::JobShape& shape = options.drill.cluster.shape;
  FL_RETURN_IF_ERROR(shape.Validate());
  const uint64_t num_ranks = uint64_t{shape.tensor_parallel} * shape.data_parallel * shape.pipeline_parallel;
  if (num_ranks > kMaxRanks) {
    return InvalidArgument(
        fmt::format("--tensor x --data x --pipeline: expected at most {} ranks, found {}", kMaxRanks, num_ranks));
  }
  if (!(options.minutes >= 1 && options.minutes <= 10080)) {
    return InvalidArgument(fmt::format("--minutes: expected 1 to 10080, found {}", options.minutes));
  }
  if (!(options.draw >= 0 && options.draw <= 1e6)) {
    return InvalidArgument(fmt::format("--draw: expected 0 to 1e6, found {}", options.draw));
  }
  if (options.spares > 10000)
    return InvalidArgument(fmt::format("--spares: expected at most 10000, found {}", options.spares));
  if (!(options.hold_off_min >= 0 && options.hold_off_min <= 1e5)) {
    return InvalidArgument(fmt::format("--hold-off: expected 0 to 1e5 minutes, found {}", options.hold_off_min));
  }
  return OkStatus();
}

Result<sim::DrillOptions> MakeOptions(const DrillCommandOptions& options) {
  FL_RETURN_IF_ERROR(CheckRanges(options));
  sim::DrillOptions drill = options.drill;
  const execution::JobShape& shape = drill.cluster.shape;
  drill.cluster.seed = options.seed;
  drill.cluster.num_spares =
      options.spares >= 0 ? static_cast<uint32_t>(options.spares) : controller::RecommendedSpares(shape.NumHosts());
  drill.steering.hold_off = SimDuration::FromSeconds(Seconds(options.hold_off_min * 60));
  FL_RETURN_IF_ERROR(SetMode(options.mode, &drill.steering));
  drill.end = SimTime::FromSeconds(Seconds(options.minutes * 60));
  Random random(options.seed);
  for (const std::string& text : options.faults) {
    FL_ASSIGN_OR_RETURN(Fault fault, ParseFault(text, shape, random));
    drill.faults.push_back(fault);
  }
  if (options.draw > 0) {
    for (const Fault& fault : DrawFaults(options, shape, random)) drill.faults.push_back(fault);
  }
  for (const std::string& text : options.pauses) {
    FL_ASSIGN_OR_RETURN(const PauseSeconds pause, ParsePauseSeconds(text));
    drill.pauses.push_back({SimTime::FromSeconds(pause.from), SimTime::FromSeconds(pause.until)});
  }
  FL_RETURN_IF_ERROR(drill.Validate());
  return drill;
}

Status WriteAudit(const sim::DrillRun& run, const std::string& path) {
  if (path.empty()) return OkStatus();
  FL_ASSIGN_OR_RETURN(service::AuditLog log, service::AuditLog::Open(path));
  for (const controller::AuditEntry& entry : run.audit) FL_RETURN_IF_ERROR(log.Write(entry));
  return OkStatus();
}

Result<DrillReport> RunBoth(const DrillCommandOptions& options) {
  FL_RETURN_IF_ERROR(PrepareOutputFolder(options.audit));
  DrillReport report;
  FL_ASSIGN_OR_RETURN(report.options, MakeOptions(options));
  TerminalProgress progress;
  const double share = options.only_c4d ? 1 : 0.5;
  report.with_diagnosis = RunDrill(report.options, true, StopRequested(),
                                   [&](double fraction) { progress.Update("with C4D", fraction * share); });
  if (!options.only_c4d) {
    report.people = RunDrill(report.options, false, StopRequested(),
                             [&](double fraction) { progress.Update("people alone", share + fraction * share); });
  }
  progress.Finish();
  FL_RETURN_IF_ERROR(WriteAudit(report.with_diagnosis, options.audit));
  return report;
}

int Drill(const DrillCommandOptions& options, const std::string& command_line) {
  auto files = OutputFiles::Prepare(options.output, {}, options.page);
  if (!files.ok()) return ReportError(files.status());
  const Result<DrillReport> report = RunBoth(options);
  if (!report.ok()) return ReportError(report.status());
  if (StopRequested()) {
    fmt::print(stderr, "fairlead: stopped before the end; a drill has no partial result\n");
    return InterruptedExitCode();
  }
  files->Print(RenderText(*report));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(*report)); });
  files->WritePage(options.page, [&] { return RenderPage(*report, command_line); });
  if (!files->status().ok()) return ReportError(files->status());
  return kExitOk;
}

void AddJobOptions(CLI::App* drill, execution::JobShape& shape) {
  shape.data_parallel = 16;
  shape.gpus_per_host = 2;
  shape.checkpoint_every = 500;
  drill->add_option("--tensor", shape.tensor_parallel, "Tensor-parallel ranks")->capture_default_str();
  drill->add_option("--data", shape.data_parallel, "Data-parallel ranks")->capture_default_str();
  drill->add_option("--pipeline", shape.pipeline_parallel, "Pipeline stages")->capture_default_str();
  drill->add_option("--gpus-per-host", shape.gpus_per_host, "GPUs, and NICs, of a host")->capture_default_str();
  drill->add_option("--checkpoint-every", shape.checkpoint_every, "Iterations between checkpoints; 0: none")
      ->capture_default_str();
}

void AddSteeringOptions(CLI::App* drill, DrillCommandOptions* options) {
  controller::SteeringOptions& steering = options->drill.steering;
  drill->add_option("--mode", options->mode, "What steering may do: observe, recommend or act")->capture_default_str();
  drill->add_option("--spares", options->spares, "Spare hosts; by default 8 for each 128");
  drill->add_option("--hosts-per-hour", steering.max_hosts_per_job_hour, "Most hosts of the job isolated in an hour")
      ->capture_default_str();
  drill->add_option("--job-share", steering.max_job_share_per_day, "Largest share of its hosts isolated in a day, 0..1")
      ->capture_default_str();
  drill->add_option("--hold-off", options->hold_off_min, "Minutes without action after a restart")
      ->capture_default_str();
  drill
      ->add_option("--failing-actions", options->drill.cluster.failing_actions,
                   "Probability that an attempt at an action fails")
      ->capture_default_str();
}

}  // namespace

void AddDiagDrillCommand(CLI::App* diag, Invocation* invocation) {
  auto options = std::make_shared<DrillCommandOptions>();
  CLI::App* drill = diag->add_subcommand(
      "drill", "Simulate a training job with faults, handled by C4D and, for comparison, by people.");
  AddJobOptions(drill, options->drill.cluster.shape);
  drill
      ->add_option("--fault", options->faults,
                   "Fault to inject, several if given again: KIND@SECOND[:RANK[xMAGNITUDE]]; kinds: " + KindNames())
      ->type_name("FAULT");
  drill
      ->add_option("--draw", options->draw,
                   "Draw faults that many times as often as the paper's job had them in December: 19.9 a month on "
                   "2,400 GPUs")
      ->type_name("FACTOR");
  drill->add_option("--pause", options->pauses, "Announced maintenance, in seconds; several if given again")
      ->type_name("FROM-UNTIL");
  drill->add_option("--minutes", options->minutes, "Time to simulate")->capture_default_str();
  drill->add_option("--seed", options->seed, "Seed of the noise and of where faults strike")->capture_default_str();
  AddSteeringOptions(drill, options.get());
  drill->add_flag("--only-c4d", options->only_c4d, "Leave out the run without C4D");
  drill->add_option("--audit", options->audit, "Append what steering did to FILE, one line of JSON each")
      ->type_name("FILE");
  AddOutputOptions(drill, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  AddPageOptions(drill, &options->page);
  drill->footer("Example: fairlead diag drill --fault gpu_hang@900:5 --html drill.html");
  drill->callback([options, invocation] { invocation->exit_code = Drill(*options, invocation->command_line); });
}

}  // namespace fairlead::cli
