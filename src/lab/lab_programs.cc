#include "lab/lab_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/this_program.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;

// The first of some places below this program's folder that has the file.
Result<std::string> FindBeside(const std::string& name, std::initializer_list<const char*> places, int mode,
                               const char* target) {
  FL_ASSIGN_OR_RETURN(const std::string program, ThisProgram());
  for (const char* place : places) {
    const fs::path path = fs::path(program).parent_path() / place / name;
    std::error_code error;
    if (access(path.c_str(), mode) == 0) return fs::canonical(path, error).string();
  }
  return NotFound(fmt::format("{} was not found beside {}. Install all packages of Fairlead, or build it: target {}",
                              name, program, target));
}

}  // namespace

Result<std::string> FindProgram(const std::string& name) { return FindBeside(name, {"."}, X_OK, name.c_str()); }

Result<std::string> FindSteeringLibrary() {
  return FindBeside("libfairlead-steer.so", {".", "../lib/fairlead", "../lib", "../src/ccl"}, R_OK, "fairlead_steer");
}

Result<std::string> FindProfilerPlugin() {
  return FindBeside("libnccl-profiler-fairlead.so", {".", "../lib/fairlead", "../lib", "../src/ccl"}, R_OK,
                    "fairlead_nccl_profiler");
}

Result<std::string> FindSpankPlugin() {
  return FindBeside("spank_fairlead.so", {".", "../lib/fairlead", "../lib", "../integrations/slurm"}, R_OK,
                    "fairlead_spank");
}

}  // namespace fairlead::lab
