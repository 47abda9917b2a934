#include "service/agent/slurm_jobs.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string_view>

#include "base/whole_number.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {
namespace {

struct CloseProc {
  void operator()(DIR* folder) const { closedir(folder); }
};

// "slurmstepd: [4711.batch]", "slurmstepd: [4711+1.0]".
std::optional<uint32_t> JobOfStep(std::string_view command) {
  constexpr std::string_view kBegin = "slurmstepd: [";
  if (!command.starts_with(kBegin)) return std::nullopt;
  command.remove_prefix(kBegin.size());
  return ParseWhole<uint32_t>(command.substr(0, command.find_first_of(".+]")));
}

bool MayBeBelieved(const std::string& folder) {
  struct stat status;
  return stat(folder.c_str(), &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid());
}

}  // namespace

std::optional<std::vector<uint32_t>> SlurmJobsHere::Look(SimTime now) {
  if (looked_at_.has_value() && now - *looked_at_ < kPeriod) return seen_;
  looked_at_ = now;
  seen_ = Read();
  return seen_;
}

std::optional<std::vector<uint32_t>> SlurmJobsHere::Read() const {
  const std::unique_ptr<DIR, CloseProc> processes(opendir(proc_folder_.c_str()));
  if (processes == nullptr) return std::nullopt;
  bool has_slurmd = false;
  std::set<uint32_t> jobs;
  while (const dirent* entry = readdir(processes.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string folder = fmt::format("{}/{}", proc_folder_, entry->d_name);
    const Result<std::string> name = ReadProcFile(folder + "/comm");
    if (!name.ok() || (*name != "slurmd\n" && *name != "slurmstepd\n") || !MayBeBelieved(folder)) continue;
    has_slurmd |= *name == "slurmd\n";
    const Result<std::string> command = ReadProcFile(folder + "/cmdline");
    if (const auto job = command.ok() ? JobOfStep(*command) : std::nullopt) jobs.insert(*job);
  }
  if (!has_slurmd) return std::nullopt;
  return std::vector<uint32_t>(jobs.begin(), jobs.end());
}

}  // namespace fairlead::service
