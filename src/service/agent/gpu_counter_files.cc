#include "service/agent/gpu_counter_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "base/descriptor.h"
#include "shm/gpu_counters.h"
#include "shm/job_name.h"

namespace fairlead::service {

namespace {

constexpr uint32_t kNumGpusMax = 1024;  // of a process

Status Failure(const std::string& path, const std::string& why) {
  return Unavailable(fmt::format("{}: counters of GPUs can't be read: {}", path, why));
}

// The header, and each sum separately: read with one call, in which the kernel tears no aligned word.
Result<std::optional<agent::GpuSums>> ReadFile(const std::string& path, int32_t pid, JobIdentifier* jobs, SimTime at) {
  const std::optional<agent::GpuSums> kNone;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  // Not permanent ones, such as a link.
  if (!file.is_open() && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return Failure(path, strerror(errno));
  alignas(shm::GpuCounters) char bytes[sizeof(shm::GpuCounters)];
  if (!file.is_open() || pread(file.get(), bytes, sizeof(bytes), 0) != ssize_t{sizeof(bytes)}) return kNone;
  const auto* counters = reinterpret_cast<const shm::GpuCounters*>(bytes);
  const bool is_ours = counters->magic == shm::kGpuCountersMagic && counters->version == shm::kGpuCountersVersion &&
                       counters->pid == pid && counters->num_gpus >= 1 && counters->num_gpus <= kNumGpusMax;
  const char* job_end = std::find(std::begin(counters->job), std::end(counters->job), '\0');
  const double flop = counters->flop.load(std::memory_order_relaxed);
  if (!is_ours || job_end == std::end(counters->job) || !std::isfinite(flop) || flop < 0) return kNone;
  const std::string name(std::begin(counters->job), job_end);
  if (!shm::IsProcessJobName(name)) return kNone;
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return kNone;
  FL_ASSIGN_OR_RETURN(const std::optional<uint32_t> user, ReadProcessUser("/proc", pid));
  if (user != status.st_uid) return kNone;
  return std::optional(
      agent::GpuSums{.job = jobs->KeyOf(name, *user, pid, at),
                     .num_gpus = counters->num_gpus,
                     .flop = Flop(flop),
                     .busy = Seconds(static_cast<double>(counters->busy_ns.load(std::memory_order_relaxed)) * 1e-9)});
}

}  // namespace

Result<std::vector<agent::GpuSums>> ReadGpuCounters(const std::string& folder, JobIdentifier* jobs, SimTime at) {
  std::map<std::string, agent::GpuSums> sums_of;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int32_t pid = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc() || end != name.data() + name.size() || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) {
      unlink(entry->path().c_str());
      continue;
    }
    FL_ASSIGN_OR_RETURN(const auto sums, ReadFile(entry->path().string(), pid, jobs, at));
    if (!sums.has_value()) continue;
    agent::GpuSums& job = sums_of[sums->job];
    job.job = sums->job;
    job.num_gpus += sums->num_gpus;
    job.flop += sums->flop;
    job.busy += sums->busy;
  }
  if (error && error != std::errc::no_such_file_or_directory) return Failure(folder, error.message());
  std::vector<agent::GpuSums> result;
  for (auto& [name, sums] : sums_of) result.push_back(std::move(sums));
  return result;
}

}  // namespace fairlead::service
