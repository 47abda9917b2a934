#include "cli/sibling_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/this_program.h"

namespace fairlead::cli {

namespace {

constexpr std::string_view kClient = "fairlead-client";

constexpr std::array kSiblings = {
    SiblingCommand{
        "sim chaos",
        "Check laws of controller and agents in virtual time while things break; exit code 1: a law does not "
        "hold."},
    SiblingCommand{"diag", "Find what is broken in a training job."},
    SiblingCommand{"sched", "Simulate who gets how many GPUs, without a network."},
    SiblingCommand{"predict", "Predict which jobs are predictable, when they end and how fast they train."},
    SiblingCommand{"trace", "Cluster traces: generate, check, import and replay them."},
    SiblingCommand{"controller",
                   "Run the cluster's controller: assign paths and priorities to the connections of running jobs, and "
                   "diagnose faults."},
    SiblingCommand{"agent", "Run a host's agent, inspect its training processes, probe paths to other hosts."},
    SiblingCommand{"top", "Show a running cluster on the terminal: the jobs that lose most first.", kClient},
    SiblingCommand{"get", "List what a running controller knows.", kClient},
    SiblingCommand{"describe", "Show all that a running controller knows of one thing.", kClient},
    SiblingCommand{"watch", "Print events and findings of a running controller as they come.", kClient},
    SiblingCommand{"pause", "Have a running controller leave a job alone for a while, such as during an evaluation.",
                   kClient},
    SiblingCommand{"undo", "Have a running controller return a host that it has isolated.", kClient},
    SiblingCommand{"spare", "Offer a running controller a free host in place of isolated ones.", kClient},
    SiblingCommand{"check-node", "Have a running controller test hosts, before a job or after a repair.", kClient},
    SiblingCommand{"audit", "Check the log of what steering and operators did."},
    SiblingCommand{"cert", "Create certificates for mutual TLS between controller and agents."},
    SiblingCommand{"lab", "Emulate a fabric in network namespaces of this machine, with real TCP traffic."},
    SiblingCommand{"doctor", "Check what this machine lacks for Fairlead, and how to get it."},
    SiblingCommand{"fabric",
                   "Import fabrics from LLDP, InfiniBand and other tools, find cabling mistakes, and write Slurm's "
                   "topology.conf."},
    SiblingCommand{"experiment", "Reproduce published results: the papers' numbers beside ours."},
};

// Debian's package of a program: that of people, but for the daemons (cmake/FairleadInstall.cmake).
std::string PackageOf(const SiblingCommand& sibling) {
  return sibling.path == "agent" || sibling.path == "controller" ? sibling.program() : "fairlead";
}

// The one whose words begin the arguments; none: the end.
auto FindSibling(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return std::ranges::find_if(kSiblings, [&](const SiblingCommand& sibling) {
    const std::vector<std::string> words = sibling.words();
    return std::ranges::mismatch(words, args).in1 == words.end();
  });
}

// `fairlead explain job slurm-4711`, or with --server: no simulated job, but one of a running cluster, which another
// program describes.
bool AsksForLiveJob(std::span<char* const> args) {
  if (args.size() < 3 || std::string_view(args[0]) != "explain" || std::string_view(args[1]) != "job") return false;
  const auto is_of_a_file = [](std::string_view arg) {
    return arg.starts_with("--scenario") || arg.starts_with("--workload");
  };
  const auto is_live = [](std::string_view arg) { return arg.starts_with("slurm-") || arg.starts_with("--server"); };
  return std::ranges::any_of(args, is_live) && std::ranges::none_of(args, is_of_a_file);
}

}  // namespace

std::vector<std::string> SiblingCommand::words() const {
  std::istringstream text{std::string(path)};
  return {std::istream_iterator<std::string>(text), {}};
}

std::string SiblingCommand::program() const {
  return shared_program.empty() ? fmt::format("fairlead-{}", fmt::join(words(), "-")) : std::string(shared_program);
}

std::span<const SiblingCommand> SiblingCommands() { return kSiblings; }

Result<std::string> ProgramBeside(std::string_view name) {
  FL_ASSIGN_OR_RETURN(const std::string self, ThisProgram());
  return (std::filesystem::path(self).parent_path() / name).string();
}

Status RunSibling(int argc, char** argv) {
  std::string describe = "describe";
  if (AsksForLiveJob({argv + std::min(argc, 1), argv + argc})) argv[1] = describe.data();
  const auto sibling = FindSibling(argc, argv);
  if (sibling == kSiblings.end()) return OkStatus();
  FL_ASSIGN_OR_RETURN(const std::string self, ThisProgram());
  FL_ASSIGN_OR_RETURN(const std::string path, ProgramBeside(sibling->program()));
  std::error_code error;
  // A link back to this program would call itself forever.
  if (std::filesystem::equivalent(path, self, error)) {
    return Unavailable(fmt::format("{} is a link to {}, not the program of `fairlead {}`", path, self, sibling->path));
  }
  execv(path.c_str(), argv);
  if (errno != ENOENT) return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
  return Unavailable(
      fmt::format("`fairlead {}` is the program {}, which is not there. Install the package that has it ({}), or "
                  "build it: target {}",
                  sibling->path, path, PackageOf(*sibling), sibling->program()));
}

}  // namespace fairlead::cli
