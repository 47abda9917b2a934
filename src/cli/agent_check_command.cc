// fairlead agent check: is anything found about this host? As a plugin of node-problem-detector.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/named_choice.h"
#include "report/json_value.h"
#include "service/health_file.h"

namespace fairlead::cli {
namespace {

struct AgentCheckOptions {
  service::HealthCheckOptions check;
  std::string json;
};

const char* NameOf(service::HealthVerdict::Kind kind) {
  switch (kind) {
    case service::HealthVerdict::Kind::kWell:
      return "well";
    case service::HealthVerdict::Kind::kProblem:
      return "problem";
    case service::HealthVerdict::Kind::kUnknown:
      return "unknown";
  }
  return "";
}

int Check(const AgentCheckOptions& options) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const service::HealthVerdict verdict = service::CheckHealth(options.check, now.count());
  if (!IsStdout(options.json)) fmt::print("{}\n", verdict.line);
  if (!options.json.empty()) {
    const report::Json json = {{"verdict", NameOf(verdict.kind)}, {"text", verdict.line}};
    const Status written = WriteOutput(options.json, report::Dump(json));
    if (!written.ok()) return ReportError(written);
  }
  return static_cast<int>(verdict.kind);
}

}  // namespace

void AddAgentCheckCommand(CLI::App* agent, Invocation* invocation) {
  auto options = std::make_shared<AgentCheckOptions>();
  CLI::App* check =
      agent->add_subcommand("check", "Print one line on the health of this host, for node-problem-detector.");
  check->add_option("--health-file", options->check.path, "Health file of this host's agent (agent run --health-file)")
      ->required()
      ->type_name("FILE");
  check->add_option("--max-age", options->check.max_age_s, "Seconds after which the file counts as outdated")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  check->add_option("--action", options->check.action, "Count only findings with this recommendation")
      ->check(OneOf({"watch", "report software", "restart", "isolate and restart", "repair path"}))
      ->type_name("ACTION");
  check->add_option("--json", options->json, "Write the verdict as JSON to FILE; - prints only JSON")
      ->type_name("FILE");
  check->footer(
      "Example: fairlead agent check --health-file /run/fairlead/health.json\n"
      "Exit codes: 0 nothing is found, 1 a problem, 2 unknown (no file, an old one, or wrong options).");
  check->callback([options, invocation] { invocation->exit_code = Check(*options); });
}

}  // namespace fairlead::cli
