#include "service/agent/slurm_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <string_view>

#include "base/whole_number.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {
namespace {

// "slurmstepd: [4711.batch]", "slurmstepd: [4711+1.0]".
std::optional<uint32_t> JobOfStep(std::string_view command) {
  constexpr std::string_view kBegin = "slurmstepd: [";
  if (!command.starts_with(kBegin)) return std::nullopt;
  command.remove_prefix(kBegin.size());
  return ParseWhole<uint32_t>(command.substr(0, command.find_first_of(".+]")));
}

bool MayBeBelieved(const std::string& proc_folder, int32_t process) {
  const auto user = ReadProcessUser(proc_folder, process);
  return user.ok() && user->has_value() && (**user == 0 || **user == geteuid());
}

}  // namespace

std::optional<std::vector<uint32_t>> SlurmJobsHere::Look(SimTime now) {
  if (looked_at_.has_value() && now - *looked_at_ < kPeriod) return seen_;
  looked_at_ = now;
  seen_ = Read();
  return seen_;
}

std::optional<std::vector<uint32_t>> SlurmJobsHere::Read() const {
  bool has_slurmd = false;
  std::set<uint32_t> jobs;
  for (const int32_t process : ReadProcNumbers(proc_folder_)) {
    const std::string folder = fmt::format("{}/{}", proc_folder_, process);
    const Result<std::string> name = ReadProcFile(folder + "/comm");
    const bool is_slurms = name.ok() && (*name == "slurmd\n" || *name == "slurmstepd\n");
    if (!is_slurms || !MayBeBelieved(proc_folder_, process)) continue;
    has_slurmd |= *name == "slurmd\n";
    const Result<std::string> command = ReadProcFile(folder + "/cmdline");
    if (const auto job = command.ok() ? JobOfStep(*command) : std::nullopt) jobs.insert(*job);
  }
  if (!has_slurmd) return std::nullopt;
  return std::vector<uint32_t>(jobs.begin(), jobs.end());
}

}  // namespace fairlead::service
