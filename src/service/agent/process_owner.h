// Whose process is it? By what the kernel says, which the process cannot choose.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/sim_time.h"
#include "base/status.h"
#include "model/job_identity.h"

namespace fairlead::service {

// The first 4 KiB of a file of /proc/PID. Errors: kNotFound (ENOENT, ESRCH: the process is gone), kUnavailable (nothing
// is known, as where this process has no descriptor left, or no right to look).
Result<std::string> ReadProcFile(const std::string& path);

// Entries of a folder of /proc that are numbers: processes in /proc, threads in /proc/PID/task. None: it can't be read.
std::set<int32_t> ReadProcNumbers(const std::string& folder);

// A line of /proc/PID/stat or task/TID/stat. Views of the text.
struct StatLine {
  std::string_view name;    // may hold blanks and parentheses; empty: the text names none
  std::string_view fields;  // from the state on, field 3; not empty
};
// Nothing: it ends before them.
std::optional<StatLine> ParseStatLine(std::string_view text);

// Effective user of a process; nothing: it is gone. Errors: kUnavailable.
Result<std::optional<uint32_t>> ReadProcessUser(const std::string& proc_folder, int32_t pid);

// What a process of `user` that calls itself by `name` is part of. Args: cgroups: /proc/PID/cgroup, that of this
// process for comparison.
//
// Only groups that root makes count: of version 1 /slurm[_NODE]/uid_USER/job_N, of version 2
// /system.slice/[NODE_]slurmstepd.scope/job_N; users make theirs below /user.slice, containers below their own. The
// owner is not verified in another pod (/kubepods*) than the own one, and in a group outside of what this process may
// see (/..), which is another container's.
model::JobIdentity IdentifyJob(std::string name, uint32_t user, std::string_view cgroups, std::string_view own_cgroups);

// Keys of jobs by name and process. Not thread-safe.
class JobIdentifier {
 public:
  explicit JobIdentifier(std::string proc_folder = "/proc");

  // Args: user: whom the kernel says the process belongs to. The owner of one that is gone, or may not be looked into,
  // is not verified. Cost: a file of /proc, for a process once a second.
  std::string KeyOf(const std::string& name, uint32_t user, int32_t pid, SimTime now);

 private:
  struct Known {
    std::optional<std::string> cgroups;  // nothing: it can't be read
    SimTime read_at;
  };

  std::string proc_folder_;
  std::string own_cgroups_;
  std::map<std::pair<uint32_t, int32_t>, Known> known_;  // by user and process
  SimTime cleaned_at_;
};

}  // namespace fairlead::service
