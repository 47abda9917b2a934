// Slurm's state from JSON: slurmrestd's answers, `squeue --json`, `sinfo --json`, from version 22.05 on.
//
// Problem     names and forms change with each version: a number is 4, null, or {"set": true, "infinite": false,
//             "number": 4}; a state is "RUNNING" or ["RUNNING"], with flags in the same list or in another; hosts of a
//             job are "h[0-1]" or {"list": "h[0-1]"}. Answers of large clusters are tens of MB.
// Method      of each record only the wanted keys become values, everything else is passed over as it is read, so an
//             answer costs no more memory than its records. Each value is taken in all its forms; keys that are not
//             known are nothing, keys that are missing are the default.
// Errors      kInvalidArgument   no JSON, no such list in it, or a record without a name or a number
//             kUnavailable       Slurm says that something failed ("errors")
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "slurm/cluster_state.h"

namespace fairlead::slurm {

Result<std::vector<Job>> ReadJobsJson(std::string_view text);
Result<std::vector<Node>> ReadNodesJson(std::string_view text);
Result<std::vector<Partition>> ReadPartitionsJson(std::string_view text);
Result<std::vector<Reservation>> ReadReservationsJson(std::string_view text);

}  // namespace fairlead::slurm
