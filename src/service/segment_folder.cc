#include "service/segment_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "telemetry/segment_reader.h"

namespace fairlead::service {

namespace {

constexpr std::string_view kPrefix = "fairlead-";

int64_t ReadClockNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

std::optional<int32_t> ParsePid(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int32_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && pid > 0;
  // "fairlead-007" would be a second name of one process.
  return is_number && name.front() != '0' ? std::optional(pid) : std::nullopt;
}

Result<std::vector<int32_t>> FindPids(const std::string& folder) {
  std::vector<int32_t> pids;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (const auto pid = ParsePid(entry->path().filename().string())) pids.push_back(*pid);
  }
  if (error) return InvalidArgument(fmt::format("{}: can't be listed: {}", folder, error.message()));
  std::sort(pids.begin(), pids.end());
  return pids;
}

// The first 4 KiB of a file; empty where there are none.
std::string ReadStart(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  const ssize_t size = file.is_open() ? read(file.get(), bytes, sizeof(bytes)) : 0;
  return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

// Effective user of the process, by the line "Uid:" of /proc/PID/status; nothing: it is gone.
std::optional<uint32_t> UserOf(const std::string& proc_folder, int32_t pid) {
  const std::string text = ReadStart(fmt::format("{}/{}/status", proc_folder, pid));
  constexpr std::string_view kLabel = "\nUid:\t";
  const size_t label = text.find(kLabel);
  const size_t blank = label == std::string::npos ? label : text.find('\t', label + kLabel.size());
  if (blank == std::string::npos) return std::nullopt;
  uint32_t user = 0;
  const auto [end, error] = std::from_chars(text.data() + blank + 1, text.data() + text.size(), user);
  return error == std::errc() ? std::optional(user) : std::nullopt;
}

Result<telemetry::SegmentContents> ReadFile(const Descriptor& file) {
  return telemetry::ReadSegment([&](size_t offset, std::span<std::byte> to) {
    const ssize_t count = pread(file.get(), to.data(), to.size(), static_cast<off_t>(offset));
    return count == static_cast<ssize_t>(to.size());
  });
}

bool HasEndedByItself(const telemetry::ProcessReport& report, bool took_file_away) {
  const bool has_pending =
      std::ranges::any_of(report.operations, [](const model::OperationRecord& o) { return !o.finished.has_value(); });
  return report.is_finalizing || (took_file_away && !has_pending);
}

}  // namespace

ProcessStanding ReadProcessStanding(const std::string& proc_folder, int32_t pid) {
  const std::string bytes = ReadStart(fmt::format("{}/{}/stat", proc_folder, pid));
  // The name in field 2 may hold blanks and parentheses: counting begins after its end.
  std::string_view text = bytes;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return {};
  text.remove_prefix(name_end + 2);
  const char state = text.front();
  for (int field = 3; field < 22; ++field) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {};
    text.remove_prefix(blank + 1);
  }
  ProcessStanding standing;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), standing.start);
  if (error != std::errc() || state == 'Z' || state == 'X' || state == 'x') return {};
  const bool is_stopped = state == 'T' || state == 't';
  standing.state = is_stopped ? model::ProcessState::kStopped : model::ProcessState::kRunning;
  return standing;
}

SegmentFolder::SegmentFolder(const SegmentFolderOptions& options)
    : options_(options), clock_offset_(ReadClockNs(CLOCK_REALTIME) - ReadClockNs(CLOCK_MONOTONIC)) {}

std::string SegmentFolder::PathOf(int32_t pid) const { return fmt::format("{}/{}{}", options_.folder, kPrefix, pid); }

uint64_t SegmentFolder::InodeOf(int32_t pid) const {
  struct stat status = {};
  return lstat(PathOf(pid).c_str(), &status) == 0 ? status.st_ino : 0;
}

Status SegmentFolder::Open(int32_t pid, Process* process) const {
  process->file = Descriptor(open(PathOf(pid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!process->file.is_open()) return Unavailable(fmt::format("can't be opened: {}", strerror(errno)));
  struct stat status = {};
  if (fstat(process->file.get(), &status) != 0) return Unavailable(fmt::format("can't be asked: {}", strerror(errno)));
  if (!S_ISREG(status.st_mode)) return InvalidArgument("expected a regular file");
  if (status.st_size != off_t{sizeof(shm::ProfilerSegment)}) {
    return InvalidArgument(
        fmt::format("expected {} bytes, found {}", sizeof(shm::ProfilerSegment), int64_t{status.st_size}));
  }
  const std::optional<uint32_t> user = UserOf(options_.proc_folder, pid);
  if (user.has_value() && status.st_uid != *user) {
    return InvalidArgument(fmt::format("belongs to user {}, its process to user {}", status.st_uid, *user));
  }
  process->inode = status.st_ino;
  process->tracker.emplace(telemetry::SegmentTrackerOptions{.clock_offset = clock_offset_,
                                                            .skips_past = !has_looked_ && !options_.only_looks});
  return OkStatus();
}

FolderLook SegmentFolder::Look() {
  FolderLook look;
  look.at = SimTime(ReadClockNs(CLOCK_MONOTONIC)) + clock_offset_;
  if (const auto pids = FindPids(options_.folder); pids.ok()) {
    for (const int32_t pid : *pids) processes_.try_emplace(pid);
  } else {
    look.listing = pids.status();
  }
  for (auto process = processes_.begin(); process != processes_.end();) {
    const bool is_over = LookAt(process->first, &process->second, &look);
    process = is_over ? processes_.erase(process) : std::next(process);
  }
  std::ranges::sort(look.faults, {}, &SegmentFault::path);
  has_looked_ = true;
  return look;
}

bool SegmentFolder::LookAt(int32_t pid, Process* process, FolderLook* look) {
  const ProcessStanding standing = ReadProcessStanding(options_.proc_folder, pid);
  const uint64_t inode = InodeOf(pid);
  // Another file under its name: of another process, or of another program in the same one.
  if (process->file.is_open() && inode != 0 && inode != process->inode) *process = Process();
  if (process->has_ended) return inode == 0;
  const auto fault = [&](const Status& status) {
    look->faults.push_back({PathOf(pid), status.message()});
    return true;  // tried again at the next look
  };
  if (!process->file.is_open()) {
    if (const Status status = Open(pid, process); !status.ok()) return fault(status);
  }
  const auto contents = ReadFile(process->file);
  if (!contents.ok()) return fault(contents.status());
  if (contents->pid != pid) {
    return fault(InvalidArgument(fmt::format("says that it is of process {}", contents->pid)));
  }
  const bool is_its = contents->process_start == standing.start || contents->process_start == 0;
  const bool is_there = standing.state != model::ProcessState::kGone && is_its;
  ProcessLook& seen = look->processes.emplace_back();
  seen.state = is_there ? standing.state : model::ProcessState::kGone;
  seen.report = process->tracker->Look(*contents, ReadClockNs(CLOCK_MONOTONIC));
  seen.exit_code = is_there || HasEndedByItself(seen.report, inode == 0) ? 0 : -1;
  if (is_there || options_.only_looks) return false;
  if (inode == 0 || unlink(PathOf(pid).c_str()) == 0) return true;
  process->has_ended = true;
  return false;
}

}  // namespace fairlead::service
