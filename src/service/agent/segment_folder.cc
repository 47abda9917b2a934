#include "service/agent/segment_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "service/agent/descriptor_share.h"
#include "service/agent/file_quotas.h"
#include "shm/job_name.h"
#include "telemetry/segment_reader.h"

namespace fairlead::service {

namespace {

constexpr std::string_view kPrefix = "fairlead-";
// Of a look, for ends that /proc shows already.
constexpr int64_t kPatienceMs = 100;
// Of one user, that can't be segments.
constexpr uint32_t kOddFilesNamed = 8;
// A file and a watch over its process's end.
constexpr rlim_t kDescriptorsOfProcess = 2;
// Users with more records share what there is.
constexpr uint64_t kManyRecords = 20'000;
constexpr SimDuration kLeftOutFor(60'000'000'000);

uint32_t FilesWithin(uint32_t num_max) {
  return static_cast<uint32_t>(std::clamp<rlim_t>(DescriptorShare() / kDescriptorsOfProcess, 1, num_max));
}

int64_t ReadClockNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// "fairlead-4711", or "fairlead-4711.1f2e" where the first name was taken: the number; nothing: another file. Each has
// one name: "fairlead-007" is none.
std::optional<int32_t> ParsePid(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int32_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || pid <= 0 || name.front() == '0') return std::nullopt;
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  const bool is_suffix = name.size() >= 2 && name.size() <= 17 && name.front() == '.' &&
                         name.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
  return name.empty() || is_suffix ? std::optional(pid) : std::nullopt;
}

}  // namespace

Result<std::set<SegmentFolder::FileName>> SegmentFolder::ListFiles(std::vector<SegmentFault>* faults) const {
  struct Listed {
    FileName name;
    uint64_t inode = 0;
    bool is_segment = false;  // by size and type
    OwnedFile file;
  };
  std::vector<Listed> listed;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(options_.folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    const std::optional<int32_t> pid = ParsePid(name);
    struct stat status = {};
    if (!pid.has_value() || lstat(entry->path().c_str(), &status) != 0) continue;
    FileName file(*pid, std::move(name));
    const auto known = processes_.find(file);
    const bool is_known = known != processes_.end() && known->second.inode == status.st_ino;
    listed.push_back({.name = std::move(file),
                      .inode = status.st_ino,
                      .is_segment = S_ISREG(status.st_mode) && status.st_size == off_t{sizeof(shm::ProfilerSegment)},
                      .file = {.user = status.st_uid, .is_known = is_known}});
  }
  if (!error) {
    // A file is looked at under one name for each process, that by which it is known or the shortest; of what can't be
    // a segment, a few are named.
    std::ranges::sort(listed, {}, [](const Listed& one) {
      return std::tuple(one.name.first, one.inode, !one.file.is_known, one.name.second.size(), one.name.second);
    });
    std::map<uint32_t, uint32_t> num_odd;
    std::vector<Listed> candidates;
    for (Listed& one : listed) {
      if (!one.is_segment) {
        if (num_odd[one.file.user]++ < kOddFilesNamed) candidates.push_back(std::move(one));
        continue;
      }
      const bool is_twice = !candidates.empty() && candidates.back().is_segment &&
                            candidates.back().name.first == one.name.first && candidates.back().inode == one.inode;
      if (!is_twice) candidates.push_back(std::move(one));
    }
    std::vector<OwnedFile> owned;
    for (const Listed& one : candidates) owned.push_back(one.file);
    const std::vector<bool> chosen = ChooseWithinQuotas(owned, options_.num_per_user_max, options_.num_max);
    std::set<FileName> files;
    std::set<uint32_t> cut;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (chosen[i]) {
        files.insert(std::move(candidates[i].name));
      } else if (cut.insert(candidates[i].file.user).second) {
        faults->push_back(
            {options_.folder, fmt::format("user {} has more files here than are looked at: {} of one "
                                          "user, {} in all, shared evenly",
                                          candidates[i].file.user, options_.num_per_user_max, options_.num_max)});
      }
    }
    return files;
  }
  // Without permission a retry will fail, too; without a free descriptor it may succeed.
  const StatusCode code = error == std::errc::no_such_file_or_directory ? StatusCode::kNotFound
                          : error == std::errc::permission_denied       ? StatusCode::kInvalidArgument
                                                                        : StatusCode::kUnavailable;
  return Status(code, fmt::format("{}: can't be listed: {}", options_.folder, error.message()));
}

