#include "cli/figure_pdf.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "report/figure_data.h"
#include "report/printable_text.h"

namespace fairlead::cli {
namespace {

constexpr char kProgram[] = "rsvg-convert";

// A file without a name, which a program can have as its input or output without waiting for us.
Descriptor MemoryFile(std::string_view content) {
  Descriptor file(memfd_create("figure", MFD_CLOEXEC));
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written <= 0) return Descriptor();
    content.remove_prefix(static_cast<size_t>(written));
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string ContentOf(const Descriptor& file) {
  std::string content;
  std::array<char, 65536> part{};
  lseek(file.get(), 0, SEEK_SET);
  for (ssize_t count = 0; (count = read(file.get(), part.data(), part.size())) > 0;) {
    content.append(part.data(), static_cast<size_t>(count));
  }
  return content;
}

// Ours, with a day of creation that is always the same.
std::vector<char*> Environment(std::string* day) {
  std::vector<char*> variables = {day->data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("SOURCE_DATE_EPOCH=")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

Result<std::string> RenderPdf(std::string_view svg) {
  const Descriptor input = MemoryFile(report::WithLightColors(svg));
  const Descriptor output = MemoryFile({}), errors = MemoryFile({});
  if (!input.is_open() || !output.is_open() || !errors.is_open()) {
    return Unavailable(fmt::format("a figure can't be drawn as PDF: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.get(), STDERR_FILENO);
  std::string program = kProgram, option = "--format=pdf", day = "SOURCE_DATE_EPOCH=0";
  std::array<char*, 3> words = {program.data(), option.data(), nullptr};
  pid_t child = 0;
  const int fault = posix_spawnp(&child, kProgram, &files, nullptr, words.data(), Environment(&day).data());
  posix_spawn_file_actions_destroy(&files);
  if (fault != 0) {
    return Unavailable(fmt::format("figures have no PDF, because {} can't be run ({}): install librsvg2-bin", kProgram,
                                   std::strerror(fault)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  std::string pdf = ContentOf(output);
  if (status == 0 && !pdf.empty()) return pdf;
  return Unavailable(fmt::format("{} can't draw a figure: {}", kProgram, report::CleanText(ContentOf(errors))));
}

}  // namespace fairlead::cli
