// fairlead agent processes: what are the training processes of this host doing, as their profiler plugin tells?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/output_files.h"
#include "diagnosis/c4d/wording.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"
#include "service/agent/segment_folder.h"

namespace fairlead::cli {
namespace {

using diagnosis::c4d::NameOf;
using model::OperationRecord;
using report::Align;
using report::Json;
using telemetry::ProcessReport;

constexpr size_t kPendingRows = 20;

struct AgentProcessesOptions {
  service::SegmentFolderOptions folder;
  OutputOptions output;
};

struct OperationCounts {
  uint64_t finished = 0;
  uint64_t pending = 0;
};

OperationCounts CountOperations(const ProcessReport& report) {
  OperationCounts counts;
  for (const model::ProgressRecord& lane : report.progress) {
    counts.finished += lane.finished;
    counts.pending += lane.enqueued - lane.finished;
  }
  return counts;
}

const char* NameOf(model::ProcessState state) {
  switch (state) {
    case model::ProcessState::kRunning:
      return "running";
    case model::ProcessState::kGone:
      return "gone";
    case model::ProcessState::kStopped:
      return "stopped";
  }
  return "";
}

const char* NameOf(model::TransferPhase phase) {
  switch (phase) {
    case model::TransferPhase::kIdle:
      return "idle";
    case model::TransferPhase::kSendWaitsForGpu:
      return "send_waits_for_gpu";
    case model::TransferPhase::kSendWaitsForPeer:
      return "send_waits_for_peer";
    case model::TransferPhase::kSendOnWire:
      return "send_on_wire";
    case model::TransferPhase::kReceivePosted:
      return "receive_posted";
    case model::TransferPhase::kReceiveFlushing:
      return "receive_flushing";
    case model::TransferPhase::kReceiveWaitsForGpu:
      return "receive_waits_for_gpu";
  }
  return "";
}

// "0x1f2e": as NCCL's own log has it.
std::string IdOf(const telemetry::ProcessCommunicator& communicator) { return fmt::format("{:#x}", communicator.id); }

// "all_reduce 41 of world", "send 3 to 1 of 0x1f2e"
std::string Describe(const ProcessReport& report, const OperationRecord& operation) {
  const telemetry::ProcessCommunicator& communicator = report.communicators[operation.communicator.index()];
  std::string text = fmt::format("{} {}", NameOf(operation.kind), operation.sequence);
  if (operation.kind == model::OperationKind::kSend) text += fmt::format(" to {}", operation.peer.value());
  if (operation.kind == model::OperationKind::kReceive) text += fmt::format(" from {}", operation.peer.value());
  return fmt::format("{} of {}", text, communicator.name.empty() ? IdOf(communicator) : communicator.name);
}

std::string SecondsAgo(SimTime then, SimTime now) {
  return fmt::format("{} ago", report::FormatDuration(std::max(0.0, (now - then).seconds().value())));
}

// Seconds since 1970, null: not yet.
Json InstantOf(std::optional<SimTime> time) { return time.has_value() ? Json(time->seconds().value()) : Json(); }

report::Document RenderProcesses(const service::FolderLook& look) {
  report::TextTable table({{"process", Align::kRight, "", "its id on this host"},
                           {"state", Align::kLeft},
                           {"job", Align::kLeft},
                           {"rank", Align::kRight, "", "number of the process within its job"},
                           {"communicators", Align::kRight, "", "groups of ranks it communicates in"},
                           {"finished", Align::kRight, "operations"},
                           {"pending", Align::kRight, "operations", "begun and not finished"},
                           {"connections", Align::kRight},
                           {"busy", Align::kRight, "", "connections with a transfer in flight"},
                           {"not recorded", Align::kRight, "", "operations for which the shared memory had no room"}});
  for (const service::ProcessLook& process : look.processes) {
    const ProcessReport& report = process.report;
    const OperationCounts operations = CountOperations(report);
    table.AddRow({fmt::format("{}", report.pid), NameOf(process.state), report.job.empty() ? "(no name)" : report.job,
                  report.global_rank < 0 ? std::string(report::kUnknown) : fmt::format("{}", report.global_rank),
                  report::FormatCount(report.communicators.size()), report::FormatCount(operations.finished),
                  report::FormatCount(operations.pending), report::FormatCount(report.connections.size()),
                  report::FormatCount(report.busy_connections), report::FormatCount(report.num_dropped)});
  }
  return table;
}

// What has not finished, oldest first.
report::Document RenderPending(const service::FolderLook& look) {
  std::vector<std::pair<const ProcessReport*, const OperationRecord*>> pending;
  for (const service::ProcessLook& process : look.processes) {
    for (const OperationRecord& operation : process.report.operations) {
      if (!operation.finished.has_value()) pending.emplace_back(&process.report, &operation);
    }
  }
  if (pending.empty()) return {};
  std::ranges::stable_sort(pending, {}, [](const auto& entry) { return entry.second->enqueued; });
  report::TextTable table({{"process", Align::kRight},
                           {"pending operation", Align::kLeft},
                           {"enqueued", Align::kRight, "", "when the framework asked for it"},
                           {"began", Align::kRight, "", "when the GPU got to it"}});
  for (const auto& [report, operation] : std::span(pending).first(std::min(pending.size(), kPendingRows))) {
    table.AddRow({fmt::format("{}", report->pid), Describe(*report, *operation),
                  SecondsAgo(operation->enqueued, look.at),
                  operation->started.has_value() ? SecondsAgo(*operation->started, look.at) : "not yet"});
  }
  report::Document text = "\n" + report::Document(std::move(table));
  if (pending.size() > kPendingRows) {
    text += fmt::format("and {} more, all in --json\n", report::FormatCount(pending.size() - kPendingRows));
  }
  return text;
}

report::Document Render(const AgentProcessesOptions& options, const service::FolderLook& look) {
  report::Document text;
  if (look.processes.empty()) {
    text += fmt::format("No training process has a segment in {}: none has loaded libnccl-profiler-fairlead.so.\n",
                        options.folder.folder);
  } else {
    text += RenderProcesses(look) + RenderPending(look);
  }
  for (const service::SegmentFault& fault : look.faults) text += fmt::format("{}: {}\n", fault.path, fault.reason);
  return text;
}

Json ToJson(const OperationRecord& operation) {
  const bool is_transfer = model::IsTransfer(operation.kind);
  return {{"communicator", operation.communicator.value()},
          {"operation", NameOf(operation.kind)},
          {"sequence", operation.sequence},
          {"bytes", operation.bytes},
          {"data_type", operation.data_type},
          {"root", operation.root < 0 ? Json() : Json(operation.root)},
          {"peer", is_transfer ? Json(operation.peer.value()) : Json()},
          {"enqueued_s", operation.enqueued.seconds().value()},
          {"started_s", InstantOf(operation.started)},
          {"finished_s", InstantOf(operation.finished)}};
}

Json ToJson(const model::ConnectionRecord& connection) {
  return {{"communicator", connection.key.communicator.value()},
          {"channel", connection.key.channel},
          {"direction", connection.key.direction == model::Direction::kSend ? "send" : "receive"},
          {"peer", connection.key.peer.value()},
          {"messages", connection.messages},
          {"bytes", connection.bytes},
          {"wire_s", connection.wire_time.seconds().value()},
          {"wait_for_gpu_s", connection.wait_for_gpu.seconds().value()},
          {"wait_for_peer_s", connection.wait_for_peer.seconds().value()},
          {"in_flight", connection.in_flight},
          {"phase", NameOf(connection.phase)},
          {"last_progress_s", connection.last_progress.seconds().value()}};
}

Json ToJson(const service::ProcessLook& process) {
  const ProcessReport& report = process.report;
  const OperationCounts counts = CountOperations(report);
  Json json = {{"pid", report.pid},
               {"state", NameOf(process.state)},
               {"job", report.job},
               {"rank", report.global_rank < 0 ? Json() : Json(report.global_rank)},
               {"operations_finished", counts.finished},
               {"operations_pending", counts.pending},
               {"not_recorded", report.num_dropped},
               {"communicators", Json::array()},
               {"operations", Json::array()},
               {"connections", Json::array()}};
  for (const telemetry::ProcessCommunicator& communicator : report.communicators) {
    json["communicators"].push_back({{"id", IdOf(communicator)},
                                     {"name", communicator.name},
                                     {"ranks", communicator.num_ranks == 0 ? Json() : Json(communicator.num_ranks)},
                                     {"rank", communicator.rank < 0 ? Json() : Json(communicator.rank)},
                                     {"finalized", communicator.is_finalized}});
  }
  for (const OperationRecord& operation : report.operations) json["operations"].push_back(ToJson(operation));
  for (const model::ConnectionRecord& connection : report.connections) {
    json["connections"].push_back(ToJson(connection));
  }
  return json;
}

Json ToJson(const service::FolderLook& look) {
  Json json = {{"at_s", look.at.seconds().value()}, {"processes", Json::array()}, {"faults", Json::array()}};
  for (const service::ProcessLook& process : look.processes) json["processes"].push_back(ToJson(process));
  for (const service::SegmentFault& fault : look.faults) {
    json["faults"].push_back({{"path", fault.path}, {"reason", fault.reason}});
  }
  return json;
}

int ShowProcesses(const AgentProcessesOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const service::FolderLook look = service::SegmentFolder(options.folder).Look();
  if (!look.listing.ok()) return ReportError(look.listing);
  files->Print(Render(options, look));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(look)); });
  if (!files->status().ok()) return ReportError(files->status());
  return look.processes.empty() ? kExitNo : kExitOk;
}

}  // namespace

void AddAgentProcessesCommand(CLI::App* agent, Invocation* invocation) {
  auto options = std::make_shared<AgentProcessesOptions>();
  options->folder.only_looks = true;
  CLI::App* processes = agent->add_subcommand(
      "processes",
      "Show what the training processes of this host are doing, from the profiler plugin's shared memory.");
  processes->add_option("--segments", options->folder.folder, "Folder with the plugin's segments")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER")
      ->capture_default_str();
  AddOutputOptions(processes, &options->output,
                   "Write communicators, latest operations and connections as JSON to FILE; - prints only JSON");
  processes->footer(
      "Example: fairlead agent processes\nWorks with or without a running agent. Exits with 1 if no process has the "
      "plugin.");
  processes->callback([options, invocation] { invocation->exit_code = ShowProcesses(*options); });
}

}  // namespace fairlead::cli
