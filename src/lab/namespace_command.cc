#include "lab/namespace_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

namespace fairlead::lab {

namespace {

// A file in memory: unlike a pipe it takes any amount, so nothing has to read while the program runs.
Descriptor MakeMemoryFile(std::string_view content) {
  Descriptor file(memfd_create("fairlead-lab", MFD_CLOEXEC));
  while (file.is_open() && !content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Descriptor();
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (file.is_open()) lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string ReadMemoryFile(const Descriptor& file) {
  std::string text(static_cast<size_t>(std::max<off_t>(lseek(file.get(), 0, SEEK_END), 0)), '\0');
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = pread(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    at += static_cast<size_t>(count);
  }
  text.resize(at);
  return text;
}

int EnterFile(const std::string& path, int kind) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return setns(file.get(), kind) == 0 ? 0 : errno;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// One program, from its start to its end.
struct RunningCommand {
  pid_t pid = -1;
  Descriptor output;
  Descriptor errors;
};

[[noreturn]] void Execute(const KeeperId& keeper, const NamespaceCommand& command) {
  // `ip` and `tc` are where users without rights do not look.
  const char* path = std::getenv("PATH");
  setenv("PATH", fmt::format("{}:/usr/sbin:/sbin", path == nullptr ? "/usr/bin:/bin" : path).c_str(), 1);
  setenv("LC_ALL", "C", 1);
  if (const int error = EnterNode(keeper, command.node); error != 0) {
    fmt::print(stderr, "can't enter the lab: {}\n", std::strerror(error));
    _exit(126);
  }
  std::vector<char*> args;
  for (const std::string& word : command.args) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  execvp(args.front(), args.data());
  fmt::print(stderr, "{}: {}\n", command.args.front(), std::strerror(errno));
  std::fflush(stderr);
  _exit(127);
}

Result<RunningCommand> StartCommand(const KeeperId& keeper, const NamespaceCommand& command) {
  RunningCommand running;
  const Descriptor input = MakeMemoryFile(command.input);
  running.output = MakeMemoryFile("");
  running.errors = MakeMemoryFile("");
  if (!input.is_open() || !running.output.is_open() || !running.errors.is_open()) {
    return Unavailable(fmt::format("memfd_create: {}", std::strerror(errno)));
  }
  running.pid = fork();
  if (running.pid < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (running.pid == 0) {
    dup2(input.get(), STDIN_FILENO);
    dup2(running.output.get(), STDOUT_FILENO);
    dup2(running.errors.get(), STDERR_FILENO);
    Execute(keeper, command);
  }
  return running;
}

CommandOutcome FinishCommand(const RunningCommand& running) {
  const int exit_code = WaitFor(running.pid);
  return {exit_code, ReadMemoryFile(running.output), ReadMemoryFile(running.errors)};
}

// Of a new process: /proc shows the processes of the lab by the numbers that they have there. Without the right to it
// nothing happens.
void ShowOwnProcesses() {
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return;
  static_cast<void>(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
}

}  // namespace

int EnterNode(const KeeperId& keeper, LabNodeId node) {
  // The number of an open file means nothing once the user namespace hides the keeper's, so it is opened before.
  const Descriptor network(open(NetworkNamespacePath(keeper, node).c_str(), O_RDONLY | O_CLOEXEC));
  if (!network.is_open()) return errno;
  if (keeper.has_user_namespace) {
    const int error = EnterFile(fmt::format("/proc/{}/ns/user", keeper.pid), CLONE_NEWUSER);
    // EINVAL: this process is in it already.
    if (error != 0 && error != EINVAL) return error;
  }
  return setns(network.get(), CLONE_NEWNET) == 0 ? 0 : errno;
}

int EnterProcesses(const KeeperId& keeper) {
  if (keeper.has_user_namespace) {
    const int error = EnterFile(fmt::format("/proc/{}/ns/user", keeper.pid), CLONE_NEWUSER);
    if (error != 0 && error != EINVAL) return error;
  }
  return EnterFile(fmt::format("/proc/{}/ns/pid", keeper.pid), CLONE_NEWPID);
}

Result<std::vector<CommandOutcome>> RunCommands(const KeeperId& keeper, const std::vector<NamespaceCommand>& commands) {
  const size_t num_at_once = std::max(2u, std::thread::hardware_concurrency());
  std::vector<RunningCommand> running(commands.size());
  std::vector<CommandOutcome> outcomes;
  size_t num_started = 0;
  Status failure;
  while (outcomes.size() < commands.size()) {
    while (failure.ok() && num_started < std::min(commands.size(), outcomes.size() + num_at_once)) {
      auto started = StartCommand(keeper, commands[num_started]);
      if (started.ok()) {
        running[num_started++] = std::move(*started);
      } else {
        failure = started.status();
      }
    }
    if (outcomes.size() == num_started) return failure;
    outcomes.push_back(FinishCommand(running[outcomes.size()]));
  }
  return outcomes;
}

Status StartDaemon(const KeeperId& keeper, LabNodeId node, const std::vector<std::string>& args,
                   const std::string& log) {
  const Descriptor output(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!output.is_open() || !input.is_open()) return Unavailable(fmt::format("{}: {}", log, std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    int error = node.valid() ? EnterNode(keeper, node) : 0;
    if (error == 0) error = EnterProcesses(keeper);
    if (error != 0) _exit(error);
    // Only children are born into the lab's processes; when their parent ends they are the keeper's.
    const pid_t daemon = fork();
    if (daemon != 0) _exit(daemon < 0 ? errno : 0);
    setsid();
    ShowOwnProcesses();
    dup2(input.get(), STDIN_FILENO);
    dup2(output.get(), STDOUT_FILENO);
    dup2(output.get(), STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : args) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments.front(), arguments.data());
    fmt::print(stderr, "{}: {}\n", args.front(), std::strerror(errno));
    std::fflush(stderr);
    _exit(127);
  }
  const int error = WaitFor(child);
  if (error == 0) return OkStatus();
  return Unavailable(fmt::format("{} can't be started in the lab: {}", args.front(), std::strerror(error)));
}

Result<std::vector<std::string>> LookAtNodes(const KeeperId& keeper, size_t num_nodes,
                                             const std::function<std::string()>& look) {
  const Descriptor answer = MakeMemoryFile("");
  if (!answer.is_open()) return Unavailable(fmt::format("memfd_create: {}", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    nlohmann::json texts = nlohmann::json::array();
    for (LabNodeId node(0u); node.index() < num_nodes; node = LabNodeId(node.index() + 1)) {
      if (EnterNode(keeper, node) != 0) _exit(1);
      texts.push_back(look());
    }
    const std::string text = texts.dump();
    _exit(write(answer.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  const int exit_code = WaitFor(child);
  const auto json = nlohmann::json::parse(ReadMemoryFile(answer), nullptr, false);
  if (exit_code != 0 || !json.is_array()) {
    return Unavailable("can't look into the lab's namespaces. Run as the user who brought it up, or take it down");
  }
  return json.get<std::vector<std::string>>();
}

void SettleIn(const std::string& name, const std::string& hosts_file) {
  if (unshare(CLONE_NEWUTS) == 0) static_cast<void>(sethostname(name.c_str(), name.size()));
  if (unshare(CLONE_NEWNS) != 0) return;
  if (mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return;
  static_cast<void>(mount(hosts_file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr));
  if (umount2("/sys", MNT_DETACH) != 0 && errno != EINVAL) return;
  static_cast<void>(mount("sysfs", "/sys", "sysfs", 0, nullptr));
}

}  // namespace fairlead::lab
