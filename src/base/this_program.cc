#include "base/this_program.h"

#include <fmt/format.h>

#include <filesystem>

namespace fairlead {

Result<std::string> ThisProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Unavailable(fmt::format("/proc/self/exe: {}", error.message()));
  return program.string();
}

}  // namespace fairlead
