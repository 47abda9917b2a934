// Whose job is it? What the kernel knows of the processes that call themselves by a job's name.
//
// Problem     a job's name is what a process says (FAIRLEAD_JOB), and any user may say it. Telemetry under somebody
//             else's name would have his job blamed, stopped and restarted.
// Method      a job is its name, the user whom its processes belong to, and the scheduler's job that the kernel has put
//             them in; the agent takes both from the kernel (service/agent/process_owner.h). Processes that differ in
//             one of them are of different jobs. All of it together is the job's key, one text, by which agents,
//             controller and the operator's programs know it:
//                 gpt                     of root
//                 gpt@1001                of user 1001
//                 gpt@1001.slurm-4711     of user 1001, in job 4711 of Slurm
//                 gpt@1001.unverified     of a user 1001, of whom there may be several
//             A name has no '@', so a key has one meaning.
// Limits      pods of different tenants run as the same users (often root), so the owner of a job in pods is not
//             verified: it is watched, and never acted upon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "shm/job_name.h"

namespace fairlead::model {

struct JobIdentity {
  std::string name;        // shm::IsJobName
  uint32_t owner = 0;      // user id on the host
  uint32_t slurm_job = 0;  // 0: none
  // Whether that user is one person or team: not in pods, nor where the kernel could not be asked. If not, slurm_job is
  // 0.
  bool is_owner_verified = true;

  friend auto operator<=>(const JobIdentity&, const JobIdentity&) = default;
};

// Of a name that a process may have; longer ones make longer keys.
inline constexpr size_t kJobKeyBytesMax = shm::kJobNameBytesMax;

std::string JobKey(const JobIdentity& identity);
// Nothing: no key. Each identity has one key, and each key is of one identity.
std::optional<JobIdentity> ParseJobKey(std::string_view key);
inline bool IsJobKey(std::string_view key) { return ParseJobKey(key).has_value(); }

// Args: where: what the key was given by: "job". Errors: kInvalidArgument: where it was, what was expected, and the key
// as printable ASCII, shortened.
Status CheckJobKey(std::string_view key, std::string_view where);

}  // namespace fairlead::model
