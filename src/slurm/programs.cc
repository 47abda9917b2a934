#include "slurm/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/printable_ascii.h"
#include "service/steering/exec_hook.h"

namespace fairlead::slurm {
namespace {

bool HasOneOf(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts,
                             [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

Status StatusOfFailure(const Command& command, int exit_code, const std::string& errors) {
  std::string said = errors.substr(0, 300);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  said = PrintableAscii(said, ' ');
  const std::string message = fmt::format("{} {}: {}", command.front(), command.size() > 1 ? command[1] : "",
                                          said.empty() ? fmt::format("exit code {}", exit_code) : said);
  if (HasOneOf(errors, {"Invalid job id", "Invalid node name", "No such reservation", "The reservation name is invalid",
                        "Requested reservation is invalid", "not found"})) {
    return NotFound(message);
  }
  // "Unable to contact slurm controller", a time-out of a message, of munge, or of the program itself.
  if (said.empty() ||
      HasOneOf(errors, {"contact slurm controller", "Socket timed out", "Connection refused", "timed out",
                        "Protocol authentication", "Zero Bytes", "in standby mode", "try again"})) {
    return Unavailable(message);
  }
  return {StatusCode::kFailedPrecondition, message};
}

Result<std::string> RealPrograms::Run(const Command& command) {
  service::ExecHookOptions options;
  options.command = command;
  options.deadline = options_.deadline;
  options.output_bytes_max = options_.output_bytes_max;
  options.separates_errors = true;
  FL_ASSIGN_OR_RETURN(service::ExecHookOutcome outcome, service::RunExecHook(options, ""));
  if (outcome.timed_out) {
    return Unavailable(fmt::format("{}: no answer within {} ms", command.front(), options_.deadline.count()));
  }
  if (outcome.exit_code != 0) {
    // Some failures are said on standard output.
    return StatusOfFailure(command, outcome.exit_code, outcome.errors.empty() ? outcome.output : outcome.errors);
  }
  if (outcome.output.size() >= options_.output_bytes_max) {
    return Unavailable(fmt::format("{}: an answer of over {} bytes", command.front(), options_.output_bytes_max));
  }
  return std::move(outcome.output);
}

}  // namespace fairlead::slurm
