// Options of a daemon from a file and from the environment, beside those of its command line.
//
// With AddDaemonConfig(command, "FAIRLEAD_AGENT"), option --tls-ca of the command is also
//
//     tls-ca: /etc/fairlead/ca.pem              in the YAML file that --config (or FAIRLEAD_AGENT_CONFIG) names
//     FAIRLEAD_AGENT_TLS_CA=/etc/fairlead/ca.pem                                      in the environment
//
// The command line wins over the environment, and that over the file. An option that may be given several times is a
// list in the file, and is separated by commas in the environment. Flags are true or false. Paths are relative to the
// working directory, as on the command line.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace fairlead::cli {

// Adds --config to a command that has all its other options, and names their environment variables: `prefix`, then the
// option. Says so in its footer.
void AddDaemonConfig(CLI::App* command, std::string_view prefix);

// What a call of a daemon means.
struct DaemonArguments {
  std::vector<std::string> args;  // those of the call, and those of the file that the call leaves open
  std::map<std::string, std::string>
      places;  // "--lease" -> "agent.yaml:3": where arguments that are not of the call come from
};

// The arguments of any call; those of commands without --config stay as they are. Errors: those of
// YamlDocument::LoadFile(); kInvalidArgument: a key that is no option, a flag that is neither true nor false.
Result<DaemonArguments> AddConfiguredArguments(const CLI::App& app, std::span<const std::string> args);

// " (agent.yaml:3)" where `message`, of a parser, is about an option that was given there; else "".
std::string DescribePlace(const DaemonArguments& args, std::string_view message);

}  // namespace fairlead::cli
