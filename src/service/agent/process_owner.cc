#include "service/agent/process_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/descriptor.h"
#include "base/whole_number.h"

namespace fairlead::service {
namespace {

constexpr SimDuration kKnownFor(1'000'000'000);

// Takes the text before the next `separator` off the front, with the separator.
std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t end = text->find(separator);
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return taken;
}

// "job_4711" -> 4711; 0: something else.
uint32_t NumberAfter(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// Of one group, "/slurm/uid_1001/job_4711/step_0"; 0: none.
uint32_t SlurmJobOf(std::string_view path, uint32_t user) {
  TakeUntil('/', &path);
  const std::string_view top = TakeUntil('/', &path);
  if (top == "slurm" || top.starts_with("slurm_")) {
    return TakeUntil('/', &path) == fmt::format("uid_{}", user) ? NumberAfter("job_", TakeUntil('/', &path)) : 0;
  }
  if (top != "system.slice") return 0;
  const std::string_view scope = TakeUntil('/', &path);
  const bool is_slurms = scope == "slurmstepd.scope" || scope.ends_with("_slurmstepd.scope");
  return is_slurms ? NumberAfter("job_", TakeUntil('/', &path)) : 0;
}

// The part of the path that names a pod, "pod1c2d.." in "/kubepods/burstable/pod1c2d../3e4f.."; the whole path where
// there is no such part; empty: in no pod.
std::string_view PodOf(std::string_view path) {
  if (path.starts_with("/..")) return path;
  if (path.find("/kubepods") == std::string_view::npos) return {};
  const size_t begin = path.find("pod", path.find("/kubepods") + std::strlen("/kubepods"));
  if (begin == std::string_view::npos) return path;
  std::string_view pod = path.substr(begin);
  return TakeUntil('/', &pod);
}

bool IsInPod(std::string_view cgroups, std::string_view pod) {
  while (!cgroups.empty()) {
    std::string_view line = TakeUntil('\n', &cgroups);
    TakeUntil(':', &line);
    TakeUntil(':', &line);
    if (PodOf(line) == pod) return true;
  }
  return false;
}

}  // namespace

Result<std::string> ReadProcFile(const std::string& path) {
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

std::set<int32_t> ReadProcNumbers(const std::string& folder) {
  std::set<int32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(opendir(folder.c_str()), closedir);
  if (listed == nullptr) return numbers;
  while (const dirent* entry = readdir(listed.get())) {
    if (const auto number = ParseWhole<int32_t>(entry->d_name)) numbers.insert(*number);
  }
  return numbers;
}

std::optional<StatLine> ParseStatLine(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  StatLine line{.name = text.substr(0, name_end), .fields = text.substr(name_end + 2)};
  line.name.remove_prefix(std::min(line.name.size(), line.name.find('(')));
  if (!line.name.empty()) line.name.remove_prefix(1);
  return line;
}

Result<std::optional<uint32_t>> ReadProcessUser(const std::string& proc_folder, int32_t pid) {
  const std::string path = fmt::format("{}/{}/status", proc_folder, pid);
  const Result<std::string> text = ReadProcFile(path);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<uint32_t>();
  FL_RETURN_IF_ERROR(text.status());
  constexpr std::string_view kLabel = "\nUid:\t";  // real, effective, saved, of file systems
  const size_t label = text->find(kLabel);
  const size_t blank = label == std::string::npos ? label : text->find('\t', label + kLabel.size());
  uint32_t user = 0;
  const bool has_user = blank != std::string::npos &&
                        std::from_chars(text->data() + blank + 1, text->data() + text->size(), user).ec == std::errc();
  if (!has_user) return Unavailable(fmt::format("{} names no user", path));
  return std::optional(user);
}

model::JobIdentity IdentifyJob(std::string name, uint32_t user, std::string_view cgroups,
                               std::string_view own_cgroups) {
  model::JobIdentity identity = {.name = std::move(name), .owner = user};
  while (!cgroups.empty()) {
    std::string_view line = TakeUntil('\n', &cgroups);
    TakeUntil(':', &line);  // number of the hierarchy
    TakeUntil(':', &line);  // its controllers
    if (identity.slurm_job == 0) identity.slurm_job = SlurmJobOf(line, user);
    const std::string_view pod = PodOf(line);
    if (!pod.empty() && !IsInPod(own_cgroups, pod)) identity.is_owner_verified = false;
  }
  if (!identity.is_owner_verified) identity.slurm_job = 0;
  return identity;
}

JobIdentifier::JobIdentifier(std::string proc_folder) : proc_folder_(std::move(proc_folder)) {
  const auto own = ReadProcFile(proc_folder_ + "/self/cgroup");
  if (own.ok()) own_cgroups_ = *own;
}

std::string JobIdentifier::KeyOf(const std::string& name, uint32_t user, int32_t pid, SimTime now) {
  if (now >= cleaned_at_ + kKnownFor) {
    cleaned_at_ = now;
    std::erase_if(known_, [&](const auto& entry) { return now >= entry.second.read_at + kKnownFor; });
  }
  const auto [known, is_new] = known_.try_emplace({user, pid});
  if (is_new) {
    const auto cgroups = ReadProcFile(fmt::format("{}/{}/cgroup", proc_folder_, pid));
    known->second.read_at = now;
    if (cgroups.ok()) known->second.cgroups = *cgroups;
  }
  const auto& cgroups = known->second.cgroups;
  if (!cgroups.has_value()) return model::JobKey({.name = name, .owner = user, .is_owner_verified = false});
  return model::JobKey(IdentifyJob(name, user, *cgroups, own_cgroups_));
}

}  // namespace fairlead::service
