// Of fairlead.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "cli/sibling_programs.h"
#include "cli/simulated_agents.h"

namespace fairlead::cli {

namespace {

constexpr const char* kProgram = "fairlead-sim-agents";

// Those of this process, each followed by a NUL.
Result<std::vector<std::string>> OwnArguments() {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile("/proc/self/cmdline"));
  std::vector<std::string> arguments;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\0', begin) + 1) {
    arguments.emplace_back(text.c_str() + begin);
  }
  return arguments;
}

}  // namespace

Result<sim::LiveTrafficFactory> FindSimulatedAgents() {
  FL_ASSIGN_OR_RETURN(const std::string path, ProgramBeside(kProgram));
  FL_ASSIGN_OR_RETURN(std::vector<std::string> arguments, OwnArguments());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  return Unavailable(
      fmt::format("agents are simulated by the program {}: {}. Install the package fairlead, or build it: "
                  "target {}",
                  path, std::strerror(errno), kProgram));
}

}  // namespace fairlead::cli
