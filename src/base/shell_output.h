// What a shell command prints. For constant commands: they must contain nothing from outside the program.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace fairlead {

// All that it writes to standard output, of any length, once it has ended. Blocks. "" where nothing can be started.
inline std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  for (size_t count = 1; count > 0;) {
    count = fread(buffer.data(), 1, buffer.size(), pipe);
    output.append(buffer.data(), count);
  }
  pclose(pipe);
  return output;
}

}  // namespace fairlead
