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
  if (error) {
    // Without permission a retry will fail, too; without a free descriptor it may succeed.
    const StatusCode code = error == std::errc::no_such_file_or_directory ? StatusCode::kNotFound
                            : error == std::errc::permission_denied       ? StatusCode::kInvalidArgument
                                                                          : StatusCode::kUnavailable;
    return Status(code, fmt::format("{}: can't be listed: {}", folder, error.message()));
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// The first 4 KiB of a file of /proc/PID. Errors: kNotFound (the process is gone), kUnavailable (unknown).
Result<std::string> ReadStart(const std::string& path) {
  const auto failure = [&path](int error) {
    const bool is_gone = error == ENOENT || error == ESRCH;
    return Status(is_gone ? StatusCode::kNotFound : StatusCode::kUnavailable,
                  fmt::format("{} can't be read: {}", path, strerror(error)));
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return failure(errno);
  char bytes[4096];
  const ssize_t size = read(file.get(), bytes, sizeof(bytes));
  if (size < 0) return failure(errno);
  return std::string(bytes, static_cast<size_t>(size));
}

// Effective user of the process, by the line "Uid:" of /proc/PID/status; nothing: it is gone. Errors: kUnavailable.
Result<std::optional<uint32_t>> UserOf(const std::string& proc_folder, int32_t pid) {
  const std::string path = fmt::format("{}/{}/status", proc_folder, pid);
  const Result<std::string> text = ReadStart(path);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<uint32_t>();
  FL_RETURN_IF_ERROR(text.status());
  constexpr std::string_view kLabel = "\nUid:\t";
  const size_t label = text->find(kLabel);
  const size_t blank = label == std::string::npos ? label : text->find('\t', label + kLabel.size());
  uint32_t user = 0;
  const bool has_user = blank != std::string::npos &&
                        std::from_chars(text->data() + blank + 1, text->data() + text->size(), user).ec == std::errc();
  if (!has_user) return Unavailable(fmt::format("{} names no user", path));
  return std::optional(user);
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

Result<ProcessStat> ReadProcessStat(const std::string& proc_folder, int32_t pid) {
  const std::string path = fmt::format("{}/{}/stat", proc_folder, pid);
  const Result<std::string> bytes = ReadStart(path);
  if (bytes.status().code() == StatusCode::kNotFound) return ProcessStat();
  FL_RETURN_IF_ERROR(bytes.status());
  const Status cut_short = Unavailable(fmt::format("{} ends early", path));
  // The name in field 2 may hold blanks and parentheses: counting begins after its end.
  std::string_view text = *bytes;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return cut_short;
  text.remove_prefix(name_end + 2);
  const char state = text.front();
  if (state == 'Z' || state == 'X' || state == 'x') return ProcessStat();
  for (int field = 3; field < 22; ++field) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return cut_short;
    text.remove_prefix(blank + 1);
  }
  ProcessStat stat;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stat.start);
  if (error != std::errc()) return cut_short;
  const bool is_stopped = state == 'T' || state == 't';
  stat.state = is_stopped ? model::ProcessState::kStopped : model::ProcessState::kRunning;
  return stat;
}

SegmentFolder::SegmentFolder(const SegmentFolderOptions& options)
    : options_(options), clock_offset_(ReadClockNs(CLOCK_REALTIME) - ReadClockNs(CLOCK_MONOTONIC)) {}

std::string SegmentFolder::PathOf(int32_t pid) const { return fmt::format("{}/{}{}", options_.folder, kPrefix, pid); }

std::optional<uint64_t> SegmentFolder::InodeOf(int32_t pid) const {
  struct stat status = {};
  if (lstat(PathOf(pid).c_str(), &status) == 0) return status.st_ino;
  return errno == ENOENT ? std::optional<uint64_t>(0) : std::nullopt;
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
  FL_ASSIGN_OR_RETURN(const std::optional<uint32_t> user, UserOf(options_.proc_folder, pid));
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
  // A folder that does not exist yet counts as seen: its later processes are new.
  has_looked_ |= look.listing.ok() || look.listing.code() == StatusCode::kNotFound;
  return look;
}

bool SegmentFolder::LookAt(int32_t pid, Process* process, FolderLook* look) {
  const Result<ProcessStat> stat = ReadProcessStat(options_.proc_folder, pid);
  const std::optional<uint64_t> inode = InodeOf(pid);
  // Another file under its name: of another process, or of another program in the same one.
  const bool is_other = inode.has_value() && *inode != 0 && *inode != process->inode;
  if (process->file.is_open() && is_other) *process = Process();
  if (process->has_ended) return inode == 0;
  const auto fault = [&](const Status& status) {
    look->faults.push_back({PathOf(pid), status.message()});
    return true;  // tried again at the next look
  };
  if (!process->file.is_open()) {
    if (!stat.ok()) return fault(stat.status());
    if (const Status status = Open(pid, process); !status.ok()) {
      *process = Process();
      return fault(status);
    }
  }
  const auto contents = ReadFile(process->file);
  if (!contents.ok()) return fault(contents.status());
  if (contents->pid != pid) {
    return fault(InvalidArgument(fmt::format("claims to be of process {}", contents->pid)));
  }
  const bool is_its = stat.ok() && (contents->process_start == stat->start || contents->process_start == 0);
  if (stat.ok()) process->state = is_its ? stat->state : model::ProcessState::kGone;
  // The existence of a file that can't be queried decides how its process ended: that waits, too.
  if (!inode.has_value() && process->state == model::ProcessState::kGone)
    process->state = model::ProcessState::kRunning;
  const bool is_there = process->state != model::ProcessState::kGone;
  ProcessLook& seen = look->processes.emplace_back();
  seen.state = process->state;
  seen.report = process->tracker->Look(*contents, ReadClockNs(CLOCK_MONOTONIC));
  seen.exit_code = is_there || HasEndedByItself(seen.report, inode == 0) ? 0 : -1;
  if (is_there || options_.only_looks) return false;
  if (inode == 0 || unlink(PathOf(pid).c_str()) == 0) return true;
  process->has_ended = true;
  return false;
}

}  // namespace fairlead::service