namespace {

Result<telemetry::SegmentContents> ReadFile(const Descriptor& file) {
  return telemetry::ReadSegment([&](size_t offset, std::span<std::byte> to) {
    const ssize_t count = pread(file.get(), to.data(), to.size(), static_cast<off_t>(offset));
    return count == static_cast<ssize_t>(to.size());
  });
}

bool HasEndedByItself(const telemetry::ProcessReport& report, bool took_file_away, std::optional<int32_t> code) {
  const bool has_pending =
      std::ranges::any_of(report.operations, [](const model::OperationRecord& o) { return !o.finished.has_value(); });
  return report.is_finalizing || (took_file_away && !has_pending && code.value_or(0) == 0);
}

}  // namespace

Result<ProcessStat> ReadProcessStat(const std::string& proc_folder, int32_t pid) {
  const std::string path = fmt::format("{}/{}/stat", proc_folder, pid);
  const Result<std::string> bytes = ReadProcFile(path);
  if (bytes.status().code() == StatusCode::kNotFound) return ProcessStat();
  FL_RETURN_IF_ERROR(bytes.status());
  const Status cut_short = Unavailable(fmt::format("{} ends early", path));
  const std::optional<StatLine> line = ParseStatLine(*bytes);
  if (!line.has_value()) return cut_short;
  std::string_view text = line->fields;
  const char state = text.front();
  if (state == 'Z' || state == 'X' || state == 'x') return ProcessStat{.is_listed = true};
  for (int field = 3; field < 22; ++field) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return cut_short;
    text.remove_prefix(blank + 1);
  }
  ProcessStat stat{.is_listed = true};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stat.start);
  if (error != std::errc()) return cut_short;
  const bool is_stopped = state == 'T' || state == 't';
  stat.state = is_stopped ? model::ProcessState::kStopped : model::ProcessState::kRunning;
  return stat;
}

SegmentFolder::SegmentFolder(const SegmentFolderOptions& options)
    : options_(options),
      jobs_(options.proc_folder),
      clock_offset_(ReadClockNs(CLOCK_REALTIME) - ReadClockNs(CLOCK_MONOTONIC)),
      exits_(options.only_looks ? nullptr : std::make_unique<ExitWatch>(options.proc_folder)) {
  options_.num_max = FilesWithin(options.num_max);
}

std::string SegmentFolder::PathOf(const FileName& file) const {
  return fmt::format("{}/{}", options_.folder, file.second);
}

std::optional<uint64_t> SegmentFolder::InodeOf(const FileName& file) const {
  struct stat status = {};
  if (lstat(PathOf(file).c_str(), &status) == 0) return status.st_ino;
  return errno == ENOENT ? std::optional<uint64_t>(0) : std::nullopt;
}

