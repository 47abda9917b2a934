#include "service/agent/exit_watch.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <string_view>

#include "service/agent/process_owner.h"

namespace fairlead::service {
namespace {

constexpr uint64_t kStop = 0;  // no ticket

int64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// The last field of /proc/PID/stat of a zombie; 0 of a process that this one may not look into, which is no answer.
std::optional<int32_t> ReadZombiesCode(const std::string& proc_folder, int32_t pid) {
  const Result<std::string> text = ReadProcFile(fmt::format("{}/{}/stat", proc_folder, pid));
  if (!text.ok()) return std::nullopt;
  const std::optional<StatLine> line = ParseStatLine(*text);
  if (!line.has_value() || line->fields.front() != 'Z') return std::nullopt;
  std::string_view fields = line->fields;
  while (!fields.empty() && (fields.back() == '\n' || fields.back() == ' ')) fields.remove_suffix(1);
  if (std::ranges::count(fields, ' ') != 49) return std::nullopt;
  fields.remove_prefix(fields.rfind(' ') + 1);
  int status = 0;
  const auto [end, error] = std::from_chars(fields.data(), fields.data() + fields.size(), status);
  if (error != std::errc() || status == 0) return std::nullopt;
  return ExitCodeOf(status);
}

// As in linux/pidfd.h of Linux 6.15, which older headers lack.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup;
  uint32_t numbers[11];
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kInfoExit = 1 << 3;

// Of a process that its parent has waited for.
std::optional<int32_t> AskForCode(int process) {
  PidfdInfo info = {};
  info.mask = kInfoExit;
  if (ioctl(process, _IOWR(0xFF, 11, PidfdInfo), &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return ExitCodeOf(info.exit_code);
}

}  // namespace

int32_t ExitCodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ExitWatch::ExitWatch(std::string proc_folder)
    : proc_folder_(std::move(proc_folder)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = kStop}};
  if (events_.is_open() && stop_.is_open()) epoll_ctl(events_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
}

ExitWatch::~ExitWatch() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::optional<ExitWatch::Ticket> ExitWatch::Watch(int32_t pid) {
  if (!events_.is_open() || !stop_.is_open()) return std::nullopt;
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.is_open()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++last_ticket_;
  epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = ticket}};
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0) return std::nullopt;
  watched_.emplace(ticket, Watched{.pid = pid, .process = std::move(process), .exit = {}});
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  return ticket;
}

std::optional<ExitWatch::Exit> ExitWatch::Find(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return watched_.at(ticket).exit;
}

bool ExitWatch::WaitFor(Ticket ticket, int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [&] { return watched_.at(ticket).exit.has_value(); });
}

void ExitWatch::Forget(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  watched_.erase(ticket);  // epoll forgets what is closed
}

void ExitWatch::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(events_.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kStop) return;
      Note(events[i].data.u64);
    }
  }
}

void ExitWatch::Note(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(ticket);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  last_at_ns_ = std::max(last_at_ns_ + 1, MonotonicNs());
  std::optional<int32_t> code = ReadZombiesCode(proc_folder_, watched.pid);
  if (!code.has_value()) code = AskForCode(watched.process.get());
  watched.exit = Exit{.at_ns = last_at_ns_, .code = code};
  changed_.notify_all();
}

}  // namespace fairlead::service
