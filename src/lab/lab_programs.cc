#include "lab/lab_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/this_program.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;

// The first of some places below this program's folder that has the file. Args: advice: what to do if none has.
Result<std::string> FindBeside(const std::string& name, std::initializer_list<const char*> places, int mode,
                               const std::string& advice) {
  FL_ASSIGN_OR_RETURN(const std::string program, ThisProgram());
  for (const char* place : places) {
    const fs::path path = fs::path(program).parent_path() / place / name;
    std::error_code error;
    if (access(path.c_str(), mode) == 0) return fs::canonical(path, error).string();
  }
  return NotFound(fmt::format("{} was not found beside {}. {}", name, program, advice));
}

std::string InstallOrBuild(const std::string& target) {
  return "Install all packages of Fairlead, or build it: target " + target;
}

}  // namespace

Result<std::string> FindProgram(const std::string& name) { return FindBeside(name, {"."}, X_OK, InstallOrBuild(name)); }

Result<std::string> FindTrainer(const std::string& trainer) {
  if (trainer == kFairleadTrainer) return FindProgram("fairlead-trainer");
  if (trainer == kNcclTrainer) {
    return FindBeside("nccl_lab_rank", {".", "../lib/fairlead", "../tests/nccl_host"}, X_OK,
                      "It has NCCL's host code, which is not part of Fairlead. Build it: target nccl_lab_rank, with "
                      "nccl-VERSION-1.tar.xz in the CMake variable FAIRLEAD_NCCL_SOURCES and the headers of CUDA 13 in "
                      "CUDA_HOME. Or name the program: --trainer FILE");
  }
  std::error_code error;
  const fs::path path = fs::canonical(trainer, error);
  if (!error && fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0) return path.string();
  return NotFound(
      fmt::format("--trainer: expected {}, {} or a program, found '{}'", kFairleadTrainer, kNcclTrainer, trainer));
}

Result<std::string> FindSteeringLibrary() {
  return FindBeside("libfairlead-steer.so", {".", "../lib/fairlead", "../lib", "../src/ccl"}, R_OK,
                    InstallOrBuild("fairlead_steer"));
}

Result<std::string> FindProfilerPlugin() {
  return FindBeside("libnccl-profiler-fairlead.so", {".", "../lib/fairlead", "../lib", "../src/ccl"}, R_OK,
                    InstallOrBuild("fairlead_nccl_profiler"));
}

Result<std::string> FindSpankPlugin() {
  return FindBeside("spank_fairlead.so", {".", "../lib/fairlead", "../lib", "../integrations/slurm"}, R_OK,
                    InstallOrBuild("fairlead_spank"));
}

}  // namespace fairlead::lab
