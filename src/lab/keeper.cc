#include "lab/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file_reader.h"
#include "service/agent/segment_folder.h"

namespace fairlead::lab {

namespace {

constexpr std::string_view kCommit = "commit\n";

Status NoRight(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }

// 0 or errno.
int WriteSetting(const std::string& path, std::string_view value) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  const ssize_t written = write(file.get(), value.data(), value.size());
  return written == static_cast<ssize_t>(value.size()) ? 0 : errno;
}

// Empty: it can't be read.
std::string BootId() {
  std::string id = ReadFileIfThere("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

// --- In the keeper's processes. They answer over the channel with one line of JSON.

[[noreturn]] void AnswerError(int channel, const std::string& message) {
  const std::string line = nlohmann::json({{"error", message}}).dump() + "\n";
  [[maybe_unused]] const ssize_t written = send(channel, line.data(), line.size(), MSG_NOSIGNAL);
  _exit(1);
}

std::string ExplainNoNamespaces(int error) {
  std::string message = fmt::format("the kernel refuses to make namespaces: {}. ", std::strerror(error));
  message += error == ENOSPC ? "The limit user.max_net_namespaces or user.max_user_namespaces is reached: raise it "
                               "with sysctl, or take labs down"
                             : "Run as root (in a container: with CAP_SYS_ADMIN and CAP_NET_ADMIN), or allow user "
                               "namespaces: sysctl kernel.unprivileged_userns_clone=1, "
                               "user.max_user_namespaces=10000, kernel.apparmor_restrict_unprivileged_userns=0, as far "
                               "as your kernel has them";
  return message;
}

// Returns whether a user namespace was needed. Afterwards children are born into the new process namespace.
bool LeaveNamespaces(int channel) {
  if (unshare(CLONE_NEWPID | CLONE_NEWNET) == 0) return false;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) != 0) AnswerError(channel, ExplainNoNamespaces(errno));
  int error = WriteSetting("/proc/self/setgroups", "deny");
  if (error == 0) error = WriteSetting("/proc/self/uid_map", fmt::format("0 {} 1", user));
  if (error == 0) error = WriteSetting("/proc/self/gid_map", fmt::format("0 {} 1", group));
  if (error != 0) AnswerError(channel, ExplainNoNamespaces(error));
  return true;
}

void ApplySettings(const LabNode& node, int channel, MissingSettings* missing) {
  for (const KernelSetting& setting : SettingsOf(node)) {
    const int error = WriteSetting("/proc/sys/" + setting.name, setting.value);
    if (error == 0) continue;
    if (!setting.is_optional) {
      AnswerError(channel, fmt::format("the kernel refuses the setting {} = {} in a new network namespace: {}. A lab "
                                       "needs Linux 5.12 or later, with IPv4 multipath routing, and /proc/sys writable",
                                       setting.name, setting.value, std::strerror(error)));
    }
    if (std::find(missing->begin(), missing->end(), setting.name) == missing->end()) missing->push_back(setting.name);
  }
}

// Process 1 of the lab: makes the namespaces, waits for the commit, then only for children that ended.
[[noreturn]] void RunKeeper(const LabPlan& plan, int channel) {
  prctl(PR_SET_NAME, "fairlead-lab");
  MissingSettings missing;
  std::vector<int> namespaces;
  const auto make_namespace = [&](const LabNode* node) {
    if (unshare(CLONE_NEWNET) != 0) AnswerError(channel, ExplainNoNamespaces(errno));
    if (node != nullptr) ApplySettings(*node, channel, &missing);
    const int file = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (file < 0) AnswerError(channel, fmt::format("/proc/self/ns/net: {}", std::strerror(errno)));
    namespaces.push_back(file);
  };
  for (const LabNode& node : plan.nodes) make_namespace(&node);
  make_namespace(nullptr);  // the management network
  const std::string line = nlohmann::json({{"namespaces", namespaces}, {"missing", missing}}).dump() + "\n";
  if (send(channel, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) _exit(1);
  std::array<char, 16> word{};
  const ssize_t count = recv(channel, word.data(), word.size(), 0);
  if (count <= 0 || std::string_view(word.data(), static_cast<size_t>(count)) != kCommit) _exit(1);
  // What the terminal of `up` was is no business of the lab's.
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {0, 1, 2}) dup2(null, standard);
  [[maybe_unused]] const int moved = chdir("/");
  close(channel);
  signal(SIGCHLD, SIG_DFL);
  while (true) {
    if (waitpid(-1, nullptr, 0) < 0) {
      // No child: sleep until there is one. Its end is a signal that interrupts the sleep, if it has a handler.
      signal(SIGCHLD, [](int) {});
      poll(nullptr, 0, 1000);
    }
  }
}

// Tells the keeper's number as this machine knows it, and ends.
[[noreturn]] void RunForker(const LabPlan& plan, int channel) {
  setsid();
  // The keeper must not hold what the caller has open: pipes would never end.
  if (channel > 3) close_range(3, static_cast<unsigned>(channel) - 1, 0);
  close_range(static_cast<unsigned>(channel) + 1, ~0u, 0);
  for (const int ignored : {SIGINT, SIGHUP, SIGTERM, SIGPIPE}) signal(ignored, SIG_IGN);
  const bool has_user_namespace = LeaveNamespaces(channel);
  const pid_t keeper = fork();
  if (keeper < 0) AnswerError(channel, fmt::format("fork: {}", std::strerror(errno)));
  if (keeper == 0) RunKeeper(plan, channel);
  const std::string line = nlohmann::json({{"pid", keeper}, {"user", has_user_namespace}}).dump() + "\n";
  [[maybe_unused]] const ssize_t written = send(channel, line.data(), line.size(), MSG_NOSIGNAL);
  _exit(0);
}

}  // namespace

