// fairlead doctor: does this machine have what Fairlead needs, and what is to be done where it does not?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/doctor/doctor_checks.h"
#include "cli/doctor/this_machine.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "report/json_value.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::cli {
namespace {

using report::Json;

struct DoctorCommandOptions {
  DoctorOptions doctor;
  std::string role;  // empty: all
  OutputOptions output;
};

std::string RolesText(const std::vector<Role>& roles) {
  std::string text;
  for (const Role role : roles) text += (text.empty() ? "" : ", ") + std::string(NameOf(role));
  return text;
}

report::Document RenderResults(const std::vector<CheckResult>& results) {
  report::TextTable table({{"check", report::Align::kLeft},
                           {"state", report::Align::kLeft},
                           {"found", report::Align::kLeft},
                           {"needed for", report::Align::kLeft}});
  std::string to_do;
  size_t num_missing = 0;
  for (const CheckResult& result : results) {
    table.AddRow({result.check, std::string(NameOf(result.state)), result.found, RolesText(result.needed_for)});
    if (result.state == CheckState::kMissing) ++num_missing;
    if (result.to_do.empty()) continue;
    to_do += fmt::format("{} ({})\n", report::CleanText(result.check), NameOf(result.state));
    // The first line may be a command, which is to be copied whole; what follows explains it.
    const size_t end = result.to_do.find('\n');
    if (end == std::string::npos) {
      to_do += "    " + report::WrapText(report::CleanText(result.to_do), report::kTextWidth - 4, 4);
      continue;
    }
    to_do += fmt::format("    {}\n", report::CleanText(result.to_do.substr(0, end)));
    to_do += "    " + report::WrapText(report::CleanText(result.to_do.substr(end + 1)), report::kTextWidth - 4, 4);
  }
  report::Document text = std::move(table);
  if (!to_do.empty()) text += "\nWhat to do\n" + to_do;
  text += num_missing == 0 ? "\nNothing that is required is missing.\n"
                           : fmt::format("\nRequired and missing: {} of {} checks.\n", num_missing, results.size());
  return text;
}

Json ToJson(const std::vector<CheckResult>& results) {
  Json checks = Json::array();
  for (const CheckResult& result : results) {
    Json roles = Json::array();
    for (const Role role : result.needed_for) roles.push_back(NameOf(role));
    checks.push_back({{"check", result.check},
                      {"state", NameOf(result.state)},
                      {"found", result.found},
                      {"to_do", report::NameOrNull(result.to_do)},
                      {"needed_for", roles}});
  }
  return {{"ready", IsReady(results)}, {"checks", checks}};
}

int RunDoctor(DoctorCommandOptions options) {
  if (!options.role.empty()) {
    std::erase_if(options.doctor.roles, [&](Role role) { return NameOf(role) != options.role; });
  }
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const std::unique_ptr<Machine> machine = MakeThisMachine();
  const std::vector<CheckResult> results = CheckMachine(*machine, options.doctor);
  files->Print(RenderResults(results));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(results)); });
  if (!files->status().ok()) return ReportError(files->status());
  return IsReady(results) ? kExitOk : kExitNo;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<DoctorCommandOptions>();
  CLI::App* doctor = app.add_subcommand("doctor", "Check what this machine lacks for Fairlead, and how to get it.");
  std::vector<std::string> roles;
  for (const Role role : kRoles) roles.emplace_back(NameOf(role));
  doctor->add_option("--for", options->role, "Check only what this use needs; default: all")->check(OneOf(roles));
  service::ControllerClientOptions& controller = options->doctor.controller;
  doctor
      ->add_option("--controller", controller.address,
                   "Check that the controller answers at this address: HOST:PORT or unix:PATH")
      ->type_name("ADDRESS");
  doctor
      ->add_option(
          "--listen", options->doctor.listen,
          "Address that the controller is to listen on, once for each; default: 0.0.0.0:7070 and 127.0.0.1:8080")
      ->type_name("ADDRESS");
  doctor->add_option("--socket", options->doctor.agent_socket, "Socket of this host's agent")
      ->type_name("PATH")
      ->capture_default_str();
  doctor->add_option("--tls-ca", controller.tls.ca, "Certificate of the cluster's authority")->type_name("FILE");
  doctor->add_option("--tls-cert", controller.tls.certificate, "Certificate of this host")->type_name("FILE");
  doctor->add_option("--tls-key", controller.tls.key, "Its key")->type_name("FILE");
  doctor
      ->add_option("--tls-revoked", controller.tls.revoked,
                   "List of certificates not accepted any more (fairlead cert revoke)")
      ->type_name("FILE");
  doctor->add_option("--controller-name", controller.controller_name, "Name in the controller's certificate")
      ->type_name("NAME");
  doctor->add_flag("--insecure", controller.is_insecure_allowed, "Allow plaintext to a controller on another machine");
  AddOutputOptions(doctor, &options->output, "Write the results as JSON to FILE; - prints only JSON");
  doctor->footer("Example: fairlead doctor --for lab\nExit code: 0 when nothing required is missing, 1 otherwise.");
  doctor->callback([options, invocation] { invocation->exit_code = RunDoctor(*options); });
}

}  // namespace fairlead::cli
