#include "cli/sibling_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace fairlead::cli {

namespace {

constexpr std::array kSiblings = {
    SiblingCommand{"diag", "Find what is broken in a training job."},
    SiblingCommand{"predict", "Which jobs are predictable, when they end, how fast they train."},
    SiblingCommand{"trace", "Workloads: draw them, check them, import them, replay them."},
    SiblingCommand{"controller",
                   "Serve agents: give running jobs' connections their paths and levels, and find what is broken."},
    SiblingCommand{"agent", "On a host of the cluster: be its agent, see its processes, find ways to other hosts."},
    SiblingCommand{"cert", "Keys for mutual TLS between the controller and agents."},
    SiblingCommand{"lab", "A fabric of network namespaces on this machine, with real traffic."},
    SiblingCommand{"experiment", "Published results, computed again beside the paper's numbers."},
};

}  // namespace

std::span<const SiblingCommand> SiblingCommands() { return kSiblings; }

Status RunSibling(int argc, char** argv) {
  if (argc < 2 || std::ranges::find(kSiblings, argv[1], &SiblingCommand::word) == kSiblings.end()) return OkStatus();
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Unavailable(fmt::format("/proc/self/exe: {}", error.message()));
  const std::string name = fmt::format("fairlead-{}", argv[1]);
  const std::string path = (self.parent_path() / name).string();
  // A link back to this program would call itself for ever.
  if (std::filesystem::equivalent(path, self, error)) {
    return Unavailable(
        fmt::format("{} is a link to {}, not the program of `fairlead {}`", path, self.string(), argv[1]));
  }
  execv(path.c_str(), argv);
  if (errno != ENOENT) return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
  return Unavailable(fmt::format("`fairlead {}` is the program {}, which is not in {}. Build it: target {}", argv[1],
                                 name, self.parent_path().string(), name));
}

}  // namespace fairlead::cli