KeeperState StateOf(const KeeperId& keeper) {
  if (keeper.pid <= 0) return KeeperState::kGone;
  const std::string boot = BootId();
  if (boot.empty()) return KeeperState::kUnknown;
  if (boot != keeper.boot_id) return KeeperState::kGone;
  const auto stat = service::ReadProcessStat("/proc", keeper.pid);
  if (!stat.ok()) return KeeperState::kUnknown;
  const bool is_it = stat->state != model::ProcessState::kGone && stat->start == keeper.start_ticks;
  return is_it ? KeeperState::kAlive : KeeperState::kGone;
}

Status EndKeeper(const KeeperId& keeper) {
  const auto unknown = [&](int error) {
    return Unavailable(
        fmt::format("whether process {} that holds the lab lives can't be found out: {}; nothing was done", keeper.pid,
                    error == 0 ? "/proc can't be read" : std::strerror(error)));
  };
  if (StateOf(keeper) == KeeperState::kGone) return OkStatus();
  // The file stays with this process even if its number is used again.
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, keeper.pid, 0)));
  if (!process.is_open()) return errno == ESRCH ? OkStatus() : unknown(errno);
  // That of the number may be another one's meanwhile.
  const KeeperState state = StateOf(keeper);
  if (state == KeeperState::kUnknown) return unknown(0);
  if (state == KeeperState::kGone) return OkStatus();
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return NoRight(fmt::format("process {} that holds the lab can't be ended: {}. Run as the user who brought it up",
                               keeper.pid, std::strerror(errno)));
  }
  pollfd ended = {process.get(), POLLIN, 0};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) continue;
  return OkStatus();
}

std::string NetworkNamespacePath(const KeeperId& keeper, LabNodeId node) {
  return fmt::format("/proc/{}/fd/{}", keeper.pid, keeper.namespaces[node.index()]);
}

Result<NamespaceTrial> TryNamespaces() {
  LabPlan plan;
  plan.nodes.resize(2);
  plan.nodes[LabNodeId(0u)].role = NodeRole::kHost;
  plan.nodes[LabNodeId(1u)].role = NodeRole::kLeaf;
  FL_ASSIGN_OR_RETURN(const NewKeeper keeper, NewKeeper::Start(plan));
  return NamespaceTrial{keeper.id().has_user_namespace, keeper.missing_settings()};
}

Result<NewKeeper> NewKeeper::Start(const LabPlan& plan) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Unavailable(fmt::format("socketpair: {}", std::strerror(errno)));
  }
  NewKeeper keeper;
  keeper.channel_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t forker = fork();
  if (forker < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (forker == 0) RunForker(plan, theirs.get());
  theirs.Close();
  // Two lines, in either order: the forker's and the keeper's.
  std::string text;
  std::array<char, 4096> buffer{};
  while (std::count(text.begin(), text.end(), '\n') < 2) {
    const ssize_t count = recv(keeper.channel_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  while (waitpid(forker, nullptr, 0) < 0 && errno == EINTR) continue;
  FL_RETURN_IF_ERROR(keeper.ReadAnswer(text));
  return keeper;
}

Status NewKeeper::ReadAnswer(std::string_view answer) {
  std::istringstream lines{std::string(answer)};
  std::string error;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;
    if (json.contains("error")) error = json["error"];
    if (json.contains("missing")) missing_settings_ = json["missing"].get<MissingSettings>();
    if (json.contains("namespaces")) id_.namespaces = json["namespaces"].get<std::vector<int>>();
    if (json.contains("pid")) {
      id_.pid = json["pid"];
      id_.has_user_namespace = json["user"];
    }
  }
  if (!error.empty()) return NoRight(error);
  id_.boot_id = BootId();
  const auto stat = service::ReadProcessStat("/proc", id_.pid);
  FL_RETURN_IF_ERROR(stat.status());
  id_.start_ticks = stat->start;
  if (id_.pid == 0 || id_.namespaces.empty() || id_.start_ticks == 0) {
    return Unavailable("the process that should hold the lab ended too early; was it killed for memory?");
  }
  return OkStatus();
}

NewKeeper::~NewKeeper() {
  // Without a commit the end of the channel ends the keeper, but only killing it says when it is gone.
  if (channel_.is_open()) static_cast<void>(EndKeeper(id_).ok());
}

Status NewKeeper::Commit() {
  const ssize_t written = send(channel_.get(), kCommit.data(), kCommit.size(), MSG_NOSIGNAL);
  if (written != static_cast<ssize_t>(kCommit.size())) {
    return Unavailable("the process that holds the lab has ended; was it killed for memory?");
  }
  channel_.Close();
  return OkStatus();
}

}  // namespace fairlead::lab
