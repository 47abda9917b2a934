// fairlead audit: is a log of what steering and operators did as it was written?

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/output_files.h"
#include "service/steering/audit_log.h"

namespace fairlead::cli {
namespace {

struct VerifyOptions {
  std::string path;
  std::string last;
};

int RunVerify(const VerifyOptions& options) {
  const auto verdict = service::VerifyAuditLog(options.path);
  if (!verdict.ok()) return ReportError(verdict.status());
  for (const std::string& warning : verdict->warnings) fmt::print("{}: {}\n", options.path, warning);
  for (const std::string& broken : verdict->breaks) fmt::print("{}: {}\n", options.path, broken);
  const bool is_other = !options.last.empty() && options.last != verdict->last_chain;
  if (is_other)
    fmt::print("{}: its last hash is not the one that was given: lines are missing at the end\n", options.path);
  fmt::print("{}: {} lines, {} with a hash; last hash {}\n", options.path, verdict->num_lines, verdict->num_chained,
             verdict->last_chain.empty() ? "none" : verdict->last_chain);
  return verdict->breaks.empty() && !is_other ? kExitOk : kExitNo;
}

}  // namespace

void AddAuditCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* audit = app.add_subcommand("audit", "Check the log of what steering and operators did.");
  audit->footer("Example: fairlead audit verify /var/log/fairlead-controller/audit.jsonl");
  audit->require_subcommand(1);
  CLI::App* verify = audit->add_subcommand(
      "verify", "Check that nothing in a log was changed, removed or inserted; exit code 1: something was.");
  auto options = std::make_shared<VerifyOptions>();
  verify->add_option("FILE", options->path, "The file of --audit")->required();
  verify
      ->add_option("--last", options->last,
                   "Hash that the last line must have: shows that nothing is missing at the end")
      ->type_name("HASH");
  verify->footer("Example: fairlead audit verify /var/log/fairlead-controller/audit.jsonl");
  verify->callback([options, invocation] { invocation->exit_code = RunVerify(*options); });
}

}  // namespace fairlead::cli
