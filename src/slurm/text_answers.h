// Slurm's state from the lines of squeue and scontrol: the cheap way, the same from version 22.05 on.
//
// Problem     squeue --json of 2,000 jobs is 12.7 MB and costs Slurm 1.4 s of CPU, its lines 0.5 MB and 0.08 s. But
//             lines are not quoted: a job's name may hold "UserId=0", a '|', or a whole line.
// Method      jobs: squeue with a format of ours, of fields that users can't write. Reason and the operators' comment,
//             which may have any text, come last, in columns of so many bytes: nothing in them ends one. The comment
//             is asked for twice, with the blanks before it and behind it, which tells them from its own; of a longer
//             one the rest is not read: it is no mark. Others: `scontrol show … -o`, whose text is the operators'.
// Errors      kInvalidArgument: which line, what was expected, what was found. An answer that is not understood is
//             none.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "slurm/cluster_state.h"

namespace fairlead::slurm {

// For squeue -h -O.
extern const char kJobFields[];

Result<std::vector<Job>> ReadJobLines(std::string_view text);
Result<std::vector<Node>> ReadNodeLines(std::string_view text);                // scontrol show node -o
Result<std::vector<Partition>> ReadPartitionLines(std::string_view text);      // scontrol show partition -o
Result<std::vector<Reservation>> ReadReservationLines(std::string_view text);  // scontrol show reservation -o

}  // namespace fairlead::slurm