Status SegmentFolder::Open(const FileName& file, Process* process) const {
  const int32_t pid = file.first;
  process->file = Descriptor(open(PathOf(file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!process->file.is_open()) return Unavailable(fmt::format("can't be opened: {}", strerror(errno)));
  struct stat status = {};
  if (fstat(process->file.get(), &status) != 0)
    return Unavailable(fmt::format("can't be examined: {}", strerror(errno)));
  if (!S_ISREG(status.st_mode)) return InvalidArgument("expected a regular file");
  if (status.st_size != off_t{sizeof(shm::ProfilerSegment)}) {
    return InvalidArgument(
        fmt::format("expected {} bytes, found {}", sizeof(shm::ProfilerSegment), int64_t{status.st_size}));
  }
  FL_ASSIGN_OR_RETURN(const std::optional<uint32_t> user, ReadProcessUser(options_.proc_folder, pid));
  if (user.has_value() && status.st_uid != *user) {
    return InvalidArgument(fmt::format("belongs to user {}, its process to user {}", status.st_uid, *user));
  }
  process->inode = status.st_ino;
  process->user = status.st_uid;
  process->tracker.emplace(telemetry::SegmentTrackerOptions{.clock_offset = clock_offset_,
                                                            .skips_past = !has_looked_ && !options_.only_looks});
  return OkStatus();
}

FolderLook SegmentFolder::Look() {
  FolderLook look;
  look.at = SimTime(ReadClockNs(CLOCK_MONOTONIC)) + clock_offset_;
  patience_ms_ = kPatienceMs;
  std::erase_if(records_, [](const auto& entry) { return entry.second.now == 0; });
  for (auto& [user, records] : records_) records = {.latest = records.now};
  num_threads_ = 0;
  if (const auto files = ListFiles(&look.faults); files.ok()) {
    for (const FileName& file : *files) processes_.try_emplace(file);
  } else {
    look.listing = files.status();
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

bool SegmentFolder::HasEnded(int32_t pid, const ProcessStat& stat, const Process& process) {
  if (process.exit.is_set()) {
    // The first thread of a living process may be a zombie, and /proc may hide it.
    const SimTime begin(ReadClockNs(CLOCK_MONOTONIC));
    const bool has_ended = process.exit.WaitFor(std::max<int64_t>(patience_ms_, 0));
    patience_ms_ -= (SimTime(ReadClockNs(CLOCK_MONOTONIC)) - begin).ns() / 1'000'000;
    return has_ended;
  }
  return stat.is_listed || (kill(pid, 0) != 0 && errno == ESRCH);
}

void SegmentFolder::NoteState(int32_t pid, uint64_t file_start, const Result<ProcessStat>& stat, SimTime now,
                              Process* process) {
  if (process->exit.is_set() && process->exit.Find().has_value()) {
    process->state = model::ProcessState::kGone;
    return;
  }
  if (!stat.ok()) return;
  const bool is_its = file_start == stat->start || file_start == 0;
  if (stat->state == model::ProcessState::kGone || !is_its) {
    if (HasEnded(pid, *stat, *process)) process->state = model::ProcessState::kGone;
    return;
  }
  process->state = stat->state;
  process->last_alive = now;
  if (exits_ == nullptr || process->exit.is_set()) return;
  const std::optional<ExitWatch::Ticket> ticket = exits_->Watch(pid);
  if (!ticket.has_value()) return;
  WatchedExit exit(exits_.get(), *ticket);
  // What has the number now is what had it before.
  const Result<ProcessStat> again = ReadProcessStat(options_.proc_folder, pid);
  if (again.ok() && again->start == stat->start) process->exit = std::move(exit);
}

model::ProcessExit SegmentFolder::ExitOf(const Process& process, SimTime now) const {
  model::ProcessExit exit;
  if (process.exit.is_set()) {
    if (const auto found = process.exit.Find()) {
      exit.at = SimTime(found->at_ns) + clock_offset_;
      exit.code = found->code;
      return exit;
    }
  }
  if (!process.last_alive.has_value()) return exit;
  exit.at = now;
  exit.within = now - *process.last_alive;
  return exit;
}

bool SegmentFolder::IsTooMuch(const Process& process, const telemetry::ProcessReport& report) {
  Records& records = records_[process.user];
  const auto num_heavy = std::ranges::count_if(
      records_, [&](const auto& entry) { return std::max(entry.second.latest, entry.second.now) > kManyRecords; });
  const uint64_t share = options_.num_records_max / static_cast<uint64_t>(std::max<ptrdiff_t>(num_heavy, 1));
  const uint64_t more = telemetry::NumRecords(report);
  if (records.now > 0 && records.now + more > share) return true;
  records.now += more;
  return false;
}

void SegmentFolder::AddThreads(int32_t pid, Process* process, telemetry::ProcessReport* report) {
  if (!process->stillness.IsDue(*report)) return;
  Records& records = records_[process->user];
  const uint32_t num_max =
      std::min(options_.num_threads_per_user_max - records.threads, options_.num_threads_max - num_threads_);
  if (num_max == 0) return;  // at a later look
  ProcessThreads threads = ReadThreads(options_.proc_folder, pid, num_max);
  records.threads += threads.num_read;
  num_threads_ += threads.num_read;
  report->threads = std::move(threads.groups);
  process->stillness.NoteLook(report->at);
}

bool SegmentFolder::LookAt(const FileName& file, Process* process, FolderLook* look) {
  const int32_t pid = file.first;
  const Result<ProcessStat> stat = ReadProcessStat(options_.proc_folder, pid);
  const std::optional<uint64_t> inode = InodeOf(file);
  // Another file under its name: of another process, or of another program in the same one.
  const bool is_other = inode.has_value() && *inode != 0 && *inode != process->inode;
  if (process->file.is_open() && is_other) *process = Process();
  if (process->has_ended) return inode == 0;
  if (process->left_out_until > look->at) return inode == 0;
  const auto fault = [&](const Status& status) {
    look->faults.push_back({PathOf(file), status.message()});
    return true;  // tried again at the next look
  };
  if (!process->file.is_open()) {
    if (!stat.ok()) return fault(stat.status());
    if (const Status status = Open(file, process); !status.ok()) {
      *process = Process();
      return fault(status);
    }
  }
  auto contents = ReadFile(process->file);
  if (!contents.ok()) return fault(contents.status());
  if (contents->pid != pid) {
    return fault(InvalidArgument(fmt::format("claims to be of process {}", contents->pid)));
  }
  if (process->job.empty() && shm::IsProcessJobName(contents->job)) {
    process->job = jobs_.KeyOf(contents->job, process->user, pid, look->at);
  }
  // What is not a name is reported, but never as a key of another's job.
  std::ranges::replace(contents->job, '@', '?');
  if (!process->job.empty()) contents->job = process->job;
  NoteState(pid, contents->process_start, stat, look->at, process);
  // The existence of a file that can't be queried decides how its process ended: that waits, too.
  if (!inode.has_value() && process->state == model::ProcessState::kGone)
    process->state = model::ProcessState::kRunning;
  const bool is_there = process->state != model::ProcessState::kGone;
  ProcessLook& seen = look->processes.emplace_back();
  seen.state = process->state;
  seen.report = process->tracker->Look(*contents, ReadClockNs(CLOCK_MONOTONIC));
  if (IsTooMuch(*process, seen.report)) {
    look->processes.pop_back();
    const uint32_t user = process->user;
    const uint64_t its_inode = process->inode;
    *process = Process();
    process->inode = its_inode;
    process->user = user;
    process->left_out_until = look->at + kLeftOutFor;
    fault(Unavailable(
        fmt::format("processes of user {} tell more than is kept of one user; it is left out for a minute", user)));
    return false;
  }
  if (is_there && !options_.only_looks) AddThreads(pid, process, &seen.report);
  if (!is_there) {
    seen.exit = ExitOf(*process, look->at);
    const bool is_regular = HasEndedByItself(seen.report, inode == 0, seen.exit.code);
    seen.exit.end = is_regular ? model::ProcessEnd::kRegular : model::ProcessEnd::kBroken;
  }
  if (is_there || options_.only_looks) return false;
  if (inode == 0 || unlink(PathOf(file).c_str()) == 0) return true;
  process->has_ended = true;
  return false;
}

}  // namespace fairlead::service
