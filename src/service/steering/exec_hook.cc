#include "service/steering/exec_hook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "base/descriptor.h"

extern char** environ;

namespace fairlead::service {

namespace {

using Clock = std::chrono::steady_clock;

// How often the end of a program that has closed its output is looked for.
constexpr std::chrono::milliseconds kPollPeriod{20};

Status SystemError(std::string_view what, int error) {
  return Unavailable(fmt::format("hook: {}: {}", what, std::strerror(error)));
}

struct Channel {
  Descriptor ours;
  Descriptor theirs;
};

// Sockets, because a write to one without a reader need not raise SIGPIPE.
Result<Channel> MakeChannel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return SystemError("socketpair", errno);
  return Channel{Descriptor(ends[0]), Descriptor(ends[1])};
}

// One run of the program, from its start to its end.
class HookRun {
 public:
  HookRun(const ExecHookOptions& options, std::string_view input) : options_(options), input_(input) {}

  Status Start();
  ExecHookOutcome Finish();

 private:
  void WriteSome();
  void ReadSome();
  void ReadFrom(Descriptor* from, std::string* text) const;
  bool HasEnded();
  void KillAtDeadline(Clock::time_point now);

  const ExecHookOptions& options_;
  std::string_view input_;
  Descriptor to_program_;
  Descriptor from_program_;
  Descriptor errors_;  // open where they are kept apart
  pid_t pid_ = -1;
  Clock::time_point deadline_;
  std::optional<int> wait_status_;
  ExecHookOutcome outcome_;
};

Status HookRun::Start() {
  FL_ASSIGN_OR_RETURN(Channel in, MakeChannel());
  FL_ASSIGN_OR_RETURN(Channel out, MakeChannel());
  Channel errors;
  if (options_.separates_errors) {
    FL_ASSIGN_OR_RETURN(errors, MakeChannel());
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options_.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, (errors.theirs.is_open() ? errors : out).theirs.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&pid_, arguments.front(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return SystemError(fmt::format("can't start '{}'", options_.command.front()), error);
  to_program_ = std::move(in.ours);
  from_program_ = std::move(out.ours);
  errors_ = std::move(errors.ours);
  for (const Descriptor* ours : {&to_program_, &from_program_, &errors_}) fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  deadline_ = Clock::now() + options_.deadline;
  return OkStatus();
}

ExecHookOutcome HookRun::Finish() {
  while (!HasEnded()) {
    KillAtDeadline(Clock::now());
    std::array<pollfd, 3> watched = {
        {{from_program_.get(), POLLIN, 0}, {to_program_.get(), POLLOUT, 0}, {errors_.get(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), static_cast<int>(kPollPeriod.count()));
    if (watched[1].revents != 0) WriteSome();
    if (watched[0].revents != 0 || watched[2].revents != 0) ReadSome();
  }
  ReadSome();  // what it wrote last
  outcome_.exit_code = WIFSIGNALED(*wait_status_) ? 128 + WTERMSIG(*wait_status_) : WEXITSTATUS(*wait_status_);
  return std::move(outcome_);
}

void HookRun::WriteSome() {
  while (to_program_.is_open()) {
    if (input_.empty()) return to_program_.Close();
    const ssize_t written = send(to_program_.get(), input_.data(), input_.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) return to_program_.Close();  // it reads no more
    input_.remove_prefix(static_cast<size_t>(written));
  }
}

void HookRun::ReadSome() {
  ReadFrom(&from_program_, &outcome_.output);
  ReadFrom(&errors_, &outcome_.errors);
}

void HookRun::ReadFrom(Descriptor* from, std::string* text) const {
  std::array<char, 65536> buffer;
  while (from->is_open()) {
    const ssize_t count = recv(from->get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return from->Close();
    const size_t room = options_.output_bytes_max - text->size();
    text->append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  }
}

bool HookRun::HasEnded() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_.has_value();
}

void HookRun::KillAtDeadline(Clock::time_point now) {
  const bool is_stopped = !outcome_.timed_out && options_.stop != nullptr && options_.stop->load();
  if (now < deadline_ && !is_stopped) return;
  kill(-pid_, outcome_.timed_out ? SIGKILL : SIGTERM);
  outcome_.timed_out = true;
  deadline_ = now + options_.grace;
}

}  // namespace

Result<ExecHookOutcome> RunExecHook(const ExecHookOptions& options, std::string_view input) {
  if (options.command.empty()) return InvalidArgument("hook: no command given");
  HookRun run(options, input);
  FL_RETURN_IF_ERROR(run.Start());
  return run.Finish();
}

std::string_view LastLine(std::string_view output) {
  const size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  output = output.substr(0, end + 1);
  const size_t begin = output.find_last_of("\r\n");
  return begin == std::string_view::npos ? output : output.substr(begin + 1);
}

}  // namespace fairlead::service
