// Which command do the arguments mean, and what was mistyped?
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace fairlead::cli {

// OK where the arguments that are not options name a command. Errors: kInvalidArgument: a word that is no command of
// its group, with the one that may be meant; a group without a command, with those that it has.
Status CheckCommandNames(const CLI::App& app, std::span<const std::string> args);

// The command that the arguments name.
const CLI::App& FindCommand(const CLI::App& app, std::span<const std::string> args);

// What is wrong with arguments that the command does not take: an option that it does not have, with the one that may
// be meant, or a word too much. Args: unknown: at least one.
std::string DescribeUnknown(const CLI::App& app, std::span<const std::string> args,
                            std::span<const std::string> unknown);

}  // namespace fairlead::cli
