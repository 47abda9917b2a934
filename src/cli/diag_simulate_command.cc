// fairlead diag simulate: a recording to try the diagnosis on, of a simulated job with a planted fault.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "base/nearest_word.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/named_choice.h"
#include "execution/draw_fault.h"
#include "execution/job_execution.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::cli {

namespace {

constexpr std::string_view kNoFault = "none";
constexpr uint64_t kMaxSimulatedRanks = 16384;

struct SimulateOptions {
  execution::JobShape shape;
  std::string fault = std::string(kNoFault);
  double begin_s = 60;
  double seconds = 150;
  uint64_t seed = 1;
  std::string output;
};

std::vector<std::string_view> FaultNames() {
  std::vector<std::string_view> names = {kNoFault};
  for (size_t k = 0; k < execution::kNumFaultKinds; ++k) names.push_back(Name(static_cast<execution::FaultKind>(k)));
  return names;
}

Result<std::optional<execution::FaultKind>> ParseFaultKind(const std::string& name) {
  if (name == kNoFault) return std::optional<execution::FaultKind>();
  for (size_t k = 0; k < execution::kNumFaultKinds; ++k) {
    const auto kind = static_cast<execution::FaultKind>(k);
    if (Name(kind) == name) return std::optional(kind);
  }
  return NotFound(UnknownName("fault", name, FaultNames()));
}

Status Validate(const SimulateOptions& options) {
  FL_RETURN_IF_ERROR(options.shape.Validate());
  const uint64_t num_ranks =
      uint64_t{options.shape.tensor_parallel} * options.shape.data_parallel * options.shape.pipeline_parallel;
  if (num_ranks > kMaxSimulatedRanks) {
    return InvalidArgument(fmt::format("--tensor x --data x --pipeline: expected at most {} ranks, found {}",
                                       kMaxSimulatedRanks, num_ranks));
  }
  if (options.seconds >= 1 && options.seconds <= 86400 && options.begin_s >= 0) return OkStatus();
  return InvalidArgument(fmt::format("--seconds, --at: expected 1 to 86400 and 0 or more, found {} and {}",
                                     options.seconds, options.begin_s));
}

// Where a fault is, as text.
std::string DescribeFault(const execution::Fault& fault) {
  std::string text = fmt::format("{}", Name(fault.kind));
  if (fault.rank.valid()) text += fmt::format(", rank {}", fault.rank.value());
  if (fault.peer.valid()) text += fmt::format(", peer {}", fault.peer.value());
  if (fault.host.valid()) text += fmt::format(", host {}", fault.host.value());
  if (fault.leaf.valid()) text += fmt::format(", leaf {}", fault.leaf.value());
  return text + fmt::format(", magnitude {:.2f}, from {:.0f} s on", fault.magnitude, fault.begin.seconds().value());
}

int Simulate(const SimulateOptions& options) {
  const auto kind = ParseFaultKind(options.fault);
  if (!kind.ok()) return ReportError(kind.status());
  for (const Status& status : {Validate(options), PrepareOutputFolder(options.output)}) {
    if (!status.ok()) return ReportError(status);
  }
  const model::JobLayout layout = MakeLayout(options.shape, JobId(0));
  std::vector<execution::Fault> faults;
  if (*kind) {
    Random random(options.seed);
    const auto begin = SimTime::FromSeconds(Seconds(options.begin_s));
    const auto fault = execution::DrawFault(**kind, options.shape, layout, begin, random);
    if (!fault) {
      return ReportError(InvalidArgument(fmt::format(
          "--fault {}: this job has no place for it, such as a connection between hosts or a checkpoint; give it "
          "more ranks, fewer GPUs a host (--gpus-per-host) or checkpoints (--checkpoint-every)",
          options.fault)));
    }
    faults.push_back(*fault);
  }
  execution::JobExecution job(options.shape, faults, {}, options.seed);
  std::ostringstream text;
  telemetry::TelemetryWriter writer(text);
  Status status;
  job.Run(SimTime::FromSeconds(Seconds(options.seconds)), [&](SimTime, const model::TelemetryRecord& record) {
    if (status.ok()) status = writer.Write(record);
  });
  if (status.ok()) status = WriteOutput(options.output, text.str());
  if (!status.ok()) return ReportError(status);
  if (IsStdout(options.output)) return kExitOk;
  fmt::print("{} ranks on {} hosts, {:.0f} s, written to {}\nplanted: {}\n", layout.ranks.size(),
             options.shape.NumHosts(), options.seconds, options.output,
             faults.empty() ? std::string("nothing") : DescribeFault(faults.front()));
  return kExitOk;
}

}  // namespace

void AddDiagSimulateCommand(CLI::App* diag, Invocation* invocation) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* simulate = diag->add_subcommand(
      "simulate", "Record the telemetry of a simulated job with an injected fault, to try `diag analyze` on.");
  execution::JobShape& shape = options->shape;
  simulate->add_option("--tensor", shape.tensor_parallel, "Tensor-parallel ranks")->capture_default_str();
  simulate->add_option("--data", shape.data_parallel, "Data-parallel ranks")->capture_default_str();
  simulate->add_option("--pipeline", shape.pipeline_parallel, "Pipeline stages")->capture_default_str();
  shape.gpus_per_host = 2;
  simulate->add_option("--gpus-per-host", shape.gpus_per_host, "GPUs, and NICs, of a host")->capture_default_str();
  simulate->add_option("--checkpoint-every", shape.checkpoint_every, "Iterations between checkpoints; 0: none")
      ->capture_default_str();
  simulate->add_option("--fault", options->fault, "Fault to inject")->check(OneOf(FaultNames()));
  simulate->add_option("--at", options->begin_s, "Second at which the fault begins")->capture_default_str();
  simulate->add_option("--seconds", options->seconds, "Length of the recording")->capture_default_str();
  simulate->add_option("--seed", options->seed, "Seed of the noise and of where the fault strikes")
      ->capture_default_str();
  simulate->add_option("-o,--output", options->output, "Recording to write; - prints it")
      ->required()
      ->type_name("FILE");
  simulate->footer(
      "Example: fairlead diag simulate --fault slow_gpu -o job.jsonl && fairlead diag analyze job.jsonl --html "
      "job.html");
  simulate->callback([options, invocation] { invocation->exit_code = Simulate(*options); });
}

}  // namespace fairlead::cli
