// fairlead check-node: hosts are tested by their agents, and compared with each other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/unit_text.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_query.h"
#include "cli/cluster/cluster_report.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/terminal_progress.h"
#include "codec/json_archive.h"
#include "wire/node_check_records.h"

namespace fairlead::cli {
namespace {

constexpr char kPath[] = "/v1/checks";
constexpr std::chrono::milliseconds kPeriod{300};
// A check that can't be asked about for so long is given up on.
constexpr int kFailuresMax = 20;

struct CheckNodeOptions {
  wire::NodeCheckOrder order;
  std::string transfer = "2s";
  std::string burn_in = "0";
  ControllerHttpOptions http;
  OutputOptions output;
};

Result<double> ReadTime(const char* option, const std::string& text, double most) {
  const auto seconds = ParseWithUnit(text, NumberUnit::kSeconds);
  if (seconds && *seconds >= 0 && *seconds <= most) return *seconds;
  return InvalidArgument(fmt::format("{} {}: expected a time of at most {} s, such as 2s", option, text, most));
}

Result<wire::LiveNodeCheck> AskFor(ControllerHttp* controller, uint64_t number) {
  FL_ASSIGN_OR_RETURN(const wire::NodeCheckList list, controller->Get<wire::NodeCheckList>(kPath));
  const auto found = std::ranges::find(list.checks, number, &wire::LiveNodeCheck::number);
  if (found != list.checks.end()) return *found;
  return Unavailable(fmt::format("the controller has no check {}: was it started again?", number));
}

// Until it is over.
Result<wire::LiveNodeCheck> WaitFor(ControllerHttp* controller, uint64_t number) {
  const std::atomic<bool>& stop = StopRequested();
  TerminalProgress progress;
  int num_failures = 0;
  while (!stop) {
    auto check = AskFor(controller, number);
    // It takes a moment to begin.
    if (!check.ok() && ++num_failures > kFailuresMax) return check.status();
    if (check.ok() && check->ended_s.has_value()) return check;
    if (check.ok()) {
      num_failures = 0;
      const double steps = static_cast<double>(std::max<uint64_t>(check->steps, 1));
      progress.Update(fmt::format("check {} of {} hosts", number, check->hosts.size()),
                      static_cast<double>(check->finished_steps) / steps);
    }
    std::this_thread::sleep_for(kPeriod);
  }
  return Status(StatusCode::kCancelled, fmt::format("check {} goes on; see {}", number, kPath));
}

int RunCheckNode(CheckNodeOptions options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto transfer_s = ReadTime("--transfer", options.transfer, 60);
  if (!transfer_s.ok()) return ReportError(transfer_s.status());
  const auto burn_in_s = ReadTime("--burn-in", options.burn_in, 600);
  if (!burn_in_s.ok()) return ReportError(burn_in_s.status());
  options.order.transfer_s = *transfer_s;
  options.order.burn_in_s = *burn_in_s;
  auto controller = ControllerHttp::Open(options.http);
  if (!controller.ok()) return ReportError(controller.status());
  const auto answer = controller->Post(kPath, codec::ToJson(options.order));
  if (!answer.ok()) return ReportError(answer.status());
  const auto begun = controller->Read<wire::NodeCheckBegun>(*answer, kPath);
  if (!begun.ok()) return ReportError(begun.status());
  const auto check = WaitFor(&*controller, begun->check);
  if (!check.ok()) return ReportError(check.status());
  files->Print(NodeCheckTable(*check));
  files->WriteJson("JSON", [&] { return report::Dump(codec::ToJson(*check)); });
  if (!files->status().ok()) return ReportError(files->status());
  const bool has_passed = std::ranges::all_of(
      check->hosts, [](const wire::LiveCheckedHost& host) { return host.is_partner || host.verdict == "passed"; });
  return has_passed ? kExitOk : kExitNo;
}

}  // namespace

void AddCheckNodeCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<CheckNodeOptions>();
  CLI::App* check =
      app.add_subcommand("check-node", "Have a running controller test hosts, before a job or after a repair.");
  check->add_option("HOST", options->order.hosts, "Hosts; free ones are added where they are too few to compare")
      ->required()
      ->expected(1, -1);
  check->add_option("--transfer", options->transfer, "How long each transfer takes")
      ->type_name("TIME")
      ->capture_default_str();
  check->add_option("--burn-in", options->burn_in, "How long the agents' burn-in program runs first; 0: not at all")
      ->type_name("TIME")
      ->capture_default_str();
  check->add_option("--streams", options->order.streams, "TCP connections of each transfer; fast NICs need several")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  check->add_flag("--while-training", options->order.while_training,
                  "Hosts of jobs, too, with a hundredth of their NICs' speed: shows losses only");
  AddServerOptions(check, &options->http);
  AddOutputOptions(check, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  check->footer(
      "Transfers between the hosts, in rounds of pairs; before them the burn-in of their GPUs, where it is asked for.\n"
      "Exit code 1: not all have passed.\n"
      "Example: fairlead check-node h3 h4 h17 --burn-in 60s --token-file operator.token");
  check->callback([options, invocation] { invocation->exit_code = RunCheckNode(*options); });
}

}  // namespace fairlead::cli
