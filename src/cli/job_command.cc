// fairlead job: does a batch script keep the contract of elastic jobs?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "report/json_value.h"
#include "report/text_table.h"
#include "slurm/job_script.h"

namespace fairlead::cli {
namespace {

using report::Json;
using slurm::ScriptCheck;

constexpr size_t kScriptBytesMax = size_t{4} * 1024 * 1024;  // what slurmctld takes

struct JobCheckOptions {
  std::string script;
  OutputOptions output;
};

report::Document RenderChecks(const std::vector<ScriptCheck>& checks) {
  report::TextTable table({{"contract", report::Align::kLeft},
                           {"state", report::Align::kLeft},
                           {"line", report::Align::kRight},
                           {"found", report::Align::kLeft}});
  std::string helps;
  for (const ScriptCheck& check : checks) {
    table.AddRow({check.name, std::string(slurm::Name(check.state)), check.line == 0 ? "-" : std::to_string(check.line),
                  check.found});
    if (!check.helps.empty())
      helps += fmt::format("{} ({})\n    {}\n", check.name, slurm::Name(check.state), check.helps);
  }
  report::Document text = std::move(table);
  if (!helps.empty()) text += "\nWhat helps\n" + helps;
  text += slurm::IsContractKept(checks) ? "\nThe job is elastic.\n" : "\nThe job is not elastic.\n";
  return text;
}

Json ToJson(const std::vector<ScriptCheck>& checks) {
  Json list = Json::array();
  for (const ScriptCheck& check : checks) {
    list.push_back({{"contract", check.name},
                    {"state", slurm::Name(check.state)},
                    {"line", check.line == 0 ? Json() : Json(check.line)},
                    {"found", check.found},
                    {"helps", report::NameOrNull(check.helps)}});
  }
  return {{"elastic", slurm::IsContractKept(checks)}, {"checks", std::move(list)}};
}

int RunJobCheck(const JobCheckOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const Result<std::string> script = ReadWholeFile(options.script, kScriptBytesMax);
  if (!script.ok()) return ReportError(script.status());
  const auto checks = slurm::CheckJobScript(*script);
  if (!checks.ok()) return ReportError(InvalidArgument(options.script + ": " + checks.status().message()));
  files->Print(RenderChecks(*checks));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(*checks)); });
  if (!files->status().ok()) return ReportError(files->status());
  return slurm::IsContractKept(*checks) ? kExitOk : kExitNo;
}

}  // namespace

void AddJobCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* job = app.add_subcommand("job", "Check batch scripts for Slurm.");
  job->footer("Example: fairlead job check train.sh");
  job->require_subcommand(1);
  auto options = std::make_shared<JobCheckOptions>();
  CLI::App* check = job->add_subcommand(
      "check", "Check that a batch script keeps the contract of elastic jobs; exit code 1: it does not.");
  check->add_option("SCRIPT", options->script, "The script, as for sbatch")->required();
  AddOutputOptions(check, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  check->footer("Example: fairlead job check train.sh");
  check->callback([options, invocation] { invocation->exit_code = RunJobCheck(*options); });
}

}  // namespace fairlead::cli
