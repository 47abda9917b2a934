#include "lab/host_processes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/file_reader.h"
#include "base/whole_number.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;

std::optional<pid_t> ParsePid(const std::string& name) {
  const std::optional<pid_t> pid = ParseWhole<pid_t>(name);
  return pid.has_value() && *pid > 0 ? pid : std::nullopt;
}

// Daemons lead a session of their own, and have a log for their output.
std::optional<HostDaemon> DaemonOf(pid_t pid) {
  if (getsid(pid) != pid) return std::nullopt;
  HostDaemon daemon;
  std::istringstream args(ReadFileIfThere(fmt::format("/proc/{}/cmdline", pid)));
  for (std::string word; std::getline(args, word, '\0');) daemon.args.push_back(word);
  std::error_code error;
  daemon.log = fs::read_symlink(fmt::format("/proc/{}/fd/1", pid), error).string();
  if (daemon.args.empty() || error) return std::nullopt;
  return daemon;
}

}  // namespace

std::vector<pid_t> FindProcesses(const KeeperId& keeper, LabNodeId node) {
  std::vector<pid_t> found;
  struct stat network = {};
  if (stat(NetworkNamespacePath(keeper, node).c_str(), &network) != 0) return found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto pid = ParsePid(entry->path().filename().string());
    struct stat own = {};
    if (!pid || *pid == keeper.pid || stat((entry->path() / "ns/net").c_str(), &own) != 0) continue;
    if (own.st_ino == network.st_ino && own.st_dev == network.st_dev) found.push_back(*pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<HostDaemon> KillProcesses(const KeeperId& keeper, LabNodeId node) {
  std::vector<HostDaemon> daemons;
  const std::vector<pid_t> processes = FindProcesses(keeper, node);
  for (const pid_t pid : processes) {
    if (auto daemon = DaemonOf(pid)) daemons.push_back(std::move(*daemon));
  }
  for (const pid_t pid : processes) kill(pid, SIGKILL);
  return daemons;
}

Status StartDaemons(const KeeperId& keeper, LabNodeId node, const std::vector<HostDaemon>& daemons) {
  for (const HostDaemon& daemon : daemons) {
    FL_RETURN_IF_ERROR(StartDaemon(keeper, node, daemon.args, daemon.log));
  }
  return OkStatus();
}

}  // namespace fairlead::lab
