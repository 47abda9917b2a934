#include "cli/command.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/file_writer.h"
#include "base/shell_word.h"
#include "base/this_program.h"

namespace fairlead::cli {

namespace {

std::atomic<bool> stop_requested = false;
std::atomic<int> stop_signal = SIGINT;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "set from a signal handler");

extern "C" void HandleStopSignal(int signal_number) {
  stop_signal.store(signal_number, std::memory_order_relaxed);
  stop_requested.store(true, std::memory_order_release);
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

int ReportError(const Status& status) {
  // Where stderr can't be written to, either, the exit code still says it.
  std::fputs(fmt::format("fairlead: {}\n", status.message()).c_str(), stderr);
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kCancelled:
      return stop_requested ? InterruptedExitCode() : kExitUnavailable;
    case StatusCode::kUnavailable:
      return kExitUnavailable;
    case StatusCode::kInternal:
      return kExitInternal;
    default:
      return kExitBadInput;
  }
}

std::string CalledAs() {
  const char* name = std::getenv("FAIRLEAD_CALLED_AS");
  return name == nullptr || *name == '\0' ? "fairlead" : name;
}

std::string JoinArguments(std::span<const std::string> args) {
  std::string line;
  for (const std::string& word : args) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

Status WriteOutput(const std::string& path, const std::string& content) {
  if (!IsStdout(path)) return WriteFileAtomically(path, content);
  const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
  return written && std::fflush(stdout) == 0 ? OkStatus() : Unavailable("cannot write to stdout");
}

Status PrepareOutputFolder(const std::string& path) {
  if (path.empty() || IsStdout(path)) return OkStatus();
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument(fmt::format("{}: is a folder; expected the name of a file to write", path));
  }
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return OkStatus();
  std::filesystem::create_directories(folder, error);
  if (!error) return OkStatus();
  return InvalidArgument(fmt::format("{}: cannot create the folder {}: {}", path, folder.string(), error.message()));
}

std::string FindInputFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) || std::filesystem::path(path).is_absolute()) return path;
  std::vector<std::filesystem::path> folders = {FAIRLEAD_DATA_DIR};
  if (const auto program = ThisProgram(); program.ok()) {
    folders.push_back(std::filesystem::path(*program).parent_path().parent_path() / "share" / "fairlead");
  }
  for (const std::filesystem::path& folder : folders) {
    if (std::filesystem::exists(folder / path, error)) return (folder / path).string();
  }
  return path;
}

const std::atomic<bool>& StopRequested() {
  [[maybe_unused]] static const bool kInstalled = [] {
    std::signal(SIGINT, HandleStopSignal);
    std::signal(SIGTERM, HandleStopSignal);
    return true;
  }();
  return stop_requested;
}

int InterruptedExitCode() { return 128 + stop_signal.load(std::memory_order_relaxed); }

}  // namespace fairlead::cli
