#include "cli/sibling_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/this_program.h"

namespace fairlead::cli {

namespace {

constexpr std::array kSiblings = {
    SiblingCommand{"diag", "Find what is broken in a training job."},
    SiblingCommand{"predict", "Predict which jobs are predictable, when they end and how fast they train."},
    SiblingCommand{"trace", "Cluster traces: generate, check, import and replay them."},
    SiblingCommand{"controller",
                   "Run the cluster's controller: assign paths and priorities to the connections of running jobs, and "
                   "diagnose faults."},
    SiblingCommand{"agent", "Run a host's agent, inspect its training processes, probe paths to other hosts."},
    SiblingCommand{"cert", "Create certificates for mutual TLS between controller and agents."},
    SiblingCommand{"lab", "Emulate a fabric in network namespaces of this machine, with real TCP traffic."},
    SiblingCommand{"doctor", "Check what this machine lacks for Fairlead, and how to get it."},
    SiblingCommand{"fabric", "Import fabrics from LLDP, InfiniBand and other tools, and find cabling mistakes."},
    SiblingCommand{"experiment", "Reproduce published results: the papers' numbers beside ours."},
};

// Debian's package of a program: that of people, but for the daemons (cmake/FairleadInstall.cmake).
std::string PackageOf(std::string_view word) {
  return word == "agent" || word == "controller" ? fmt::format("fairlead-{}", word) : "fairlead";
}

}  // namespace

std::span<const SiblingCommand> SiblingCommands() { return kSiblings; }

Result<std::string> SiblingProgram(std::string_view word) {
  FL_ASSIGN_OR_RETURN(const std::string self, ThisProgram());
  return (std::filesystem::path(self).parent_path() / fmt::format("fairlead-{}", word)).string();
}

Status RunSibling(int argc, char** argv) {
  if (argc < 2 || std::ranges::find(kSiblings, argv[1], &SiblingCommand::word) == kSiblings.end()) return OkStatus();
  FL_ASSIGN_OR_RETURN(const std::string self, ThisProgram());
  FL_ASSIGN_OR_RETURN(const std::string path, SiblingProgram(argv[1]));
  std::error_code error;
  // A link back to this program would call itself forever.
  if (std::filesystem::equivalent(path, self, error)) {
    return Unavailable(fmt::format("{} is a link to {}, not the program of `fairlead {}`", path, self, argv[1]));
  }
  execv(path.c_str(), argv);
  if (errno != ENOENT) return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
  return Unavailable(
      fmt::format("`fairlead {0}` is the program {1}, which is not there. Install the package that has it ({2}), or "
                  "build it: target "
                  "fairlead-{0}",
                  argv[1], path, PackageOf(argv[1])));
}

}  // namespace fairlead::cli
