// fairlead pause, undo and spare: what an operator orders of a running controller's steering.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/unit_text.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_query.h"
#include "cli/command.h"

namespace fairlead::cli {
namespace {

struct OrderOptions {
  std::string name;
  std::string duration = "10min";
  std::string reason;
  ControllerHttpOptions http;
};

int Send(const ControllerHttpOptions& http, const std::string& path, const report::Json& body,
         const std::string& done) {
  auto controller = ControllerHttp::Open(http);
  if (!controller.ok()) return ReportError(controller.status());
  const auto answer = controller->Post(path, body);
  if (!answer.ok()) return ReportError(answer.status());
  fmt::print("{}\n", done);
  return kExitOk;
}

int RunPause(const OrderOptions& options) {
  const auto seconds = ParseWithUnit(options.duration, NumberUnit::kSeconds);
  if (!seconds || *seconds < 0) {
    return ReportError(
        InvalidArgument(fmt::format("--for {}: expected a time, such as 90s, 10min or 2h", options.duration)));
  }
  const report::Json body = {{"job", options.name}, {"for_s", *seconds}, {"reason", options.reason}};
  return Send(options.http, "/v1/steering/pause", body,
              *seconds > 0 ? fmt::format("Nothing is done about job {} for {}.", options.name, options.duration)
                           : fmt::format("The pause of job {} is over.", options.name));
}

}  // namespace

void AddOrderCommands(CLI::App& app, Invocation* invocation) {
  auto pause = std::make_shared<OrderOptions>();
  CLI::App* command = app.add_subcommand(
      "pause", "Have a running controller leave a job alone for a while, such as during an evaluation.");
  command->add_option("JOB", pause->name, "Its name")->required();
  command->add_option("--for", pause->duration, "How long; 0 ends a pause")->type_name("TIME")->capture_default_str();
  command->add_option("--reason", pause->reason, "For the audit log")->required()->type_name("TEXT");
  AddServerOptions(command, &pause->http);
  command->footer("Example: fairlead pause slurm-4711 --for 20min --reason \"evaluation\"");
  command->callback([pause, invocation] { invocation->exit_code = RunPause(*pause); });

  auto undo = std::make_shared<OrderOptions>();
  command = app.add_subcommand("undo", "Have a running controller return a host that it has isolated.");
  command->add_option("HOST", undo->name, "Its name")->required();
  AddServerOptions(command, &undo->http);
  command->footer("Example: fairlead undo h17 --token-file operator.token");
  command->callback([undo, invocation] {
    invocation->exit_code = Send(undo->http, "/v1/steering/undo", {{"host", undo->name}},
                                 fmt::format("Host {} will be returned.", undo->name));
  });

  auto spare = std::make_shared<OrderOptions>();
  command = app.add_subcommand("spare", "Offer a running controller a free host in place of isolated ones.");
  command->add_option("HOST", spare->name, "Its name")->required();
  AddServerOptions(command, &spare->http);
  command->footer("Example: fairlead spare h31 --token-file operator.token");
  command->callback([spare, invocation] {
    invocation->exit_code = Send(spare->http, "/v1/steering/spare", {{"host", spare->name}},
                                 fmt::format("Host {} is now a spare.", spare->name));
  });
}

}  // namespace fairlead::cli
