// fairlead workload show: what an imported workload amounts to, before it is simulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"
#include "workload/workload_loader.h"
#include "workload/workload_summary.h"

namespace fairlead::cli {

namespace {

struct WorkloadOptions {
  std::string file;
  std::string kind;
  uint32_t num_gpus = 0;
  double peak_tflops = 0;
  OutputOptions output;
};

std::string FormatGigabytes(Bytes bytes) { return report::FormatShort(bytes.value() / 1e9); }

report::Document RenderWorkload(const collective::CollectiveSequence& sequence, workload::WorkloadKind kind,
                                const workload::WorkloadSummary& summary) {
  const auto& p = sequence.parallelism;
  report::Document text = fmt::format("{} ({})\n", sequence.name, Name(kind));
  const std::string layers =
      sequence.num_layers > 0 ? report::FormatCount(sequence.num_layers, "layer") + ", " : std::string();
  text += fmt::format(
      "{}{} in {}; {} of compute an iteration\n", layers, report::FormatCount(summary.num_collectives, "collective"),
      report::FormatCount(summary.num_phases, "phase"), report::FormatDuration(summary.compute.value()));
  text += fmt::format("GPUs {}, tensor {}, pipeline {}, expert {}, micro-batches {}\n\n",
                      sequence.num_gpus == 0 ? "any" : report::FormatCount(sequence.num_gpus), p.tensor, p.pipeline,
                      p.expert, p.micro_batches);
  report::TextTable table({{"group", report::Align::kLeft, "",
                            "tp tensor, dp data, pp pipeline, ep expert parallel; edp data parallel of experts"},
                           {"collective", report::Align::kLeft},
                           {"pass", report::Align::kLeft},
                           {"times", report::Align::kRight},
                           {"GB a rank", report::Align::kRight, "", "all times of an iteration together"},
                           {"blocking", report::Align::kRight, "", "share of these bytes that compute waits for"}});
  for (const workload::CollectiveTotal& total : summary.totals) {
    table.AddRow({ToString(total.group), std::string(Name(total.kind)), std::string(Name(total.pass)),
                  report::FormatCount(total.count), FormatGigabytes(total.bytes),
                  report::FormatPercent(total.blocking_bytes / total.bytes)});
  }
  if (!table.empty()) text += std::move(table);
  for (const std::string& note : sequence.notes) text += fmt::format("note: {}\n", note);
  return text;
}

report::Json ToJson(const collective::CollectiveSequence& sequence, workload::WorkloadKind kind,
                    const workload::WorkloadSummary& summary) {
  const auto& p = sequence.parallelism;
  report::Json json = {
      {"workload", sequence.name},
      {"kind", Name(kind)},
      {"layers", sequence.num_layers == 0 ? report::Json() : report::Json(sequence.num_layers)},
      {"gpus", sequence.num_gpus == 0 ? report::Json() : report::Json(sequence.num_gpus)},
      {"compute_s", report::NumberOrNull(summary.compute.value())},
      {"collectives", summary.num_collectives},
      {"phases", summary.num_phases},
      {"parallelism",
       {{"tensor", p.tensor}, {"pipeline", p.pipeline}, {"expert", p.expert}, {"micro_batches", p.micro_batches}}}};
  report::Json totals = report::Json::array();
  for (const workload::CollectiveTotal& total : summary.totals) {
    totals.push_back({{"group", ToString(total.group)},
                      {"collective", Name(total.kind)},
                      {"pass", Name(total.pass)},
                      {"count", total.count},
                      {"bytes", report::NumberOrNull(total.bytes.value())},
                      {"blocking_bytes", report::NumberOrNull(total.blocking_bytes.value())}});
  }
  json["totals"] = std::move(totals);
  json["notes"] = sequence.notes;
  return json;
}

int ShowWorkload(const WorkloadOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const std::string path = FindInputFile(options.file);
  workload::WorkloadKind kind = workload::GuessWorkloadKind(path);
  if (options.kind == Name(workload::WorkloadKind::kSimai)) kind = workload::WorkloadKind::kSimai;
  if (options.kind == Name(workload::WorkloadKind::kChakra)) kind = workload::WorkloadKind::kChakra;
  const auto sequence = workload::LoadWorkload(kind, path,
                                               {.num_gpus = options.num_gpus,
                                                .gpu_peak = FlopPerSecond(options.peak_tflops * 1e12),
                                                .memory_bandwidth = BytesPerSecond(0)});
  if (!sequence.ok()) return ReportError(sequence.status());
  const workload::WorkloadSummary summary = workload::SummarizeSequence(*sequence);
  files->Print(RenderWorkload(*sequence, kind, summary));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(*sequence, kind, summary)); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

}  // namespace

void AddWorkloadCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* workload = app.add_subcommand("workload", "Inspect workloads from other simulators and tracers.");
  workload->footer("Example: fairlead workload show workloads/moe-32.txt");
  workload->require_subcommand(1);
  auto options = std::make_shared<WorkloadOptions>();
  CLI::App* show = workload->add_subcommand(
      "show", "Summarize what one iteration of a SimAI workload or a Chakra trace computes and sends.");
  show->add_option("FILE", options->file, "SimAI text, Chakra trace (.et), its PREFIX, or a folder of traces")
      ->required();
  show->add_option("--kind", options->kind, "Kind of file; default: by its name")->check(OneOf({"simai", "chakra"}));
  show->add_option("--gpus", options->num_gpus, "GPUs of the job, where the file doesn't say")
      ->check(CLI::Range(1, 1'000'000'000));
  show->add_option("--peak-tflops", options->peak_tflops,
                   "Peak speed of one GPU, for traces that give operations instead of times")
      ->check(CLI::Range(1e-6, 1e9));
  AddOutputOptions(show, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  show->footer("Example: fairlead workload show workloads/moe-32.txt");
  show->callback([options, invocation] { invocation->exit_code = ShowWorkload(*options); });
}

}  // namespace fairlead::cli
